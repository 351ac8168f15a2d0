"""A column of tuples as a timeline sees it: their times, and their ids as a dictionary and codes, as Arrow has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headgate.decision.timeline.steps import Times
from headgate.model.datatype import Value
from headgate.model.instant import Instant

_SPREAD = 4

Span = tuple[Instant, Instant]


class Tuples:
    """Tuples of one stream; without ids only punctuations for every tuple speak of them."""

    def __init__(
        self,
        times: Times,
        ids: Sequence[Value] | NDArray[np.int64] | None = None,
        in_order: bool | None = None,
        within: Span | None = None,
    ) -> None:
        self.times = times
        self._in_order = in_order
        self._within = within
        self._ids = ids

    @staticmethod
    def of(times: Iterable[Instant], ids: Sequence[Value] | NDArray[np.int64] | None = None) -> Tuples:
        """Take in plain columns; arrays of integers are taken as they are."""
        return Tuples(times if isinstance(times, np.ndarray) else np.fromiter(times, np.int64), ids)

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def in_order(self) -> bool:
        """Whether each comes no earlier than the one before it."""
        if self._in_order is not None:
            return self._in_order
        return bool((self.times[1:] >= self.times[:-1]).all())

    @cached_property
    def span(self) -> Span:
        """Times that none of the tuples lies outside of: what its maker knew, else the first and the last of them.

        What is known beforehand spares looking at the tuples where no punctuation lies between.
        """
        if self._within is not None:
            return self._within
        if not len(self.times):
            return 0, 0
        if self.in_order:
            return int(self.times[0]), int(self.times[-1])
        return int(self.times.min()), int(self.times.max())

    @property
    def with_ids(self) -> bool:
        return self._ids is not None

    @cached_property
    def encoded(self) -> tuple[tuple[Value, ...], NDArray[np.int64]]:
        """The distinct ids, and for each tuple the position of its own. Only made where a punctuation names tuples."""
        ids = () if self._ids is None else self._ids
        if isinstance(ids, np.ndarray):
            return _encoded_array(ids)
        # To a dictionary `True` equals 1, to a pattern it does not.
        numbers: dict[tuple[bool, Value], int] = {}
        found = (numbers.setdefault((isinstance(one, bool), one), len(numbers)) for one in ids)
        codes = np.fromiter(found, np.int64, len(ids))
        return tuple(one for _, one in numbers), codes

    def rows(self, chosen: NDArray[np.int64]) -> Tuples:
        """The times of some of the tuples; chosen rows keep their order."""
        return Tuples(self.times[chosen], in_order=self._in_order, within=self._within)


def _encoded_array(ids: NDArray[np.int64]) -> tuple[tuple[Value, ...], NDArray[np.int64]]:
    low = int(ids.min()) if len(ids) else 0
    if len(ids) and int(ids.max()) - low <= _SPREAD * len(ids):
        # Ids that lie close together are counted, which is several times quicker than sorting them.
        shifted = ids - low
        present = np.flatnonzero(np.bincount(shifted))
        positions = np.zeros(int(present[-1]) + 1, np.int64)
        positions[present] = np.arange(len(present))
        return tuple((present + low).tolist()), positions[shifted]
    distinct, codes = np.unique(ids, return_inverse=True)
    return tuple(distinct.tolist()), codes
