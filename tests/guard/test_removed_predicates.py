"""Predicates that are removed, keys that count as NULL, and functions in HAVING that are not allowed."""

from __future__ import annotations

import pytest
from guarded import FREE, policy, rows

from headgate.guard import session

REST = policy("rest", "object: {tables: [emp], attributes: [id, dept]}, allow: [read]")
SUMS = policy("sums", "object: {tables: [emp], attributes: [salary]}, allow: [sum]")
REMOVING = "version: 1\ndefaults: {on_assist_denied: remove}\npolicies:\n"


def ask(world, policies: str, query: str, **options):
    return rows(world.session("ann", policies, **options).sql(query))


def test_what_is_left_when_a_predicate_was_removed_decides(world) -> None:
    """Refused: "no use of `emp` is allowed". `SELECT count(*) FROM emp` alone gives 5."""
    assert ask(world, REMOVING + REST, "SELECT count(*) FROM emp") == [(5,)]
    assert ask(world, REMOVING + REST, "SELECT count(*) FROM emp WHERE name = 'Ann'") == [(5,)]


@pytest.mark.parametrize(
    "query", ["SELECT name, sum(id) FROM emp GROUP BY name", "SELECT sum(id), name FROM emp GROUP BY name"]
)
def test_a_key_that_is_shown_counts_as_null_too(world, query) -> None:
    found = ask(world, REMOVING + REST, query)
    assert len(found) == 1
    assert set(found[0]) == {None, 15}


def test_an_order_that_may_not_be_asked_for_is_left_out(world) -> None:
    guard = world.guard(REMOVING + REST)
    found = rows(session("ann", guard, world.spark).sql("SELECT id, name FROM emp ORDER BY name"))
    assert found == [(number, None) for number in range(1, 6)]
    assert guard.outcomes[-1].warnings


def test_in_having_a_function_that_is_not_covered_is_null(world) -> None:
    query = "SELECT dept, sum(salary) FROM emp GROUP BY dept HAVING avg(salary) > 0"
    assert ask(world, FREE + SUMS, query) == []
    assert len(ask(world, FREE + SUMS, query.replace("> 0", "> 0 OR dept = 'A'"))) == 1
