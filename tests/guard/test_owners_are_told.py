"""What owners of tables are told: who asked for what, and what was given; each time, and only of what runs."""

from __future__ import annotations

from typing import Any

import pytest
from guarded import ALL, FREE, OWN, USERS, policy, refused, rows, spying_udf

from headgate.guard import Guard, Notification, explain, session, without_dropped

OWNERS = {"emp": "bea"}
PAY_IN_A = policy("pay", "object: {tables: [emp], attributes: [salary], where: \"dept = 'A'\"}, allow: [read]")
PAY_ASSISTS = policy("pay", "object: {tables: [emp], attributes: [salary]}, allow: [assist]")
SUMS = policy("sums", "object: {tables: [emp], attributes: [salary]}, allow: [sum], min_group: 2")
COUNTS_IN_A = policy("counts", "object: {tables: [emp], attributes: [salary], where: \"dept = 'A'\"}, allow: [count]")
LARGEST = policy("largest", "object: {tables: [emp], attributes: [name]}, allow: [max]")
REMOVING = "version: 1\ndefaults: {on_assist_denied: remove}\npolicies:\n"


def told(guard: Guard) -> set[tuple[Any, ...]]:
    return {(one.column, one.privilege, one.output, str(one.given)) for one in guard.notifications}


def asked(world, policies: str, query: str, **options: Any) -> Guard:
    """The guard after a query of Ann's on a table of Bea's."""
    guard = world.guard(policies, owners=OWNERS, **options)
    session("ann", guard, world.spark).sql(query).collect()
    return guard


@pytest.mark.parametrize(
    ("policies", "query", "notes"),
    [
        (ALL, "SELECT name FROM emp", {("name", "read", True, "all")}),
        (OWN, "SELECT name FROM emp", {("name", "read", True, "part")}),
        (FREE, "SELECT id, salary FROM emp", {("id", "read", True, "all"), ("salary", "read", True, "nothing")}),
        (
            FREE + PAY_IN_A,
            "SELECT id, salary FROM emp",
            {("id", "read", True, "all"), ("salary", "read", True, "part")},
        ),
        (
            FREE + PAY_ASSISTS,
            "SELECT salary, id FROM emp WHERE salary > 10",
            {("id", "read", True, "all"), ("salary", "read", True, "nothing"), ("salary", "assist", False, "all")},
        ),
        # What a masked column of the answer was to be made of was not given either, whatever may be seen of it.
        (
            FREE,
            "SELECT id, concat(name, salary) AS both FROM emp",
            {("id", "read", True, "all"), ("name", "read", True, "nothing"), ("salary", "read", True, "nothing")},
        ),
        # A column that is given somewhere was given.
        (
            FREE,
            "SELECT name, concat(name, salary) AS both FROM emp",
            {("name", "read", True, "all"), ("salary", "read", True, "nothing")},
        ),
        (
            REMOVING + FREE,
            "SELECT id FROM emp WHERE salary > length(dept) AND id > 0",
            {
                ("id", "read", True, "all"),
                ("id", "assist", False, "all"),
                ("salary", "assist", False, "nothing"),
                ("dept", "assist", False, "nothing"),
            },
        ),
        # Which groups are large enough is not known before the query runs.
        (
            FREE + SUMS,
            "SELECT dept, sum(salary) FROM emp GROUP BY dept",
            {("dept", "read", True, "all"), ("dept", "assist", False, "all"), ("salary", "sum", True, "part")},
        ),
        (ALL + SUMS, "SELECT sum(salary) FROM emp", {("salary", "sum", True, "all")}),
        # Rows that are counted without a column, or only known to be there.
        (ALL, "SELECT count(*) FROM emp", {("*", "count", True, "all")}),
        (OWN, "SELECT count(*) FROM emp", {("*", "count", True, "part")}),
        (
            LARGEST + COUNTS_IN_A,
            "SELECT count(*), max(name) FROM emp",
            {("*", "count", True, "part"), ("name", "max", True, "all")},
        ),
        (OWN, "SELECT 1 AS one FROM emp", {("*", "assist", False, "part")}),
        (ALL, "SELECT title FROM dept", set()),
    ],
)
def test_what_was_given_is_told(world, policies, query, notes) -> None:
    departments = policy("departments", "object: {tables: [dept]}, allow: [read]")
    guard = asked(world, policies + departments, query)
    assert told(guard) == notes
    assert all(one.permitted and (one.owner, one.user) == ("bea", "ann") for one in guard.notifications)


