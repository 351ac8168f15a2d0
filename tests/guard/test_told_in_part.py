"""Who gets a part of what was asked for is told so, and by which policy."""

from __future__ import annotations

import pytest
from guarded import ALL, FREE, policy, rows

from headgate.guard import explain

SUMS = policy("sums", "object: {tables: [emp], attributes: [salary]}, allow: [sum]")
SIZED = policy("sized", "object: {tables: [emp], attributes: [salary]}, allow: [compute], min_group: 2")
OWN_ROWS = policy("own", 'object: {tables: [emp], where: "dept = self.dept"}, allow: [read]')


@pytest.mark.parametrize(
    ("policies", "query"),
    [
        (FREE + SIZED, "SELECT dept, first(salary) AS f FROM emp GROUP BY dept"),  # the column is NULL
        (FREE + SIZED, "SELECT id, avg(salary) OVER (PARTITION BY dept) AS a FROM emp"),  # the column is NULL
        (FREE + SIZED, "SELECT dept, sum(salary) AS s FROM emp GROUP BY dept"),  # a group is not there
        (OWN_ROWS, "SELECT count(*) AS n FROM emp"),  # 2 of 5
        (OWN_ROWS, "SELECT 1 AS one FROM emp"),  # 2 of 5
    ],
)
def test_who_gets_a_part_is_told_so(world, policies, query) -> None:
    """The user is told "permitted", with nothing withheld; `headgate explain` says "partial"."""
    outcome = explain(world.session("ann", policies).sql(query))
    assert outcome.partial
    assert outcome.reasons


def test_what_is_withheld_in_part_names_the_policy(world) -> None:
    """semantics.md, verdict: "it says what is taken away and by which policy"."""
    deny = policy("not-in-b", "object: {tables: [emp], attributes: [salary], where: \"dept = 'B'\"}, deny: [read]")
    outcome = explain(world.session("ann", ALL + deny).sql("SELECT id, salary FROM emp"))
    assert "not-in-b" in " ".join(outcome.reasons)


def test_compute_that_one_deny_takes_away_names_it(world) -> None:
    deny = policy("no-means", "object: {tables: [emp], attributes: [salary]}, deny: [avg]")
    outcome = explain(world.session("ann", ALL + deny).sql("SELECT dept, stddev(salary) AS s FROM emp GROUP BY dept"))
    assert "no-means" in " ".join(outcome.reasons)  # it says: no policy allows it


def test_what_another_use_takes_from_a_sum(world) -> None:
    """An aggregate of more than the column itself is computed of what all of its uses may have."""
    means = policy("means", "object: {tables: [emp], attributes: [salary], where: \"dept = 'A'\"}, allow: [avg]")
    guarded = world.session("ann", FREE + SUMS + means)
    asked = guarded.sql("SELECT sum(salary + 0), avg(salary + 0) FROM emp")
    assert rows(asked) == [(110, 55.0)]
    assert "sum of `emp.salary` is given only where its other uses are allowed, too" in explain(asked).reasons


def test_what_counting_takes_from_a_sum(world) -> None:
    """Rows that are joined are counted as they are."""
    counts = policy("counts", "object: {tables: [emp], attributes: [id], where: \"dept = 'A'\"}, allow: [count]")
    query = "SELECT count(*), sum(salary) FROM emp CROSS JOIN (SELECT 1)"
    asked = world.session("ann", SUMS + counts).sql(query)
    assert rows(asked) == [(2, 110)]
    assert "`emp` is used in rows only that may be counted" in explain(asked).reasons
