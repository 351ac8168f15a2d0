"""Ways in 1 and 3 again: where nothing that a user wrote could tell, guards need no fence; elsewhere they have one."""

from __future__ import annotations

from typing import Any

import pytest
from guarded import DEPARTMENTS, OWN, below_the_barrier, physical, policy, rows

# Row 3 is hidden, and the predicate raises an error on it: 1 / (salary - 100).
PREDICATE = "(1 / (salary - 100) IS NOT NULL OR id > 0)"

POSITIONS = {
    "where": "SELECT id FROM emp WHERE {p}",
    "alias": "SELECT id FROM (SELECT id, {p} AS ok FROM emp) WHERE ok",
    "alias of alias": "SELECT id FROM (SELECT id, NOT b AS ok FROM (SELECT id, NOT {p} AS b FROM emp)) WHERE ok",
    "join": "SELECT id FROM emp JOIN (SELECT id AS other FROM emp) ON id = other AND {p}",
    "outer join": "SELECT id FROM emp LEFT JOIN (SELECT id AS other FROM emp) ON id = other AND {p}",
    "semi join": "SELECT id FROM emp WHERE id IN (SELECT id FROM emp WHERE {p})",
    "correlated": "SELECT id FROM emp WHERE EXISTS (SELECT 1 FROM (SELECT id AS other FROM emp WHERE {p}) WHERE "
    "other = id)",
    "other side": "SELECT e.id FROM (SELECT id FROM emp WHERE 1 / (id - 3) IS NOT NULL OR id = 0) e JOIN emp f ON "
    "e.id = f.id",
    "outside": "SELECT e.id FROM emp e WHERE (1 / (e.id - 3) IS NOT NULL OR e.id = 0) AND e.id IN (SELECT id FROM emp)",
    "common table": "WITH c AS (SELECT id, {p} AS ok FROM emp) SELECT id FROM c WHERE ok",
    "union": "SELECT id FROM (SELECT id, {p} AS ok FROM emp UNION ALL SELECT id, true FROM emp WHERE false) WHERE ok",
    "union with groups": "SELECT u FROM (SELECT max(id) AS u FROM emp UNION ALL SELECT id FROM emp) "
    "WHERE 1 / (u - 3) IS NOT NULL",
    "group key": "SELECT max(id) FROM emp GROUP BY {p}",
    "over a group key": "SELECT id FROM (SELECT id, count(*) AS n FROM emp GROUP BY id) WHERE 1 / (id - 3) IS NOT NULL",
    "filtered group": "SELECT max(id) FILTER (WHERE {p}) FROM emp",
    "partition": "SELECT id FROM (SELECT id, count(*) OVER (PARTITION BY {p}) AS n FROM emp) WHERE n > 0",
    "group that equals a row": "SELECT e.id FROM (SELECT id AS k, max(id) AS m FROM emp GROUP BY id) JOIN emp e ON "
    "m = e.id WHERE 1 / (m - 3) IS NOT NULL",
    "group that equals a row further up": "SELECT e.id FROM (SELECT m FROM (SELECT id, max(id) AS m FROM emp GROUP BY "
    "id) WHERE 1 / (m - 3) IS NOT NULL) JOIN emp e ON m = e.id",
    "groups that are among rows": "SELECT m FROM (SELECT id AS k, max(id) AS m FROM emp GROUP BY id) WHERE "
    "1 / (m - 3) IS NOT NULL INTERSECT SELECT id FROM emp",
    "rows that are among groups": "SELECT id FROM emp WHERE id IN (SELECT max(id) AS m FROM emp GROUP BY id HAVING "
    "1 / (max(id) - 3) IS NOT NULL)",
    "group in a list with a row": "SELECT e.id FROM (SELECT m FROM (SELECT id, max(id) AS m FROM emp GROUP BY id) "
    "WHERE 1 / (m - 3) IS NOT NULL) JOIN emp e ON m IN (e.id)",
    "row that equals a group outside": "SELECT m FROM (SELECT m FROM (SELECT id, max(id) AS m FROM emp GROUP BY id) "
    "WHERE 1 / (m - 3) IS NOT NULL) WHERE EXISTS (SELECT 1 FROM emp WHERE id = m)",
    "row that equals a group inside": "SELECT id FROM emp e WHERE id = (SELECT max(f.id) FROM emp f WHERE "
    "f.dept = e.dept HAVING 1 / (max(f.id) - 3) IS NOT NULL)",
    "common group that equals a row": "WITH g AS (SELECT id AS k, max(id) AS m FROM emp GROUP BY id) "
    "SELECT e.id FROM g JOIN emp e ON m = e.id WHERE 1 / (m - 3) IS NOT NULL",
    "over the key of a common table": "WITH g AS (SELECT id, count(*) AS n FROM emp GROUP BY id) "
    "SELECT id FROM g WHERE n > 0 AND 1 / (id - 3) IS NOT NULL",
    "common union with groups": "WITH g AS (SELECT max(id) AS u FROM emp UNION ALL SELECT id FROM emp) "
    "SELECT u FROM g WHERE 1 / (u - 3) IS NOT NULL",
    "recursive": "WITH RECURSIVE g(u) AS (SELECT max(id) FROM emp UNION ALL SELECT e.id FROM emp e JOIN g ON "
    "e.id = g.u - 1) SELECT u FROM g WHERE 1 / (u - 3) IS NOT NULL",
    "generator": "SELECT x FROM emp LATERAL VIEW explode(if({p}, array(id), array(0))) AS x",
}
"""Places from which the optimiser could bring the predicate to a row that the policies hide."""


