"""Section 4 on whole frames: which cells a class sees, for which use, and which tuples are dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from headgate.columnar.column import Column, Mask, Rows
from headgate.columnar.evaluate import Cells, evaluate, holds
from headgate.columnar.frame import Bits, Frame, Part
from headgate.columnar.plan import BlockPlan, Entry, GuardClause, Line, UseGuard
from headgate.decision.timeline.audience import Audience, Sight
from headgate.decision.timeline.version import Version
from headgate.model.datatype import DataType
from headgate.model.expression.nodes import ColumnRef, Expression, columns_of
from headgate.model.privilege import ASSIST
from headgate.model.schema import Column as Declared
from headgate.model.schema import StreamSchema

Needs = NDArray[np.int64] | int

OPEN_STREAM = StreamSchema("outputs", (Declared("ts", DataType.TIMESTAMP),))
"""A stream that no dsp speaks of: what is seen of it depends on the switches alone."""


class Sights:
    """What the punctuations let each class see of a frame, asked for once per source for all classes."""

    def __init__(self, frame: Frame, version: Version, entries: Sequence[Entry]) -> None:
        self._frame = frame
        self.version = version
        self._audiences: dict[Audience, int] = {}
        for entry in entries:
            self._audiences.setdefault(self._plain(entry.owner.audience), len(self._audiences))
        self._found: dict[str, dict[str, Sight]] = {}
        self._masks: dict[object, Mask | None] = {}
        self._always_on: dict[tuple[Audience, str], bool] = {}

    def _plain(self, audience: Audience) -> Audience:
        """Queries that no punctuation gives roles to are alike: what they see depends on the subscriber's roles."""
        if audience.subscribers is None and audience.query not in self.version.of_roles:
            return Audience("", audience.roles)
        return audience

    def of(self, audience: Audience, alias: str, column: str) -> Mask | None:
        """Where the class is reached by the cell: the punctuations let it through, and the query was on."""
        part = self._frame.parts[alias]
        number = self._audiences[self._plain(audience)]
        if not part.stream.governed and self._on_throughout(audience, alias):
            return None
        if alias not in self._found:
            now = None if self._frame.now_is_own else self._frame.now
            self._found[alias] = self.version.visible(
                part.stream, part.stream.names, tuple(self._audiences), part.tuples(), now
            )
        return self._mask(self._found[alias][column], number)

    def _on_throughout(self, audience: Audience, alias: str) -> bool:
        """Whether the query was on for all of a source's tuples, as far as that is known without looking at them."""
        key = (audience, alias)
        if key not in self._always_on:
            self._always_on[key] = audience.subscribers is None or self.version.on_throughout(
                audience.query, audience.subscribers, self._frame.parts[alias].within
            )
        return self._always_on[key]

    def switched_on(self, audience: Audience, alias: str) -> Mask | None:
        """Condition 2 alone."""
        if audience.subscribers is None:
            return None
        part = self._frame.parts[alias]
        return self.version.visible(OPEN_STREAM, ["ts"], (audience,), part.moments())["ts"].unless_all(0)

    def _mask(self, sight: Sight, number: int) -> Mask | None:
        # Classes that the same bitmaps let in get the same mask, and with it each other's results.
        pattern = tuple(bits >> number & 1 for bits in sight.bitmaps)
        key = (id(sight), pattern)
        if key not in self._masks:
            self._masks[key] = sight.unless_all(number)
        return self._masks[key]


