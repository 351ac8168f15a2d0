"""Equal things kept once, and spoken of by number: what makes a timeline small, and its columns arrays of integers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Interner(Generic[T]):
    """Numbers values in the order they come. Only ever grows, so that versions of a timeline may share one."""

    def __init__(self, values: Iterable[T] = ()) -> None:
        self.values: list[T] = []
        self._numbers: dict[T, int] = {}
        for value in values:
            self.number(value)

    def number(self, value: T) -> int:
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = len(self.values)
            self.values.append(value)
        return found

    def find(self, value: T) -> int | None:
        """The number of a value that has one."""
        return self._numbers.get(value)

    def __len__(self) -> int:
        return len(self.values)


class Names(Interner[str]):
    """Roles or users, one bit each; sets of them are kept once."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        super().__init__(values)
        self._sets: dict[int, frozenset[str]] = {}

    def bits(self, names: Iterable[str]) -> int:
        """The set of these names; names not heard of get a bit."""
        made = 0
        for name in names:
            made |= 1 << self.number(name)
        return made

    def known_bits(self, names: Iterable[str]) -> int:
        """The set of those names that have a bit: no punctuation speaks of the others."""
        made = 0
        for name in names:
            number = self.find(name)
            made |= 0 if number is None else 1 << number
        return made

    def names(self, bits: int) -> frozenset[str]:
        found = self._sets.get(bits)
        if found is None:
            found = self._sets[bits] = frozenset(self.values[number] for number in numbers_in(bits))
        return found


def numbers_in(bits: int) -> list[int]:
    """The positions of the bits that are set.

    >>> numbers_in(0b1010)
    [1, 3]
    """
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found
