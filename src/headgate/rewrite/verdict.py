"""The verdict on a query before it runs: granted, partial or denied, per subscriber, with reasons.

Punctuations do not count for it; only grants do (semantics.md, section 6). A solver decides what can ever be covered
and what always is. Where it runs out of time the cautious answer stands: not refused for what might be covered, and
never granted for what might be withheld.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from headgate.algebra.block import Block, block_of
from headgate.algebra.operators import Output, Project, Source
from headgate.algebra.query import Query
from headgate.algebra.uses import columns_outside_calls, uses_of
from headgate.decision.decide import Decider, Decision, Request
from headgate.decision.guard import Clause, Guard
from headgate.decision.solver import Answer, can_hold
from headgate.model.expression.nodes import AggregateCall, Expression, columns_of, walk
from headgate.model.expression.print import to_text
from headgate.model.privilege import ASSIST, READ
from headgate.model.schema import StreamCatalog
from headgate.model.subject import User
from headgate.policy.bind import Environment
from headgate.policy.model import AssistDenied, PolicySet

UseKey = tuple[str, str, str]
"""Source, column, privilege."""


class Outcome(StrEnum):
    """The three verdicts."""

    GRANTED = "granted"
    PARTIAL = "partial"
    DENIED = "denied"


@dataclass(frozen=True)
class Verdict:
    """The outcome, why, and the blocks as they are to run: without the predicates that had to be removed."""

    outcome: Outcome
    blocks: tuple[Project, ...]
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def denied(self) -> bool:
        return self.outcome is Outcome.DENIED


def decide(
    query: Query,
    user: User,
    policies: PolicySet | None,
    catalog: StreamCatalog,
    environment: Environment | None = None,
) -> Verdict:
    """The verdict on a query for one subscriber."""
    return decide_with(Decider(policies, catalog), query, user, environment)


def decide_with(decider: Decider, query: Query, user: User, environment: Environment | None = None) -> Verdict:
    """The verdict by a decider that is kept for many queries."""
    if decider.policies is None:
        return Verdict(Outcome.GRANTED, query.blocks)
    judged = [_judge(block_of(block), decider, user, environment or {}) for block in query.blocks]
    outcomes = {one.outcome for one in judged}
    outcome = (
        Outcome.DENIED
        if Outcome.DENIED in outcomes
        else Outcome.PARTIAL
        if Outcome.PARTIAL in outcomes
        else Outcome.GRANTED
    )
    return Verdict(
        outcome,
        tuple(block for one in judged for block in one.blocks),
        tuple(dict.fromkeys(reason for one in judged for reason in one.reasons)),
        tuple(dict.fromkeys(warning for one in judged for warning in one.warnings)),
    )


def _judge(block: Block, decider: Decider, user: User, environment: Environment) -> Verdict:
    first = _Judge(block, decider, user, environment)
    refused = list(first.refused_assists())
    warnings: list[str] = []
    if refused:
        assert decider.policies is not None
        if decider.policies.defaults.on_assist_denied is AssistDenied.REFUSE:
            return Verdict(Outcome.DENIED, (), tuple(first.why_refused(use) for use in refused))
        block, warnings = _without(block, {(use[0], use[1]) for use in refused})
    judge = _Judge(block, decider, user, environment) if refused else first
    denial = judge.denial()
    if denial:
        return Verdict(Outcome.DENIED, (), (denial,), tuple(warnings))
    withheld = tuple(judge.withheld())
    if judge.empty():
        warnings.append("EMPTY: no tuple can satisfy both the query and the policies")
    outcome = Outcome.PARTIAL if withheld or refused else Outcome.GRANTED
    return Verdict(outcome, (block.operator(),), withheld, tuple(warnings))


def _without(block: Block, columns: set[tuple[str, str]]) -> tuple[Block, list[str]]:
    """The block without the predicates that use these columns, as in GuardSpark++, and a warning for each."""
    removed = [one for one in block.where if _names(one, columns)]
    kept = tuple(one for one in block.where if not _names(one, columns))
    warnings = [f"the predicate `{to_text(one)}` was removed: its use is not allowed" for one in removed]
    for key in block.keys:
        if _names(key, columns):
            warnings.append(f"the key `{to_text(key)}` is not allowed: it counts as NULL")
    return replace(block, where=kept), warnings


def _names(expression: Expression, columns: set[tuple[str, str]]) -> bool:
    return any((column.source, column.name) in columns for column in columns_of(expression))


class _Judge:
    """Looks at one block with the guards of one subscriber."""

    def __init__(self, block: Block, decider: Decider, user: User, environment: Environment) -> None:
        self.block = block
        self._decisions = {
            source.alias: decider.decide(self._request(source, user, environment)) for source in block.sources
        }

    def _request(self, source: Source, user: User, environment: Environment) -> Request:
        named = [(use.column, use.privilege) for use in uses_of(self.block) if use.source == source.alias]
        counted = [(column, privilege) for column in source.stream.names for privilege in (*self._presence, READ)]
        return Request(
            user,
            source.alias,
            tuple(dict.fromkeys([*named, *counted])),
            {one.alias: one.stream.name for one in self.block.sources},
            self.block.window.extents if self.block.window else None,
            environment,
        )

    @cached_property
    def _presence(self) -> tuple[str, ...]:
        """How a stream is used of which no column is named: it assists, and it is counted."""
        counted = [one.function for one in self.block.calls if one.argument is None or not columns_of(one.argument)]
        return tuple(dict.fromkeys([ASSIST, *counted]))

    def _guard(self, use: UseKey) -> Guard:
        return self._decisions[use[0]].guards.get((use[1], use[2]), Guard())

    @cached_property
    def _uses(self) -> tuple[UseKey, ...]:
        return tuple((use.source, use.column, use.privilege) for use in uses_of(self.block))

    @cached_property
    def _never_cache(self) -> dict[UseKey, bool]:
        return {}

    def never(self, use: UseKey) -> bool:
        """Whether no tuple can ever be covered for the use."""
        if use not in self._never_cache:
            self._never_cache[use] = _never(self._guard(use))
        return self._never_cache[use]

    def always(self, use: UseKey) -> bool:
        """Whether every tuple that satisfies the query is covered for the use."""
        guard = self._guard(use)
        if guard.unconditional:
            return True
        allows = [one for one in guard.allows if one.need <= 1]
        if guard.impossible or not allows:
            return False
        if all(one.condition is not None for one in allows):
            conditions = [one.condition for one in allows if one.condition is not None]
            if can_hold(self.block.where, conditions).answer is not Answer.NO:
                return False
        return all(
            can_hold([*self.block.where, one.condition]).answer is Answer.NO
            for one in guard.denies
            if one.condition is not None
        )

    def refused_assists(self) -> Iterator[UseKey]:
        """The uses in predicates and keys that can never be covered."""
        for use in self._uses:
            if use[2] == ASSIST and self.never(use):
                yield use

    def why_refused(self, use: UseKey) -> str:
        """Why a use in a predicate or key is refused."""
        source, column, _ = use
        denials = ", ".join(f"`{one.policy}`" for one in self._guard(use).denies)
        why = f"denied by {denials}" if denials else "no policy allows it"
        return f"`{source}.{column}` may not be used in a predicate or key: {why}"

    def denial(self) -> str | None:
        """Why nothing can ever come out, if that is so."""
        for source in self.block.sources:
            uses = [use for use in self._uses if use[0] == source.alias] or list(self._counted(source))
            if all(self.never(use) for use in uses):
                return f"no use of `{source.stream.name}` is allowed" + self._denied_by(uses)
        if not any(self._coverable(output) for output in self.block.outputs):
            return "no output column is allowed" + self._denied_by(self._uses)
        return None

    def _denied_by(self, uses: Iterable[UseKey]) -> str:
        names = dict.fromkeys(f"`{one.policy}`" for use in uses for one in self._guard(use).denies)
        return f": denied by {', '.join(names)}" if names else ""

    def _counted(self, source: Source) -> Iterator[UseKey]:
        for column in source.stream.names:
            for privilege in self._presence:
                yield (source.alias, column, privilege)

    def _coverable(self, output: Output) -> bool:
        shown = [(one.source, one.name, READ) for one in columns_outside_calls(output.expression)]
        if any(self.never(use) for use in shown):
            return False
        calls = [node for node in walk(output.expression) if isinstance(node, AggregateCall)]
        if not shown and not calls:
            # A constant shows that there was a tuple: that is for those who may read something of it.
            return any(
                not self.never((one.alias, name, READ)) for one in self.block.sources for name in one.stream.names
            )
        return all(self._call_coverable(call) for call in calls)

    def _call_coverable(self, call: AggregateCall) -> bool:
        columns = columns_of(call.argument) if call.argument is not None else ()
        if columns:
            return not any(self.never((one.source, one.name, call.function)) for one in columns)
        return any(
            not self.never((source.alias, column, call.function))
            for source in self.block.sources
            for column in source.stream.names
        )

    def withheld(self) -> Iterator[str]:
        """What may be taken away, use by use."""
        for use in self._uses:
            if not self.always(use):
                yield self._withheld_text(use)
        for source in self.block.sources:
            named = any(use[0] == source.alias for use in self._uses)
            if not named and not any(self.always(use) for use in self._counted(source)):
                yield f"tuples of `{source.stream.name}` may be withheld"
        for call in self.block.calls:
            if not (columns_of(call.argument) if call.argument is not None else ()) and not self._always_counted(call):
                yield f"{to_text(call)} may leave out tuples that are not covered"

    def _always_counted(self, call: AggregateCall) -> bool:
        return any(
            self.always((source.alias, column, call.function))
            for source in self.block.sources
            for column in source.stream.names
        )

    def _withheld_text(self, use: UseKey) -> str:
        source, column, privilege = use
        guard = self._guard(use)
        if self.never(use):
            by = ", ".join(f"`{one.policy}`" for one in guard.denies)
            return f"{privilege} of `{source}.{column}` is withheld" + (f" by {by}" if by else ": no policy allows it")
        parts = [_clause("allows it", one) for one in guard.allows] + [
            _clause("denies it", one) for one in guard.denies
        ]
        return f"{privilege} of `{source}.{column}` is withheld in part: {'; '.join(parts)}"

    def empty(self) -> bool:
        """Whether, for some source, no tuple can satisfy the query and be covered for any use."""
        return any(
            all(self._unreachable(use) for use in self._uses if use[0] == source.alias)
            for source in self.block.sources
            if any(use[0] == source.alias for use in self._uses)
        )

    def _unreachable(self, use: UseKey) -> bool:
        guard = self._guard(use)
        if guard.owned:
            return False
        return bool(guard.allows) and all(
            can_hold([*self.block.where, *([one.condition] if one.condition is not None else [])]).answer is Answer.NO
            for one in guard.allows
        )


def _never(guard: Guard) -> bool:
    if guard.owned or guard.impossible:
        return guard.impossible
    denials = [one.condition for one in guard.denies if one.condition is not None]
    return all(_cannot_hold(one.condition, denials) for one in guard.allows)


def _cannot_hold(condition: Expression | None, denials: list[Expression]) -> bool:
    if condition is None and not denials:
        return False
    return can_hold([] if condition is None else [condition], denials).answer is Answer.NO


def _clause(verb: str, clause: Clause) -> str:
    where = f" where {to_text(clause.condition)}" if clause.condition is not None else ""
    group = f" in groups of at least {clause.need}" if clause.need > 1 else ""
    return f"`{clause.policy}` {verb}{where}{group}"


def decisions_of(query: Query, decider: Decider, user: User) -> Mapping[str, Decision]:
    """The decision behind the verdict, by source: what `headgate explain` shows."""
    judge = [_Judge(block_of(block), decider, user, {}) for block in query.blocks]
    return {alias: decision for one in judge for alias, decision in one._decisions.items()}
