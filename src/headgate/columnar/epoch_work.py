"""All work of one epoch on held tuples within one task: every frame over the same tuples, read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headgate.algebra.window import RangeWindow, RowsWindow
from headgate.columnar.column import Mask, Rows
from headgate.columnar.frame import Frame, Part
from headgate.columnar.held import Counted, count_rows, groups_of_frame, rows_of_frame, window_ends
from headgate.columnar.pairing import Combinations, Side, TooManyError, all_combinations, new_combinations
from headgate.columnar.plan import Entry, FrameKey, Plan
from headgate.columnar.progress import Span
from headgate.columnar.result import Produced
from headgate.columnar.strategy import Strategy
from headgate.decision.timeline.version import Version

PIECE = 1 << 20
"""So many combinations are judged at a time. A join may have more; arrays that long are fetched from the system and
given back each time, which took longer than computing with them: up to a second, spent on looking for large pages."""

Place = tuple[int, int]
"""A class and the number of one of its blocks."""


@dataclass
class Tuples:
    """The held tuples of one stream, and the epoch in which each arrived."""

    part: Part
    epochs: NDArray[np.int64]


@dataclass
class HeldWork:
    """The frames to run in an epoch, and what came of them."""

    plan: Plan
    version: Version
    epoch: int
    spans: Mapping[FrameKey, Span]
    strategy: Strategy = Strategy.SWITCHES
    off: frozenset[int] = frozenset()
    limit: int = 20_000_000
    counted: dict[Place, Counted] = field(default_factory=dict)
    """Windows of rows: what each had, and then has."""
    exceeded: set[str] = field(default_factory=set)
    """Queries whose joins have too many combinations."""

    def run(self, held: Mapping[str, Tuples]) -> Iterator[Produced]:
        """The rows of all frames."""
        for key, span in self.spans.items():
            entries = self._running(key)
            if not entries:
                continue
            if isinstance(key.window, RowsWindow):
                yield from self._count(key, entries, span, held)
                continue
            if not all(stream in held for stream in key.streams):
                continue
            try:
                frames = self._frames(key, span, held, entries)
            except TooManyError:
                self.exceeded |= {entry.owner.query for entry in entries}
                continue
            work = rows_of_frame if key.window is None else groups_of_frame
            for frame in frames:
                yield from work(frame, entries, self.version, self.strategy)

    def _running(self, key: FrameKey) -> list[Entry]:
        # INVARIANT: a class that is off gets no new tuples, but what it holds may still give results in windows that
        # its subscribers had access to; only its joins, which need a new tuple, can be left out.
        skipped = self.off if key.window is None else frozenset[int]()
        return [entry for entry in self.plan.frames[key] if entry.owner.bit not in skipped]

    def _count(
        self, key: FrameKey, entries: Sequence[Entry], span: Span, held: Mapping[str, Tuples]
    ) -> Iterator[Produced]:
        tuples = held.get(key.streams[0])
        fresh = None if tuples is None else tuples.part.take(self._new(tuples, span))
        for entry in entries:
            place = (entry.owner.bit, entry.number)
            results, self.counted[place] = count_rows(
                entry, self.counted.get(place, Counted()), fresh, self.version, self.strategy
            )
            yield from results

    def _new(self, tuples: Tuples, span: Span) -> Mask:
        times = tuples.part.times
        new: Mask = (times <= span.released) & ((tuples.epochs == self.epoch) | (times > span.before))
        return new

    def _frames(
        self, key: FrameKey, span: Span, held: Mapping[str, Tuples], entries: Sequence[Entry]
    ) -> Iterator[Frame]:
        bits = {bit for entry in entries for bit in entry.owner.bits}
        sides = [self._side(held[stream], span, bits) for stream in key.streams]
        if key.window is None:
            return _joined(sides, new_combinations(key, sides, self.limit)) if len(sides) > 1 else _alone(sides[0])
        rows = all_combinations(key, sides, self.limit) if len(sides) > 1 else None
        frame = Frame({"s0": sides[0].part}) if rows is None else _combined(sides, rows)
        if isinstance(key.window, RangeWindow):
            chosen, ends = window_ends(frame.times, key.window, span.closed, span.closing)
            frame = Frame({alias: part.take(chosen) for alias, part in frame.parts.items()}, ends)
        return iter([frame])

    def _side(self, tuples: Tuples, span: Span, bits: set[int]) -> Side:
        """The tuples that have been released and that some class of the frame may use."""
        part = tuples.part
        assert part.usable is not None
        wanted = part.times <= span.released
        usable = np.zeros(len(part), bool)
        for bit in bits:
            usable |= part.usable.bit(bit)
        new = self._new(tuples, span)
        rows = np.flatnonzero(wanted & usable)
        return Side(part, new) if len(rows) == len(part) else Side(part.take(rows), new[rows])


def _alone(side: Side) -> Iterator[Frame]:
    yield Frame({"s0": side.part.take(np.flatnonzero(side.new))})


def _joined(sides: Sequence[Side], found: Iterable[Combinations]) -> Iterator[Frame]:
    for one in found:
        for rows in one.pieces(PIECE):
            yield _combined(sides, rows)


def _combined(sides: Sequence[Side], rows: Mapping[int, Rows]) -> Frame:
    return Frame({f"s{place}": side.part.take(rows[place]) for place, side in enumerate(sides)})
