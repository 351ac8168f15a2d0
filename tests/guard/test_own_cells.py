"""An aggregate is computed of exactly the cells that are covered for its function, whatever else a query asks for."""

from __future__ import annotations

import pytest
from guarded import FREE, policy, refused, rows

from headgate.guard import explain, session

SUMS = policy("sums", "object: {tables: [emp], attributes: [salary]}, allow: [sum]")
MEANS = policy("means", "object: {tables: [emp], attributes: [salary], where: \"dept = 'A'\"}, allow: [avg]")
MOST = policy("most", "object: {tables: [emp], attributes: [salary], where: \"dept <> 'A'\"}, allow: [max, count]")
USED = policy("used", 'object: {tables: [emp], attributes: [salary], where: "id <> 3"}, allow: [assist]')
EACH = FREE + SUMS + MEANS + MOST + USED
"""Salaries: 50 and 60 in A, 100 (of 3) and 70 in B, none in C."""


def ask(world, policies: str, query: str):
    return rows(world.session("ann", policies).sql(query))


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("SELECT sum(salary), avg(salary), max(salary), count(salary) FROM emp", [(280, 55.0, 100, 2)]),
        ("SELECT avg(salary) + 0, sum(salary) * 2 FROM emp", [(55.0, 560)]),
        (
            "SELECT dept, sum(salary), avg(salary) FROM emp GROUP BY dept",
            [("A", 110, 55.0), ("B", 170, None), ("C", None, None)],
        ),
        ("SELECT sum(s), avg(s) FROM (SELECT salary AS s FROM emp WHERE id > 1)", [(230, 60.0)]),
        ("SELECT sum(salary), avg(salary) FROM emp JOIN dept ON dept.code = emp.dept", [(280, 55.0)]),
        ("SELECT sum(salary), avg(salary) FROM emp WHERE salary > 50", [(130, 60.0)]),
        ("SELECT sum(salary) FROM emp HAVING avg(salary) > 50", [(280,)]),
        ("SELECT sum(salary) FROM emp HAVING avg(salary) > 55", []),
        ("WITH e AS (SELECT * FROM emp) SELECT sum(salary) FROM e", [(280,)]),
        ("SELECT sum(salary), avg(salary) FILTER (WHERE id > 1) FROM emp", [(280, 60.0)]),
    ],
)
def test_each_aggregate_has_its_own_cells(world, query, answer) -> None:
    departments = "  - {id: departments, subject: {role: analyst}, object: {tables: [dept]}, allow: [read]}\n"
    assert ask(world, EACH + departments, query) == answer


def test_rows_are_counted_where_they_may_be(world) -> None:
    counts = policy("counts", "object: {tables: [emp], attributes: [id], where: \"dept = 'A'\"}, allow: [count]")
    assert ask(world, SUMS + counts, "SELECT count(*), sum(salary) FROM emp") == [(2, 280)]
    assert ask(world, SUMS + counts, "SELECT count(1) + 1, sum(salary) FROM emp") == [(3, 280)]
    assert ask(world, SUMS + counts, "SELECT count(*) FROM emp") == [(2,)]


def test_groups_are_as_large_as_each_aggregate_needs(world) -> None:
    """Five salaries are enough for a sum of two, also without those of A; the mean of two is not one of three."""
    sums = policy("sums", "object: {tables: [emp], attributes: [salary]}, allow: [sum], min_group: 2")
    means = "object: {tables: [emp], attributes: [salary], where: \"dept = 'A'\"}, allow: [avg], min_group: "
    both = "SELECT sum(salary), avg(salary) FROM emp"
    assert ask(world, FREE + sums + policy("means", f"{means}2"), both) == [(280, 55.0)]
    assert ask(world, FREE + sums + policy("means", f"{means}3"), both) == []


def test_what_was_given_is_said(world) -> None:
    guard = world.guard(FREE + SUMS + MEANS, owners={"emp": "boss"})
    outcome = explain(session("ann", guard, world.spark).sql("SELECT avg(salary), sum(salary) FROM emp"))
    given = {use.privilege: use.given.value for use in outcome.uses}
    assert given == {"avg": "part", "sum": "all"}


@pytest.fixture
def payroll(world):
    world.spark.sql("CREATE OR REPLACE VIEW payroll AS SELECT id, dept, salary FROM emp")
    yield lambda policies, query: rows(world.session("ann", policies, tables=("emp", "dept", "payroll")).sql(query))
    world.spark.sql("DROP VIEW payroll")


def test_what_a_view_takes_away_is_not_carried_past_it(payroll) -> None:
    on_view = policy("on-view", "object: {tables: [payroll], where: id <> 4}, allow: [read]")
    total, mean = payroll(FREE + SUMS + MEANS + on_view, "SELECT sum(salary), avg(salary) FROM payroll")[0]
    assert total in (210, 110)  # never with the 70 of row 4
    assert mean == 55.0


def on_payroll(functions: str, where: str) -> str:
    """The view may be read, and these functions not be computed of some of its rows."""
    reads = policy("view", "object: {tables: [payroll]}, allow: [read]")
    thing = f'object: {{tables: [payroll], attributes: [salary], where: "{where}"}}'
    return reads + policy("not-these", f"{thing}, deny: [{functions}]")


