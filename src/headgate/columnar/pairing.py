"""Finding combinations within one task: equal keys and times close enough, by sorting and searching.

Each combination is found once: with the new tuples of one source, the old ones of those before it and all of those
after it. What is found *may* be a result; the view judges it afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.columnar.column import Column, Mask, Rows, Values, with_common_words
from headgate.columnar.frame import Part
from headgate.columnar.plan import FrameKey
from headgate.errors import HeadgateError
from headgate.model.datatype import DataType

_ROOM = 1 << 62
_SPREAD = 4
"""Whole numbers this close together, for their count, stand for themselves; others are sorted to be numbered."""


class TooManyError(HeadgateError):
    """A join has more combinations than it may."""


@dataclass(frozen=True)
class Side:
    """One source: its tuples, and which of them are new to the frame."""

    part: Part
    new: Mask


def new_combinations(key: FrameKey, sides: Sequence[Side], limit: int) -> list[Combinations]:
    """All combinations with at least one new tuple, by the source that it is of."""
    found = []
    for place in range(len(sides)):
        allowed = [
            side.new if number == place else ~side.new if number < place else None for number, side in enumerate(sides)
        ]
        found.append(_paired(key, sides, allowed, place, limit))
    return found


def all_combinations(key: FrameKey, sides: Sequence[Side], limit: int) -> dict[int, Rows]:
    """The rows of all combinations, by the place of their source."""
    return _paired(key, sides, [None] * len(sides), 0, limit).whole()


@dataclass(frozen=True)
class Combinations:
    """Combinations that were found and not yet written out.

    `chosen` are rows of the sources before the last one, `matches` all rows of the last one, in order: those that go
    with the first of the chosen ones are the `counts[0]` from `begin[0]` on.
    """

    chosen: Mapping[int, Rows]
    place: int
    begin: NDArray[np.int64]
    counts: NDArray[np.int64]
    matches: Rows

    def whole(self) -> dict[int, Rows]:
        """The rows of all combinations, by the place of their source."""
        return self._between(0, len(self.counts))

    def pieces(self, size: int) -> Iterator[dict[int, Rows]]:
        """The same, about so many at a time."""
        upto = np.cumsum(self.counts)
        begin = 0
        while begin < len(upto):
            done = int(upto[begin - 1]) if begin else 0
            end = max(begin + 1, int(upto.searchsorted(done + size, "right")))
            yield self._between(begin, end)
            begin = end

    def _between(self, begin: int, end: int) -> dict[int, Rows]:
        counts = self.counts[begin:end]
        of_chosen = np.repeat(np.arange(begin, end), counts)
        offsets = np.arange(len(of_chosen)) - np.repeat(np.cumsum(counts) - counts, counts)
        found = {place: rows[of_chosen] for place, rows in self.chosen.items()}
        found[self.place] = self.matches[np.repeat(self.begin[begin:end], counts) + offsets]
        return found


def _paired(
    key: FrameKey, sides: Sequence[Side], allowed: Sequence[Mask | None], first: int, limit: int
) -> Combinations:
    start = allowed[first]
    chosen = {first: np.arange(len(sides[first].part)) if start is None else np.flatnonzero(start)}
    left = [place for place in range(len(sides)) if place != first]
    while True:
        connected = [place for place in left if _pairs(key, place, chosen)]
        place = (connected or left)[0]
        left.remove(place)
        found = _joined(key, sides, chosen, place, allowed[place], limit)
        if not left:
            return found
        chosen = found.whole()


def _pairs(key: FrameKey, place: int, others: Mapping[int, Rows]) -> list[tuple[str, int, str]]:
    found = []
    for (left, left_name), (right, right_name) in key.matches:
        for other in others:
            if (left, right) == (f"s{place}", f"s{other}"):
                found.append((left_name, other, right_name))
            elif (right, left) == (f"s{place}", f"s{other}"):
                found.append((right_name, other, left_name))
    return found


def _joined(
    key: FrameKey, sides: Sequence[Side], chosen: Mapping[int, Rows], place: int, allowed: Mask | None, limit: int
) -> Combinations:
    """What is there already, with every row of one more source that matches it."""
    part = sides[place].part
    count = len(next(iter(chosen.values())))
    rows = np.arange(len(part)) if allowed is None else np.flatnonzero(allowed)
    pairs = _pairs(key, place, chosen)
    ours = [part.columns[name].take(rows) for name, _, _ in pairs]
    theirs = [sides[other].part.columns[name].take(chosen[other]) for _, other, name in pairs]
    own_codes, other_codes, own_there, other_there = _coded(ours, theirs, len(rows), count)
    rows, own_codes = rows[own_there], own_codes[own_there]
    low, high = _near(key, sides, chosen, place)
    begin, end = _searched(part.times[rows], rows, own_codes, other_codes, low, high)
    counts = np.where(other_there, end[0] - begin, 0)
    total = int(counts.sum())
    if total > limit:
        raise TooManyError(f"more than {limit} combinations")
    return Combinations(chosen, place, begin, counts, end[1])


def _near(
    key: FrameKey, sides: Sequence[Side], chosen: Mapping[int, Rows], place: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Between which times the new source's tuple must lie: neither may be older than its range when the other comes."""
    low: NDArray[np.int64] | None = None
    high: NDArray[np.int64] | None = None
    for other, rows in chosen.items():
        times = sides[other].part.times[rows]
        since, until = times - key.ranges[place], times + key.ranges[other]
        low = since if low is None else np.maximum(low, since)
        high = until if high is None else np.minimum(high, until)
    assert low is not None
    assert high is not None
    return low, high