def fenced(frame: Any) -> bool:
    """Whether every guard of the plan has its fence. Spark keeps policies first in many places, but need not."""
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    return plan.count("GuardBarrier") == plan.count("Relation spark_catalog")


@pytest.mark.parametrize("position", POSITIONS)
def test_no_place_brings_an_error_to_a_hidden_row(world, position) -> None:
    frame = world.session("ann", OWN + DEPARTMENTS).sql(POSITIONS[position].format(p=PREDICATE))
    assert {one for row in rows(frame) for one in row} <= {1, 2}
    assert fenced(frame)


@pytest.mark.parametrize("position", POSITIONS)
def test_no_place_brings_an_error_to_a_hidden_cell(world, position) -> None:
    """All rows may be seen; the cells of row 3 that the predicate would fail on may not."""
    cells = policy(
        "cells", 'object: {tables: [emp], attributes: [salary, id], where: "dept = self.dept"}, allow: [read]'
    )
    rest = policy("rest", "object: {tables: [emp], attributes: [name, dept, since]}, allow: [read]")
    frame = world.session("ann", cells + rest).sql(POSITIONS[position].format(p=PREDICATE))
    assert {one for row in rows(frame) for one in row} <= {1, 2, 0, None}
    assert fenced(frame)


MERGED = {
    "subqueries": "SELECT (SELECT avg(1 / (salary - 100)) FROM emp), (SELECT max(id) FROM emp)",
    "side by side": "SELECT * FROM (SELECT avg(1 / (salary - 100)) FROM emp) CROSS JOIN (SELECT max(id) FROM emp)",
    "one below the other": "SELECT avg(1 / (salary - 100)) FROM emp UNION ALL SELECT max(id) FROM emp",
    "common tables": "WITH a AS (SELECT avg(1 / (salary - 100)) AS x FROM emp), b AS (SELECT max(id) AS y FROM emp) "
    "SELECT x, y FROM a CROSS JOIN b",
    "in a condition": "SELECT (SELECT max(id) FROM emp) FROM dept WHERE code = 'A' AND "
    "(SELECT sum(CAST(salary - 100 AS byte) / (salary - 100)) FROM emp) > 0",
}
"""Aggregates over one table that Spark makes one of: it computes for all rows and filters what it has computed."""


@pytest.mark.parametrize("form", MERGED)
def test_aggregates_that_could_become_one_have_fences(world, form) -> None:
    rest = policy("rest", "object: {tables: [emp], attributes: [id, dept]}, allow: [read]")
    own = policy("own", "object: {tables: [emp], attributes: [salary], where: dept = 'A'}, allow: [read]")
    frame = world.session("ann", rest + own + DEPARTMENTS).sql(MERGED[form])
    assert 5 in {one for row in rows(frame) for one in row}
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    assert "propagatedFilter" not in plan
    assert "GuardBarrier" in plan


def test_a_view_over_groups_is_guarded_above_them(world) -> None:
    world.spark.sql("CREATE OR REPLACE VIEW totals AS SELECT dept, sum(salary) AS total FROM emp GROUP BY dept")
    hidden = next(total for dept, total in rows(world.spark.table("totals")) if dept == "B")
    own = policy("own", "object: {tables: [totals], where: dept = 'A'}, allow: [read]")
    ann = world.session("ann", own + policy("emp", "object: {tables: [emp]}, allow: [read]"), tables=("totals", "emp"))
    frame = ann.sql(f"SELECT dept FROM totals WHERE 1 / (total - {hidden}) IS NOT NULL")
    assert rows(frame) == [("A",)]
    assert "GuardBarrier" in frame._jdf.queryExecution().optimizedPlan().toString()


