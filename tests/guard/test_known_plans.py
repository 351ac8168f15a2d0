"""A plan that was decided on is answered as before, for as long as it would be decided alike."""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace
from hashlib import sha256

import pytest
from guarded import ALL, OWN, USERS, policy, refused, rows

from headgate.guard import session
from headgate.guard.session import _described
from headgate.model.subject import User
from headgate.policy.yaml_file import parse_policies

QUERY = "SELECT id, salary FROM emp WHERE salary > 10"


def recalled(guard, one, query: str = QUERY) -> str | None:
    return guard.recall(sha256(_described(one.sql(query)).encode()).hexdigest(), runs=True)


def test_a_query_asked_again_is_described_in_the_same_words(world) -> None:
    ann = world.session("ann", OWN)
    text = (
        "WITH c AS (SELECT id x FROM emp) SELECT a.x FROM c a JOIN c b ON a.x = b.x WHERE a.x IN (SELECT id FROM emp)"
    )
    assert _described(ann.sql(text)) == _described(ann.sql(text))
    assert _described(ann.sql(QUERY)) == _described(ann.sql(QUERY.replace("10", "20")))
    assert _described(ann.sql(QUERY)) != _described(ann.sql(QUERY.replace("WHERE salary", "WHERE id")))


def test_a_plan_is_decided_once_and_recorded_each_time(world) -> None:
    guard = world.guard(OWN, owners={"emp": "boss"})
    ann = session("ann", guard, world.spark)
    assert recalled(guard, ann) is None
    first = rows(ann.sql(QUERY))
    told, kept = len(guard.notifications), len(guard.outcomes)
    assert rows(ann.sql(QUERY)) == first == [(1, 50), (2, 60)]
    assert len(guard.notifications) == 2 * told > 0
    assert len(guard.outcomes) == 2 * kept > 0
    assert recalled(guard, ann) is not None


def test_another_user_is_not_answered_with_the_first_ones_recipe(world) -> None:
    guard = world.guard(OWN)
    assert rows(session("ann", guard, world.spark).sql(QUERY)) == [(1, 50), (2, 60)]
    with refused("no use of `emp` is allowed"):
        session("nil", guard, world.spark).sql(QUERY).collect()


@pytest.mark.parametrize("change", ["policies", "users", "profile", "roles", "environment", "user gone"])
def test_what_has_changed_is_decided_anew(world, change) -> None:
    users = dict(USERS)
    own = policy("own", 'object: {tables: [emp], where: "dept = self.dept"}, allow: [read], when: env.open <> FALSE')
    guard = world.guard(own, users=users, environment={"open": True})
    ann = session("ann", guard, world.spark)
    assert rows(ann.sql(QUERY)) == [(1, 50), (2, 60)]
    match change:
        case "policies":
            guard.replace_policies(parse_policies(f"version: 1\npolicies:\n{ALL}", guard.catalog))
            assert len(rows(ann.sql(QUERY))) == 4
        case "users":
            guard.replace_policies(guard.policies, {"ann": replace(users["ann"], profile={"dept": "B"})})
            assert rows(ann.sql(QUERY)) == [(3, 100), (4, 70)]
            guard.replace_policies(guard.policies, {"bea": users["bea"]})
            with refused("unknown user `ann`"):
                ann.sql(QUERY).collect()
        case "profile":
            users["ann"] = replace(users["ann"], profile={"dept": "B"})
            assert rows(ann.sql(QUERY)) == [(3, 100), (4, 70)]
        case "roles":
            users["ann"] = User("ann", frozenset(), users["ann"].profile)
            with refused("no use of `emp` is allowed"):
                ann.sql(QUERY).collect()
        case "environment":
            guard.environment["open"] = False
            with refused("no use of `emp` is allowed"):
                ann.sql(QUERY).collect()
        case _:
            del users["ann"]
            with refused("unknown user `ann`"):
                ann.sql(QUERY).collect()


def test_a_place_that_becomes_known_is_looked_at_again(world, tmp_path) -> None:
    guard = world.guard(OWN)
    ann = session("ann", guard, world.spark)
    rows(ann.sql(QUERY))
    assert recalled(guard, ann) is not None
    guard.settle("dept", str(tmp_path / "elsewhere"), "parquet")
    assert recalled(guard, ann) is None


def test_a_description_in_many_parts_arrives_whole(world) -> None:
    columns = ", ".join(
        f"upper(concat(name, dept, '{one}')) AS c{sha256(bytes([one])).hexdigest()}" for one in range(200)
    )
    frame = world.session("ann", OWN).sql(f"SELECT {columns} FROM emp")
    assert len(base64.b64encode(zlib.compress(_described(frame).encode(), 1))) > 2 * 7000, "it would fit into one part"
    assert len(frame.collect()) == 2


def test_sessions_of_a_user_act_by_one_ticket(world) -> None:
    """Sessions come and go, and what they act by stays."""
    guard = world.guard(ALL)
    tickets = [session(user, guard, world.spark).conf.get("spark.headgate.ticket") for user in ("ann", "ann", "bea")]
    assert len(set(tickets[:2])) == 1
    assert tickets[2] != tickets[0]
