"""What expressions mean on plain values: three-valued logic, and never an exception."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.algebra.operators import Source
from headgate.algebra.scope import SourceScope
from headgate.model.datatype import DataType, Value
from headgate.model.expression.evaluate import cast_value, evaluate, is_true, remainder
from headgate.model.expression.like import like_pattern
from headgate.model.expression.parse import parse_expression
from headgate.model.instant import SECOND
from headgate.model.schema import Column, StreamSchema
from headgate.testing.expressions import conditions, scalars
from headgate.testing.queries import columns_of_sources
from headgate.testing.streams import schemas
from headgate.testing.values import values_of

T = DataType
STREAM = StreamSchema(
    "S",
    (
        Column("ts", T.TIMESTAMP),
        Column("id", T.STRING),
        Column("x", T.INT),
        Column("y", T.BIGINT),
        Column("d", T.DOUBLE),
        Column("p", T.BOOLEAN),
        Column("q", T.BOOLEAN),
    ),
    timezone="Asia/Singapore",
)
SCOPE = SourceScope([Source(STREAM, "S")])
MOST, LEAST = (1 << 31) - 1, -(1 << 31)


def value_of(text: str, **cells: Value) -> Value:
    return evaluate(parse_expression(text, SCOPE), lambda column: cells.get(column.name))


def _and(p, q):
    return False if p is False or q is False else None if p is None or q is None else True


def _or(p, q):
    return True if p is True or q is True else None if p is None or q is None else False


@pytest.mark.parametrize(("p", "q"), list(product([True, False, None], repeat=2)))
def test_connectives_have_three_values(p, q) -> None:
    assert value_of("p AND q", p=p, q=q) is _and(p, q)
    assert value_of("p OR q", p=p, q=q) is _or(p, q)
    assert value_of("NOT p", p=p) is (None if p is None else not p)


@pytest.mark.parametrize("sign", ["=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%"])
def test_null_on_either_side_gives_null(sign: str) -> None:
    assert value_of(f"x {sign} 1") is None
    assert value_of(f"1 {sign} x") is None
    assert value_of(f"x {sign} NULL", x=1) is None


@pytest.mark.parametrize(
    ("text", "cells", "value"),
    [
        ("x IS NULL", {}, True),
        ("x IS NOT NULL", {}, False),
        ("x IN (1, 2)", {"x": 2}, True),
        ("x IN (1, 2)", {"x": 3}, False),
        ("x IN (1, NULL)", {"x": 1}, True),
        ("x IN (1, NULL)", {"x": 3}, None),
        ("x IN (1, 2)", {}, None),
        ("x NOT IN (1, NULL)", {"x": 3}, None),
        ("x BETWEEN 1 AND 3", {"x": 3}, True),
        ("x BETWEEN NULL AND 3", {"x": 5}, False),
        ("p < q", {"p": False, "q": True}, True),
        ("id < 'b'", {"id": "B"}, True),
        ("x = 1.0", {"x": 1}, True),
        ("7 / 2", {}, 3.5),
        ("7 / 0", {}, None),
        ("7 % 0", {}, None),
        ("7.5 / 0.0", {}, None),
        ("-7 % 3", {}, -1),
        ("7 % -3", {}, 1),
        ("d % 0.5", {"d": -1.75}, -0.25),
        ("x + 1", {"x": MOST}, None),
        ("x - 1", {"x": LEAST}, None),
        ("x * x", {"x": 1 << 20}, None),
        ("y + 1", {"y": (1 << 63) - 1}, None),
        ("x + 1.0", {"x": MOST}, float(1 << 31)),
        ("-x", {"x": LEAST}, None),
        ("abs(x)", {"x": LEAST}, None),
        ("d * 1e308", {"d": 1e10}, None),
        ("ts + 5s", {"ts": 0}, 5 * SECOND),
        ("ts - 5s", {"ts": 0}, -5 * SECOND),
        ("ts > 6:00am", {"ts": 0}, True),
        ("ts < 7:30", {"ts": 0}, False),
        ("ts = 7:30", {"ts": 0}, True),
        ("CASE WHEN p THEN 1 WHEN q THEN 2 ELSE 3 END", {"q": True}, 2),
        ("CASE WHEN p THEN 1 END", {"p": None}, None),
        ("CASE x WHEN NULL THEN 1 ELSE 2 END", {}, 2),
        ("CASE WHEN p THEN 1 ELSE 1.5 END", {"p": True}, 1.0),
        ("coalesce(x, 5)", {}, 5),
        ("coalesce(x, d)", {"x": 1}, 1.0),
        ("nullif(x, 1)", {"x": 1}, None),
        ("nullif(x, 1)", {"x": 2}, 2),
        ("nullif(x, 1)", {}, None),
        ("greatest(x, 5, NULL)", {"x": 3}, 5),
        ("least(x, NULL)", {}, None),
        ("if(p, 1, 2)", {}, 2),
        ("floor(d)", {"d": -1.5}, -2),
        ("ceil(d)", {"d": -1.5}, -1),
        ("floor(d)", {"d": 1e300}, None),
        ("round(d)", {"d": 2.5}, 3.0),
        ("round(d)", {"d": -2.5}, -3.0),
        ("round(d, 1)", {"d": 0.25}, 0.3),
        ("round(x, -1)", {"x": 15}, 20),
        ("round(x, -9)", {"x": MOST}, 2_000_000_000),
        ("round(d, 400)", {"d": 1.5}, None),
        ("length(id)", {"id": "日本"}, 2),
        ("upper(id)", {"id": "é"}, "É"),
        ("trim(id)", {"id": "  a\t "}, "a\t"),
        ("id || 'b' || id", {"id": "a"}, "aba"),
        ("id || 'b'", {}, None),
        ("substring(id, 2, 2)", {"id": "abcd"}, "bc"),
        ("substring(id, -2)", {"id": "abcd"}, "cd"),
        ("substring(id, 0, 2)", {"id": "abcd"}, "ab"),
        ("substring(id, 9)", {"id": "abcd"}, ""),
        ("substring(id, -9, 3)", {"id": "abcd"}, ""),
        ("substring(id, 2, -1)", {"id": "abcd"}, ""),
        ("CAST(id AS int)", {"id": " 5 "}, 5),
        ("CAST(id AS int)", {"id": "5.5"}, None),
        ("CAST(id AS int)", {"id": "2147483648"}, None),
        ("CAST(id AS double)", {"id": "1e3"}, 1000.0),
        ("CAST(id AS double)", {"id": "1e999"}, None),
        ("CAST(id AS double)", {"id": "nan"}, None),
        ("CAST(d AS int)", {"d": -1.9}, -1),
        ("CAST(d AS int)", {"d": 1e300}, None),
        ("CAST(p AS string)", {"p": True}, "true"),
        ("CAST(x AS string)", {"x": -5}, "-5"),
        ("CAST(y AS int)", {"y": 1 << 40}, None),
    ],
)  # fmt: skip
def test_values(text: str, cells: dict[str, Value], value: Value) -> None:
    computed = value_of(text, **cells)
    assert computed == value
    assert type(computed) is type(value)


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("a%", ["a", "abc", "a\nb"], ["ba", "", "A"]),
        ("_", ["a", "日", "\n"], ["", "ab"]),
        ("%", ["", "a"], []),
        ("", [""], ["a"]),
        (r"50\%", ["50%"], ["501", "50"]),
        (r"a\_b", ["a_b"], ["axb"]),
        ("a.b", ["a.b"], ["axb"]),
        ("(a|b)*", ["(a|b)*"], ["a"]),
        ("a\\", ["a\\"], ["a"]),
        (r"a\\%", ["a\\", "a\\b"], ["a"]),
    ],
)
def test_like_patterns(pattern: str, matching: list[str], other: list[str]) -> None:
    compiled = like_pattern(pattern)
    assert [text for text in [*matching, *other] if compiled.fullmatch(text)] == matching


def test_a_condition_holds_only_if_it_is_true() -> None:
    condition = parse_expression("x > 1", SCOPE)
    assert is_true(condition, lambda _: 2)
    assert not is_true(condition, lambda _: 1)
    assert not is_true(condition, lambda _: None)


def test_the_remainder_has_the_sign_of_the_dividend() -> None:
    assert [remainder(*pair) for pair in ((7, 3), (-7, 3), (7, -3), (-7, -3))] == [1, -1, 1, -1]


def test_a_cast_to_the_same_type_changes_nothing() -> None:
    assert cast_value("a", T.STRING, T.STRING) == "a"
    assert cast_value(None, T.STRING, T.INT) is None


@pytest.mark.parametrize(
    ("text", "cells"),
    [("ts + 9999999d > 6:00am", {"ts": 0}), ("id LIKE 'a%'", {"id": "\ud800"})],
    ids=["time beyond the calendar", "half a character"],
)
def test_nothing_that_parses_raises(text: str, cells: dict[str, Value]) -> None:
    assert value_of(text, **cells) in (None, False)


@st.composite
def _expression_and_cells(draw: st.DrawFn):
    columns = columns_of_sources([Source(draw(schemas("S")), "a")])
    kind = draw(st.sampled_from([column.type for column in columns]))
    cells = {column.name: draw(values_of(column.type, nullable=True)) for column in columns}
    return draw(conditions(columns, 3) | scalars(columns, kind, 3)), cells


PYTHON_TYPES = {
    T.STRING: str, T.INT: int, T.BIGINT: int, T.DOUBLE: float, T.BOOLEAN: bool, T.TIMESTAMP: int, T.DATE: int,
}  # fmt: skip


@given(_expression_and_cells())
def test_property_a_value_is_of_the_type_that_was_told(drawn) -> None:
    expression, cells = drawn
    value = evaluate(expression, lambda column: cells[column.name])
    assert value is None or type(value) is PYTHON_TYPES[expression.type]
