"""A new version of the policies reaches the queries that run: each one goes on, is rewritten, or is withdrawn.

Only what the change touches is decided again: a query reads streams, a subscriber is concerned by policies, and a
policy that did not change cannot change a decision. The switch is one step: until `change` returns, everything is as it
was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from headgate.algebra.operators import Operator
from headgate.algebra.query import Query
from headgate.algebra.secure import Masked, SecureAggregate, SecureJoin, SecureRead
from headgate.decision.decide import Decider
from headgate.decision.guard import Clause, Guard
from headgate.errors import HeadgateError, UnknownNameError
from headgate.model.expression import nodes
from headgate.model.expression.canonical import canonical
from headgate.model.expression.nodes import Expression, walk
from headgate.model.subject import User
from headgate.policy.model import Policy, PolicySet
from headgate.rewrite.obligation.graph import AuthorisedGraph
from headgate.rewrite.obligation.merge import Merged, merge_obligations
from headgate.rewrite.secure import SecuredQuery, secure_query


class Effect(StrEnum):
    """What becomes of a live query for one subscriber."""

    SAME = "same"
    REWRITTEN = "rewritten"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class Redecided:
    """The effect on one live query for one subscriber; `reasons` say why it was withdrawn, or what is now missing."""

    query: str
    user: str
    effect: Effect
    reasons: tuple[str, ...]
    secured: SecuredQuery | None


_Key = tuple[str, str]


@dataclass(frozen=True)
class _Live:
    query: Query
    user: User
    secured: SecuredQuery


class LiveQueries:
    """The queries that run, each rewritten for each of its subscribers by the version in force."""

    def __init__(self, decider: Decider) -> None:
        self.decider = decider
        self._live: dict[_Key, _Live] = {}

    def __len__(self) -> int:
        return len(self._live)

    def register(self, query: Query, users: Iterable[User]) -> Mapping[str, SecuredQuery]:
        """Rewrite a query for its subscribers; those for whom it is denied are not live."""
        found = {user.id: secure_query(self.decider, query, user) for user in users}
        for user in users:
            if found[user.id].query is not None:
                self._live[query.id, user.id] = _Live(query, user, found[user.id])
        return found

    def stop(self, query: str) -> None:
        """The query is stopped, for everybody."""
        self._live = {key: one for key, one in self._live.items() if key[0] != query}

    def secured(self, query: str, user: str) -> SecuredQuery:
        """The query as it runs for a subscriber."""
        if (query, user) not in self._live:
            raise UnknownNameError(f"query `{query}` does not run for `{user}`")
        return self._live[query, user].secured

    def change(self, decider: Decider, users: Mapping[str, User] | None = None) -> tuple[Redecided, ...]:
        """Put a new version in force, and say what becomes of each query that it touches.

        `users` are those whose roles or profile changed with it. What is not among the answers goes on as it is.
        """
        touched = list(self._touched(decider, users or {}))
        answers = []
        after = dict(self._live)
        for key in touched:
            live = self._live[key]
            user = (users or {}).get(live.user.id, live.user)
            answer = _redecided(live, user, decider)
            answers.append(answer)
            if answer.effect is Effect.WITHDRAWN:
                del after[key]
            elif answer.secured is not None:
                after[key] = _Live(live.query, user, answer.secured)
        # INVARIANT: everything switches at once, when all is decided; nobody sees an allow without its deny.
        self.decider, self._live = decider, after
        return tuple(answers)

    def _touched(self, decider: Decider, users: Mapping[str, User]) -> Iterator[_Key]:
        before, after = self.decider.policies, decider.policies
        if before is None or after is None or before.defaults != after.defaults:
            yield from self._live
            return
        changed = list(changed_policies(before, after))
        by_stream: dict[str, list[Policy]] = {}
        for policy in changed:
            for stream in policy.streams:
                by_stream.setdefault(stream, []).append(policy)
        for key, live in self._live.items():
            now = users.get(live.user.id, live.user)
            on_its_streams = (policy for stream in live.query.streams for policy in by_stream.get(stream, ()))
            if (
                now != live.user
                or _other_streams(live.query, self.decider, decider)
                or any(policy.concerns(live.user) for policy in on_its_streams)
            ):
                yield key


def changed_policies(before: PolicySet, after: PolicySet) -> Iterator[Policy]:
    """Policies that were added, removed or changed, as they were and as they are; a changed event changes them too."""
    events = {name for name in {*before.events, *after.events} if before.events.get(name) != after.events.get(name)}
    names = dict.fromkeys(policy.id for policy in (*before.policies, *after.policies))
    for name in names:
        old, new = before.policy(name), after.policy(name)
        if old != new or (new is not None and events & set(_events_of(new))):
            yield from (one for one in (old, new) if one is not None)


def _events_of(policy: Policy) -> Iterator[str]:
    conditions = (policy.where, policy.when, policy.during.start, policy.during.end)
    for condition in conditions:
        if condition is not None:
            yield from (node.event for node in walk(condition) if isinstance(node, nodes.EventRef))


def _other_streams(query: Query, before: Decider, after: Decider) -> bool:
    """Whether a stream of the query is not what it was: its owner decides too."""
    return any(before.catalog.find(name) != after.catalog.find(name) for name in query.streams)


def _redecided(live: _Live, user: User, decider: Decider) -> Redecided:
    key = (live.query.id, user.id)
    try:
        secured = secure_query(decider, live.query, user)
    except HeadgateError as error:
        # INVARIANT: what cannot be decided again does not go on.
        return Redecided(*key, Effect.WITHDRAWN, (f"it could not be decided again: {error}",), None)
    if secured.query is None:
        return Redecided(*key, Effect.WITHDRAWN, secured.verdict.reasons, secured)
    same = meaning(secured.query.plan) == meaning(live.secured.query.plan if live.secured.query else None)
    effect = Effect.SAME if same else Effect.REWRITTEN
    return Redecided(*key, effect, secured.verdict.reasons, secured)


def meaning(plan: Operator | None) -> object:
    """What a rewritten query does, whatever the policies are called that asked for it: equal if it does the same."""
    if plan is None:
        return None
    if isinstance(plan, SecureRead | SecureJoin | SecureAggregate):
        guards = frozenset((use, _guard(guard)) for use, guard in plan.guards)
        return (type(plan).__name__, guards, meaning(plan.input))
    if isinstance(plan, Masked):
        return ("Masked", frozenset((one.source, one.column, one.mask) for one in plan.masks), meaning(plan.input))
    if not plan.inputs:
        return plan
    own = tuple(
        value for name, value in vars(plan).items() if name in ("predicate", "ranges", "window", "keys", "calls")
    )
    shown = tuple(vars(plan).get("outputs", ()))
    return (type(plan).__name__, own, shown, tuple(meaning(below) for below in plan.inputs))


def _guard(guard: Guard) -> object:
    # The order of denies tells which lends its mask; the order of allows tells nothing.
    return (guard.owned, frozenset(map(_clause, guard.allows)), tuple(map(_clause, guard.denies)))


def _clause(clause: Clause) -> object:
    condition: Expression | None = canonical(clause.condition) if clause.condition is not None else None
    return (condition, clause.need, clause.mask, clause.aliases)


def redecide_obligations(
    before: Merged, graph: AuthorisedGraph | None, query: Operator | None, key: _Key
) -> tuple[Redecided, Merged | None]:
    """The same for a query that a permit's obligations spawned: `graph` is what they authorise now, None if nothing."""
    if graph is None:
        return Redecided(*key, Effect.WITHDRAWN, ("the policy that allowed it is gone",), None), None
    try:
        merged = merge_obligations(graph, query)
    except HeadgateError as error:
        return Redecided(*key, Effect.WITHDRAWN, (f"it could not be decided again: {error}",), None), None
    if not merged.runs:
        return Redecided(*key, Effect.WITHDRAWN, merged.warnings(), None), merged
    effect = Effect.SAME if merged.plan == before.plan else Effect.REWRITTEN
    return Redecided(*key, effect, merged.warnings(), None), merged
