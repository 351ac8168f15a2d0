"""Whether what a user was told about groups of a table's rows tells of fewer rows than the policies allow.

Every answer is about classes of rows: those that meet its conditions, divided by its keys. Rows that are in the same
classes of all answers cannot be told apart and form an atom. An answer gives a number for each of its classes that is
large enough, and whoever subtracts such numbers from each other gets one for some of the atoms. If only few rows stand
behind it, it tells of them: the total less all the groups that were shown is the group that was not.

Sums and means can be subtracted with any factors, so what can be got is the span of the classes. If it has something
that only concerns atoms with fewer rows than they need, there is a combination in which nothing of the larger atoms is
left; rational row reduction finds out. Several small atoms together may be large enough after all; that is refused as
well. So can counts, of each other. Minima, maxima and the like cannot be subtracted, but compared: the row that has the
largest value is in the classes that have it for their maximum, and in no other. That is one atom, any of them, and so
each must have as many rows as it needs.

What the user may read needs no telling: of the rows of an atom only those count that cannot be read, and one of which
all can be is known anyway.

How many rows an atom needs may differ from row to row, and from function to function: then the most lenient of those
that were asked decides, as it would tell the same if it were asked for nothing else. A minimum does not tell what a
maximum tells; of these the strictest decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

OUTSIDE = -1
"""The class of rows that an answer is not about."""

SUMMED, COUNTED, EXTREME = "summed", "counted", "extreme"
_SUMMED_BY = frozenset(("sum", "avg"))
_EXTREMES_OF = frozenset(("min", "max"))

_PRIME = (1 << 127) - 1
"""Row reduction modulo a prime this large is that of rationals."""

MOST_STEPS = 2_000_000
"""How many entries row reduction may look at for one question, a second or two. A total beside groups by two keys of a
hundred values each takes a tenth of it."""

TOO_FEW, TOO_MANY_STEPS = "too few", "too many steps"
"""Why a question is refused: it tells too much beside the others, or it would take too long to find out."""

_Place = tuple[int, int]
"""A class of an answer."""
_Vector = dict[_Place, int]
_Column = tuple[_Place, ...]


def kinds_of(privilege: str) -> list[str]:
    """How the answers of a function could be taken apart; of one that is not known, in every way."""
    if privilege == "count":
        return [COUNTED]
    everything = [SUMMED, COUNTED, EXTREME]
    return [SUMMED] if privilege in _SUMMED_BY else [EXTREME] if privilege in _EXTREMES_OF else everything


def compare(letter: Mapping[str, Any]) -> str:
    """Why the hook's questions, with the atoms that it found, may not all be answered, or nothing."""
    atoms = [
        Atom(tuple(classes), size, tuple(needs), hidden)
        for (*classes, size, hidden), needs in zip(letter["atoms"], letter["needs"], strict=True)
    ]
    places = {
        kind: [place for place, found in enumerate(letter["kinds"]) if kind in found]
        for kind in (SUMMED, COUNTED, EXTREME)
    }
    shown = _shown(atoms)
    if _pinned(shown, places[EXTREME]):
        return TOO_FEW
    steps = _Steps()
    try:
        told = any(_subtracted(shown, places[one], steps) for one in (SUMMED, COUNTED))
    except _TooManyStepsError:
        return TOO_MANY_STEPS
    return TOO_FEW if told else ""


class _TooManyStepsError(Exception):
    """Row reduction was given up."""


class _Steps:
    """How far row reduction may still go. INVARIANT: comparing ends; Spark stops waiting for it, but not the thread."""

    def __init__(self) -> None:
        self._left = MOST_STEPS

    def take(self, number: int) -> None:
        self._left -= number
        if self._left < 0:
            raise _TooManyStepsError


@dataclass(frozen=True)
class Atom:
    """Rows in the same class of every answer, how many they are, how many each answer needs to tell of them, and how
    many of them the user cannot read; all, if nothing is said."""

    classes: tuple[int, ...]
    size: int
    needs: tuple[int, ...]
    hidden: int | None = None

    @property
    def unread(self) -> int:
        return self.size if self.hidden is None else self.hidden

    def need(self, answers: Iterable[int]) -> int:
        """The least that one of these answers needs, of those that are about these rows."""
        return min((self.needs[one] for one in answers if self.needs[one] > 0), default=0)


def reveals(atoms: Sequence[Atom], *, summed: Sequence[int] = (), extremes: Sequence[int] = ()) -> bool:
    """Whether the answers together tell of fewer rows than they need; `summed` and `extremes` are their places.

    >>> reveals([Atom((0, 0), 9, (5, 5)), Atom((0, OUTSIDE), 1, (5, 0))], summed=[0, 1])
    True
    >>> reveals([Atom((0, 0), 9, (5, 5)), Atom((0, OUTSIDE), 6, (5, 0))], summed=[0, 1])
    False
    >>> reveals([Atom((0, 0), 9, (5, 5)), Atom((0, 1), 9, (5, 5)), Atom((0, OUTSIDE), 1, (5, 0))], extremes=[0, 1])
    True
    >>> reveals([Atom((0,), 11, (5,), hidden=1)], summed=[0])
    True
    """
    shown = _shown(atoms)
    return _pinned(shown, extremes) or _subtracted(shown, summed, _Steps())


