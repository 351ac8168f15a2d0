"""The enforcement point: from a request to a handle, and from a change of policies to the handles it reaches.

The steps of a request are those of section 3.2 of eXACML+: decide, make the graph of the obligations, merge the user's
query into it, see that the user's windows together reveal nothing, carry out the other obligations, start, hand out.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import RLock

from headgate.decision.xacml.outcome import Obligation
from headgate.delivery.access import AccessRequest
from headgate.delivery.answer import Answer, Verdict
from headgate.delivery.authorise import Authorisation, authorise
from headgate.delivery.duties import Duties, Duty
from headgate.delivery.engine import Engine
from headgate.delivery.handle import Handle, Page
from headgate.delivery.policy_book import AnyPolicy, PolicyBook, PolicyChange
from headgate.delivery.query_graphs import LiveQuery, QueryGraphs, Redecided
from headgate.delivery.statements import stream_statements
from headgate.errors import UnknownNameError
from headgate.model.schema import StreamCatalog, StreamSchema
from headgate.rewrite.obligation.graph import WindowsRule


class EnforcementPoint:
    """One for all users. With `windows` single, every policy's windows are handed out one at a time."""

    def __init__(
        self,
        streams: StreamCatalog,
        policies: PolicyBook,
        engine: Engine,
        duties: Duties | None = None,
        windows: WindowsRule = WindowsRule.CHECKED,
    ) -> None:
        self.streams = streams
        self.policies = policies
        self.duties = duties or Duties()
        self.graphs = QueryGraphs(engine)
        self._windows = windows
        # INVARIANT: requests and changes are taken one at a time, so that no request is decided by a version whose
        # successor has already been applied to the live queries.
        self._lock = RLock()

    @property
    def version(self) -> int:
        """The number of the policies in force."""
        return self.policies.current.number

    # Requests ---------------------------------------------------------------------------------------------------------

    def request(self, access: AccessRequest) -> Answer:
        """Answer a request. A mistake in it is an InputError, a refusal is an answer."""
        with self._lock:
            stream = self.streams.stream(access.stream)
            authorisation = authorise(access, self.policies.current, self.streams, self._windows)
            refused = self._refused(access, authorisation, stream)
            if refused:
                return Answer(Verdict.DENIED, self.version, reasons=refused)
            if authorisation.plan is None:
                return Answer(
                    authorisation.verdict,
                    self.version,
                    reasons=authorisation.reasons,
                    warnings=authorisation.warnings,
                )
            handle = self.graphs.start(access, authorisation, stream.name)
            return Answer(
                authorisation.verdict,
                self.version,
                handle,
                authorisation.reasons,
                authorisation.warnings,
                stream_statements(authorisation.plan),
            )

    def _refused(
        self, access: AccessRequest, authorisation: Authorisation, stream: StreamSchema, uri: str | None = None
    ) -> tuple[str, ...]:
        """Why something that is decided may not be acted on: a conflict of windows, or a duty that is not done."""
        conflict = self.graphs.conflict(access.user.id, authorisation, uri)
        if conflict is not None:
            return (conflict,)
        before = self.graphs.find(uri) if uri is not None else None
        done = set(before.authorisation.duties) if before is not None else set()
        # The obligations of a refusal are carried out too, as far as that goes; it stays a refusal either way.
        due = [one for one in authorisation.duties if one not in done]
        problems = self.duties.carry_out(
            _duties(due, access, stream), _duties(authorisation.advice if uri is None else (), access, stream)
        )
        if authorisation.verdict is Verdict.DENIED:
            return authorisation.reasons
        return tuple(problems)

    def read(self, uri: str, user: str, after: int = 0) -> Page:
        """The results of a handle, for the user it was given to; to everybody else it does not exist."""
        return self._handle(uri, user).read(after)

    def close(self, uri: str, user: str) -> None:
        """The user needs it no more."""
        with self._lock:
            self._handle(uri, user)
            self.graphs.withdraw(uri, ("closed by its user",))

    def _handle(self, uri: str, user: str) -> Handle:
        live = self.graphs.find(uri)
        if live is None or live.handle.user != user:
            raise UnknownNameError("there is no such handle", hint="it may have been withdrawn; ask again")
        return live.handle

    # Changes ----------------------------------------------------------------------------------------------------------

    def change_policies(self, put: Iterable[AnyPolicy] = (), remove: Iterable[str] = ()) -> list[Redecided]:
        """Change the policies, and let every live query that this can concern follow before anything else happens."""
        with self._lock:
            change = self.policies.change(put, remove)
            return [self._followed(live, change) for live in self.graphs if self._touched(live, change)]

    def _touched(self, live: LiveQuery, change: PolicyChange) -> bool:
        return change.touches(live.access.document(live.handle.stream))

    def _followed(self, live: LiveQuery, change: PolicyChange) -> Redecided:
        uri = live.handle.uri
        try:
            authorisation = authorise(live.access, change.after, self.streams, self._windows)
            refused = self._refused(live.access, authorisation, self.streams.stream(live.access.stream), uri)
        except Exception as error:
            # INVARIANT: a query that cannot be decided any more does not run any more, and the others follow.
            refused = (f"it could not be decided again: {type(error).__name__}",)
            authorisation = Authorisation(Verdict.DENIED)
        if refused:
            return self.graphs.withdraw(uri, refused)
        if authorisation.plan is None:
            return self.graphs.withdraw(uri, authorisation.warnings or authorisation.reasons)
        return self.graphs.redecide(live, authorisation)


def _duties(obligations: Iterable[Obligation], access: AccessRequest, stream: StreamSchema) -> list[Duty]:
    return [Duty(one, stream, access.user.id, access.action) for one in obligations]
