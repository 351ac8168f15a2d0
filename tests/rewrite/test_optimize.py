"""The rewrites that must not change results; before and after stand in `tests/golden/optimize.txt`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headgate.algebra.explain import explain
from headgate.algebra.operators import Join, Select
from headgate.algebra.spelling.cql import parse_cql
from headgate.model.datatype import DataType
from headgate.model.expression.nodes import TRUE, columns_of
from headgate.model.expression.print import to_text
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.rewrite.optimize.pushdown_predicates import pushdown_predicates
from headgate.rewrite.optimize.simplify_conditions import simplify, simplify_conditions
from headgate.rewrite.pipeline import OPTIMIZATIONS, optimize

T = DataType
GOLDEN = Path(__file__).parents[1] / "golden" / "optimize.txt"
COLUMNS = (Column("ts", T.TIMESTAMP), Column("k", T.STRING), Column("x", T.INT), Column("p", T.BOOLEAN))
CATALOG = StreamCatalog([StreamSchema("S", COLUMNS), StreamSchema("U", COLUMNS), StreamSchema("V", COLUMNS)])


def plan(text: str):
    return parse_cql(text, CATALOG)


def condition(text: str):
    (select,) = [one for one in plan(f"SELECT x FROM S WHERE {text}").walk() if isinstance(one, Select)]
    return select.predicate


def cases(text: str) -> list[tuple[str, str]]:
    """Query and optimised plan of each case; a blank line stands between cases, four dashes within one."""
    pairs = (case.split("\n----\n") for case in text.strip("\n").split("\n\n"))
    return [(query, explained) for query, explained in pairs]


def test_golden_optimised_plans() -> None:
    stored = cases(GOLDEN.read_text(encoding="utf-8"))
    optimised = [(query, explain(optimize(plan(query)))) for query, _ in stored]
    if os.environ.get("UPDATE_GOLDEN"):
        text = "\n\n".join(f"{query}\n----\n{lines}" for query, lines in optimised)
        GOLDEN.write_text(text + "\n", encoding="utf-8")
    else:
        assert optimised == stored


@pytest.mark.parametrize(
    ("text", "simplified"),
    [
        ("x > 2 + 3", "S.x > 5"),
        ("x > 5 AND 1 = 1", "S.x > 5"),
        ("x > 5 OR 1 = 2", "S.x > 5"),
        ("x > 5 AND 1 = 2", "S.x > 5 AND FALSE"),
        ("x > 5 OR 1 = 1", "S.x > 5 OR TRUE"),
        ("NOT (1 = 2) AND p", "S.p"),
        ("p AND x > 1 AND TRUE", "S.p AND S.x > 1"),
        ("(p OR 1 = 2) AND (p OR x = 1)", "S.p AND (S.p OR S.x = 1)"),
        ("x > 1 / 0", "S.x > NULL"),
        ("x > 2147483647 + 1", "S.x > NULL"),
        ("k = upper('a') || 'b'", "S.k = 'Ab'"),
        ("k LIKE 'a%' AND 'b' LIKE 'a%'", "S.k LIKE 'a%' AND FALSE"),
        ("1 = 1 AND 2 = 3", "FALSE"),
        ("1 = 2 OR 3 = 3", "TRUE"),
        ("CASE WHEN 1 = 1 THEN 5 ELSE 6 END = x", "5 = S.x"),
        ("x IN (1 + 1, 3)", "S.x IN (2, 3)"),
        ("1 IN (1, NULL) AND p", "S.p"),
        ("ts > 6:00am", "S.ts > 6:00"),
        ("p AND NULL = 1", "S.p AND NULL"),
        ("x + 1 > 2", "S.x + 1 > 2"),
    ],
)
def test_constants_are_folded(text: str, simplified: str) -> None:
    assert to_text(simplify(condition(text))) == simplified


def test_a_condition_that_is_always_true_is_dropped() -> None:
    assert simplify_conditions(plan("SELECT x FROM S WHERE 1 = 1")) == plan("SELECT x FROM S")
    joined = simplify_conditions(plan("SELECT S.x FROM S [NOW], U [NOW] WHERE 2 > 1 AND NOT FALSE"))
    assert joined == plan("SELECT S.x FROM S [NOW], U [NOW]")


def test_a_condition_that_is_never_true_is_kept() -> None:
    kept = simplify_conditions(plan("SELECT x FROM S WHERE 1 = 2"))
    assert [to_text(one.predicate) for one in kept.walk() if isinstance(one, Select)] == ["FALSE"]


@pytest.mark.parametrize(
    "text", ["x > 5 AND FALSE", "x > 5 OR TRUE", "p AND (x = 1 OR 1 = 1)", "NOT (x = 1 AND 1 = 2)"]
)
def test_no_column_falls_away(text: str) -> None:
    # Which columns a query names decides which tuples a policy drops: a rewrite may not forget one.
    before = condition(text)
    assert columns_of(simplify(before)) == columns_of(before)


def test_having_stays_as_the_aggregate_computes_it() -> None:
    query = plan("SELECT count(*) AS n FROM S [ROWS 5] HAVING count(*) > 1 + 1 AND 1 = 1")
    assert optimize(query) is query


@pytest.mark.parametrize(
    "text",
    [
        "SELECT x FROM S",
        "SELECT x FROM S WHERE x > 1",
        "SELECT 1 + 1 AS two FROM S",
        "SELECT S.x FROM S [NOW], U [NOW]",
        "SELECT k, count(*) FROM S [ROWS 5] WHERE p GROUP BY k HAVING count(*) > 1",
        "SELECT x FROM S UNION ALL SELECT x FROM U",
    ],
)
def test_where_nothing_changes_the_same_object_comes_back(text: str) -> None:
    query = plan(text)
    for step in OPTIMIZATIONS:
        assert step(query) is query
    assert optimize(query) is query


@pytest.mark.parametrize("text", [query for query, _ in cases(GOLDEN.read_text(encoding="utf-8"))])
def test_optimising_twice_is_optimising_once(text: str) -> None:
    once = optimize(plan(text))
    assert optimize(once) == once


def test_each_condition_goes_where_it_can_be_decided_first() -> None:
    text = "SELECT S.x FROM S [NOW], U [NOW], V [NOW] WHERE S.x > 1 AND S.k = U.k AND V.p AND 1 = S.x - U.x"
    (join,) = [one for one in pushdown_predicates(plan(text)).walk() if isinstance(one, Join)]
    assert to_text(join.predicate) == "S.k = U.k AND 1 = S.x - U.x"
    below = [to_text(one.predicate) if isinstance(one, Select) else None for one in join.inputs]
    assert below == ["S.x > 1", None, "V.p"]


def test_a_condition_without_columns_stays_above_the_join() -> None:
    moved = pushdown_predicates(plan("SELECT S.x FROM S [NOW], U [NOW] WHERE 1 = 2 AND S.p"))
    assert isinstance(moved.input, Select)
    assert to_text(moved.input.predicate) == "1 = 2"
    assert isinstance(moved.input.input, Join)


def test_constants_come_before_moves() -> None:
    assert [step.__name__ for step in OPTIMIZATIONS] == ["simplify_conditions", "pushdown_predicates"]
    assert simplify(TRUE) is TRUE
