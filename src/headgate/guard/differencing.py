"""Whether what a user was told about groups of a table's rows tells of fewer rows than the policies allow.

Every answer is about classes of rows: those that meet its conditions, divided by its keys. Rows that are in the same
classes of all answers cannot be told apart and form an atom. An answer gives a number for each of its classes that is
large enough, and whoever subtracts such numbers from each other gets one for some of the atoms. If only few rows stand
behind it, it tells of them: the total less all the groups that were shown is the group that was not.

Sums, means and counts can be subtracted with any factors, so what can be got is the span of the classes. If it has
something that only concerns atoms smaller than `need`, there is a combination in which nothing of the larger atoms is
left; rational row reduction finds out. Several small atoms together may be large enough after all; that is refused as
well. Minima, maxima and the like cannot be subtracted, but one class may have few rows that another has not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

OUTSIDE = -1
"""The class of rows that an answer is not about."""

SUMMED, EXTREME = "summed", "extreme"
_SUMMED_BY = frozenset(("sum", "avg", "count"))
_EXTREMES_OF = frozenset(("min", "max"))

_PRIME = (1 << 127) - 1
"""Row reduction modulo a prime this large is that of rationals."""

_Vector = dict[tuple[int, int], int]


def kinds_of(privilege: str) -> list[str]:
    """How the answers of a function could be taken apart; of one that is not known, in every way."""
    return [SUMMED] if privilege in _SUMMED_BY else [EXTREME] if privilege in _EXTREMES_OF else [SUMMED, EXTREME]


def compare(letter: Mapping[str, Any]) -> bool:
    """Whether the hook's questions, with the atoms that it found, tell too much together."""
    kinds = letter["kinds"]
    return reveals(
        [Atom(tuple(classes), size) for *classes, size in letter["atoms"]],
        letter["need"],
        summed=[place for place, found in enumerate(kinds) if SUMMED in found],
        extremes=[place for place, found in enumerate(kinds) if EXTREME in found],
    )


@dataclass(frozen=True)
class Atom:
    """Rows in the same class of every answer, and how many they are."""

    classes: tuple[int, ...]
    size: int


def reveals(atoms: Sequence[Atom], need: int, *, summed: Sequence[int], extremes: Sequence[int]) -> bool:
    """Whether the answers together tell of fewer than `need` rows; `summed` and `extremes` are their places.

    >>> reveals([Atom((0, 0), 9), Atom((0, OUTSIDE), 1)], 5, summed=[0, 1], extremes=[])
    True
    >>> reveals([Atom((0, 0), 9), Atom((0, OUTSIDE), 6)], 5, summed=[0, 1], extremes=[])
    False
    """
    shown = _shown(atoms, need)
    return _subtracted(shown, need, summed) or _left_over(shown, need, extremes)


def _shown(atoms: Iterable[Atom], need: int) -> list[Atom]:
    """The atoms by classes that were shown: a class with fewer rows than needed is not."""
    sizes: Counter[tuple[int, int]] = Counter()
    for atom in atoms:
        for answer, one in enumerate(atom.classes):
            sizes[answer, one] += atom.size
    merged: Counter[tuple[int, ...]] = Counter()
    for atom in atoms:
        classes = (
            one if one != OUTSIDE and sizes[answer, one] >= need else OUTSIDE for answer, one in enumerate(atom.classes)
        )
        merged[tuple(classes)] += atom.size
    return [Atom(classes, size) for classes, size in merged.items()]


def _subtracted(atoms: Iterable[Atom], need: int, answers: Sequence[int]) -> bool:
    merged = _merged(atoms, answers)
    basis: dict[tuple[int, int], _Vector] = {}
    for vector, size in merged:
        if size >= need:
            rest = _reduced(vector, basis)
            if rest:
                basis[min(rest)] = _scaled(rest, min(rest))
    return any(_reduced(vector, basis) for vector, size in merged if size < need)


def _merged(atoms: Iterable[Atom], answers: Sequence[int]) -> list[tuple[_Vector, int]]:
    """Each atom as a column of the matrix with a row for every class."""
    sizes: Counter[tuple[tuple[int, int], ...]] = Counter()
    for atom in atoms:
        classes = ((answer, atom.classes[answer]) for answer in answers)
        sizes[tuple(one for one in classes if one[1] != OUTSIDE)] += atom.size
    return [(dict.fromkeys(column, 1), size) for column, size in sizes.items()]


def _reduced(vector: Mapping[tuple[int, int], int], basis: Mapping[tuple[int, int], _Vector]) -> _Vector:
    """What is left of a column without what the basis spans."""
    rest = dict(vector)
    # A vector of the basis has no place before its pivot: what was taken out does not come back.
    while left := [one for one in rest if one in basis]:
        pivot = min(left)
        factor = rest[pivot]
        for place, value in basis[pivot].items():
            changed = (rest.get(place, 0) - factor * value) % _PRIME
            if changed:
                rest[place] = changed
            else:
                del rest[place]
    return rest


def _scaled(vector: _Vector, pivot: tuple[int, int]) -> _Vector:
    inverse = pow(vector[pivot], -1, _PRIME)
    return {place: value * inverse % _PRIME for place, value in vector.items()}


def _left_over(atoms: Sequence[Atom], need: int, answers: Sequence[int]) -> bool:
    """Whether a class has few rows, but some, that a class of another answer has not."""
    for one in answers:
        for other in answers:
            if one != other and any(0 < size < need for size in _without(atoms, one, other)):
                return True
    return False


def _without(atoms: Iterable[Atom], one: int, other: int) -> Iterable[int]:
    """For classes of two answers that have rows in common: how many rows the first has besides."""
    sizes: Counter[int] = Counter()
    common: Counter[tuple[int, int]] = Counter()
    for atom in atoms:
        if atom.classes[one] != OUTSIDE:
            sizes[atom.classes[one]] += atom.size
            if atom.classes[other] != OUTSIDE:
                common[atom.classes[one], atom.classes[other]] += atom.size
    for (mine, _), size in common.items():
        yield sizes[mine] - size
