"""Who sees what, for many queries and subscribers at once: a bitmap of audiences for each segment.

A query whose roles change by punctuations has a table of its own; all tables are swept together in time order. Roles
point at the audiences that hold them, so that a new set of authorised roles costs as many steps as it has roles,
however many queries there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.decision.timeline.interning import Interner, numbers_in
from headgate.decision.timeline.steps import Numbers, Steps

Update = Callable[[int], None]
"""Takes note of the number that a table has from here on."""

Turns = Sequence[tuple[Steps, Update]]

_WORD = 64


@dataclass(frozen=True, slots=True)
class Audience:
    """Subscribers of a query with equal roles."""

    query: str
    roles: frozenset[str]
    subscribers: frozenset[str] | None = None
    """All subscribers of the query if it is declared `access: punctuated`, else None: it is always on."""


@dataclass(frozen=True, eq=False, slots=True)
class Sight:
    """For each tuple the number of a bitmap; in a bitmap, bit `i` stands for the `i`-th audience."""

    numbers: Numbers
    bitmaps: tuple[int, ...]

    def of(self, audience: int) -> NDArray[np.bool_]:
        """Which tuples one audience sees."""
        return np.array([bool(one >> audience & 1) for one in self.bitmaps], bool)[self.numbers]

    def words(self, audiences: int) -> NDArray[np.uint64]:
        """The bitmaps themselves, a row of 64-bit words for each tuple."""
        width = max(1, -(-audiences // _WORD))
        rows = [[one >> (_WORD * word) & ((1 << _WORD) - 1) for word in range(width)] for one in self.bitmaps]
        return np.array(rows, np.uint64).reshape(-1, width)[self.numbers]


class Audiences:
    """The roles that each audience holds, and whether its query is on, at one point of a sweep."""

    def __init__(self, count: int) -> None:
        self._roles = [0] * count
        self._holders: dict[int, int] = {}
        self.on = (1 << count) - 1

    def hold(self, audience: int, roles: int) -> None:
        """From here on the audience holds exactly these roles."""
        for role in numbers_in(self._roles[audience] ^ roles):
            self._holders[role] = self._holders.get(role, 0) ^ (1 << audience)
        self._roles[audience] = roles

    def switch(self, audience: int, on: bool) -> None:
        bit = 1 << audience
        self.on = self.on | bit if on else self.on & ~bit

    def meeting(self, roles: int) -> int:
        """The audiences that are on and hold one of these roles."""
        found = 0
        for role in numbers_in(roles):
            found |= self._holders.get(role, 0)
        return found & self.on


def swept(data: Steps, turns: Turns, seen: Callable[[int], int], bitmaps: Interner[int]) -> Steps:
    """One table of bitmaps from the table of the data and those of the audiences."""
    boundaries = data.boundaries
    if turns:
        boundaries = np.unique(np.concatenate((boundaries, *(steps.boundaries for steps, _ in turns))))
    changes = _changes(boundaries, turns)
    numbers: list[int] = []
    known: dict[int, int] = {}
    for place, number in enumerate(data.on(boundaries).tolist()):
        if place in changes:
            for update, turned in changes[place]:
                update(turned)
            known.clear()
        bitmap = known.get(number)
        if bitmap is None:
            bitmap = known[number] = bitmaps.number(seen(number))
        numbers.append(bitmap)
    return Steps(boundaries, np.array(numbers, np.int32)).compact()


def _changes(boundaries: NDArray[np.int64], turns: Turns) -> dict[int, list[tuple[Update, int]]]:
    """What turns at the beginning of each segment."""
    changes: dict[int, list[tuple[Update, int]]] = {}
    for steps, update in turns:
        places = [0, *(boundaries.searchsorted(steps.boundaries) + 1).tolist()]
        for place, number in zip(places, steps.numbers.tolist(), strict=True):
            changes.setdefault(place, []).append((update, number))
    return changes