class View:
    """What one class sees of one frame through one block. `partial` frames have some of the block's sources only."""

    def __init__(self, frame: Frame, entry: Entry, sights: Sights) -> None:
        self.frame = frame
        self.entry = entry
        self.plan: BlockPlan = entry.plan
        self._sights = sights
        self._covers: dict[tuple[str, str, str], tuple[Mask | None, Needs]] = {}

    def sights_over(self, frame: Frame) -> Sights:
        """What the punctuations let this class see of other rows."""
        return Sights(frame, self._sights.version, (self.entry,))

    def switched_on(self, alias: str) -> Mask | None:
        """Where the query was on when the tuple arrived."""
        return self._sights.switched_on(self.entry.owner.audience, alias)

    def reaches(self, alias: str, column: str) -> Mask | None:
        """Conditions 1 and 2; None is everywhere."""
        return self._sights.of(self.entry.owner.audience, alias, column)

    def cover(self, alias: str, column: str, privilege: str) -> tuple[Mask | None, Needs]:
        """Condition 3, and the least group size among the grants that cover the cell."""
        guard = self.plan.guards[alias, column, privilege]
        if guard.always:
            return None, 1
        key = (alias, column, privilege)
        if key not in self._covers:
            # Guards compare by value, so classes with equal rights share what is found.
            self._covers[key] = self.frame.remember(("cover", guard), lambda: self._covered(guard))
        return self._covers[key]

    def _covered(self, guard: UseGuard) -> tuple[Mask | None, Needs]:
        count = self.frame.count
        covered = np.zeros(count, bool)
        needs = np.full(count, np.iinfo(np.int64).max, np.int64)
        for clause in guard.allows:
            held = self._allowed(clause)
            if held is None:
                covered[:] = True
                needs = np.minimum(needs, clause.need)
            else:
                covered |= held
                needs = np.where(held, np.minimum(needs, clause.need), needs)
        for clause in guard.denies:
            withheld = self.denied(clause)
            if withheld is None:
                return np.zeros(count, bool), 1
            covered &= ~withheld
        return None if covered.all() else covered, needs

    def _allowed(self, clause: GuardClause) -> Mask | None:
        """Where an `allow` holds. For part of a combination, what a joint view will say is not known: perhaps."""
        if not all(alias in self.frame.parts for alias in clause.aliases):
            return None
        held: Mask | None = None
        for alias, number in clause.facts:
            true, unknown = self.frame.parts[alias].fact(number)
            true = true if unknown is None else true & ~unknown
            held = true if held is None else held & true
        return self._across(clause, held)

    def denied(self, clause: GuardClause) -> Mask | None:
        """Where a `deny` holds; what is not known of a tuple counts as withheld."""
        if not all(alias in self.frame.parts for alias in clause.aliases):
            return np.zeros(self.frame.count, bool)
        held: Mask | None = None
        for alias, number in clause.facts:
            true, unknown = self.frame.parts[alias].fact(number)
            true = true if unknown is None else true | unknown
            held = true if held is None else held & true
        return self._across(clause, held, self._not_kept(clause))

    def _not_kept(self, clause: GuardClause) -> Mask | None:
        """Where a column is gone that the condition compares: tuples that arrived before the policy did."""
        gone: Mask | None = None
        for alias, number in clause.kept:
            unknown = self.frame.parts[alias].fact(number)[1]
            if unknown is not None:
                gone = unknown if gone is None else gone | unknown
        return gone

    def _across(self, clause: GuardClause, held: Mask | None, perhaps: Mask | None = None) -> Mask | None:
        for condition in clause.across:
            true = self.frame.remember(("across", condition), lambda one=condition: self._raw_holds(one))  # type: ignore[misc]
            true = true if perhaps is None else true | perhaps
            held = true if held is None else held & true
        return held

    def _raw_holds(self, condition: Expression) -> Mask:
        return holds(condition, lambda column: self.frame.parts[column.source].raw[column.name], self.frame.count)

    def sees(self, alias: str, column: str, privilege: str) -> Mask | None:
        """All three conditions, for one use; None is everywhere."""
        return self.frame.both(self.reaches(alias, column), self.cover(alias, column, privilege)[0])

    def masks(self, expression: Expression, privilege: str) -> dict[ColumnRef, Mask | None]:
        """Where each column of an expression is seen, for one use."""
        return {column: self.sees(column.source, column.name, privilege) for column in columns_of(expression)}

    def cells(self, privilege: str, rows: Rows | None = None) -> Cells:
        """The columns as an expression sees them: NULL where they are not visible for this use."""

        def look_up(column: ColumnRef) -> Column:
            whole = self.frame.column(column)
            seen = self.sees(column.source, column.name, privilege)
            if rows is None:
                return whole.where(seen)
            return whole.take(rows).where(None if seen is None else seen[rows])

        return look_up

    def evaluate(self, expression: Expression, privilege: str, rows: Rows | None = None) -> Column:
        """An expression over what is seen for this use."""
        return evaluate(expression, self.cells(privilege, rows), self.frame.count if rows is None else len(rows))

    def keeps_tuple(self, alias: str) -> Mask | None:
        """Which tuples of a source are not dropped."""
        uses = self.plan.uses[alias]
        kept: Mask | None = None
        for column, privilege in uses:
            seen = self.sees(alias, column, privilege)
            if seen is None:
                return None
            kept = seen if kept is None else kept | seen
        return np.zeros(self.frame.count, bool) if kept is None else kept

    def passing(self) -> Mask | None:
        """Which combinations count: no tuple is dropped, and WHERE is true of what is seen."""
        mask: Mask | None = None
        for alias in self.frame.parts:
            mask = self.frame.both(mask, self.keeps_tuple(alias))
        for condition in self.plan.block.where:
            mask = self.frame.both(mask, self.frame.holds(condition, self.masks(condition, ASSIST)))
        return mask

    def usable(self) -> Mask | None:
        """Which combinations are of tuples that the class was let have when they arrived."""
        mask: Mask | None = None
        owner = self.entry.owner
        for alias, part in self.frame.parts.items():
            if part.usable is not None:
                own = self.frame.remember(("usable", alias, owner.bit), lambda part=part: _had(part.usable, owner.line))  # type: ignore[misc]
                mask = own if mask is None else mask & own
        return mask

    def as_seen(self, alias: str, column: str) -> Column:
        """A column as the operator sees it, by whichever use."""
        seen: Mask | None = np.zeros(self.frame.count, bool)
        for privilege in self.plan.seen_as[alias, column]:
            one = self.sees(alias, column, privilege)
            if one is None:
                seen = None
                break
            assert seen is not None
            seen = seen | one
        return self.frame.parts[alias].columns[column].where(seen)

    def part_for(self, alias: str, stream: str) -> Part | None:
        """Where a policy's mask finds a stream: this source, or else the first that reads it."""
        if self.frame.parts[alias].stream.name == stream:
            return self.frame.parts[alias]
        parts: Mapping[str, Part] = self.frame.parts
        return next((parts[one] for one in self.plan.order if one in parts and parts[one].stream.name == stream), None)


def _had(usable: Bits, line: Line) -> Mask:
    """The tuples that the class was let have, or those that all the classes its members came from had."""
    had = usable.bit(line.bit)
    if line.parents:
        had = had | np.logical_and.reduce([_had(usable, one) for one in line.parents])
    return had
