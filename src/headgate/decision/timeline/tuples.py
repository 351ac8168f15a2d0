"""A column of tuples as a timeline sees it: their times, and their ids as a dictionary and codes, as Arrow has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.decision.timeline.steps import Times
from headgate.model.datatype import Value
from headgate.model.instant import Instant


@dataclass(frozen=True, eq=False, slots=True)
class Tuples:
    """Tuples of one stream; without ids only punctuations for every tuple speak of them."""

    times: Times
    codes: NDArray[np.int64] | None = None
    """The position of each tuple's id among `ids`."""
    ids: tuple[Value, ...] = ()
    in_order: bool = False

    @staticmethod
    def of(times: Iterable[Instant] | Times, ids: Sequence[Value] | NDArray[np.int64] | None = None) -> Tuples:
        """Take in plain columns; ids that are integers are best given as an array."""
        column = times if isinstance(times, np.ndarray) else np.fromiter(times, np.int64)
        in_order = bool((column[1:] >= column[:-1]).all())
        if ids is None:
            return Tuples(column, in_order=in_order)
        if isinstance(ids, np.ndarray):
            distinct, codes = np.unique(ids, return_inverse=True)
            return Tuples(column, codes, tuple(distinct.tolist()), in_order)
        # To a dictionary `True` equals 1, to a pattern it does not.
        numbers: dict[tuple[bool, Value], int] = {}
        found = (numbers.setdefault((isinstance(one, bool), one), len(numbers)) for one in ids)
        codes = np.fromiter(found, np.int64, len(ids))
        return Tuples(column, codes, tuple(one for _, one in numbers), in_order)

    def __len__(self) -> int:
        return len(self.times)

    def rows(self, chosen: NDArray[np.int64]) -> Tuples:
        """Some of the tuples, in the order they have."""
        codes = None if self.codes is None else self.codes[chosen]
        return Tuples(self.times[chosen], codes, self.ids, self.in_order)
