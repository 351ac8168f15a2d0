"""The smallest grants that would turn a refusal or a partial answer into a full one.

For each use that is not always covered, a grant of exactly that privilege on exactly that column, no wider than the
query itself: under the query's own conditions, on the join where streams are joined, and with the query's own window.
Whether it does turn the answer is tried, never assumed; where denies stand in the way, no grant helps, and they are
named instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from headgate.algebra.block import Block, block_of
from headgate.algebra.operators import Source
from headgate.algebra.query import Query
from headgate.algebra.uses import Use, columns_outside_calls
from headgate.decision.decide import Decider
from headgate.decision.solver import Answer
from headgate.model.expression.nodes import AggregateCall, Expression, columns_of, walk
from headgate.model.expression.transform import conjunction, rename_sources
from headgate.model.privilege import ASSIST, READ
from headgate.model.subject import User
from headgate.policy.model import Policy, PolicySet, Subject, WindowCondition
from headgate.policy.statement_print import print_content
from headgate.rewrite.access import Access
from headgate.rewrite.judge import Judge
from headgate.rewrite.verdict import Outcome, decide_with


@dataclass(frozen=True)
class LeastGrant:
    """The grants that would do, as policies and as statements; `denied_by` are policies that no grant gets around."""

    policies: tuple[Policy, ...] = ()
    denied_by: tuple[str, ...] = ()

    @property
    def statements(self) -> tuple[str, ...]:
        return tuple(statement for policy in self.policies for statement in print_content(policy))

    @property
    def lines(self) -> tuple[str, ...]:
        """What would have to change, for a person."""
        return (*self.statements, *(f"and without what `{name}` denies" for name in self.denied_by))


def least_grant(decider: Decider, query: Query, user: User) -> LeastGrant | None:
    """What is missing for a full answer; None where nothing is, or where nothing that could be granted would do."""
    if decider.policies is None or decide_with(decider, query, user).outcome is Outcome.GRANTED:
        return None
    denied_by = tuple(dict.fromkeys(name for judge in _judges(decider, query, user) for name in _denials(judge)))
    # What is missing beside the denies is asked as if they were lifted: no grant gets around them.
    lifted = Decider(changed_policies(decider.policies, denied_by), decider.catalog)
    for narrow in (True, False):
        grants = _merged(grant for judge in _judges(lifted, query, user) for grant in _grants(judge, user, narrow))
        if _granted(decider, denied_by, grants, query, user):
            # A grant for one alias of a stream may give what another alias lacks.
            enough = partial(_granted, decider, denied_by, query=query, user=user)
            return LeastGrant(smallest(grants, enough), denied_by)
    return LeastGrant((), denied_by) if denied_by else None


Thing = TypeVar("Thing")


def smallest(things: tuple[Thing, ...], enough: Callable[[tuple[Thing, ...]], bool]) -> tuple[Thing, ...]:
    """Of things that are enough together, so few that none can be left out."""
    for one in things:
        fewer = tuple(other for other in things if other is not one)
        things = fewer if enough(fewer) else things
    return things


def _granted(
    decider: Decider, denied_by: tuple[str, ...], grants: tuple[Policy, ...], query: Query, user: User
) -> bool:
    assert decider.policies is not None
    wider = Decider(changed_policies(decider.policies, denied_by, grants), decider.catalog)
    return decide_with(wider, query, user).outcome is Outcome.GRANTED


def _judges(decider: Decider, query: Query, user: User) -> list[Judge]:
    return [Judge(Access(block_of(block), decider, user)) for block in query.blocks]


def _denials(judge: Judge) -> Iterator[str]:
    """The policies whose denies take something away from what the query asks for."""
    where = judge.block.where
    for use in _needed(judge):
        for clause in judge.access.guard(use).denies:
            condition = [clause.condition] if clause.condition is not None else []
            if judge.reasoning.possible([*where, *condition]).answer is not Answer.NO:
                yield clause.policy


def changed_policies(policies: PolicySet, names: tuple[str, ...], grants: tuple[Policy, ...] = ()) -> PolicySet:
    """The policies as they would be: the grants given, and the denies that no grant gets around lifted."""
    kept = tuple(replace(one, deny=()) if one.id in names else one for one in policies.policies)
    return replace(policies, policies=(*kept, *grants))


def _needed(judge: Judge) -> Iterator[Use]:
    """The uses that must be covered for a full answer and are not always."""
    for use in judge.access.uses:
        if judge.covered(use).always is not Answer.YES:
            yield use
    for source in judge.block.sources:
        time = source.stream.time
        if not judge.access.named(source) and not _any_covered(judge, source, judge.access.presence):
            yield Use(source.alias, time, ASSIST)
    counted = dict.fromkeys(call.function for call in judge.block.calls if not _columns(call))
    first = judge.block.sources[0]
    for function in counted:
        if not any(_any_covered(judge, source, (function,)) for source in judge.block.sources):
            yield Use(first.alias, first.stream.time, function)
    constant = [
        one for one in judge.block.outputs if not columns_outside_calls(one.expression) and not _calls(one.expression)
    ]
    if len(constant) == len(judge.block.outputs) and not any(
        _any_covered(judge, source, (READ,)) for source in judge.block.sources
    ):
        yield Use(first.alias, first.stream.time, READ)


def _any_covered(judge: Judge, source: Source, privileges: tuple[str, ...]) -> bool:
    return any(
        judge.covered(Use(source.alias, column, privilege)).always is Answer.YES
        for column in source.stream.names
        for privilege in privileges
    )


def _columns(call: AggregateCall) -> tuple[object, ...]:
    return columns_of(call.argument) if call.argument is not None else ()


def _calls(expression: Expression) -> list[AggregateCall]:
    return [node for node in walk(expression) if isinstance(node, AggregateCall)]


def _grants(judge: Judge, user: User, narrow: bool) -> Iterator[Policy]:
    """Grants on each stream by itself or, where streams are joined and a narrow grant is wanted, on their join."""
    sources = judge.block.sources
    needed = list(dict.fromkeys(_needed(judge)))
    if narrow and judge.block.joins and len({one.stream.name for one in sources}) == len(sources):
        yield from _alike(judge.block, sources, needed, user, conjunction(judge.block.where))
        return
    for source in sources:
        own = [use for use in needed if use.source == source.alias]
        yield from _alike(judge.block, (source,), own, user, _own_condition(judge.block, source) if narrow else None)


def _alike(
    block: Block, sources: Sequence[Source], needed: Sequence[Use], user: User, condition: Expression | None
) -> Iterator[Policy]:
    """One grant for each set of privileges that some columns lack."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for use in needed:
        lacking.setdefault((use.source, use.column), []).append(use.privilege)
    alike: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for cell, privileges in lacking.items():
        # `read` gives all the rest.
        alike.setdefault((READ,) if READ in privileges else tuple(privileges), []).append(cell)
    streams = {one.alias: one.stream.name for one in sources}
    where = None if condition is None else rename_sources(condition, streams)
    for wanted, cells in alike.items():
        named = [(streams[alias], column) for alias, column in cells]
        computed = block.window is not None and all(one not in (READ, ASSIST) for one in wanted)
        yield Policy(
            "least",
            (Subject(user=user.id),),
            tuple(streams.values()),
            frozenset(named),
            tuple(f"{stream}.{column}" if len(streams) > 1 else column for stream, column in named),
            where=where,
            allow=wanted,
            window=WindowCondition(*block.window.extents) if computed and block.window else WindowCondition(),
        )


def _own_condition(block: Block, source: Source) -> Expression | None:
    """What the query asks of this source alone: a grant need not reach any further."""
    return conjunction(one for one in block.where if {column.source for column in columns_of(one)} == {source.alias})


def _merged(grants: Iterator[Policy]) -> tuple[Policy, ...]:
    """Each grant once: the blocks of a union may lack the same."""
    found: dict[object, Policy] = {}
    for one in grants:
        found.setdefault((one.streams, one.attributes, one.allow, one.where, one.window), one)
    return tuple(replace(one, id=f"least-{number}") for number, one in enumerate(found.values()))
