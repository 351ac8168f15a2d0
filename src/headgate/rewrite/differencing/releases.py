"""Which windows of a query must be watched: those of values that their holder may not see tuple by tuple.

Whoever may read a value learns nothing from its sums. A handle is watched where a policy sets a minimum: a smallest
window, or a smallest group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from headgate.algebra.block import Block, block_of
from headgate.algebra.operators import Project
from headgate.algebra.uses import Use
from headgate.decision.guard import Clause
from headgate.model.expression.nodes import AggregateCall, Expression, columns_of
from headgate.model.expression.transform import rename_sources
from headgate.model.privilege import READ
from headgate.policy.model import Policy, PolicySet
from headgate.rewrite.access import Access
from headgate.rewrite.differencing.release import Minimum, Release
from headgate.rewrite.obligation.graph import AuthorisedGraph, WindowsRule


def release_of_merged(handle: str, user: str, graph: AuthorisedGraph, plan: Project, offset: int = 0) -> Release | None:
    """What a query merged with obligations releases; None where the policy authorises single tuples anyway."""
    block = _by_stream(block_of(plan))
    if graph.window is None or block.window is None:
        return None
    step = graph.window.step
    return Release(
        handle,
        user,
        graph.stream.name,
        block.window,
        block.calls,
        block.where,
        block.keys,
        Minimum(max(graph.minimum or 2, 2), 0 if step.rows else step.amount),
        graph.policy,
        graph.windows is WindowsRule.SINGLE,
        offset,
    )


def releases_of_block(handle: str, user: str, access: Access, policies: PolicySet) -> Iterator[Release]:
    """What a block under grants releases, stream by stream; nothing where no policy sets a minimum."""
    block = access.block
    if block.window is None:
        return
    named = _by_stream(block)
    for source in block.sources:
        watched = {call: tuple(_limits(call, source.alias, access, policies)) for call in block.calls}
        calls = tuple(call for call, own in zip(named.calls, block.calls, strict=True) if watched[own])
        limits = [policy for found in watched.values() for policy in found]
        if calls:
            yield Release(
                handle,
                user,
                source.stream.name,
                block.window,
                calls,
                named.where,
                named.keys,
                _minimum(limits),
                ", ".join(dict.fromkeys(policy.id for policy in limits)),
            )


def _by_stream(block: Block) -> Block:
    """The block in the stream's own words, so that an alias makes no difference between handles."""
    if block.joins:
        return block
    names = {block.sources[0].alias: block.sources[0].stream.name}

    def renamed(expressions: Iterable[Expression]) -> tuple[Expression, ...]:
        return tuple(rename_sources(one, names) for one in expressions)

    calls = tuple(one for one in renamed(block.calls) if isinstance(one, AggregateCall))
    return replace(block, where=renamed(block.where), keys=renamed(block.keys), calls=calls)


def _limits(call: AggregateCall, alias: str, access: Access, policies: PolicySet) -> Iterator[Policy]:
    """The policies with a minimum that let a function look at cells which may not be read everywhere."""
    for use in _uses(call, alias, access.block):
        if access.guard(Use(use.source, use.column, READ)).unconditional:
            continue
        for policy in _policies(access.guard(use).allows, policies):
            if (policy.min_group or 1) > 1 or policy.window.min_size or policy.window.min_step:
                yield policy


def _uses(call: AggregateCall, alias: str, block: Block) -> list[Use]:
    columns = columns_of(call.argument) if call.argument is not None else ()
    named = [Use(one.source, one.name, call.function) for one in columns]
    if not named:
        named = [Use(one.alias, name, call.function) for one in block.sources for name in one.stream.names]
    return [use for use in named if use.source == alias]


def _policies(clauses: Iterable[Clause], policies: PolicySet) -> Iterator[Policy]:
    for identifier in dict.fromkeys(clause.policy for clause in clauses):
        policy = policies.policy(identifier)
        if policy is not None:
            yield policy


def _minimum(policies: Iterable[Policy]) -> Minimum:
    """The strictest of their minima: for tuples the group size, for time the smallest step, else the smallest size."""
    limits = list(policies)
    tuples = max((policy.min_group or 2 for policy in limits), default=2)
    extents = [policy.window.min_step or policy.window.min_size for policy in limits]
    span = max((one.amount for one in extents if one is not None and not one.rows), default=0)
    return Minimum(max(tuples, 2), span)
