"""Punctuations in time order, as numbers; and what the numbers stand for."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.decision.timeline.effect import Effect, Rule, Statement, effect_of
from headgate.decision.timeline.interning import Interner
from headgate.decision.timeline.objects import ObjectIndex
from headgate.decision.timeline.steps import Times
from headgate.model.instant import Instant


class Statements(Interner[Statement]):
    """Statements by number, with the columns by which punctuations are chosen."""

    def __init__(self) -> None:
        super().__init__()
        self._patterns = array("q")
        self._immediate = array("b")

    def number(self, value: Statement) -> int:
        number = super().number(value)
        if number == len(self._patterns):
            self._patterns.append(value.objects)
            self._immediate.append(value.immediate)
        return number

    def patterns_of(self, statements: NDArray[np.int32]) -> NDArray[np.int64]:
        return np.array(self._patterns, np.int64)[statements]

    def immediate_among(self, statements: NDArray[np.int32]) -> NDArray[np.bool_]:
        return np.array(self._immediate, bool)[statements]


@dataclass(frozen=True, eq=False, slots=True)
class Vocabulary:
    """What the histories of one log share: statements, patterns and states, each kept once, by number."""

    rule: Rule
    start: Effect
    """What is made of a subject's roles before any punctuation: nothing for data, no change for queries."""
    statements: Statements = field(default_factory=Statements)
    objects: ObjectIndex = field(default_factory=ObjectIndex)
    states: Interner[Effect] = field(default_factory=Interner)

    def effect(self, batch: list[int]) -> Effect:
        return effect_of((self.statements.values[one] for one in batch), self.rule)

    def after(self, state: int, batch: list[int]) -> int:
        """The state that a batch makes of one."""
        return self.states.number(self.states.values[state].then(self.effect(batch)))

    def then(self, state: int, effect: int) -> int:
        return self.states.number(self.states.values[state].then(self.states.values[effect]))


class Entries(NamedTuple):
    """Some punctuations in time order: when, and what, as numbers of statements."""

    ats: Times
    statements: NDArray[np.int32]

    def batches(self) -> Iterator[tuple[Instant, list[int]]]:
        """The punctuations of each instant together."""
        pairs = zip(self.ats.tolist(), self.statements.tolist(), strict=True)
        for at, same_time in groupby(pairs, key=lambda pair: pair[0]):
            yield at, [statement for _, statement in same_time]

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Entries:
        return Entries(self.ats[chosen], self.statements[chosen])

    def between(self, first: Instant, end: Instant) -> Entries:
        """Those from `first` up to but not including `end`."""
        chosen = slice(int(self.ats.searchsorted(first)), int(self.ats.searchsorted(end)))
        return Entries(self.ats[chosen], self.statements[chosen])

    def batch_at(self, at: Instant) -> list[int]:
        """Those of one instant."""
        found: list[int] = self.between(at, at + 1).statements.tolist()
        return found

    def next_at(self, after: Instant) -> Instant | None:
        """The time of the first one after this time."""
        place = int(self.ats.searchsorted(after, side="right"))
        return int(self.ats[place]) if place < len(self.ats) else None

    def merged_with(self, other: Entries) -> Entries:
        ats = np.concatenate((self.ats, other.ats))
        order = ats.argsort(kind="stable")
        return Entries(ats[order], np.concatenate((self.statements, other.statements))[order])