def test_a_group_that_is_too_small_raises_no_error(world) -> None:
    world.table("wage", [(1, "A", 5), (2, "A", 6), (3, "D", 7)], "id int, dept string, pay int")
    use = policy("use", "object: {tables: [wage], attributes: [pay]}, allow: [compute, assist], min_group: 2")
    dept = policy("dept", "object: {tables: [wage], attributes: [dept]}, allow: [read]")
    ann = world.session("ann", use + dept, tables=("wage",))
    assert rows(ann.sql("SELECT dept, sum(pay) FROM wage GROUP BY dept")) == [("A", 11)]
    asked = "SELECT dept FROM wage GROUP BY dept HAVING 1 / (sum(pay) - 7) IS NOT NULL OR sum(pay) > 0"
    frame = ann.sql(asked)
    assert rows(frame) == [("A",)]
    assert "GuardBarrier" in frame._jdf.queryExecution().optimizedPlan().toString()


OF_SMALL_GROUPS = {
    "of the whole table": ("SELECT if(sum(pay) = 7, raise_error('7'), 1) FROM wage WHERE dept = 'D'", []),
    "of groups": ("SELECT dept, 1 / (sum(pay) - 7) < 1 FROM wage GROUP BY dept", [("A", True)]),
    "beside a list": ("SELECT dept, collect_list(dept), 1 / (max(pay) - 7) < 0 FROM wage GROUP BY dept", [("A", True)]),
    "by what is made": (
        "SELECT concat(upper(dept), 's'), 4 / (avg(pay) - 7) + length(upper(dept)) < 0 AS x, 1 AS y FROM wage "
        "GROUP BY upper(dept)",
        [("As", True, 1)],
    ),
}


@pytest.mark.parametrize("form", OF_SMALL_GROUPS)
def test_nothing_is_made_of_a_group_that_is_too_small(world, form) -> None:
    """Spark computes what a query makes of its groups before it looks which are wanted."""
    world.table("wage", [(1, "A", 5), (2, "A", 6), (3, "D", 7)], "id int, dept string, pay int")
    use = policy("use", "object: {tables: [wage], attributes: [pay]}, allow: [compute, assist], min_group: 2")
    dept = policy("dept", "object: {tables: [wage], attributes: [dept]}, allow: [read]")
    query, expected = OF_SMALL_GROUPS[form]
    found = rows(world.session("ann", use + dept, tables=("wage",)).sql(query))
    assert [tuple(one for one in row if not isinstance(one, list)) for row in found] == expected


SILENT = {
    "comparison": "SELECT id FROM emp WHERE salary > 55",
    "between": "SELECT id FROM emp WHERE salary BETWEEN 55 AND 70",
    "membership": "SELECT id FROM emp WHERE name IN ('Ann', 'Bob') OR salary IS NULL",
    "constant": "SELECT id FROM emp WHERE since >= CAST(DATE '2026-01-01' AS string)",
    "groups": "SELECT dept, sum(salary * 2) / count(*) AS mean FROM emp GROUP BY dept HAVING sum(salary) / "
    "count(*) > 1",
    "join": "SELECT e.id FROM emp e JOIN emp f ON e.id = f.id WHERE f.dept = 'A'",
    "common groups": "WITH g AS (SELECT dept, sum(salary) AS s, count(*) AS n FROM emp GROUP BY dept) "
    "SELECT dept, s / n FROM g WHERE s / n > 1 AND dept <> 'X'",
    "common groups twice": "WITH g AS (SELECT dept, sum(salary) AS s, count(*) AS n FROM emp GROUP BY dept) "
    "SELECT a.dept, a.s / b.n FROM g a JOIN g b ON a.dept = b.dept AND a.s / b.n > 1 WHERE a.dept IN ('A', b.dept)",
    "one aggregate without keys": "SELECT avg(1 / (salary - 100)) FROM emp",
    "one beside groups": "SELECT (SELECT avg(salary * 2) FROM emp), s FROM (SELECT sum(salary * 2) AS s FROM emp "
    "GROUP BY dept)",
    "several that only take columns": "SELECT (SELECT avg(salary) FROM emp), (SELECT max(id) FROM emp WHERE id > 0)",
    "a common one in two places": "WITH a AS (SELECT avg(salary * 2) AS x, max(id) AS y FROM emp) "
    "SELECT (SELECT x FROM a), (SELECT y FROM a)",
    "groups beside rows": "SELECT e.id FROM (SELECT dept, sum(salary) AS s FROM emp GROUP BY dept) g JOIN emp e ON "
    "g.dept = e.dept WHERE e.id > 0 AND s / 2 > 1",
}


