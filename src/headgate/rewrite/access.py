"""What one subscriber may do with the sources of one block: the decisions that verdict and rewriting both stand on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from headgate.algebra.block import Block
from headgate.algebra.operators import Source
from headgate.algebra.uses import Use, uses_of
from headgate.decision.decide import Decider, Decision, Request
from headgate.decision.guard import Guard
from headgate.model.expression.nodes import columns_of
from headgate.model.privilege import ASSIST, READ
from headgate.model.subject import User
from headgate.policy.bind import Environment
from headgate.policy.model import NULL_MASK, Mask

NOTHING = Guard()


class Access:
    """The decisions on all sources of a block, for every use it makes of them."""

    def __init__(self, block: Block, decider: Decider, user: User, environment: Environment | None = None) -> None:
        self.block = block
        self.decisions: Mapping[str, Decision] = {
            source.alias: decider.decide(self._request(source, user, environment or {})) for source in block.sources
        }

    def _request(self, source: Source, user: User, environment: Environment) -> Request:
        named = [(use.column, use.privilege) for use in self.uses if use.source == source.alias]
        counted = [(column, privilege) for column in source.stream.names for privilege in (*self.presence, READ)]
        return Request(
            user,
            source.alias,
            tuple(dict.fromkeys([*named, *counted])),
            {one.alias: one.stream.name for one in self.block.sources},
            self.block.window.extents if self.block.window else None,
            environment,
        )

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """Every use the block makes of a column it names."""
        return uses_of(self.block)

    @cached_property
    def presence(self) -> tuple[str, ...]:
        """How a stream is used of which no column is named: it assists, and it is counted."""
        counted = [one.function for one in self.block.calls if one.argument is None or not columns_of(one.argument)]
        return tuple(dict.fromkeys([ASSIST, *counted]))

    def named(self, source: Source) -> tuple[Use, ...]:
        """The uses of one source that are named."""
        return tuple(use for use in self.uses if use.source == source.alias)

    def counted(self, source: Source) -> Iterator[Use]:
        """The uses of a source by its presence alone."""
        for column in source.stream.names:
            for privilege in self.presence:
                yield Use(source.alias, column, privilege)

    def guard(self, use: Use) -> Guard:
        """The guard on a use; what was not decided is not covered."""
        return self.decisions[use.source].guards.get((use.column, use.privilege), NOTHING)

    def mask(self, source: str, column: str) -> tuple[Mask, str | None]:
        """What stands in place of the column where it is not covered, and the policy that says so."""
        decision = self.decisions[source]
        return decision.masks.get(column, NULL_MASK), decision.lenders.get(column)
