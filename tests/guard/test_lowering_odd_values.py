"""Conditions of policies over odd values, under settings that are a user's to change, mean what they always mean."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from guarded import rows
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from headgate.guard.gateway import attach
from headgate.guard.lower import columns_by_id, lower
from headgate.model.datatype import DataType, Value
from headgate.model.expression.evaluate import evaluate
from headgate.model.expression.parse import parse_expression
from headgate.model.schema import Column, StreamSchema
from headgate.policy.scope import PolicyScope

SCHEMA = StreamSchema(
    "t",
    (
        Column("i", DataType.INT),
        Column("b", DataType.BIGINT),
        Column("d", DataType.DOUBLE),
        Column("s", DataType.STRING),
        Column("day", DataType.DATE),
        Column("ts", DataType.TIMESTAMP),
    ),
)
ROWS: list[tuple[Value, ...]] = [
    (-2_147_483_648, -9_223_372_036_854_775_808, -0.0, "", -1, -1),
    (2_147_483_647, 9_223_372_036_854_775_807, 0.1, "A ", 0, 0),
    (0, 9_007_199_254_740_993, 5e-324, "a\u0301", 20_000, 1_700_000_000_000_000),
    (5, 1, -2.5, "\u00df", None, 1_772_362_799_999_999),
    (-1, None, 2.5, "\U0001f600x", 1, None),
    (None, 0, 1.7976931348623157e308, "  7  ", 19_000, 86_399_999_999),
    (3, 4, 0.30000000000000004, None, 2, 1_774_746_000_000_000),
    (7, 7, 7.0, "\t7", 3, 3),
    (7, 7, 7.0, "7d", 3, 3),
    (7, 7, 7.0, "1e999", 3, 3),
    (7, 7, 7.0, "Infinity", 3, 3),
    (7, 7, 7.0, " +7.5e0 ", 3, 3),
]
SETTINGS = [
    {},
    {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "Asia/Tokyo"},
    {"spark.sql.timestampType": "TIMESTAMP_NTZ"},
    {"spark.sql.session.timeZone": "America/St_Johns"},
]

NUMBERS = st.sampled_from(
    [
        *("i", "b", "d", "0", "-1", "0.1", "2.5", "2147483647", "abs(i)", "abs(b)", "abs(d)", "-i", "-b", "-d"),
        *("round(i, -1)", "round(b, -2)", "round(d)", "round(d, 1)", "(i % -1)", "(b % -1)", "(i * -1)", "(b - 1)"),
        *("(i / 0)", "(d / d)", "CAST(s AS int)", "CAST(s AS double)", "length(s)", "floor(d)", "ceil(d)"),
    ]
)
TEXTS = st.sampled_from(
    [
        *("s", "'A'", "'A '", "''", "'a'", "upper(s)", "lower(s)", "trim(s)", "substring(s, 1, 1)", "concat(s, ' ')"),
        *("CAST(i AS string)", "nullif(s, '')", "coalesce(s, 'A')"),
    ]
)
SIGNS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
CONDITIONS = st.one_of(
    st.builds("{} {} {}".format, NUMBERS, SIGNS, NUMBERS),
    st.builds("{} {} {}".format, TEXTS, SIGNS, TEXTS),
    st.builds("NOT ({} {} {})".format, NUMBERS, SIGNS, NUMBERS),
    st.builds("{} IS NULL".format, st.one_of(NUMBERS, TEXTS)),
    st.builds("CAST(s AS {}) {} 7".format, st.sampled_from(["int", "bigint", "double"]), SIGNS),
    st.builds("s LIKE '{}'".format, st.sampled_from(["_", "__", "A_", "% ", "%"])),
    st.builds("day {} DATE '{}'".format, SIGNS, st.sampled_from(["1970-01-01", "1969-12-31", "2024-10-04"])),
    st.builds("ts {} TIMESTAMP '{}'".format, SIGNS, st.sampled_from(["1970-01-01T00:00:00Z", "2026-03-01T10:59:59Z"])),
    st.builds("ts {} {}".format, SIGNS, st.sampled_from(["0:00", "6:30pm", "11:59pm"])),
)


@contextmanager
def changed(spark: Any, some: dict[str, str]) -> Iterator[None]:
    """The session with other settings, which are put back afterwards."""
    before = {key: spark.conf.get(key) for key in some}
    for key, value in some.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)


def found(spark: Any, texts: list[str]) -> list[tuple[Any, ...]]:
    raw = spark.createDataFrame(ROWS, "i int, b bigint, d double, s string, day int, ts bigint").coalesce(1)
    frame = raw.selectExpr("i", "b", "d", "s", "date_from_unix_date(day) AS day", "timestamp_micros(ts) AS ts")
    columns = columns_by_id({name: place for place, name in enumerate(frame.columns)})
    terms = [lower(parse_expression(text, PolicyScope((SCHEMA,))), columns) for text in texts]
    built = attach(spark).evaluate(frame._jdf, json.dumps(terms))
    return [tuple(row) for row in type(frame)(built, spark).collect()]


def wanted(text: str, row: tuple[Value, ...]) -> Value:
    expression = parse_expression(text, PolicyScope((SCHEMA,)))
    return evaluate(expression, lambda column: row[SCHEMA.position(column.name)])


# Shrinking would start hundreds of Spark jobs; each condition is small as it is.
@settings(max_examples=4, phases=[Phase.generate])
@given(texts=st.lists(CONDITIONS, min_size=40, max_size=40))
def test_property_odd_values_mean_the_same_under_all_settings(spark, texts) -> None:
    for some in SETTINGS:
        with changed(spark, some):
            answers = found(spark, texts)
        for row, values in zip(ROWS, answers, strict=True):
            for text, value in zip(texts, values, strict=True):
                assert value == wanted(text, row), (text, row, some)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_number_that_does_not_fit_is_no_other_number(world, ansi) -> None:
    """With errors switched off, `abs` of the least number is that number, which is less than five."""
    world.table("sums", [(1, -2_147_483_648), (2, 3), (3, 2_147_483_647)], "id int, i int")
    for where, seen in (("abs(i) < 5", [(2,)]), ("round(i, -1) < 5", [(2,)])):
        policy = (
            f"  - {{id: p, subject: {{role: analyst}}, object: {{tables: [sums], where: '{where}'}}, allow: [read]}}\n"
        )
        ann = world.session("ann", policy, tables=("sums",))
        ann.conf.set("spark.sql.ansi.enabled", ansi)
        assert rows(ann.sql("SELECT id FROM sums")) == seen, where


@pytest.mark.parametrize(
    "where",
    ["dept = 'A'", "dept IN ('A', 'x')", "dept LIKE 'A'", "upper(other) = 'A' AND other <> 'a'", "dept = other"],
)
def test_texts_are_compared_as_they_are_whatever_their_collation(world, where) -> None:
    kind = "string COLLATE UTF8_LCASE"
    world.table("cased", [], f"id int, dept {kind}, other {kind}")
    world.spark.sql("INSERT INTO cased VALUES (1, 'A', 'A'), (2, 'a', 'a '), (3, 'a', 'b')")
    policy = (
        f'  - {{id: p, subject: {{role: analyst}}, object: {{tables: [cased], where: "{where}"}}, allow: [read]}}\n'
    )
    assert rows(world.session("ann", policy, tables=("cased",)).sql("SELECT id FROM cased")) == [(1,)]
