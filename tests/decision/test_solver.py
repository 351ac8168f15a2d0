"""Can a condition ever hold, and does one imply another?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.algebra.operators import Source
from headgate.algebra.scope import SourceScope
from headgate.decision.solver import Answer, can_hold, implies
from headgate.model.datatype import DataType
from headgate.model.expression.evaluate import is_true
from headgate.model.expression.parse import parse_condition
from headgate.model.schema import Column, StreamSchema
from headgate.testing.expressions import conditions
from headgate.testing.queries import columns_of_sources
from headgate.testing.streams import schemas
from headgate.testing.values import values_of

T = DataType
STREAM = StreamSchema(
    "S",
    (
        Column("ts", T.TIMESTAMP),
        Column("x", T.INT),
        Column("y", T.INT),
        Column("big", T.BIGINT),
        Column("d", T.DOUBLE),
        Column("s", T.STRING),
        Column("p", T.BOOLEAN),
        Column("day", T.DATE),
    ),
)
SCOPE = SourceScope([Source(STREAM, "S")])
YES, NO = Answer.YES, Answer.NO


def read(text: str):
    return parse_condition(text, SCOPE)


@pytest.mark.parametrize(
    "text",
    [
        "s = '\U0010ffff' AND s > 'z'",
        "s = '\U00030000' AND s > 'z'",
        "s LIKE '\U0010ffff%' AND s > 'z'",
        "s IN ('\U0010ffff', '\U0010fffe') AND s > 'z'",
        "s > '\U0002ffff' AND NOT s LIKE '\U0002ffff%'",
        "s = '\U0002fffe' AND s > 'z'",
    ],
)
def test_a_text_that_the_solver_cannot_hold_is_never_said_to_be_impossible(text: str) -> None:
    assert can_hold([read(text)]).answer is not NO


def test_a_text_that_the_solver_cannot_hold_implies_nothing_about_its_order() -> None:
    assert implies([read("s = '\U0010ffff'")], read("s < 'z'")) is not YES
    assert implies([read("s = '\U0010ffff'")], read("s = '\U0010ffff'")) is YES


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("x > 5 AND x < 6", NO),
        ("d > 5 AND d < 6", YES),
        ("x > 5 AND x < 7", YES),
        ("x = 1 AND x = 2", NO),
        ("x = 1 AND x <> 1", NO),
        ("x IS NULL AND x = 1", NO),
        ("x IS NULL AND NOT (x = 1)", NO),
        ("x IS NULL AND y = 1", YES),
        ("p AND NOT p", NO),
        ("p OR NOT p", YES),
        ("x > 2147483647", NO),
        ("big > 2147483647", YES),
        ("x < -2147483648", NO),
        ("x + 1 > 2147483647", NO),
        ("x + y = 10 AND x - y = 4 AND x <> 7", NO),
        ("2 * x = 5", NO),
        ("x * 2 = 6 AND x <> 3", NO),
        ("s = 'a' AND s = 'b'", NO),
        ("s LIKE 'ab%' AND s = 'ac'", NO),
        ("s LIKE 'ab%' AND s = 'abc'", YES),
        ("s LIKE 'ab' AND s <> 'ab'", NO),
        ("s IN ('a', 'b') AND s NOT IN ('a', 'b', 'c')", NO),
        ("x IN (1, 2) AND x > 2", NO),
        ("x NOT IN (1, NULL)", NO),
        ("x BETWEEN 5 AND 1", NO),
        ("ts > '2026-01-02T00:00:00Z' AND ts < '2026-01-01T00:00:00Z'", NO),
        ("ts > '2026-01-02T00:00:00Z' AND ts + 5s < '2026-01-02T00:00:05Z'", NO),
        ("day = '2026-01-01' AND day > '2026-01-02'", NO),
        ("x = NULL", NO),
        ("NULL", NO),
        ("1 = 1", YES),
        ("1 = 2", NO),
        ("coalesce(x, 5) = 5 AND x <> 5", NO),
        ("coalesce(x, 5) = 5 AND x IS NULL", YES),
        ("-x > 5 AND x > 0", NO),
        ("x > d AND d > x", NO),
        ("upper(s) = 'A' AND upper(s) = 'B'", NO),
        ("upper(s) = 'A' AND s = 'b'", YES),
        ("ts > 6:00pm AND ts < 7:00pm AND x = 1", YES),
    ],
)  # fmt: skip
def test_what_can_hold(text: str, answer: Answer) -> None:
    assert can_hold([read(text)]).answer is answer


@pytest.mark.parametrize(
    ("premise", "conclusion", "answer"),
    [
        ("x > 5", "x > 4", YES),
        ("x > 4", "x > 5", NO),
        ("x > 4", "x >= 5", YES),
        ("d > 4", "d >= 5", NO),
        ("x = 1", "x IS NOT NULL", YES),
        ("x IS NULL", "x <> 1", NO),
        ("x = 1 OR x = 2", "x IN (1, 2, 3)", YES),
        ("x = y AND y = 3", "x = 3", YES),
        ("s = 'abc'", "s LIKE 'ab%'", YES),
        ("s LIKE 'ab%'", "s LIKE 'a%'", YES),
        ("s LIKE 'a%'", "s LIKE 'ab%'", NO),
        ("p", "p OR x = 1", YES),
        ("x > 5", "p OR NOT p", NO),
        ("NOT (x <= 5)", "x > 5", YES),
        ("x BETWEEN 3 AND 4", "x > 2 AND x < 5", YES),
    ],
)
def test_what_follows(premise: str, conclusion: str, answer: Answer) -> None:
    assert implies([read(premise)], read(conclusion)) is answer


def test_everything_follows_from_what_cannot_be() -> None:
    assert implies([read("x = 1"), read("x = 2")], read("s = 'a'")) is YES
    assert implies([], read("x = x")) is NO, "NULL is not equal to itself"


def test_what_must_not_hold_may_be_null() -> None:
    assert can_hold([read("x = 1")], [read("y = 1"), read("y <> 1")]).answer is YES
    assert can_hold([read("x = 1"), read("y IS NOT NULL")], [read("y = 1"), read("y <> 1")]).answer is NO


def test_an_example_satisfies_what_was_asked() -> None:
    asked = [read("x + y = 10 AND x > y AND s LIKE 'it''s%' AND d > 1.5 AND p AND ts > '2026-01-01T00:00:00Z'")]
    finding = can_hold(asked)
    assert finding.answer is YES
    assert set(finding.example) == {("S", name) for name in ("x", "y", "s", "d", "p", "ts")}
    assert is_true(asked[0], lambda column: finding.example[column.source, column.name])


def test_no_example_for_what_cannot_hold() -> None:
    assert can_hold([read("x = 1 AND x = 2")]).example == {}


@pytest.mark.parametrize("text", ["it's", "\\x41", "", "\n", *(text for text in ("a\\u{41}b", "日本"))])
def test_texts_of_any_letters_are_taken_literally(text: str) -> None:
    quoted = text.replace("'", "''")
    finding = can_hold([read(f"s = '{quoted}'")])
    assert finding.example["S", "s"] == text
    assert can_hold([read(f"s = '{quoted}' AND s = 'A'")]).answer is NO


def test_a_question_without_time_is_not_answered_with_a_guess() -> None:
    hard = read("big * big * big + x * x * x = 33 AND d * d * d = 7.25 AND upper(s) LIKE '%a%b%'")
    assert can_hold([hard], timeout=1).answer in (YES, Answer.UNKNOWN)


@st.composite
def _condition_and_cells(draw: st.DrawFn):
    columns = columns_of_sources([Source(draw(schemas("S")), "a")])
    cells = {column.name: draw(values_of(column.type, nullable=True)) for column in columns}
    return draw(conditions(columns, 2)), draw(conditions(columns, 2)), cells


@given(_condition_and_cells())
def test_property_no_tuple_contradicts_the_solver(drawn) -> None:
    condition, other, cells = drawn
    holds, also = (is_true(one, lambda column: cells[column.name]) for one in (condition, other))
    if holds:
        assert can_hold([condition]).answer is not NO
    if holds and not also:
        assert can_hold([condition], [other]).answer is not NO
        assert implies([condition], other) is not YES