def _searched(
    times: NDArray[np.int64],
    rows: Rows,
    own: NDArray[np.int64],
    other: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> tuple[NDArray[np.int64], tuple[NDArray[np.int64], Rows]]:
    """For each row on the left where its matches begin and end, among the rows on the right in order."""
    if not len(rows):
        nothing = np.zeros(len(other), np.int64)
        return nothing, (nothing, rows)
    earliest, latest = int(times.min()), int(times.max())
    most = max(int(own.max()), int(other.max(initial=0)))
    if (most + 2) * (latest - earliest + 3) >= _ROOM:  # keys and times do not fit one number: times go by their rank
        moments = np.unique(times)
        times, low = moments.searchsorted(times), moments.searchsorted(low)
        high = moments.searchsorted(high, "right") - 1
        earliest, latest = 0, len(moments) - 1
    room = latest - earliest + 3
    places = own * room + (times - earliest + 1)
    order = places.argsort()
    places = places[order]
    since = other * room + (np.clip(low, earliest - 1, latest + 1) - earliest + 1)
    until = other * room + (np.clip(high, earliest - 1, latest + 1) - earliest + 1)
    begin = places.searchsorted(since, "left")
    end = np.maximum(places.searchsorted(until, "right"), begin)
    return begin, (end, rows[order])


def _coded(
    ours: Sequence[Column], theirs: Sequence[Column], count: int, other_count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Mask, Mask]:
    """Keys of both sides as numbers that are equal where the keys are; and where none of them is NULL."""
    codes = np.zeros(count + other_count, np.int64)
    there = np.ones(count + other_count, bool)
    for one, other in zip(ours, theirs, strict=True):
        values, present = _together(one, other)
        numbers = _numbered(values)
        codes = _numbered(codes * (int(numbers.max(initial=0)) + 1) + numbers) if codes.any() else numbers
        there &= present
    return codes[:count], codes[count:], there[:count], there[count:]


def _numbered(values: Values) -> NDArray[np.int64]:
    """Equal numbers for equal values, none of them much larger than there are values."""
    if values.dtype.kind == "i" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low <= _SPREAD * len(values):
            return np.asarray(values - low, np.int64)
    return np.asarray(np.unique(values, return_inverse=True)[1], np.int64)


def _together(one: Column, other: Column) -> tuple[Values, Mask]:
    if one.type is DataType.STRING and other.type is DataType.STRING:
        one, other = with_common_words([one, other])
    values = np.concatenate([one.values, other.values])  # a whole number beside a double becomes one
    return values, np.concatenate([one.present, other.present])
