"""Strategies for streams and what flows in them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from random import Random

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from headgate.model.datatype import DataType
from headgate.model.element import Element, Tuple
from headgate.model.instant import SECOND
from headgate.model.pattern import EVERYTHING, Ids, NamePattern, Names, Range, Regex, TuplePattern
from headgate.model.punctuation import ALL_OBJECTS, Kind, Objects, Punctuation, SubjectModel
from headgate.model.schema import Column, StreamSchema
from headgate.testing.values import START, random_value

NAMES = ("k", "x", "y", "z")
ODD_NAMES = ("odd name", "select", 'a"b', "é", "k.x", "Range")
ROLES = ("D1", "D2", "D3")
USERS = ("u1", "u2", "u3")
QUERIES = ("q1", "q2", "q3", "q4", "q5")
_SPOKEN_OF = ("q1", "q1", "q1", "q2", "q2", "q3", "q4", "q5")
"""Most systems have one or two queries, so most punctuations speak of these."""
SECONDS = 40
"""How many seconds generated streams last: short, so that windows fill and times tie."""


_PAYLOADS = (
    (DataType.INT, DataType.DOUBLE, DataType.STRING),
    (DataType.BOOLEAN, DataType.BIGINT),
    (DataType.STRING, DataType.INT),
    (DataType.DOUBLE,),
    (DataType.TIMESTAMP, DataType.DATE),
)


@cache
def schemas(name: str, odd_names: bool = False) -> SearchStrategy[StreamSchema]:
    """A stream of this name with a key that joins well and a few more columns: one of a fixed number of kinds."""
    flags = ((False, False), (False, False), (True, False), (True, True))
    made = []
    for position, (key, payload) in enumerate(product((DataType.INT, DataType.STRING), _PAYLOADS)):
        columns = [Column("ts", DataType.TIMESTAMP), Column("k", key)]
        columns += [Column(one, kind) for one, kind in zip(NAMES[1:], payload, strict=False)]
        if odd_names:
            columns.append(Column(ODD_NAMES[position % len(ODD_NAMES)], DataType.INT))
        for governed, retroactive in flags:
            made.append(
                StreamSchema(
                    name,
                    tuple(columns),
                    tid=(None, "k", "k", "x")[position % 4],
                    governed=governed,
                    retroactive=retroactive,
                    owner="u3" if position % 2 else None,
                )
            )
    return st.sampled_from(made)


@cache
def times() -> SearchStrategy[int]:
    """Event times on a grid of seconds."""
    return st.integers(0, SECONDS).map(lambda second: START + second * SECOND)


def tuples_of(stream: StreamSchema, seed: int, count: int) -> list[Tuple]:
    """So many tuples of the stream, the same for the same seed.

    Drawn from a generator of our own: cell by cell, hypothesis would spend most of a test's time on them, and what
    makes a failing example small is how many tuples it has, not which.
    """
    random = Random(seed)  # noqa: S311 - test data
    made = []
    for _ in range(count):
        time = START + random.randint(0, SECONDS) * SECOND
        cells = (time if one.name == stream.time else random_value(random, one.type) for one in stream.columns)
        made.append(Tuple(time, tuple(cells)))
    return made


@cache
def _names(names: tuple[str, ...]) -> SearchStrategy[NamePattern]:
    some = st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)
    return st.just(EVERYTHING) | some.map(lambda chosen: Names(tuple(chosen))) | st.sampled_from([Regex("[kx].*")])


@cache
def _tuples() -> SearchStrategy[TuplePattern]:
    known: list[str | int | float] = [0, 1, 2, 0.5, "a", "b", "1"]
    ids = st.lists(st.sampled_from(known), min_size=1, max_size=2, unique=True)
    ranges = st.tuples(st.integers(-3, 3), st.integers(0, 6)).map(lambda pair: Range(pair[0], pair[0] + pair[1] / 2))
    return st.just(EVERYTHING) | ids.map(lambda chosen: Ids(tuple(chosen))) | ranges | st.just(Regex("a.*"))


@cache
def _subjects(names: tuple[str, ...]) -> SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True).map(tuple)


@st.composite
def punctuations(draw: st.DrawFn, stream: StreamSchema) -> Punctuation:
    """A punctuation that this stream may carry."""
    kind = draw(st.sampled_from(Kind))
    model = SubjectModel.ROLES if kind is Kind.DATA else draw(st.sampled_from(SubjectModel))
    if model is SubjectModel.USERS or draw(st.booleans()):
        objects = ALL_OBJECTS
    else:
        streams: SearchStrategy[NamePattern] = st.just(Names((stream.name,))) | st.just(EVERYTHING)
        objects = Objects(draw(streams), draw(_tuples()), draw(_names(stream.names)))
    return Punctuation(
        kind,
        draw(_subjects(USERS if model is SubjectModel.USERS else ROLES)),
        positive=draw(st.booleans()),
        at=draw(times()),
        model=model,
        query=None if kind is Kind.DATA else draw(st.sampled_from(_SPOKEN_OF)),
        objects=objects,
        immediate=draw(st.booleans()),
    )


@cache
def elements(stream: StreamSchema, max_tuples: int = 14, max_punctuations: int = 5) -> SearchStrategy[list[Element]]:
    """What a stream carries, in any order."""
    some_tuples = st.tuples(st.integers(0, 1_000_000), st.integers(max_tuples // 2, max_tuples)).map(
        lambda pair: tuples_of(stream, *pair)
    )
    some_punctuations = st.lists(st.tuples(punctuations(stream), st.integers(0, 2)), max_size=max_punctuations).map(
        _some_at_once
    )
    opened = st.sampled_from([[], [_opening(stream)], [_opening(stream)], [_opening(stream)]])
    return st.tuples(some_tuples, some_punctuations, opened).map(lambda parts: [*parts[0], *parts[1], *parts[2]])


def _some_at_once(drawn: list[tuple[Punctuation, int]]) -> list[Punctuation]:
    """Every third one at the time of the one before it: together they make a batch."""
    made: list[Punctuation] = []
    for one, alone in drawn:
        made.append(one if alone or not made else replace(one, at=made[-1].at))
    return made


def _opening(stream: StreamSchema) -> Punctuation:
    """A punctuation before all others that opens the stream to every role: else most of what is drawn is withheld."""
    return Punctuation(Kind.DATA, ROLES, positive=True, at=START - SECOND, objects=Objects(Names((stream.name,))))


def switched_on(query: str, subscribers: tuple[str, ...]) -> Punctuation:
    """A punctuation before all others that gives subscribers the output of a query."""
    return Punctuation(Kind.QUERY, subscribers, positive=True, at=START - SECOND, model=SubjectModel.USERS, query=query)
