"""The operators that rewriting puts into a query, after ACStream's: what a subscriber may see, as part of the plan.

    SecureRead(Source)          which cells of the stream may be shown or assist, by the policies on that stream alone
    SecureJoin(Join)            which cells of a combination joint views cover, for whatever use
    SecureAggregate(Aggregate)  which cells each function may be computed from, and in groups of how many tuples
    Masked(...)                 below the projection: what stands in place of an output that may not be shown

Each guard holds the views (`decision/guard.py`: clauses) that policies give, so every part of a guard names the policy
that asked for it. A guard looks at raw tuples, as policies do; what is not covered is NULL to every operator above. A
query with these in it needs no policies to run: `reference/guarded.py` gives them their meaning, `columnar/guards.py`
runs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from headgate.algebra.block import Block, unguarded_block_of
from headgate.algebra.operators import Aggregate, Join, Operator, Project, Secured, Source, Union
from headgate.algebra.query import Query
from headgate.algebra.uses import Use
from headgate.decision.guard import Clause, Guard
from headgate.errors import InputError
from headgate.policy.model import Mask

Guards = tuple[tuple[Use, Guard], ...]
"""A guard for each use; a use that is not there is not covered."""


@dataclass(frozen=True)
class SecureRead(Secured):
    """The view of one stream over which its cells may be shown or assist."""

    input: Operator
    guards: Guards

    def __post_init__(self) -> None:
        if not isinstance(self.input, Source):
            raise InputError("a secure read stands above something that is not a stream")
        _require_of(self.guards, (self.input,))


@dataclass(frozen=True)
class SecureJoin(Secured):
    """What joint views cover of the combinations of a join."""

    input: Operator
    guards: Guards

    def __post_init__(self) -> None:
        if not isinstance(self.input, Join):
            raise InputError("a secure join stands above something that is not a join")
        _require_of(self.guards, self.input.sources)


@dataclass(frozen=True)
class SecureAggregate(Secured):
    """The cells that each aggregate function is computed from, and how many tuples must stand behind it."""

    input: Operator
    guards: Guards

    def __post_init__(self) -> None:
        if not isinstance(self.input, Aggregate):
            raise InputError("a secure aggregate stands above something that is not an aggregate")
        _require_of(self.guards, self.input.sources)


@dataclass(frozen=True)
class ColumnMask:
    """What stands in place of a column that is not covered for `read`, unless a deny has a mask of its own."""

    source: str
    column: str
    mask: Mask
    policy: str | None


@dataclass(frozen=True)
class Masked(Secured):
    """What a projection shows in place of the columns that are withheld."""

    input: Operator
    masks: tuple[ColumnMask, ...]

    def __post_init__(self) -> None:
        known = {(source.alias, name) for source in self.input.sources for name in source.stream.names}
        for one in self.masks:
            if (one.source, one.column) not in known:
                raise InputError(f"a mask is for the unknown column `{one.source}.{one.column}`")


SECURE_OPERATORS = (SecureRead, SecureJoin, SecureAggregate, Masked)


def _require_of(guards: Guards, sources: Iterable[Operator]) -> None:
    known = {(one.alias, name) for one in sources if isinstance(one, Source) for name in one.stream.names}
    for use, _ in guards:
        if (use.source, use.column) not in known:
            raise InputError(f"a guard is for the unknown column `{use.source}.{use.column}`")


@dataclass(frozen=True)
class SecuredBlock:
    """A rewritten block taken apart: its clauses, and the guards on them."""

    block: Block
    guards: Mapping[Use, Guard]
    masks: Mapping[tuple[str, str], Mask]


def is_secured(operator: Operator) -> bool:
    """Whether rewriting has put guards into the query."""
    return any(isinstance(one, Secured) for one in operator.walk())


def shape_of(query: Query) -> Query:
    """The query without the guards that rewriting put in: for who looks at its shape, never for who runs it."""
    if not is_secured(query.plan):
        return query
    blocks = tuple(unguarded_block_of(block).operator() for block in query.blocks)
    return replace(query, plan=Union(blocks) if len(blocks) > 1 else blocks[0])


def secured_block_of(project: Project) -> SecuredBlock:
    """Take a rewritten block apart; a source without a guard is refused.

    What several operators say of one use adds up: it is covered iff a view of any of them allows it and none denies it.
    """
    unguarded = [source.alias for source in unguarded_sources(project)]
    if unguarded:
        raise InputError(f"the source `{unguarded[0]}` of a rewritten query has no guard")
    found: dict[Use, Guard] = {}
    masks: dict[tuple[str, str], Mask] = {}
    for operator in project.walk():
        if isinstance(operator, SecureRead | SecureJoin | SecureAggregate):
            for use, guard in operator.guards:
                found[use] = _both(found[use], guard) if use in found else guard
        elif isinstance(operator, Masked):
            masks.update({(one.source, one.column): one.mask for one in operator.masks})
    return SecuredBlock(unguarded_block_of(project), found, masks)


def _both(one: Guard, other: Guard) -> Guard:
    """The clauses of both, in the order of their policies' ids: the first deny that holds lends its mask."""
    return Guard(
        _ordered((*one.allows, *other.allows)), _ordered((*one.denies, *other.denies)), one.owned or other.owned
    )


def _ordered(clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
    return tuple(sorted(clauses, key=lambda clause: clause.policy))


def unguarded_sources(operator: Operator) -> Iterator[Source]:
    """The sources that are read without a guard right above them."""
    if isinstance(operator, SecureRead):
        return
    if isinstance(operator, Source):
        yield operator
    for below in operator.inputs:
        yield from unguarded_sources(below)
