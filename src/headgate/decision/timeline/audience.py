"""Who sees what, for many queries and subscribers at once: a bitmap of audiences for each segment.

A query whose roles change by punctuations has a table of its own; all tables are swept together in time order. Roles
point at the audiences that hold them, so that a new set of authorised roles costs as many steps as it has roles,
however many queries there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.decision.timeline.interning import Interner, numbers_in
from headgate.decision.timeline.runs import Runs
from headgate.decision.timeline.steps import Numbers, Steps

Update = Callable[[int], None]
"""Takes note of the number that a table has from here on."""

Turns = Sequence[tuple[Steps, Update]]

_WORD = 64

_FEW = 64
"""So many numbers are quicker gone through one by one than as an array."""


@dataclass(frozen=True, slots=True)
class Audience:
    """Subscribers of a query with equal roles."""

    query: str
    roles: frozenset[str]
    subscribers: frozenset[str] | None = None
    """All subscribers of the query if it is declared `access: punctuated`, else None: it is always on."""


@dataclass(frozen=True, eq=False, slots=True)
class Sight:
    """For each run of tuples the number of a bitmap; in a bitmap, bit `i` stands for the `i`-th audience."""

    runs: Runs
    bitmaps: tuple[int, ...]

    @property
    def constant(self) -> int | None:
        """The bitmap that all tuples have, if there is one for all."""
        return self.bitmaps[int(self.runs.numbers[0])] if self.runs.constant else None

    @property
    def numbers(self) -> Numbers:
        """The number of a bitmap for each tuple."""
        return self.runs.dense()

    def of(self, audience: int) -> NDArray[np.bool_]:
        """Which tuples one audience sees."""
        return self.runs.translated(np.array([bool(one >> audience & 1) for one in self.bitmaps], bool))

    def unless_all(self, audience: int) -> NDArray[np.bool_] | None:
        """Which tuples one audience sees; None if all."""
        constant = self.constant
        if constant is not None and constant >> audience & 1:
            return None
        mask = self.of(audience)
        return None if mask.all() else mask

    def by_anybody(self) -> NDArray[np.bool_]:
        """Which tuples some audience sees."""
        return self.runs.translated(np.array([bool(one) for one in self.bitmaps], bool))

    def words(self, audiences: int) -> NDArray[np.uint64]:
        """The bitmaps themselves, a row of 64-bit words for each tuple."""
        width = max(1, -(-audiences // _WORD))
        rows = [[one >> (_WORD * word) & ((1 << _WORD) - 1) for word in range(width)] for one in self.bitmaps]
        return self.runs.translated(np.array(rows, np.uint64).reshape(-1, width))


class Audiences:
    """The roles that each audience holds, and whether its query is on, at one point of a sweep."""

    def __init__(self, declared: Iterable[int]) -> None:
        self._roles: list[int] = []
        self._holders: dict[int, int] = {}
        for audience, roles in enumerate(declared):
            self._roles.append(0)
            self.hold(audience, roles)
        self.on = (1 << len(self._roles)) - 1

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
    boundaries, on_grid = data.boundaries, data.numbers
    if any(len(steps) > 1 for steps, _ in turns):
        boundaries = np.unique(np.concatenate((boundaries, *(steps.boundaries for steps, _ in turns))))
        on_grid = data.on(boundaries)
    changes = _changes(boundaries, turns)
    places = sorted({0, *changes})
    made = np.empty(len(on_grid), np.int32)
    for begin, end in zip(places, [*places[1:], len(on_grid)], strict=True):
        for update, turned in changes.get(begin, ()):
            update(turned)
        # Between two turns a set of authorised roles means the same audiences wherever it occurs.
        made[begin:end] = _translated(on_grid[begin:end], lambda number: bitmaps.number(seen(number)))
    return Steps(boundaries, made).compact()


def _translated(numbers: Numbers, meaning: Callable[[int], int]) -> Numbers | list[int]:
    """Each number's meaning, asked for once for each that occurs."""
    if len(numbers) <= _FEW:
        few = numbers.tolist()
        meanings = {number: meaning(number) for number in dict.fromkeys(few)}
        return [meanings[number] for number in few]
    present = np.flatnonzero(np.bincount(numbers))
    table = np.zeros(int(present[-1]) + 1, np.int32)
    table[present] = [meaning(number) for number in present.tolist()]
    return np.asarray(table[numbers], np.int32)


def _changes(boundaries: NDArray[np.int64], turns: Turns) -> dict[int, list[tuple[Update, int]]]:
    """What turns at the beginning of each segment."""
    changes: dict[int, list[tuple[Update, int]]] = {}
    for steps, update in turns:
        places = [0, *(boundaries.searchsorted(steps.boundaries) + 1).tolist()]
        for place, number in zip(places, steps.numbers.tolist(), strict=True):
            changes.setdefault(place, []).append((update, number))
    return changes