def _shown(atoms: Iterable[Atom]) -> list[Atom]:
    """The atoms by classes that were shown: a class with fewer rows than the neediest of them asks for is not."""
    sizes: Counter[tuple[int, int]] = Counter()
    needs: Counter[tuple[int, int]] = Counter()
    for atom in atoms:
        for place in enumerate(atom.classes):
            sizes[place] += atom.size
            needs[place] = max(needs[place], atom.needs[place[0]])
    return [
        Atom(
            tuple(one if sizes[place, one] >= needs[place, one] else OUTSIDE for place, one in enumerate(atom.classes)),
            atom.size,
            atom.needs,
            atom.hidden,
        )
        for atom in atoms
        if atom.unread
    ]


def _subtracted(atoms: Iterable[Atom], answers: Sequence[int], steps: _Steps) -> bool:
    merged = _merged(atoms, answers)
    if all(enough for _, enough in merged):
        return False
    span = _Span(steps)
    for column, enough in merged:
        if enough:
            span.add(column)
    return any(span.left_of(column) for column, enough in merged if not enough)


def _merged(atoms: Iterable[Atom], answers: Sequence[int]) -> list[tuple[_Column, bool]]:
    """Each atom as a column of the matrix with a row for every class, and whether it has as many rows as it needs."""
    sizes: Counter[_Column] = Counter()
    needs: Counter[_Column] = Counter()
    for atom in atoms:
        column = _column(atom, answers)
        sizes[column] += atom.unread
        needs[column] = max(needs[column], atom.need(answers))
    return [(column, size >= needs[column]) for column, size in sizes.items()]


def _column(atom: Atom, answers: Iterable[int]) -> _Column:
    """The shown classes that an atom is in."""
    return tuple((answer, atom.classes[answer]) for answer in answers if atom.classes[answer] != OUTSIDE)


class _Span:
    """What columns span, by a basis in which every column has one place, its pivot, that no other has.

    So a column is reduced by as many of them as it has places. And where there are many columns and few classes, as of
    groups by several keys, those of the basis are short: beside their pivots they have places that are no pivots yet.
    """

    def __init__(self, steps: _Steps) -> None:
        self._steps = steps
        self._rests: dict[_Place, _Vector] = {}
        """By pivot, at which there is a one, what a column of the basis has elsewhere."""
        self._having: dict[_Place, set[_Place]] = {}
        """In which of these a place is."""

    def left_of(self, column: _Column) -> _Vector:
        """What is left of a column without what is spanned."""
        left: _Vector = {}
        for place in column:
            rest = self._rests.get(place)
            if rest is None:
                self._add_to(left, {place: 1}, 1)
            else:
                self._add_to(left, rest, -1)
        return left

    def add(self, column: _Column) -> None:
        left = self.left_of(column)
        if not left:
            return
        # Whatever place is taken, the span is the same; that which the fewest have is the least work.
        pivot = min(left, key=lambda place: (len(self._having.get(place, ())), place))
        inverse = pow(left.pop(pivot), -1, _PRIME)
        new = {place: value * inverse % _PRIME for place, value in left.items()}
        for other in self._having.pop(pivot, ()):
            self._take_out(pivot, other, new)
        self._rests[pivot] = new
        self._note(pivot, new)

    def _take_out(self, pivot: _Place, other: _Place, new: _Vector) -> None:
        rest = self._rests[other]
        self._add_to(rest, new, -rest.pop(pivot))
        for place in new:
            if place not in rest:
                self._having[place].discard(other)
        self._note(other, (place for place in new if place in rest))

    def _note(self, pivot: _Place, places: Iterable[_Place]) -> None:
        for place in places:
            self._having.setdefault(place, set()).add(pivot)

    def _add_to(self, vector: _Vector, other: _Vector, factor: int) -> None:
        self._steps.take(1 + len(other))
        for place, value in other.items():
            changed = (vector.get(place, 0) + factor * value) % _PRIME
            if changed:
                vector[place] = changed
            else:
                vector.pop(place, None)


def _pinned(atoms: Iterable[Atom], answers: Sequence[int]) -> bool:
    """Whether a largest value could be known for that of few rows: of those in the same classes of all answers.

    Values are taken to differ, as sums of money mostly do. Where the largest is that of two classes it is of a row in
    both, and of none in a class whose largest is smaller. A total beside groups of which one was not shown, and groups
    by one key beside groups by another, are refused if few rows are left over, or in common. A total and its groups,
    or groups and their parts, are not, while all of them were large enough to be shown.
    """
    sizes: Counter[_Column] = Counter()
    needs: Counter[_Column] = Counter()
    for atom in atoms:
        column = _column(atom, answers)
        sizes[column] += atom.unread
        needs[column] = max([needs[column], *(atom.needs[answer] for answer, _ in column)])
    return any(size < needs[column] for column, size in sizes.items())
