"""The smart-health system of the Privacy Switches paper, with streams that are generated: what the demo runs.

Three streams, the continuous queries CQ1 and CQ2 of figure 1, four users. Punctuations take the output of a query away
from users and give it back; once, nobody at all may see CQ2.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.model.datatype import DataType
from headgate.model.element import Element, Tuple
from headgate.model.instant import SECOND, Instant, parse_timestamp
from headgate.model.punctuation import Kind, Punctuation, SubjectModel
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.scenario.system import System

CQ1 = (
    "SELECT s1.streamid, s1.heartRate FROM Stream1 as s1 [RANGE 5 min, SLIDE 1 min], "
    "Stream2 as s2 [RANGE 5 min, SLIDE 1 min] WHERE s1.location = s2.location AND "
    "s1.timestamp > 6:00am AND s1.timestamp < 7:00pm AND s2.speed < 30"
)
CQ2 = (
    "SELECT s1.streamid, s1.heartRate FROM Stream1 as s1 [RANGE 10 min, SLIDE 1 min], "
    "Stream2 as s2 [RANGE 10 min, SLIDE 1 min], Stream3 as s3 [RANGE 10 min, SLIDE 1 min] "
    "WHERE s1.location = s2.location AND s2.location = s3.location AND s1.timestamp > 8:00am "
    "AND s1.timestamp < 7:00pm AND s2.speed < 0 AND s3.screentime > 5h"
)

START = parse_timestamp("2026-01-01T08:00:00Z")
MINUTE = 60 * SECOND
EPOCH = MINUTE // 2
"""Half a minute of the streams is one epoch."""

_PLACES = [f"ward {letter}" for letter in "ABCDEFGH"]

# (minute, query, users, given): the story of the demo.
_SCRIPT = (
    (-1.0, "cq1", ("ann", "ben"), True),
    (-1.0, "cq2", ("cho", "dev"), True),
    (4.0, "cq1", ("ben",), False),
    (6.0, "cq2", ("dev",), False),
    (8.0, "cq2", ("cho",), False),
    (13.0, "cq2", ("cho",), True),
    (15.0, "cq1", ("ben",), True),
    (17.0, "cq1", ("ann", "ben"), False),
    (22.0, "cq1", ("ann",), True),
)


def smart_health() -> System:
    """The system, without data."""
    text, whole, time = DataType.STRING, DataType.INT, DataType.TIMESTAMP
    shared = (Column("streamid", text), Column("location", text))
    catalog = StreamCatalog(
        (
            StreamSchema(
                "Stream1",
                (*shared, Column("heartRate", whole), Column("timestamp", time)),
                time="timestamp",
                tid="streamid",
            ),
            StreamSchema("Stream2", (*shared, Column("speed", whole), Column("ts", time)), tid="streamid"),
            StreamSchema(
                "Stream3",
                (*shared, Column("screentime", whole, "hours"), Column("category", text), Column("ts", time)),
                tid="streamid",
            ),
        )
    )
    users = {
        name: User(name, frozenset([role]))
        for name, role in (("ann", "cardiologist"), ("ben", "nurse"), ("cho", "researcher"), ("dev", "insurer"))
    }
    queries = (
        Query("cq1", "ann", ("ann", "ben"), parse_cql(CQ1, catalog), punctuated=True),
        Query("cq2", "cho", ("cho", "dev"), parse_cql(CQ2, catalog), punctuated=True),
    )
    return System(catalog, users, queries)


def epochs(count: int, per_epoch: int = 2, seed: int = 2020, begin: int = 0) -> Iterator[list[tuple[str, Element]]]:
    """So many epochs of the three streams, in event-time order, the punctuations of the story among them.

    With `begin`, the story is told once more, after so many rounds of that length.
    """
    random = Random(seed)  # noqa: S311 - demo data
    offset = begin * count * EPOCH
    for number in range(count):
        start = START + number * EPOCH
        elements: list[tuple[str, Element]] = []
        for _ in range(per_epoch):
            elements.extend(_tuples(random, offset + start + random.randrange(EPOCH // SECOND) * SECOND))
        first = start if number or begin else START - 2 * MINUTE
        elements.extend(_punctuations(first, start + EPOCH, offset))
        yield sorted(elements, key=lambda pair: (_time(pair[1]), isinstance(pair[1], Punctuation)))


def _tuples(random: Random, time: Instant) -> Iterator[tuple[str, Element]]:
    place = random.choice(_PLACES)
    number = random.randrange(1, 9)
    yield "Stream1", Tuple(time, (f"patient {number}", place, random.randrange(55, 150), time))
    yield "Stream2", Tuple(time, (f"device {number}", place, random.randrange(-12, 60), time))
    yield "Stream3", Tuple(time, (f"phone {number}", place, random.randrange(0, 12), "games", time))


def _punctuations(begin: Instant, end: Instant, offset: Instant = 0) -> Iterator[tuple[str, Element]]:
    for minute, query, users, given in _SCRIPT:
        at = START + int(minute * MINUTE)
        if begin <= at < end:
            yield "Stream1", Punctuation(Kind.QUERY, users, given, at + offset, model=SubjectModel.USERS, query=query)


def _time(element: Element) -> Instant:
    return element.time if isinstance(element, Tuple) else element.at