@pytest.mark.parametrize("name", SILENT)
def test_where_nothing_tells_there_is_no_fence(world, name) -> None:
    frame = world.session("ann", OWN + DEPARTMENTS).sql(SILENT[name])
    assert not fenced(frame)
    plain = world.spark.newSession()
    plain.sql("CREATE TEMPORARY VIEW own AS SELECT * FROM emp WHERE dept = 'A'")
    assert rows(frame) == rows(plain.sql(SILENT[name].replace("FROM emp", "FROM own").replace("JOIN emp", "JOIN own")))


@pytest.fixture(scope="module")
def sold(world):
    """A table that is divided into files by day, and one that says which days are odd."""
    frame = world.spark.table("emp").selectExpr("id", "dept", "salary", "since AS day")
    files = str(world.folder / "sold")
    frame.write.mode("overwrite").partitionBy("day").option("path", files).saveAsTable("sold")
    days = [(f"2026-01-0{number}", number % 2) for number in range(1, 6)]
    world.table("days", days, "day string, odd int")
    return world


SALARIES = policy("own", "object: {tables: [sold], attributes: [salary], where: salary < 90}, allow: [read]")
SALARIES += policy("days", "object: {tables: [days]}, allow: [read]")
EVERY_DAY = SALARIES + policy("rest", "object: {tables: [sold], attributes: [id, dept, day]}, allow: [read]")
SOME_DAYS = SALARIES + policy("rest", "object: {tables: [sold], attributes: [id, dept]}, allow: [read]")
SOME_DAYS += policy("day", "object: {tables: [sold], attributes: [day], where: dept = 'A'}, allow: [read]")

EVEN_DAYS = "SELECT sold.id, salary FROM sold JOIN days ON sold.day = days.day WHERE odd = 0"
TELLING = " AND (1 / (salary - 100) IS NOT NULL OR sold.id > 0)"


def test_partitions_are_pruned_by_a_join(sold) -> None:
    ann, asked = sold.session("ann", EVERY_DAY, tables=("sold", "days")), EVEN_DAYS
    assert "dynamicpruning" in physical(sold.spark.sql(asked)).lower()
    assert "dynamicpruning" in physical(ann.sql(asked)).lower()
    assert rows(ann.sql(asked)) == [(2, 60), (4, 70)]


def test_partitions_are_pruned_by_a_join_through_the_fence(sold) -> None:
    ann = sold.session("ann", EVERY_DAY, tables=("sold", "days"))
    odd = [file for day in (1, 3, 5) for file in (sold.folder / "sold" / f"day=2026-01-0{day}").glob("part-*")]
    whole = {file: file.read_bytes() for file in odd}
    frame = ann.sql(EVEN_DAYS + TELLING)
    below = below_the_barrier(frame)
    assert "dynamicpruning" in below
    assert "/" not in below, "what the user wrote stays above"
    try:
        for file in odd:
            file.write_bytes(b"torn")
        assert rows(frame) == [(2, 60), (4, 70)], "what is not read is not missed"
    finally:
        for file, content in whole.items():
            file.write_bytes(content)
    asked = ann.sql(EVEN_DAYS.replace("odd = 0", "odd = 1") + TELLING)
    assert [row[0] for row in rows(asked)] == [1, 3, 5], "the hidden salary of 100 is no error"


def test_days_that_are_hidden_are_compared_as_nothing(sold) -> None:
    ann = sold.session("ann", SOME_DAYS, tables=("sold", "days"))
    frame = ann.sql(EVEN_DAYS + TELLING)
    assert [row[0] for row in rows(frame)] == [2]
    assert "cell" not in below_the_barrier(frame).split("dynamicpruning")[0].split("Project")[0]


def test_both_sides_of_a_join_may_stand_behind_fences(sold) -> None:
    some = policy("odd", "object: {tables: [days], attributes: [odd], where: day <> '2026-01-04'}, allow: [read]")
    some += policy("day of days", "object: {tables: [days], attributes: [day]}, allow: [read]")
    own = EVERY_DAY.replace(policy("days", "object: {tables: [days]}, allow: [read]"), some)
    frame = sold.session("ann", own, tables=("sold", "days")).sql(EVEN_DAYS + TELLING)
    assert fenced(frame)
    assert "dynamicpruning" in below_the_barrier(frame)
    assert rows(frame) == [(2, 60)]
