"""Joins of tuples that are years apart: keys and times no longer fit one number."""

from __future__ import annotations

from columnar_local import LocalEngine

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.model.datatype import DataType
from headgate.model.element import Element, Tuple
from headgate.model.instant import SECOND
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.scenario.system import System

NOW = 1_767_254_400 * SECOND
COLUMNS = (Column("k", DataType.BIGINT), Column("ts", DataType.TIMESTAMP))


def test_a_join_keeps_to_its_range_though_a_tuple_is_of_1970() -> None:
    streams = StreamCatalog([StreamSchema("A", COLUMNS), StreamSchema("B", COLUMNS)])
    text = "SELECT A.k FROM A [RANGE 10 s], B [RANGE 10 s] WHERE A.k = B.k"
    system = System(streams, {"u": User("u")}, (Query("q", "u", ("u",), parse_cql(text, streams)),))
    engine = LocalEngine(system)

    def of(stream: str, key: int, at: int) -> tuple[str, Element]:
        return stream, Tuple(at, (key, at))

    keys = range(3_000)
    elements = [of("A", 1, 0), of("B", 1, 5 * SECOND)]
    elements += [of("A", key, NOW) for key in keys]
    elements += [of("B", key, NOW + 10 * SECOND + (1 if key % 3 else 0)) for key in keys]
    elements += [of("B", key, NOW + 3_600 * SECOND) for key in keys]
    engine.epoch(elements)
    engine.finish()
    expected = [(5 * SECOND, 1)] + [(NOW + 10 * SECOND, key) for key in keys if key % 3 == 0]
    assert sorted((at, row["k"]) for at, row in engine.rows["q", "u"]) == expected
