"""What a query does with each column."""

from __future__ import annotations

import pytest

from headgate.algebra.block import block_of
from headgate.algebra.operators import blocks_of
from headgate.algebra.spelling.cql import parse_cql
from headgate.algebra.uses import Use, columns_outside_calls, uses_of
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema

T = DataType
CATALOG = StreamCatalog(
    StreamSchema(name, (Column("ts", T.TIMESTAMP), *(Column(one, T.INT) for one in "abc"))) for name in ("S", "U")
)


def uses(text: str) -> set[tuple[str, str, str]]:
    (block,) = blocks_of(parse_cql(text, CATALOG))
    found = uses_of(block_of(block))
    assert len(set(found)) == len(found), "each once"
    return {(use.source, use.column, use.privilege) for use in found}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a FROM S", {("S", "a", "read")}),
        ("SELECT a + b AS x, a FROM S", {("S", "a", "read"), ("S", "b", "read")}),
        ("SELECT a FROM S WHERE a > 1 AND b = c", {("S", "a", "read"), *(("S", one, "assist") for one in "abc")}),
        ("SELECT 1 AS one FROM S", set()),
        ("SELECT count(*) AS n FROM S [ROWS 5]", set()),
        ("SELECT avg(a) FROM S [ROWS 5]", {("S", "a", "avg")}),
        ("SELECT lastval(a) FROM S [ROWS 5]", {("S", "a", "last")}),
        ("SELECT sum(a * b) FROM S [ROWS 5]", {("S", "a", "sum"), ("S", "b", "sum")}),
        ("SELECT a, avg(b) FROM S [ROWS 5] GROUP BY a", {("S", "a", "assist"), ("S", "a", "read"), ("S", "b", "avg")}),
        ("SELECT avg(b) FROM S [ROWS 5] GROUP BY a", {("S", "a", "assist"), ("S", "b", "avg")}),
        (
            "SELECT avg(b) FROM S [ROWS 5] GROUP BY a HAVING max(c) > a",
            {("S", "a", "assist"), ("S", "b", "avg"), ("S", "c", "max")},
        ),
        (
            "SELECT s.a FROM S AS s [NOW] JOIN U ON s.b = U.b",
            {("s", "a", "read"), ("s", "b", "assist"), ("U", "b", "assist")},
        ),
        ("SELECT a FROM S WHERE ts > 6:00am", {("S", "a", "read"), ("S", "ts", "assist")}),
    ],
)
def test_uses(text: str, expected: set[tuple[str, str, str]]) -> None:
    assert uses(text) == expected


def test_the_same_column_can_be_used_in_several_ways() -> None:
    text = "SELECT a, max(a), min(a) FROM S [ROWS 5] WHERE a > 1 GROUP BY a"
    assert {privilege for _, _, privilege in uses(text)} == {"read", "assist", "max", "min"}


def test_columns_in_calls_are_not_shown() -> None:
    (block,) = blocks_of(parse_cql("SELECT a + max(b) * a AS x FROM S [ROWS 5] GROUP BY a", CATALOG))
    assert [one.name for one in columns_outside_calls(block_of(block).outputs[0].expression)] == ["a"]
    assert Use("S", "a", "read") in uses_of(block_of(block))
