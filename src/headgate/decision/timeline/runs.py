"""A column of answers, run by run: between two punctuations all tuples in order have the same one.

A consumer works out what it wants for each run and spreads that over the tuples; the number for each tuple is written
out only where somebody asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from headgate.decision.timeline.steps import Numbers, Steps, Times
from headgate.decision.timeline.tuples import Tuples

Word = TypeVar("Word", bound=np.generic)


@dataclass(frozen=True, eq=False, slots=True)
class Runs:
    """`lengths[i]` tuples in a row have `numbers[i]`; without lengths, each tuple has a number of its own."""

    numbers: Numbers
    lengths: Times | None = None

    @staticmethod
    def of(steps: Steps, tuples: Tuples) -> Runs:
        """The answers of a segment table for the times of tuples.

        In a column that is in order it is the boundaries that are looked for, not the times: there are fewer of them,
        and what lies between two is one run.
        """
        times = tuples.times
        if not len(times):
            return Runs(steps.at_each(times))
        near = steps.between(*tuples.span)
        if len(near) == 1:
            return Runs(near.numbers, np.array([len(times)], np.int64))
        if not tuples.in_order:
            return Runs(near.at_each(times))
        ends = np.empty(len(near) + 1, np.int64)
        ends[0], ends[-1] = 0, len(times)
        ends[1:-1] = times.searchsorted(near.boundaries, side="right")
        return Runs(near.numbers, ends[1:] - ends[:-1])

    @property
    def constant(self) -> bool:
        """Whether there is one run only."""
        return self.lengths is not None and len(self.numbers) == 1

    def dense(self) -> Numbers:
        """The number of each tuple."""
        return self.spread(self.numbers)

    def translated(self, table: NDArray[Word]) -> NDArray[Word]:
        """For each tuple, the row of a table that its number stands for. Every number has a row."""
        # "clip" spares the check of each number that the default makes.
        return self.spread(table.take(self.numbers, axis=0, mode="clip"))

    def spread(self, of_runs: NDArray[Word]) -> NDArray[Word]:
        """What each run has, for each of its tuples."""
        return of_runs if self.lengths is None else of_runs.repeat(self.lengths, axis=0)