@pytest.mark.parametrize("outputs", ["sum(salary) AS s, avg(salary) AS a", "avg(salary) AS a, sum(salary) AS s"])
def test_a_function_that_a_view_denies_is_denied_to_a_copy(payroll, outputs) -> None:
    """Without row 1 the sum is 230, and the mean of A 60."""
    query = f"SELECT s, a FROM (SELECT count(id) AS n, {outputs} FROM payroll)"
    total, mean = payroll(FREE + SUMS + MEANS + on_payroll("sum, avg", "id = 1"), query)[0]
    assert total in (230, 60)  # what both may have is withheld more than it must be
    assert mean == 60.0


def test_rows_that_a_view_takes_from_a_function_do_not_make_its_groups_large(payroll) -> None:
    sums = policy("sums", "object: {tables: [emp], attributes: [salary]}, allow: [sum], min_group: 2")
    with refused("cannot be checked through `View`"):
        payroll(FREE + sums + on_payroll("sum", "id = 1"), "SELECT dept, sum(salary) FROM payroll GROUP BY dept")


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT CAST(salary AS BIGINT) AS s FROM emp",
        "SELECT CAST(salary AS DOUBLE) AS s FROM emp",
        "SELECT CAST(salary AS DECIMAL(20, 2)) AS s FROM emp",
    ],
)
def test_a_widened_column_has_cells_for_each_function(world, inner) -> None:
    ann = world.session("ann", FREE + SUMS + MEANS)
    [(total, mean)] = rows(ann.sql(f"SELECT sum(s), avg(s) FROM ({inner})"))
    assert (int(total), float(mean)) == (110, 55.0)  # what both may have


def test_a_count_over_a_window_that_is_withheld_is_null(world) -> None:
    policies = policy("reads", 'object: {tables: [emp], attributes: [dept], where: "id <> 3"}, allow: [read]')
    policies += policy(
        "counts", "object: {tables: [emp], attributes: [salary], where: \"dept = 'A'\"}, allow: [count], min_group: 2"
    )
    found = rows(world.session("ann", policies).sql("SELECT dept, count(*) OVER () FROM emp"))
    assert found == [("A", None), ("A", None), ("B", None), ("C", None)]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT count(*), sum(salary) FROM emp", [(0, 170)]),
        ("SELECT salary IS NULL, count(*) FROM emp GROUP BY salary IS NULL", None),
    ],
)
def test_rows_without_a_cell_that_is_used_are_not_there_to_be_counted(world, query, wanted) -> None:
    """A tuple is dropped when no column that the query names is visible; A has none here."""
    policies = policy(
        "sums", "object: {tables: [emp], attributes: [salary], where: \"dept = 'B'\"}, allow: [sum, assist]"
    )
    policies += policy("counts", "object: {tables: [emp], attributes: [id], where: \"dept = 'A'\"}, allow: [count]")
    found = rows(world.session("ann", policies).sql(query))
    if wanted is None:
        assert all(count == 0 for _, count in found), "rows of A are in no group: no cell of theirs may be used"
    else:
        assert found == wanted


def test_a_row_without_a_cell_that_is_used_is_not_shown_beside_a_windows_count(world) -> None:
    """Row 3 may be counted and not read, so it is not there; it was shown, as its mask."""
    reads = 'object: {tables: [emp], attributes: [dept], where: "id <> 3"}, allow: [read], mask: hash'
    policies = policy("reads", reads)
    policies += policy("counts", "object: {tables: [emp], attributes: [salary], where: \"dept = 'B'\"}, allow: [count]")
    found = rows(world.session("ann", policies).sql("SELECT dept, count(*) OVER () FROM emp"))
    assert found == [("A", 4), ("A", 4), ("B", 4), ("C", 4)]


def test_what_may_not_be_seen_is_not_seen_of_a_copy(world) -> None:
    with refused("may not be used in a predicate"):
        ask(world, FREE + SUMS + MEANS, "SELECT sum(salary), avg(salary) FROM emp WHERE salary = 100")
    found = ask(world, FREE + SUMS + MEANS, "SELECT sum(salary), first(salary), avg(salary) FROM emp")
    assert found == [(280, None, 55.0)]


def test_what_is_withheld_of_a_definition_that_runs_once_is_null_to_who_names_it(world) -> None:
    """Spark puts a definition in place of its names, unless it draws numbers."""
    query = (
        "WITH t AS (SELECT dept, count(*) AS c, rand() AS r FROM emp GROUP BY dept) "
        "SELECT a.dept, b.c, a.c IS NULL FROM t a JOIN t b ON a.dept = b.dept AND a.r = b.r"
    )
    policies = policy("departments", "object: {tables: [emp], attributes: [dept]}, allow: [read]")
    policies += policy("no-counts", "object: {tables: [emp]}, deny: [count]")
    assert sorted(ask(world, policies, query)) == [(one, None, True) for one in "ABC"]
