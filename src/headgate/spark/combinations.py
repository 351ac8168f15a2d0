"""Finding combinations: Spark joins what *may* be a result, the kernels judge it afterwards.

What is matched here is what the log holds: equal keys (a cell that nobody may see is NULL and equals nothing), times
close enough, and a class that may use every tuple. Each combination is found once: with the new tuples of one source,
the old ones of those before it and all of those after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headgate.algebra.window import RangeWindow
from headgate.columnar.frame import WORD_BITS
from headgate.columnar.plan import FrameKey, Plan
from headgate.columnar.progress import Span
from headgate.model.expression.nodes import columns_of
from headgate.model.instant import END_OF_TIME, Instant
from headgate.spark.layout import words

SMALL = 200_000
"""New tuples up to this many are sent to where the held ones are."""

Read = Callable[[str, Instant, frozenset[str]], DataFrame]
"""The tuples of a stream in the log, from some time on: these columns of them."""


@dataclass(frozen=True)
class Held:
    """One frame's view of the log in one epoch."""

    plan: Plan
    key: FrameKey
    span: Span
    epoch: int
    bits: frozenset[int]
    """The classes that run."""
    fresh: Mapping[str, int]
    """How many tuples of each stream were kept in this epoch."""

    def new_combinations(self, read: Read, since: Sequence[Instant]) -> DataFrame | None:
        """Combinations with at least one tuple that is new to the frame."""
        sides = [self._side(read, place, since[place]) for place in range(len(self.key.streams))]
        branches = []
        for place in range(len(sides)):
            if self._may_be_new(place):
                chosen = [self._rows(side, number, place) for number, side in enumerate(sides)]
                branches.append(self._joined(chosen, place))
        if not branches:
            return None
        return reduce(DataFrame.unionAll, branches)

    def all_combinations(self, read: Read, since: Sequence[Instant]) -> DataFrame:
        """All combinations of released tuples, for the windows they fall into."""
        sides = [self._side(read, place, since[place]) for place in range(len(self.key.streams))]
        return self._joined([side.where(self._released(number)) for number, side in enumerate(sides)], None)

    def _side(self, read: Read, place: int, since: Instant) -> DataFrame:
        stream = self.key.streams[place]
        rows = read(stream, since, self.columns(place))
        usable = [F.col(f"u{number}").bitwiseAND(F.lit(mask)) != 0 for number, mask in self._masks()]
        rows = rows.where(reduce(Column.__or__, usable))
        return rows.select(*[F.col(name).alias(f"s{place}_{name}") for name in rows.columns])

    def columns(self, place: int) -> frozenset[str]:
        """Which columns of a source the frame looks at."""
        plan = self.plan.streams[self.key.streams[place]]
        alias = f"s{place}"
        named = {"t", "e", "h"} | {f"u{number}" for number in range(words(self.plan.width))}
        if plan.facts:
            named |= {"k", *(f"f{number}" for number in range(words(len(plan.facts))))}
        named |= {f"r{plan.schema.position(name)}" for name in plan.sealed}
        named |= {f"d{number}" for number in range(len(plan.derived))}
        for entry in self.plan.frames[self.key]:
            block = entry.plan.block
            if block.window is not None:
                # The order of tuples, which some functions need, looks at every column.
                return frozenset(named | {"id"} | {f"c{number}" for number in range(len(plan.schema.columns))})
            for expression in (*block.where, *(output.expression for output in block.outputs)):
                named |= {f"c{plan.schema.position(one.name)}" for one in columns_of(expression) if one.source == alias}
        named |= {f"c{plan.schema.position(name)}" for name in self._matched(alias)}
        return frozenset(named)

    def _matched(self, alias: str) -> set[str]:
        return {name for pair in self.key.matches for one, name in pair if one == alias}

    def _masks(self) -> list[tuple[int, int]]:
        masks: dict[int, int] = {}
        for bit in self.bits:
            masks[bit // WORD_BITS] = masks.get(bit // WORD_BITS, 0) | 1 << (bit % WORD_BITS)
        return sorted(masks.items())

    def _released(self, place: int) -> Column:
        if self.span.released == END_OF_TIME:
            return F.lit(True)
        return F.col(f"s{place}_t") <= self.span.released

    def _new(self, place: int) -> Column:
        arrived = F.col(f"s{place}_e") == self.epoch
        if self.span.before == END_OF_TIME:
            return self._released(place) & arrived
        return self._released(place) & (arrived | (F.col(f"s{place}_t") > self.span.before))

    def _may_be_new(self, place: int) -> bool:
        """Whether a source can have new tuples: those of this epoch, or some that had to wait."""
        waited = self.span.before != END_OF_TIME and self.span.released > self.span.before
        return bool(self.fresh.get(self.key.streams[place])) or waited

    def _rows(self, side: DataFrame, number: int, new: int) -> DataFrame:
        if number == new:
            rows = side.where(self._new(number))
            small = self.fresh.get(self.key.streams[number], 0) <= SMALL
            return F.broadcast(rows) if small and len(self.key.streams) > 1 else rows
        if number < new:
            return side.where(self._released(number) & ~self._new(number))
        return side.where(self._released(number))

    def _joined(self, sides: Sequence[DataFrame], first: int | None) -> DataFrame:
        """The sources joined one after the other, those that are matched with what is there already first."""
        order = self._order(0 if first is None else first)
        whole = sides[order[0]]
        for count in range(1, len(order)):
            place = order[count]
            conditions = [self._near(place, other) for other in order[:count]]
            conditions += self._equal(place, order[:count])
            whole = whole.join(sides[place], reduce(Column.__and__, conditions), "inner")
        if len(order) > 1:
            whole = whole.where(self._shared(order))
        # Branches begin with different sources; what they give is named alike, in one order.
        return whole.select(*sorted(whole.columns))

    def _order(self, first: int) -> list[int]:
        left = [place for place in range(len(self.key.streams)) if place != first]
        order = [first]
        while left:
            connected = [place for place in left if self._pairs(place, order)]
            chosen = (connected or left)[0]
            left.remove(chosen)
            order.append(chosen)
        return order

    def _pairs(self, place: int, others: Sequence[int]) -> list[tuple[str, str, int]]:
        """The columns by which a source is matched with one of the others."""
        found = []
        for (left, left_name), (right, right_name) in self.key.matches:
            for other in others:
                if (left, right) == (f"s{place}", f"s{other}"):
                    found.append((left_name, right_name, other))
                elif (right, left) == (f"s{place}", f"s{other}"):
                    found.append((right_name, left_name, other))
        return found

    def _equal(self, place: int, others: Sequence[int]) -> list[Column]:
        conditions = []
        for own, other_name, other in self._pairs(place, others):
            conditions.append(self._cell(place, own) == self._cell(other, other_name))
        return conditions

    def _cell(self, place: int, name: str) -> Column:
        schema = self.plan.streams[self.key.streams[place]].schema
        return F.col(f"s{place}_c{schema.position(name)}")

    def _near(self, place: int, other: int) -> Column:
        """Neither is older than its range when the other comes."""
        own, theirs = F.col(f"s{place}_t"), F.col(f"s{other}_t")
        sizes = self.key.ranges
        return (theirs - own <= sizes[place]) & (own - theirs <= sizes[other])

    def _shared(self, order: Sequence[int]) -> Column:
        """Whether there is a class that may use all of the tuples."""
        found = []
        for number, mask in self._masks():
            common = F.lit(mask)
            for place in order:
                common = common.bitwiseAND(F.col(f"s{place}_u{number}"))
            found.append(common != 0)
        return reduce(Column.__or__, found)


def result_time(key: FrameKey) -> Column:
    """The time of a combination."""
    times = [F.col(f"s{place}_t") for place in range(len(key.streams))]
    return times[0] if len(times) == 1 else F.greatest(*times)


def ends_of(time: Column, window: RangeWindow, span: Span) -> Column:
    """The ends, in order, of the windows that a time falls into and that close now; NULL for none."""
    size, slide = window.size, window.slide
    last = time - F.pmod(time, F.lit(slide)) + size
    earlier = time - F.lit(size)
    first = earlier - F.pmod(earlier, F.lit(slide)) + slide + size
    low = F.greatest(first, F.lit(_aligned(span.closed, window) + slide)) if span.closed > -END_OF_TIME else first
    high = last if span.closing >= END_OF_TIME else F.least(last, F.lit(_aligned(span.closing, window)))
    return F.when(low <= high, F.sequence(low, high, F.lit(slide)))


def _aligned(time: Instant, window: RangeWindow) -> Instant:
    """The last end of a window up to a time."""
    return (time - window.size) // window.slide * window.slide + window.size
