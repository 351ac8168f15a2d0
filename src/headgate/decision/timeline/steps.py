"""The segment table: an answer that depends on a tuple's time alone, as sorted boundaries and a number per segment.

A punctuation governs strictly later tuples, so a boundary belongs to the segment before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.model.instant import Instant

Times = NDArray[np.int64]
Numbers = NDArray[np.int32]

_TABLE_LIMIT = 1 << 22
"""Pairs of numbers are looked up in a table of this size at most; beyond it they are sorted."""


@dataclass(frozen=True, eq=False, slots=True)
class Steps:
    """`numbers[i]` is the answer for times after `boundaries[i - 1]` and up to `boundaries[i]`."""

    boundaries: Times
    numbers: Numbers

    @staticmethod
    def constant(number: int) -> Steps:
        return Steps(np.empty(0, np.int64), np.array([number], np.int32))

    @staticmethod
    def of(boundaries: Sequence[int], numbers: Sequence[int]) -> Steps:
        return Steps(np.array(boundaries, np.int64), np.array(numbers, np.int32))

    def __len__(self) -> int:
        return len(self.numbers)

    def at(self, time: Instant) -> int:
        """The answer for one time."""
        return int(self.numbers[self.boundaries.searchsorted(time)])

    def at_each(self, times: Times) -> Numbers:
        """The answers for a column of times, in whatever order."""
        return self.numbers[self.boundaries.searchsorted(times)]

    def between(self, first: Instant, last: Instant) -> Steps:
        """What is needed for times from `first` to `last`."""
        begin = int(self.boundaries.searchsorted(first))
        end = int(self.boundaries.searchsorted(last))
        return Steps(self.boundaries[begin:end], self.numbers[begin : end + 1])

    def before(self, time: Instant) -> Steps:
        """As it is up to `time`; the last answer goes on for ever."""
        end = int(self.boundaries.searchsorted(time))
        return Steps(self.boundaries[:end], self.numbers[: end + 1])

    def closed_before(self, time: Instant, number: int) -> Steps:
        """This answer for every time before `time`, as it was from there on."""
        begin = int(self.boundaries.searchsorted(time))
        boundaries = np.concatenate((np.array([time - 1], np.int64), self.boundaries[begin:]))
        return Steps(boundaries, np.concatenate((np.array([number], np.int32), self.numbers[begin:])))

    def at_those(self, times: Times) -> Steps:
        """Without the segments in which none of these times lies: never more segments than times."""
        used = np.unique(self.boundaries.searchsorted(times))
        return Steps(self.boundaries[used[:-1]], self.numbers[used])

    def compact(self) -> Steps:
        """Without boundaries at which nothing changes."""
        changes = np.flatnonzero(np.diff(self.numbers))
        if len(changes) == len(self.boundaries):
            return self
        return Steps(self.boundaries[changes], self.numbers[np.concatenate(([0], changes + 1))])

    def with_those(self, other: Steps, combine: Callable[[int, int], int]) -> Steps:
        """Both answers made into one, segment by segment."""
        boundaries = np.union1d(self.boundaries, other.boundaries)
        return Steps(boundaries, combined(self.on(boundaries), other.on(boundaries), combine)).compact()

    def on(self, boundaries: Times) -> Numbers:
        """The answers on a finer division."""
        after = self.boundaries.searchsorted(boundaries, side="right")
        return self.numbers[np.concatenate((np.zeros(1, after.dtype), after))]


def combined(left: Numbers, right: Numbers, combine: Callable[[int, int], int]) -> Numbers:
    """Two columns made into one; the function is asked once for each pair that occurs."""
    if not len(left):
        return left
    width = int(right.max()) + 1
    pairs = left.astype(np.int64) * width + right
    size = (int(left.max()) + 1) * width
    if size > max(_TABLE_LIMIT, len(pairs)):
        present, where = np.unique(pairs, return_inverse=True)
        return np.asarray(_results(present, width, combine)[where], np.int32)
    occurs = np.zeros(size, bool)
    occurs[pairs] = True
    present = np.flatnonzero(occurs)
    table = np.zeros(size, np.int32)
    table[present] = _results(present, width, combine)
    return np.asarray(table[pairs], np.int32)


def _results(pairs: NDArray[np.int64], width: int, combine: Callable[[int, int], int]) -> Numbers:
    return np.array([combine(*divmod(pair, width)) for pair in pairs.tolist()], np.int32)
