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


def test_what_a_view_takes_away_is_not_carried_past_it(world) -> None:
    world.spark.sql("CREATE OR REPLACE VIEW payroll AS SELECT id, dept, salary FROM emp")
    try:
        on_view = policy("on-view", "object: {tables: [payroll], where: id <> 4}, allow: [read]")
        found = world.session("ann", FREE + SUMS + MEANS + on_view, tables=("emp", "dept", "payroll"))
        total, mean = rows(found.sql("SELECT sum(salary), avg(salary) FROM payroll"))[0]
        assert total in (210, 110)  # never with the 70 of row 4
        assert mean == 55.0
    finally:
        world.spark.sql("DROP VIEW payroll")


def test_what_may_not_be_seen_is_not_seen_of_a_copy(world) -> None:
    with refused("may not be used in a predicate"):
        ask(world, FREE + SUMS + MEANS, "SELECT sum(salary), avg(salary) FROM emp WHERE salary = 100")
    found = ask(world, FREE + SUMS + MEANS, "SELECT sum(salary), first(salary), avg(salary) FROM emp")
    assert found == [(280, None, 55.0)]
