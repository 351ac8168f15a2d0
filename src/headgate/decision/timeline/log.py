"""The punctuations of one stream or one query as they come in: in time order, whatever the order of arrival.

Sixteen bytes each at most, because what they say is kept once. A log gives out histories, which never change; what it
makes known anew starts from the tables of the last one, as far as these still hold.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import groupby

import numpy as np

from headgate.decision.timeline.effect import NOTHING, Effect, Rule, Statement
from headgate.decision.timeline.entries import Entries, Vocabulary
from headgate.decision.timeline.history import COMPLETE, History
from headgate.decision.timeline.objects import ObjectIndex
from headgate.model.instant import Instant
from headgate.model.punctuation import Objects


class Log:
    """One stream's dsps, or one query's qsps with roles or with users."""

    def __init__(self, rule: Rule, start: Effect) -> None:
        self.words = Vocabulary(rule, start)
        self._ats = array("q")
        self._statements = array("i")
        self._history: History | None = None
        self._unchanged_before = COMPLETE
        """The least time of a punctuation that came since the last history was given out."""
        self._kept = 0
        """How many of the punctuations before the horizon are still needed, as of the last look."""

    def __len__(self) -> int:
        return len(self._ats)

    def add(self, at: Instant, objects: Objects, positive: bool, immediate: bool, subjects: int) -> None:
        """Take note of a punctuation."""
        self.put(at, self.number(objects, positive, immediate, subjects))

    def number(self, objects: Objects, positive: bool, immediate: bool, subjects: int) -> int:
        """The number of what a punctuation says."""
        return self.words.statements.number(
            Statement(self.words.objects.number(objects), positive, immediate, subjects)
        )

    def put(self, at: Instant, statement: int) -> None:
        """Take note of a punctuation by the number of what it says."""
        if not self._ats or at >= self._ats[-1]:
            self._ats.append(at)
            self._statements.append(statement)
        else:
            place = bisect_right(self._ats, at)
            self._ats.insert(place, at)
            self._statements.insert(place, statement)
        if at < self._unchanged_before:
            self._unchanged_before = at

    def history(self) -> History:
        """What is known now; later punctuations do not change it."""
        if self._history is None or self._unchanged_before != COMPLETE:
            entries = Entries(np.array(self._ats, np.int64), np.array(self._statements, np.int32))
            known = {} if self._history is None else self._history.known_before(self._unchanged_before)
            self._history = History(self.words, entries, known)
            self._unchanged_before = COMPLETE
        return self._history

    def entries(self) -> list[tuple[Instant, Statement]]:
        """Every punctuation, in time order."""
        values = self.words.statements.values
        return [(at, values[number]) for at, number in zip(self._ats, self._statements, strict=True)]

    # Forgetting -------------------------------------------------------------------------------------------------------

    def worth_forgetting(self, horizon: Instant) -> bool:
        """Whether enough has fallen behind the horizon since the last look for another one to pay."""
        behind = bisect_left(self._ats, horizon)
        return 2 * (behind - self._kept) >= len(self) > 0 and behind > self._kept

    def without_forgotten(self, horizon: Instant, translated: Callable[[int], int]) -> Log:
        """The log with only what tuples at or after the horizon need, its subjects under new numbers."""
        log = Log(self.words.rule, self.words.start)
        behind = bisect_left(self._ats, horizon)
        entries = self.entries()
        needed = _needed(entries[:behind], self.words)
        numbers: dict[Statement, int] = {}
        for at, one in needed + entries[behind:]:
            if one not in numbers:
                objects = self.words.objects.values[one.objects]
                numbers[one] = log.number(objects, one.positive, one.immediate, translated(one.subjects))
            log.put(at, numbers[one])
        log._kept = len(needed)
        return log


def _needed(entries: list[tuple[Instant, Statement]], words: Vocabulary) -> list[tuple[Instant, Statement]]:
    """Those whose word on some role is the last one for some cell.

    Every tuple that will be asked about is later than all of these, so they act in order, immediate or not, and for
    each cell and role the last one to decide prevails. One is dead if later ones with patterns that cover its own
    decide all that it decides.
    """
    covering = _Covering(words.objects)
    decided: dict[int, int] = {}
    kept: list[tuple[Instant, Statement]] = []
    waiting: list[Statement] = []
    for place in range(len(entries) - 1, -1, -1):
        at, one = entries[place]
        if place + 1 < len(entries) and entries[place + 1][0] != at:
            # Those of one instant act together: none of them overrules another.
            _decide(decided, waiting, words.rule)
        waiting.append(one)
        later = 0
        for pattern in covering.of(one.objects):
            later |= decided.get(pattern, 0)
        if one.writes(words.rule) & ~later:
            kept.append((at, one))
    kept.reverse()
    return kept if words.start != NOTHING else _without_idle(kept)


def _decide(decided: dict[int, int], waiting: list[Statement], rule: Rule) -> None:
    for one in waiting:
        decided[one.objects] = decided.get(one.objects, 0) | one.writes(rule)
    waiting.clear()


def _without_idle(entries: list[tuple[Instant, Statement]]) -> list[tuple[Instant, Statement]]:
    """Without a `-` for roles that nobody had been given by then: a fold that starts from nothing needs none."""
    given = 0
    kept: list[tuple[Instant, Statement]] = []
    for _, same_time in groupby(entries, key=lambda pair: pair[0]):
        batch = list(same_time)
        for _, one in batch:
            given |= one.subjects if one.positive else 0
        kept.extend(pair for pair in batch if pair[1].subjects & given)
    return kept


class _Covering:
    """For each pattern, those that match at least as much: itself, and itself with parts replaced by `*`."""

    def __init__(self, objects: ObjectIndex) -> None:
        self._objects = objects
        self._known: dict[int, list[int]] = {}

    def of(self, number: int) -> list[int]:
        found = self._known.get(number)
        if found is None:
            found = self._known[number] = self._look_up(self._objects.values[number])
        return found

    def _look_up(self, one: Objects) -> list[int]:
        every = Objects()
        wider = {
            Objects(streams, tuples, attributes)
            for streams in (one.streams, every.streams)
            for tuples in (one.tuples, every.tuples)
            for attributes in (one.attributes, every.attributes)
        }
        numbers = (self._objects.find(objects) for objects in wider)
        return [number for number in numbers if number is not None]
