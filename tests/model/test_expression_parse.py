"""From text to typed expressions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.algebra.operators import Source
from headgate.algebra.scope import SourceScope
from headgate.errors import InputError, ParseError, TypeMismatchError, UnknownNameError
from headgate.model.datatype import DataType
from headgate.model.expression import nodes
from headgate.model.expression.nodes import ColumnRef, Constant, columns_of
from headgate.model.expression.parse import parse_condition, parse_expression
from headgate.model.expression.print import to_text
from headgate.model.instant import SECOND
from headgate.model.schema import Column, StreamSchema
from headgate.policy.scope import PolicyScope

T = DataType
STREAM = StreamSchema(
    "S",
    (
        Column("ts", T.TIMESTAMP),
        Column("id", T.STRING),
        Column("x", T.INT),
        Column("y", T.BIGINT),
        Column("d", T.DOUBLE),
        Column("ok", T.BOOLEAN),
        Column("day", T.DATE),
        Column("used", T.INT, "hours"),
    ),
    timezone="Asia/Singapore",
)
SCOPE = SourceScope([Source(STREAM, "a")])
GROUPED = SourceScope([Source(STREAM, "a")], aggregates=True)
POLICY = PolicyScope([STREAM])
WHEN = PolicyScope((), environment=True)


def column(name: str) -> ColumnRef:
    return ColumnRef("a", name, STREAM.column(name).type)


@pytest.mark.parametrize(
    ("text", "kind", "printed"),
    [
        ("x", T.INT, "a.x"),
        ("A.X", T.INT, "a.x"),
        ("S.x", T.INT, "a.x"),
        ('"x"', T.INT, "a.x"),
        ("`x`", T.INT, "a.x"),
        ("x + y", T.BIGINT, "a.x + a.y"),
        ("x + d", T.DOUBLE, "a.x + a.d"),
        ("x / 2", T.DOUBLE, "a.x / 2"),
        ("x % 2", T.INT, "a.x % 2"),
        ("-x", T.INT, "-a.x"),
        ("ts + 5 min", None, None),
        ("ts + 5min", T.TIMESTAMP, "a.ts + 5min"),
        ("ts - 1h", T.TIMESTAMP, "a.ts - 1h"),
        ("id || 'b'", T.STRING, "concat(a.id, 'b')"),
        ("x = 1 AND d > 2 AND ok", T.BOOLEAN, "a.x = 1 AND a.d > 2 AND a.ok"),
        ("x BETWEEN 1 AND 5", T.BOOLEAN, "a.x >= 1 AND a.x <= 5"),
        ("x NOT BETWEEN 1 AND 5", T.BOOLEAN, "NOT (a.x >= 1 AND a.x <= 5)"),
        ("x IN (1, 2)", T.BOOLEAN, "a.x IN (1, 2)"),
        ("x NOT IN (1)", T.BOOLEAN, "a.x NOT IN (1)"),
        ("x != 1", T.BOOLEAN, "a.x <> 1"),
        ("id LIKE 'a%'", T.BOOLEAN, "a.id LIKE 'a%'"),
        ("id NOT LIKE 'a_'", T.BOOLEAN, "a.id NOT LIKE 'a_'"),
        ("x IS NULL", T.BOOLEAN, "a.x IS NULL"),
        ("x IS NOT NULL", T.BOOLEAN, "a.x IS NOT NULL"),
        ("CASE WHEN ok THEN x ELSE d END", T.DOUBLE, "CASE WHEN a.ok THEN a.x ELSE a.d END"),
        ("CASE x WHEN 1 THEN 'a' END", T.STRING, "CASE WHEN a.x = 1 THEN 'a' ELSE NULL END"),
        ("CAST(x AS string)", T.STRING, "CAST(a.x AS string)"),
        ("id::int", T.INT, "CAST(a.id AS int)"),
        ("coalesce(x, d)", T.DOUBLE, "coalesce(a.x, a.d)"),
        ("if(ok, x, y)", T.BIGINT, "if(a.ok, a.x, a.y)"),
        ("substr(id, 1, 2)", T.STRING, "substring(a.id, 1, 2)"),
        ("ceiling(d)", T.BIGINT, "ceil(a.d)"),
        ("round(d, 1)", T.DOUBLE, "round(a.d, 1)"),
        ("NULL", T.NULL, "NULL"),
        ("5", T.INT, "5"),
        ("2147483648", T.BIGINT, "2147483648"),
        ("-9223372036854775808", T.BIGINT, "-9223372036854775808"),
        ("1.5", T.DOUBLE, "1.5"),
        ("TRUE", T.BOOLEAN, "TRUE"),
        ("TIMESTAMP '2026-01-01T08:00:00Z'", T.TIMESTAMP, "TIMESTAMP '2026-01-01T08:00:00.000Z'"),
        ("DATE '2026-01-01'", T.DATE, "DATE '2026-01-01'"),
        ("x -- a comment", T.INT, "a.x"),
    ],
)  # fmt: skip
def test_what_can_be_written(text: str, kind: DataType | None, printed: str | None) -> None:
    if kind is None:
        with pytest.raises(InputError):
            parse_expression(text, SCOPE)
        return
    read = parse_expression(text, SCOPE)
    assert (read.type, to_text(read)) == (kind, printed)


def test_texts_compared_with_times_stand_for_times() -> None:
    assert parse_condition("ts > '1970-01-01T00:00:01Z'", SCOPE) == nodes.Comparison(
        ">", column("ts"), Constant(SECOND, T.TIMESTAMP)
    )
    assert parse_condition("'1970-01-02' = day", SCOPE) == nodes.Comparison("=", Constant(1, T.DATE), column("day"))
    assert parse_condition("ts IN ('1970-01-01T00:00:01Z')", SCOPE).items == (Constant(SECOND, T.TIMESTAMP),)


def test_a_duration_compared_with_a_number_counts_seconds_or_the_unit_of_the_column() -> None:
    assert parse_condition("x > 5min", SCOPE).right == Constant(300, T.INT)
    assert parse_condition("used > 5h", SCOPE).right == Constant(5, T.INT)
    assert parse_condition("used > 90min", SCOPE).right == Constant(1.5, T.DOUBLE)
    assert parse_condition("2 * used > 5h", SCOPE).right == Constant(5, T.INT)


@pytest.mark.parametrize("text", ["ts > 6:00am", "ts > 6:00", "ts > 06:00:00"])
def test_a_time_of_day_is_compared_on_the_wall_clock_of_the_stream(text: str) -> None:
    compared = parse_condition(text, SCOPE)
    assert compared.left == nodes.LocalTime(column("ts"), "Asia/Singapore")
    assert compared.right == Constant(6 * 3600 * SECOND, T.TIME_OF_DAY)


def test_policies_may_name_the_profile_the_environment_and_events() -> None:
    condition = parse_condition("x = self.Platoon AND x BETWEEN target(a) - 50 AND target(a) + 50", POLICY)
    refs = [node for node in nodes.walk(condition) if isinstance(node, nodes.ProfileRef | nodes.EventRef)]
    assert refs == [nodes.ProfileRef("Platoon"), nodes.EventRef("target", "a"), nodes.EventRef("target", "a")]
    assert parse_expression("START(a)", POLICY) == nodes.EventRef("start", "a")
    assert parse_condition("env.ip IN ('192.0.2.1')", WHEN).operand == nodes.EnvironmentRef("ip")


@pytest.mark.parametrize("text", ["self.x = 1", "env.ip = 'a'", "x = target(a)", "start(a) > ts"])
def test_queries_may_not(text: str) -> None:
    with pytest.raises(UnknownNameError):
        parse_condition(text, SCOPE)


@pytest.mark.parametrize(("text", "scope"), [("env.ip = 'a'", POLICY), ("x = 1", WHEN), ("S.x = 1", WHEN)])
def test_each_part_of_a_policy_has_its_own_names(text: str, scope) -> None:
    with pytest.raises(UnknownNameError):
        parse_condition(text, scope)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("count(*)", nodes.AggregateCall("count", None)),
        ("COUNT(x)", nodes.AggregateCall("count", column("x"))),
        ("lastval(x)", nodes.AggregateCall("last", column("x"))),
        ("first_value(x)", nodes.AggregateCall("first", column("x"))),
        ("avg(x)", nodes.AggregateCall("avg", column("x"))),
    ],
)
def test_aggregate_functions_have_their_aliases(text: str, call) -> None:
    assert parse_expression(text, GROUPED) == call


def test_chains_are_flat_however_they_are_written() -> None:
    flat = parse_condition("x = 1 AND (x = 2 AND (x = 3 AND x = 4)) AND (x = 5)", SCOPE)
    assert isinstance(flat, nodes.And)
    assert len(flat.operands) == 5
    mixed = parse_condition("x = 1 OR x = 2 AND x = 3", SCOPE)
    assert isinstance(mixed, nodes.Or)
    assert isinstance(mixed.operands[1], nodes.And)


def test_a_chain_may_be_long() -> None:
    long = parse_condition(" OR ".join(f"x = {number}" for number in range(2_000)), SCOPE)
    assert len(long.operands) == 2_000


@pytest.mark.parametrize(
    ("text", "kind", "said", "place"),
    [
        ("", ParseError, "the text is empty", (1, 1)),
        ("z", UnknownNameError, "unknown column `z`", (1, 1)),
        ("x = 1 AND\n  z = 2", UnknownNameError, "unknown column `z`", (2, 3)),
        ("b.x", UnknownNameError, "unknown stream or alias `b`", (1, 1)),
        ("x + 'a'", TypeMismatchError, "`+` does not work on string", (1, 1)),
        ("1 + (x = id)", TypeMismatchError, "cannot compare int with string", (1, 6)),
        ("x AND ok", TypeMismatchError, "a value of type int is not a condition", (1, 1)),
        ("NOT x", TypeMismatchError, "a value of type int is not a condition", (1, 5)),
        ("x LIKE 'a'", TypeMismatchError, "LIKE needs a string, not int", (1, 1)),
        ("id LIKE id", ParseError, "the pattern of LIKE is not a string", (1, 1)),
        ("-id", TypeMismatchError, "`-` needs a number, not string", (1, 2)),
        ("CAST(ts AS int)", TypeMismatchError, "cannot cast timestamp to int", (1, 6)),
        ("CAST(d AS string)", TypeMismatchError, "cannot cast double to string", (1, 6)),
        ("abs(id)", TypeMismatchError, "argument 1 of `abs` is string, not int or bigint or double", (1, 1)),
        ("abs(x, y)", InputError, "", None),
        ("substring(id)", InputError, "", None),
        ("if(x, 1, 2)", TypeMismatchError, "argument 1 of `if` is int, not boolean", (1, 4)),
        ("coalesce(x, id)", TypeMismatchError, "int and string do not go together", None),
        ("sha2(id)", UnknownNameError, "unknown function `sha2`", None),
        ("current_timestamp", InputError, "", None),
        ("rand()", UnknownNameError, "unknown function `rand`", None),
        ("avg(x)", ParseError, "`avg` cannot be used here", None),
        ("x = (SELECT 1)", ParseError, "is not understood here", None),
        ("x IN (SELECT x)", ParseError, "is not understood", None),
        ("EXISTS (SELECT 1)", InputError, "", None),
        ("x IS TRUE", ParseError, "IS is followed by something else than NULL", None),
        ("x IN ()", ParseError, "", None),
        ("x ILIKE 'a'", InputError, "", None),
        ("x = ANY (1)", InputError, "", None),
        ("x[1]", InputError, "", None),
        ("{x: 1}", InputError, "", None),
        ("x -> y", InputError, "", None),
        ("?", InputError, "", None),
        (":x", InputError, "", None),
        ("@x", InputError, "", None),
        ("*", InputError, "", None),
        ("a.*", ParseError, "`*` cannot be used here", None),
        ("x OVER ()", InputError, "", None),
        ("sum(x) OVER (PARTITION BY x)", InputError, "", None),
        ("count(DISTINCT x)", InputError, "", None),
        ("x = 1; x = 2", ParseError, "", None),
        ("99999999999999999999", TypeMismatchError, "does not fit", (1, 1)),
        ("1e999", TypeMismatchError, "does not fit a double", (1, 1)),
        ("25:00", InputError, "", None),
        ("ts > '2026-01-01T08:00:00'", ParseError, "has no zone", None),
        ("ts > 'yesterday'", ParseError, "is not a timestamp", None),
        ("day = '2026-02-30'", ParseError, "is not a date", None),
        ("'open", ParseError, "the text cannot be read", (1, 1)),
        ("(x", ParseError, "", None),
        ("x)", ParseError, "", None),
        ("(" * 500 + "x" + ")" * 500, ParseError, "nested too deeply", None),
        ("- " * 500 + "x", ParseError, "nested too deeply", None),
        (" + ".join(["x"] * 500), ParseError, "nested too deeply", None),
        ("x" + " " * 100_000, ParseError, "the text has 100001 characters", None),
    ],
)  # fmt: skip
def test_what_cannot_be_written(text: str, kind: type, said: str, place) -> None:
    with pytest.raises(kind) as raised:
        parse_expression(text, SCOPE)
    assert said in raised.value.message
    if place:
        assert (raised.value.place.line, raised.value.place.column) == place


def test_200_levels_are_the_limit() -> None:
    assert parse_expression("abs(" * 190 + "x" + ")" * 190, SCOPE).type is T.INT
    with pytest.raises(ParseError, match="nested too deeply"):
        parse_expression("abs(" * 201 + "x" + ")" * 201, SCOPE)


def test_an_aggregate_in_an_aggregate_is_refused() -> None:
    with pytest.raises(ParseError, match="an aggregate function inside another"):
        parse_expression("sum(x + max(x))", GROUPED)
    with pytest.raises(TypeMismatchError, match=r"`sum\(\*\)` means nothing"):
        parse_expression("sum(*)", GROUPED)


def test_the_columns_of_an_expression_are_named_once_in_order() -> None:
    assert [one.name for one in columns_of(parse_expression("d + x > x AND y = 1", SCOPE))] == ["d", "x", "y"]


WORDS = """
x id ts ok d a. S 1 1.5 'a' " ' ( ) , + - * / % || = <> < >= AND OR NOT IS NULL IN BETWEEN LIKE CASE WHEN THEN ELSE END
CAST( AS int :: varchar(1) 6:00am 5h 5 h abs( if( coalesce( count( target( self. TIMESTAMP DATE [ ] { } ? : ; @ $1 \\ x'
b' N' 0x1 ROW ARRAY MAP EXISTS SELECT FROM OVER DISTINCT ESCAPE SIMILAR TO COLLATE -> ~ ! ^ & | => .. ² 1e5 1_000
"""


@given(st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join) | st.text(max_size=40))
def test_property_any_text_is_an_expression_or_an_input_error(text: str) -> None:
    for scope in (SCOPE, GROUPED, POLICY, WHEN):
        try:
            told = to_text(parse_expression(text, scope))
        except InputError as error:
            told = error.message
        assert told
