"""What the tests of timelines share: punctuations that meet each other, and the reference's answers.

Drawn whole from a fixed pool: field by field hypothesis would spend most of a test's time on them. Times, roles and ids
are few, so that punctuations tie, overlap and overrule each other.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import strategies as st

from headgate.decision.timeline import Cell, Timeline, Version
from headgate.model.datatype import DataType
from headgate.model.pattern import EVERYTHING, Ids, Names, Range, Regex
from headgate.model.punctuation import ALL_OBJECTS, Kind, Objects, Punctuation, SubjectModel
from headgate.model.schema import Column, StreamSchema
from headgate.reference import timeline as reference

TIMES = range(14)
ROLES = ("D1", "D2", "D3")
DECLARED = frozenset(("D1", "D5"))
USERS = ("u1", "u2", "u3")
QUERIES = ("q1", "q2")
TIDS = (None, True, 0, 1, 2, 1.0, 2.5, "a", "ab", "b", "1")
ATTRIBUTES = ("k", "x", "y")

_COLUMNS = (
    Column("ts", DataType.TIMESTAMP),
    Column("k", DataType.INT),
    Column("x", DataType.INT),
    Column("y", DataType.INT),
)


def stream(name: str = "S1", retroactive: bool = False, governed: bool = True) -> StreamSchema:
    return StreamSchema(name, _COLUMNS, tid="k", governed=governed, retroactive=retroactive)


_STREAMS = (EVERYTHING, EVERYTHING, Names(("S1",)), Names(("S2",)), Regex("S[12]"))
_TUPLES = (*[EVERYTHING] * 6, Ids((1,)), Ids((2, "a")), Ids((1.0,)), Range(0, 1), Range(1, 2.5), Regex("a.*"))
_ATTRIBUTES = (*[EVERYTHING] * 4, Names(("X",)), Names(("x", "y")), Regex("[kx]"))


def _punctuation(random: Random) -> Punctuation:
    kind = random.choice((Kind.DATA, Kind.DATA, Kind.QUERY))
    model = SubjectModel.ROLES if kind is Kind.DATA else random.choice((*SubjectModel, SubjectModel.ROLES))
    names = USERS if model is SubjectModel.USERS else ROLES
    whole = model is SubjectModel.USERS or random.random() < 0.4
    objects = Objects(random.choice(_STREAMS), random.choice(_TUPLES), random.choice(_ATTRIBUTES))
    return Punctuation(
        kind,
        tuple(random.sample(names, random.randint(1, 2))),
        positive=random.random() < 0.6,
        at=random.choice(TIMES),
        model=model,
        query=None if kind is Kind.DATA else random.choice(QUERIES),
        objects=ALL_OBJECTS if whole else objects,
        immediate=random.random() < 0.45,
    )


_RANDOM = Random(20260101)
POOL = [_punctuation(_RANDOM) for _ in range(4_000)]

carried = st.lists(st.sampled_from([(_RANDOM.choice(("S1", "S2")), one) for one in POOL]), max_size=14)
"""Punctuations with the streams that carry them, in any order of arrival."""
seeds = st.integers(0, 1 << 20)
"""For what is asked: which cells a failing example asks about matters less than what was said."""


def cells(seed: int, of: StreamSchema, count: int = 8, since: int = -1) -> list[tuple[Cell, int]]:
    """Cells with the times at which they are judged, before their own time too."""
    random = Random(seed)
    return [
        (
            Cell(of, random.choice(TIDS), random.choice(ATTRIBUTES), random.randint(since, 15)),
            random.randint(-1, 16),
        )
        for _ in range(count)
    ]


class Both:
    """The timeline and the reference, fed alike."""

    def __init__(self, retroactive: bool = False) -> None:
        self.streams = {name: stream(name, retroactive) for name in ("S1", "S2")}
        self.timeline = Timeline()
        self.expected = reference.Timeline()

    def add(self, name: str, punctuation: Punctuation, watermark: int | None = None) -> None:
        """As semantics.md, section 1: one behind the watermark counts there, a `-` at once, a `+` from then on."""
        self.timeline.add(self.streams[name], punctuation, watermark)
        if watermark is not None and punctuation.at < watermark:
            punctuation = replace(punctuation, at=watermark, immediate=not punctuation.positive)
        self.expected.add(self.streams[name], punctuation)

    def check(self, seed: int, since: int = -1, count: int = 8) -> None:
        """Ask both about some cells and users."""
        for one in self.streams.values():
            for cell, now in cells(seed, one, count, since):
                assert answers(self.timeline.version, cell, now) == self.answers(cell, now), (cell, now)
        for query in QUERIES:
            for at in range(max(since, seed % 5), 15, 3):
                expected = self.expected.users(query, USERS[:2], at)
                assert self.timeline.version.users(query, USERS[:2], at) == expected, (query, at)

    def answers(self, cell: Cell, now: int) -> list[frozenset[str]]:
        asked = reference.Cell(cell.stream, cell.tid, cell.attribute, cell.time)
        query_roles = (self.expected.query_roles(query, DECLARED, asked, now) for query in QUERIES)
        return [self.expected.data_roles(asked, now), *query_roles]


def answers(version: Version, cell: Cell, now: int) -> list[frozenset[str]]:
    """The data's roles, and each query's."""
    return [version.data_roles(cell, now), *(version.query_roles(query, DECLARED, cell, now) for query in QUERIES)]
