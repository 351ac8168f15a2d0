"""Query-graph management: every query that policies spawned, so that none outlives what authorised it (section 3.3).

The paper withdraws all queries of a policy that changes. Here each one is decided again: one whose result is the same
goes on, one that gets narrower or wider is rewritten under the same handle, one that is denied is withdrawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count

from headgate.algebra.operators import Project
from headgate.algebra.query import Query
from headgate.delivery.access import AccessRequest
from headgate.delivery.authorise import Authorisation
from headgate.delivery.engine import Engine, Running
from headgate.delivery.handle import Handle
from headgate.delivery.window_access import LiveWindow, WindowAccess
from headgate.rewrite.change import Effect


@dataclass(frozen=True)
class Redecided:
    """What became of one handle, and why."""

    uri: str
    effect: Effect
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class LiveQuery:
    """A query at work: who asked for what, what was authorised, what runs."""

    handle: Handle
    access: AccessRequest
    authorisation: Authorisation
    query: Query
    running: Running
    position: int
    """Where the engine was when it began, or was rewritten."""


class QueryGraphs:
    """The live queries by handle. It decides nothing: it starts, rewrites and withdraws."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._windows = WindowAccess()
        self._live: dict[str, LiveQuery] = {}
        self._numbers = count(1)

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[LiveQuery]:
        return iter(list(self._live.values()))

    def find(self, uri: str) -> LiveQuery | None:
        return self._live.get(uri)

    def conflict(self, user: str, authorisation: Authorisation, uri: str | None = None) -> str | None:
        """Why a query, of a handle or a new one, may not run beside the others of its user."""
        before = self._live.get(uri or "")
        if before is not None and before.authorisation.plan == authorisation.plan:
            # It would go on as it is, with its windows where they are.
            window = self._window(uri or "", user, authorisation, before.position)
        else:
            window = self._window(uri or "the query asked for", user, authorisation, self._engine.position)
        return None if window is None else self._windows.conflict(window)

    def _window(self, handle: str, user: str, authorisation: Authorisation, position: int) -> LiveWindow | None:
        if authorisation.plan is None or authorisation.graph is None:
            return None
        return LiveWindow(handle, user, authorisation.plan, authorisation.graph, position)

    def _opened(self, live: LiveQuery) -> None:
        self._live[live.handle.uri] = live
        window = self._window(live.handle.uri, live.handle.user, live.authorisation, live.position)
        if window is not None:
            self._windows.open(window)

    def start(self, access: AccessRequest, authorisation: Authorisation, stream: str) -> Handle:
        """Send a query to the engine; the handle it delivers to."""
        assert authorisation.plan is not None
        handle = Handle(access.user.id, stream)
        query = _query(f"handle-{next(self._numbers)}", access.user.id, authorisation.plan)
        position = self._engine.position
        running = self._engine.start(query, handle.deliver)
        self._opened(LiveQuery(handle, access, authorisation, query, running, position))
        return handle

    def redecide(self, live: LiveQuery, authorisation: Authorisation) -> Redecided:
        """Let a query follow a new authorisation. Whatever fails on the way withdraws it."""
        uri = live.handle.uri
        if authorisation.plan is None:
            return self.withdraw(uri, authorisation.reasons)
        changed = authorisation.plan != live.authorisation.plan
        query = _query(live.query.id, live.query.by, authorisation.plan)
        if changed and (problem := _failed(lambda: live.running.replace(query))):
            return self.withdraw(uri, (problem,))
        position = self._engine.position if changed else live.position
        self._opened(replace(live, authorisation=authorisation, query=query, position=position))
        effect = Effect.REWRITTEN if changed else Effect.SAME
        return Redecided(uri, effect, authorisation.reasons, authorisation.warnings)

    def withdraw(self, uri: str, reasons: tuple[str, ...]) -> Redecided:
        """Stop a query and close its handle with the reason."""
        live = self._live.pop(uri, None)
        if live is not None:
            # INVARIANT: the handle closes first, so that nothing passes even if the engine is slow to stop or fails.
            live.handle.close("; ".join(reasons) or "withdrawn")
            self._windows.close(uri)
            _failed(live.running.stop)
        return Redecided(uri, Effect.WITHDRAWN, reasons)


def _query(identifier: str, user: str, plan: Project) -> Query:
    return Query(identifier, user, (user,), plan)


def _failed(work: Callable[[], None]) -> str | None:
    """What went wrong; an engine's own errors may tell about data, so only their names are told."""
    try:
        work()
    except Exception as error:
        return f"the engine failed: {type(error).__name__}"
    return None
