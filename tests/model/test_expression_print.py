"""From expressions to text that parses back, with no more parentheses than it needs."""

from __future__ import annotations

import pytest

from headgate.algebra.operators import Source
from headgate.algebra.scope import SourceScope
from headgate.model.datatype import DataType
from headgate.model.expression.parse import parse_expression
from headgate.model.expression.print import quote_name, quote_text, to_text
from headgate.model.schema import Column, StreamSchema

T = DataType
ODD = [
    "odd name",
    "select",
    "größe",
    'a"b',
    "a`b",
    "x'y",
    "1st",
    "a.b",
    "日本",
    "end",
    "target",
    "a]b",
    "-",
    "\\",
    "a\tb",
]
STREAM = StreamSchema(
    "S",
    (
        Column("ts", T.TIMESTAMP),
        Column("id", T.STRING),
        Column("x", T.INT),
        Column("y", T.INT),
        Column("d", T.DOUBLE),
        Column("p", T.BOOLEAN),
        Column("q", T.BOOLEAN),
        *(Column(name, T.INT) for name in ODD),
    ),
)
SCOPE = SourceScope([Source(STREAM, "S")], aggregates=True)


@pytest.mark.parametrize(
    "text",
    [
        "x + y - 1",
        "x - (y - 1)",
        "x - (y + 1)",
        "x * (y + 1)",
        "x * y + 1",
        "x / (y / 2)",
        "x / y / 2",
        "x * (y % 2)",
        "-(x + 1)",
        "-(-x)",
        "x - -1",
        "x + -1.5",
        "NOT (p AND q)",
        "NOT (p OR q)",
        "NOT (x = 1)",
        "p AND NOT (p)",
        "(p OR q) AND p",
        "p OR q AND p",
        "(p = q) = p",
        "p = (x = 1)",
        "(x = 1) IS NULL",
        "(p AND q) IS NOT NULL",
        "(x IS NULL) = p",
        "x + 1 IN (1, 2)",
        "x NOT IN (y + 1, 2)",
        "(id LIKE 'a%') = p",
        "id NOT LIKE 'it''s'",
        "concat(id, 'a') LIKE '%'",
        "CASE WHEN p OR q THEN x ELSE y END + 1",
        "CAST(x + 1 AS bigint)",
        "if(p AND q, x, -y)",
        "coalesce(x, NULL)",
        "ts > TIMESTAMP '2026-01-01T08:00:00.000Z'",
        "ts + 90s > TIMESTAMP '2026-01-01T08:00:00.000001Z'",
        "ts >= 6:00",
        "ts = 18:30:15",
        "d = 1e+300",
        "d = -1e-09",
        "d = 5.0",
        "x = -2147483648",
        "sum(x + 1) > count(*)",
        "first(id) = 'a'",
    ],
)
def test_a_text_reads_back_as_the_same(text: str) -> None:
    read = parse_expression(text, SCOPE)
    printed = to_text(read, qualified=False)
    assert parse_expression(printed, SCOPE) == read, printed
    assert parse_expression(to_text(read), SCOPE) == read


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("((x)) + ((y))", "x + y"),
        ("(x + y) + 1", "x + y + 1"),
        ("x + (y + 1)", "x + (y + 1)"),
        ("(x * y) + 1", "x * y + 1"),
        ("(p AND q) OR p", "p AND q OR p"),
        ("p AND (q AND p)", "p AND q AND p"),
        ("NOT (x IS NULL)", "x IS NOT NULL"),
        ("NOT (x IN (1))", "x NOT IN (1)"),
        ("NOT p", "NOT p"),
        ("'it''s'", "'it''s'"),
    ],
)
def test_no_more_parentheses_than_needed(text: str, printed: str) -> None:
    assert to_text(parse_expression(text, SCOPE), qualified=False) == printed


def test_sources_can_be_left_out() -> None:
    read = parse_expression("avg(x) + S.y", SCOPE)
    assert (to_text(read), to_text(read, qualified=False)) == ("avg(S.x) + S.y", "avg(x) + y")


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_quoted_and_read_back(name: str) -> None:
    quoted = quote_name(name)
    assert quoted == '"' + name.replace('"', '""') + '"'
    read = parse_expression(f"{quoted} + S.{quoted}", SCOPE)
    assert [one.name for one in (read.left, read.right)] == [name, name]
    assert parse_expression(to_text(read), SCOPE) == read


@pytest.mark.parametrize("name", ["x", "heartRate", "_a1", "X", "sum"])
def test_plain_names_are_not_quoted(name: str) -> None:
    assert quote_name(name) == name


@pytest.mark.parametrize(
    "text", ["", "'", "''", "a\\", "\\'", "\n", "\x00", "日本", '"', "--", "/*", "%", "; DROP", "\u2028"]
)
def test_any_text_literal_reads_back(text: str) -> None:
    assert parse_expression(quote_text(text), SCOPE).value == text


@pytest.mark.parametrize("literal", ["", "'", "\\", "\\\\", "\\'", "a\\"])
def test_any_pattern_reads_back(literal: str) -> None:
    read = parse_expression(f"id LIKE {quote_text(literal)}", SCOPE)
    assert read.pattern == literal
    assert parse_expression(to_text(read), SCOPE) == read