@pytest.mark.parametrize(
    ("query", "notes"),
    [
        ("SELECT salary FROM emp", {("salary", "read", True, "nothing")}),
        (
            "SELECT id FROM emp WHERE salary > 10",
            {("id", "read", True, "nothing"), ("salary", "assist", False, "nothing")},
        ),
    ],
)
def test_of_a_query_that_is_refused_nothing_was_given(world, query, notes) -> None:
    guard = world.guard(FREE, owners=OWNERS)
    with refused():
        session("ann", guard, world.spark).sql(query).collect()
    assert told(guard) == notes
    assert not any(one.permitted for one in guard.notifications)


ATTEMPT = Notification("bea", "ann", "emp", "*", None, False, "nothing", False)


def test_an_attempt_that_is_refused_for_what_is_in_it_is_told(world, tmp_path) -> None:
    guard = world.guard(ALL, owners=OWNERS)
    spy = spying_udf(tmp_path / "seen")
    with refused("is the user's own"):
        session("ann", guard, world.spark).table("emp").select(spy("name")).collect()
    assert list(guard.notifications) == [ATTEMPT]
    assert not (tmp_path / "seen").exists()


def test_an_attempt_whose_decision_failed_is_told(world) -> None:
    users = dict(USERS)
    guard = world.guard(ALL, owners=OWNERS, users=users)
    frame = session("ann", guard, world.spark).table("emp").select("id")
    del users["ann"]
    with refused("unknown user `ann`"):
        frame.collect()
    assert list(guard.notifications) == [ATTEMPT]


def test_what_is_only_explained_is_neither_told_nor_recorded(world) -> None:
    ann = session("ann", guard := world.guard(FREE, owners=OWNERS), world.spark)
    frame = ann.sql("SELECT id, salary FROM emp")
    assert explain(frame).partial
    assert not explain(ann.sql("SELECT salary FROM emp")).permitted
    without_dropped(frame)
    assert not guard.outcomes
    ann.sql("EXPLAIN SELECT id, salary FROM emp").collect()
    assert not guard.notifications
    guard.outcomes.clear()  # of the text that EXPLAIN gives
    without_dropped(frame).collect()
    assert len(guard.outcomes) == 1
    assert told(guard) == {("id", "read", True, "all"), ("salary", "read", True, "nothing")}


def test_owners_are_not_told_of_themselves(world) -> None:
    guard = world.guard(ALL, owners=OWNERS)
    assert len(rows(session("bea", guard, world.spark).sql("SELECT name FROM emp"))) == 5
    assert not guard.notifications


def test_notifications_are_passed_on(world) -> None:
    heard: list[Notification] = []
    guard = asked(world, FREE, "SELECT id, salary FROM emp", tell=heard.append)
    assert heard == list(guard.notifications)
    assert [str(one) for one in heard] == [
        "ann asked for read of `emp.id` and was given all",
        "ann asked for read of `emp.salary` and was given nothing",
    ]


def test_whoever_fails_to_pass_them_on_neither_stops_nor_unguards_a_query(world) -> None:
    def down(_: Notification) -> None:
        raise OSError("no route to the owner")

    guard = world.guard(OWN, owners=OWNERS, tell=down)
    ann = session("ann", guard, world.spark)
    assert rows(ann.sql("SELECT id FROM emp")) == [(1,), (2,)]
    assert len(guard.outcomes) == 1
    assert [(one.notification, one.problem) for one in guard.untold] == [
        (note, "OSError: no route to the owner") for note in guard.notifications
    ]
    with refused("no use of `emp` is allowed"):
        session("nil", guard, world.spark).sql("SELECT id FROM emp").collect()
    assert len(guard.untold) == len(guard.notifications) == 2
