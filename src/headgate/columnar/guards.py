"""What guards every use of a cell by a block: what policies say of it, or the secure operators in a rewritten one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headgate.algebra.block import Block
from headgate.algebra.secure import SecuredBlock
from headgate.decision.decide import Decider, Request
from headgate.decision.guard import Clause, Guard
from headgate.model.expression.transform import rename_sources
from headgate.model.privilege import ASSIST, READ
from headgate.model.subject import User
from headgate.policy.model import Mask

Cell = tuple[str, str]
"""A source, by alias, and a column."""

Use = tuple[str, str, str]
"""A source, a column and what is done with it."""

Guarded = tuple[dict[Use, Guard], dict[Cell, Mask]]


def _all_uses(block: Block) -> Iterator[Use]:
    """Whatever may be asked of a cell: also of those the query does not name, for the order and presence of tuples."""
    privileges = dict.fromkeys([READ, ASSIST, *(call.function for call in block.calls)])
    for source in block.sources:
        for column in source.stream.names:
            for privilege in privileges:
                yield source.alias, column, privilege


def as_decided(block: Block, user: User, decider: Decider) -> Guarded:
    """What policies say of every use."""
    guards: dict[Use, Guard] = {}
    masks: dict[Cell, Mask] = {}
    sources = {source.alias: source.stream.name for source in block.sources}
    window = block.window.extents if block.window else None
    for source in block.sources:
        uses = tuple((column, privilege) for alias, column, privilege in _all_uses(block) if alias == source.alias)
        decision = decider.decide(Request(user, source.alias, uses, sources, window))
        guards.update({(source.alias, *use): guard for use, guard in decision.guards.items()})
        masks.update({(source.alias, column): mask for column, mask in decision.masks.items()})
    return guards, masks


def as_rewritten(secured: SecuredBlock, block: Block, names: dict[str, str]) -> Guarded:
    """What the secure operators of a rewritten block say: no policy is asked, and what they leave out is not covered.

    `block` is the rewritten one with its sources under these names.
    """
    guards = dict.fromkeys(_all_uses(block), Guard())
    for use, guard in secured.guards.items():
        guards[names[use.source], use.column, use.privilege] = _renamed(guard, names)
    return guards, {(names[alias], column): mask for (alias, column), mask in secured.masks.items()}


def _renamed(guard: Guard, names: dict[str, str]) -> Guard:
    def clause(one: Clause) -> Clause:
        condition = rename_sources(one.condition, names) if one.condition is not None else None
        return replace(one, condition=condition, aliases=tuple(names[alias] for alias in one.aliases))

    return replace(guard, allows=tuple(map(clause, guard.allows)), denies=tuple(map(clause, guard.denies)))
