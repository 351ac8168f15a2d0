"""The decision: what a user may do with the columns of a stream, under which conditions, and why.

One object answers for one version of the policies. A decision never raises: whatever goes wrong while deciding is a
deny that says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product

from headgate.decision.guard import OPEN, Clause, Guard
from headgate.decision.index import PolicyIndex
from headgate.errors import FAILURES
from headgate.model.duration import Extent
from headgate.model.expression.print import to_text
from headgate.model.expression.transform import rename_sources
from headgate.model.privilege import ASSIST, READ
from headgate.model.schema import StreamCatalog
from headgate.model.subject import User
from headgate.policy.bind import BoundPolicy, Environment, bind
from headgate.policy.model import NULL_MASK, Mask, Policy, PolicySet


class Effect(StrEnum):
    """The outcome of a decision."""

    PERMIT = "permit"
    PARTIAL = "partial"
    DENY = "deny"


@dataclass(frozen=True)
class Request:
    """Who wants to do what with which columns of one source.

    `sources` are all sources of the combination by alias, so that joint views can be found; `window` is the size and
    the step of the aggregate's window, where there is one.
    """

    user: User
    alias: str
    uses: tuple[tuple[str, str], ...]
    sources: Mapping[str, str]
    window: tuple[Extent, Extent] | None = None
    environment: Environment = field(default_factory=dict)

    @classmethod
    def on(cls, user: User, stream: str, *uses: tuple[str, str], **options: object) -> Request:
        """A request on one stream alone."""
        return cls(user, stream, uses, {stream: stream}, **options)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Reason:
    """One policy's part in a decision."""

    effect: str
    policy: str
    text: str
    version: int | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Decision:
    """The answer: a guard for each use, a mask for each column, and the reasons."""

    effect: Effect
    guards: Mapping[tuple[str, str], Guard]
    masks: Mapping[str, Mask]
    reasons: tuple[Reason, ...]
    missing: tuple[tuple[str, str], ...]
    lenders: Mapping[str, str] = field(default_factory=dict)
    """The policy that each mask is of, where one is."""


class Decider:
    """Decides by one policy set; None for `policies` is a system that has none at all, where everything is open."""

    def __init__(self, policies: PolicySet | None, catalog: StreamCatalog, version: int | None = None) -> None:
        self.policies = policies
        self.catalog = catalog
        self.version = version
        self._index = PolicyIndex(policies) if policies is not None else None

    def decide(self, request: Request) -> Decision:
        """The decision on a request."""
        try:
            return self._decide(request)
        except FAILURES as error:
            # INVARIANT: a failure while deciding is a deny.
            reason = Reason("deny", "", f"the decision failed: {error}", self.version)
            denied = {use: Guard() for use in request.uses}
            return Decision(Effect.DENY, denied, {}, (reason,), request.uses)

    def _decide(self, request: Request) -> Decision:
        if self._index is None:
            return Decision(Effect.PERMIT, dict.fromkeys(request.uses, OPEN), {}, (), ())
        stream = self.catalog.stream(request.sources[request.alias])
        if stream.owner is not None and stream.owner == request.user.id:
            reason = Reason("permit", "", f"`{request.user.id}` owns `{stream.name}`", self.version)
            return Decision(Effect.PERMIT, dict.fromkeys(request.uses, OPEN), {}, (reason,), ())
        bound = [self._bind(policy, request) for policy in self._index.policies_for(request.user, stream.name)]
        guards = {use: _guard(use, bound, request, stream.name) for use in request.uses}
        columns = dict.fromkeys(column for column, _ in request.uses)
        lent = {column: _lender(bound, (stream.name, column)) for column in columns}
        return Decision(
            _effect(guards),
            guards,
            {column: (policy.mask if policy else None) or NULL_MASK for column, policy in lent.items()},
            tuple(self._reasons(guards, stream.name)),
            tuple(use for use, guard in guards.items() if guard.impossible),
            {column: policy.id for column, policy in lent.items() if policy},
        )

    def _bind(self, policy: Policy, request: Request) -> BoundPolicy:
        assert self.policies is not None
        return bind(policy, request.user, self.policies.events, self.catalog, request.environment)

    def _reasons(self, guards: Mapping[tuple[str, str], Guard], stream: str) -> Iterator[Reason]:
        for (column, privilege), guard in guards.items():
            use = f"{privilege} of `{stream}.{column}`"
            for clause in guard.allows:
                yield Reason(
                    "permit", clause.policy, f"`{clause.policy}` allows {use}{condition_text(clause)}", self.version
                )
            for clause in guard.denies:
                yield Reason(
                    "deny", clause.policy, f"`{clause.policy}` denies {use}{condition_text(clause)}", self.version
                )
            if not guard.allows:
                named = self._index is not None and self._index.names(stream)
                why = "no policy allows" if named else f"no policy names `{stream}`, so it is closed:"
                yield Reason("deny", "", f"{why} {use}", self.version)


def condition_text(clause: Clause) -> str:
    """Where a clause holds, as it is told."""
    text = f" where {to_text(clause.condition)}" if clause.condition is not None else ""
    if clause.problem:
        text += f" (it cannot be decided: {clause.problem})"
    return text + (f" in groups of at least {clause.need}" if clause.need > 1 else "")


def _guard(use: tuple[str, str], policies: Sequence[BoundPolicy], request: Request, stream: str) -> Guard:
    column, privilege = use
    allows: list[Clause] = []
    denies: list[Clause] = []
    for bound in policies:
        if (stream, column) not in bound.policy.cells:
            continue
        if privilege in bound.denies:
            denies.extend(_clauses(bound, request))
        if privilege in bound.allows and _window_met(bound, privilege, request.window):
            allows.extend(_clauses(bound, request))
    return Guard(tuple(allows), tuple(denies))


def _clauses(bound: BoundPolicy, request: Request) -> Iterator[Clause]:
    """One clause for each way to find the policy's streams among the sources, the requested one being among them."""
    policy = bound.policy
    reading = [[alias for alias, name in request.sources.items() if name == stream] for stream in policy.streams]
    for chosen in product(*reading):
        if request.alias in chosen:
            names = dict(zip(policy.streams, chosen, strict=True))
            condition = None if bound.condition is None else rename_sources(bound.condition, names)
            yield Clause(policy.id, condition, policy.min_group or 1, policy.mask, bound.problem, chosen)


def _window_met(bound: BoundPolicy, privilege: str, window: tuple[Extent, Extent] | None) -> bool:
    if privilege in (READ, ASSIST):
        return True
    return window is not None and bound.policy.window.met_by(*window)


def _lender(policies: Sequence[BoundPolicy], cell: tuple[str, str]) -> Policy | None:
    """The first policy in force that allows something of the cell: its mask stands for what is not covered."""
    return next((one.policy for one in policies if one.allows and cell in one.policy.cells), None)


def _effect(guards: Mapping[tuple[str, str], Guard]) -> Effect:
    if all(guard.unconditional for guard in guards.values()):
        return Effect.PERMIT
    if all(guard.impossible for guard in guards.values()):
        return Effect.DENY
    return Effect.PARTIAL
