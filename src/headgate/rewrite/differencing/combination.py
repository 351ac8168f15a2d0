"""How few tuples a combination of window sums can come down to: exactly, and without linear algebra.

A window's sum is the difference of two prefix sums, those at its ends. So windows are the edges of a graph over ends,
and the sum between two ends can be computed iff a path connects them. Write each connected set of ends as one point;
what lies between neighbouring ends (a *gap*) is then a line from point to point, and the combinations that the windows
span are exactly the cycles over those lines. The fewest tuples that a rational combination is supported on is therefore
the length of the shortest cycle. A test compares this with row reduction.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import lcm

MAX_ENDS = 60_000
"""More ends of windows than that are not looked at: what cannot be decided is refused by who asks."""


MANY_ENDS = 4_000
"""More than that are looked at only if a short look finds nothing."""


class UndecidedError(Exception):
    """The windows repeat so late that the check would take too long."""


@dataclass(frozen=True, order=True)
class Sliding:
    """Windows `[k * step + offset, k * step + offset + size)`: of tuples counted, or of time."""

    size: int
    step: int
    offset: int = 0

    def windows(self, until: int) -> Iterator[tuple[int, int]]:
        """The windows that begin before a place."""
        return ((begin, begin + self.size) for begin in range(self.offset % self.step, until, self.step))


def smallest_combination(sliding: Iterable[Sliding], below: int, most_ends: int = MAX_ENDS) -> int | None:
    """The least extent that some combination of the windows is supported on, if that is less than `below`; where there
    are very many windows, one that is less, if any is.

    Extents are numbers of tuples, or lengths of time. Windows of three tuples and of four, both moving on by two, give
    single tuples away:

    >>> smallest_combination([Sliding(3, 2), Sliding(4, 2)], below=2)
    1
    >>> smallest_combination([Sliding(3, 2), Sliding(6, 2)], below=2) is None
    True
    """
    distinct = sorted(set(sliding))
    if not distinct or below <= 0:
        return None
    until, whole = _horizon(distinct)
    ends = sum(2 * (whole // one.step + 1) for one in distinct)
    if ends > MANY_ENDS:
        # Most conflicts show within the first few windows, not always the least: a short look saves a long one.
        short = whole * MANY_ENDS // ends
        found = _looked(distinct, short // 2, short, below)
        if found is not None or ends <= most_ends:
            return found if found is not None else _looked(distinct, until, whole, below)
        raise UndecidedError
    return _looked(distinct, until, whole, below)


def _horizon(sliding: Sequence[Sliding]) -> tuple[int, int]:
    """Up to where gaps are looked at, and up to where windows may connect their ends: two common periods with all that
    reaches into them, and room for paths that lead beyond and back."""
    period = lcm(*(one.step for one in sliding))
    longest = max(one.size for one in sliding)
    return 2 * (period + longest), 4 * (period + longest)


def _looked(sliding: Sequence[Sliding], until: int, whole: int, below: int) -> int | None:
    points = _Points()
    for one in sliding:
        for begin, end in one.windows(whole):
            points.join(begin, end)
    return _shortest_cycle(_lines(points, until), below)


class _Points:
    """Ends of windows, joined where a window connects them."""

    def __init__(self) -> None:
        self._above: dict[int, int] = {}

    def join(self, one: int, other: int) -> None:
        first, second = self.point(one), self.point(other)
        if first != second:
            self._above[max(first, second)] = min(first, second)

    def point(self, end: int) -> int:
        above = self._above
        if end not in above:
            above[end] = end
            return end
        while above[end] != end:
            above[end] = above[above[end]]
            end = above[end]
        return end

    def ends(self) -> list[int]:
        return sorted(self._above)


def _lines(points: _Points, until: int) -> list[tuple[int, int, int]]:
    """From which point to which, and how long: what lies between neighbouring ends."""
    ends = [end for end in points.ends() if end <= until]
    return [(points.point(one), points.point(other), other - one) for one, other in pairwise(ends)]


def _shortest_cycle(lines: list[tuple[int, int, int]], below: int) -> int | None:
    """The length of the shortest cycle, if it is less than `below`: a loop, two parallel lines, or more."""
    best: int | None = None
    shortest: dict[tuple[int, int], int] = {}
    for one, other, length in lines:
        pair = (min(one, other), max(one, other))
        around = 0 if one == other else shortest.get(pair, below)
        if around + length < below:
            best = below = around + length
        shortest[pair] = min(length, shortest.get(pair, length))
    links: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (one, other), length in shortest.items():
        if one != other and length < below:
            links[one].append((length, other))
            links[other].append((length, one))
    for linked in links.values():
        linked.sort()
    for (one, other), length in shortest.items():
        # A longer cycle has at least two more lines beside this one.
        if one != other and length + 2 < below:
            around = _distance(links, one, other, below - length)
            if around + length < below:
                best = below = around + length
    return best


def _distance(links: dict[int, list[tuple[int, int]]], start: int, goal: int, below: int) -> int:
    """The length of the shortest way that is not the line itself, or `below` if there is none so short."""
    reached = {start: 0}
    queue = [(0, start)]
    while queue:
        so_far, point = heapq.heappop(queue)
        if point == goal:
            return so_far
        for length, following in links[point] if so_far == reached[point] else ():
            total = so_far + length
            if total >= below:
                break
            direct = point == start and following == goal
            if not direct and total < reached.get(following, below):
                reached[following] = total
                heapq.heappush(queue, (total, following))
    return below
