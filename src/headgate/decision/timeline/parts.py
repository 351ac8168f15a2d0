"""A column of tuples cut into parts that one segment table answers: same particular patterns, same point of judgement.

Usually there is one part. Tuples that particular patterns match are set apart by the *set* of patterns that matches
their id, found once for each distinct id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.decision.timeline.history import History
from headgate.decision.timeline.interning import Interner
from headgate.decision.timeline.objects import NONE, Matching
from headgate.decision.timeline.objects import Numbers as Patterns
from headgate.decision.timeline.runs import Runs
from headgate.decision.timeline.steps import Steps, Times
from headgate.decision.timeline.tuples import Tuples
from headgate.model.instant import Instant
from headgate.model.schema import StreamSchema

Rows = NDArray[np.int64]
Now = Instant | Times | None
"""When tuples are judged: all at one time, each at one of a column of times, or (None) each at its own."""


@dataclass(frozen=True, eq=False, slots=True)
class Asked:
    """One attribute of one stream, as the histories involved speak of it."""

    stream: StreamSchema
    histories: tuple[History, ...]
    matching: tuple[Matching, ...]

    @staticmethod
    def of(stream: StreamSchema, attribute: str, histories: Sequence[History]) -> Asked:
        return Asked(stream, tuple(histories), tuple(one.matching(stream, attribute) for one in histories))

    def steps(self, position: int, part: Part) -> Steps:
        """The segment table of one of the histories for a part of the tuples."""
        history, matching = self.histories[position], self.matching[position]
        return history.steps(self.stream, matching, part.own[position], part.tuples, part.now)


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """Tuples that one segment table answers."""

    tuples: Tuples
    own: tuple[Patterns, ...]
    """For each history, the particular patterns that match these tuples."""
    now: Instant | None


def answered(asked: Asked, tuples: Tuples, now: Now, table: Callable[[Part], Steps]) -> Runs:
    """Make each part's table, look its tuples up, and put the answers where they belong."""
    answers = Runs(np.empty(0, np.int32))
    for rows, own in _by_patterns(asked, tuples):
        for chosen, moment in _by_now(asked, rows, now):
            part = Part(tuples if chosen is None else tuples.rows(chosen), own, moment)
            found = Runs.of(table(part), part.tuples)
            answers = found if chosen is None else _overwritten(answers, chosen, found, len(tuples))
    return answers


def _overwritten(answers: Runs, chosen: Rows, found: Runs, length: int) -> Runs:
    """Other answers for the chosen rows. The first such part may find no answers at all yet."""
    if answers.lengths is not None or len(answers.numbers) < length:
        dense = answers.dense()
        answers = Runs(dense if len(dense) == length else np.empty(length, np.int32))
    answers.numbers[chosen] = found.dense()
    return answers


def _by_patterns(asked: Asked, tuples: Tuples) -> Iterator[tuple[Rows | None, tuple[Patterns, ...]]]:
    """All rows (None) as if no particular pattern matched, then those that some do match, which overwrite the first."""
    yield None, tuple(NONE for _ in asked.histories)
    if not tuples.with_ids or not any(one.particular for one in asked.matching):
        return
    kinds: Interner[tuple[Patterns, ...]] = Interner((tuple(NONE for _ in asked.histories),))
    pairs = list(zip(asked.histories, asked.matching, strict=True))
    ids, codes = tuples.encoded
    of_ids = [kinds.number(tuple(one.words.objects.own(match, tid) for one, match in pairs)) for tid in ids]
    if len(kinds) == 1:
        return
    kind_of_row = np.array(of_ids, np.int32)[codes]
    special = np.flatnonzero(kind_of_row)
    order = special[kind_of_row[special].argsort(kind="stable")]
    ends = np.cumsum(np.bincount(kind_of_row[special], minlength=len(kinds))).tolist()
    for kind in range(1, len(kinds)):
        yield order[ends[kind - 1] : ends[kind]], kinds.values[kind]


def _by_now(asked: Asked, rows: Rows | None, now: Now) -> Iterator[tuple[Rows | None, Instant | None]]:
    """Rows between whose points of judgement no immediate punctuation lies."""
    if not isinstance(now, np.ndarray):
        yield rows, now
        return
    moments = now if rows is None else now[rows]
    pairs = zip(asked.histories, asked.matching, strict=True)
    ats = np.unique(np.concatenate([one.immediate_ats(match) for one, match in pairs]))
    if not len(ats) and len(moments):
        yield rows, int(moments[0])
        return
    kinds = ats.searchsorted(moments)
    for kind in np.unique(kinds).tolist():
        chosen = np.flatnonzero(kinds == kind)
        yield chosen if rows is None else rows[chosen], int(moments[chosen[0]])
