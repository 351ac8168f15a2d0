"""Way in 6: a common table expression that stands in a plan more than once, of which Spark runs only one."""

from __future__ import annotations

import pytest
from guarded import refused, rows, since

FREE = """
  - {id: free, subject: {role: analyst}, object: {tables: [emp], attributes: [id, name, dept]}, allow: [read]}
"""
CELLS = (
    FREE
    + """
  - id: own
    subject: {role: analyst}
    object: {tables: [emp], attributes: [salary], where: "dept = 'A'"}
    allow: [read]
"""
)
SHARED = "WITH c AS (SELECT * FROM emp) SELECT id, salary FROM c"
OWN_PAY = [(1, 50), (2, 60), (3, None), (4, None), (5, None)]


def _view(frame):
    frame.createOrReplaceTempView("shared")
    return frame.sparkSession.sql("SELECT * FROM shared UNION ALL SELECT * FROM shared")


TWICE = {
    "united": lambda frame: frame.union(frame),
    "filtered and united": lambda frame: frame.where("id > 0").union(frame),
    "cut and united": lambda frame: frame.select("id", "salary").union(frame.where("id < 9")),
    "as a view": _view,
}


@pytest.mark.parametrize("form", TWICE)
@pytest.mark.parametrize("tells", [False, True])
def test_a_definition_that_stands_twice_is_guarded_wherever_it_stands(world, form, tells) -> None:
    ann = world.session("ann", CELLS)
    frame = TWICE[form](ann.sql(SHARED))
    if tells:
        frame = frame.where("1 / id > -1")
    assert rows(frame) == sorted([*OWN_PAY, *OWN_PAY], key=lambda row: (str(row[0]), str(row[1])))


def test_a_definition_that_is_joined_with_itself(world) -> None:
    frame = world.session("ann", CELLS).sql(SHARED)
    left, right = frame.alias("l"), frame.alias("r")
    found = left.join(right, "id").select("id", "l.salary", "r.salary")
    assert rows(found) == [(1, 50, 50), (2, 60, 60), (3, None, None), (4, None, None), (5, None, None)]


def test_what_each_copy_uses_is_used_of_all(world) -> None:
    """One copy shows the names, the other one wants the pay; whichever runs, both are asked about."""
    ann = world.session("ann", CELLS)
    shared = ann.sql("WITH c AS (SELECT * FROM emp) SELECT * FROM c")
    found = shared.select("name").union(shared.select(shared.salary.cast("string")))
    assert {row[0] for row in rows(found)} == {"Ann", "Bob", "Cid", "Dan", "Eve", "50", "60", None}


def test_a_condition_on_what_nobody_may_use_holds_of_no_copy(world) -> None:
    """What is not covered is NULL in HAVING."""
    ann = world.session("ann", FREE)
    asked = ann.sql("WITH c AS (SELECT * FROM emp) SELECT id FROM c GROUP BY id HAVING max(salary) > 65")
    assert rows(asked.union(asked)) == []
    assert rows(asked.union(ann.sql("SELECT -1"))) == [(-1,)]


def test_a_key_that_nobody_may_use_is_refused_in_each_copy(world) -> None:
    ann = world.session("ann", FREE)
    sorted_by_pay = ann.sql("WITH c AS (SELECT * FROM emp) SELECT id FROM c ORDER BY salary LIMIT 1")
    with refused("salary"):
        sorted_by_pay.union(sorted_by_pay).collect()


def test_a_key_that_is_not_allowed_counts_as_null_in_each_copy(world) -> None:
    removed = f"version: 1\ndefaults: {{on_assist_denied: remove}}\npolicies:\n{FREE}"
    ann = world.session("ann", removed)
    grouped = ann.sql("WITH c AS (SELECT * FROM emp) SELECT count(id) FROM c GROUP BY salary")
    assert rows(grouped.union(grouped)) == [(5,), (5,)]


@since("4.1", "recursive queries")
def test_a_recursive_definition_that_stands_twice(world) -> None:
    ann = world.session("ann", CELLS)
    steps = "SELECT 1 AS n, salary FROM emp UNION ALL SELECT n + 1, salary FROM c WHERE n < 2"
    frame = ann.sql(f"WITH RECURSIVE c(n, salary) AS ({steps}) SELECT * FROM c")
    assert {pay for _, pay in rows(frame.union(frame))} == {50, 60}, "a row of which nothing is shown is not there"
