"""Policies on columns of types that policies have no word for, and joint denies that are not in force."""

from __future__ import annotations

import pytest
from guarded import ALL, DEPARTMENTS, policy, rows


def ask(world, policies: str, query: str, **options):
    return rows(world.session("ann", policies, **options).sql(query))


@pytest.fixture(scope="module")
def tagged(world):
    world.table("tagged", [(1, ["x"]), (2, ["y"])], "id int, tags array<string>")
    return world


@pytest.mark.parametrize(
    ("object_", "rest"),
    [
        ("{tables: [tagged], attributes: [tags], where: \"tags = 'x'\"}", ""),
        ("{tables: [tagged], attributes: [tags], where: id < 0}", ", mask: \"'x'\""),
    ],
    ids=["condition", "mask"],
)
def test_a_policy_on_a_column_of_a_type_that_policies_have_no_word_for(tagged, object_, rest) -> None:
    """It loads; then it covers nothing, or its mask is NULL, and other columns stay as they are."""
    ids = policy("ids", "object: {tables: [tagged], attributes: [id]}, allow: [read]")
    tags = policy("tags", f"object: {object_}, allow: [read]{rest}")
    assert ask(tagged, ids + tags, "SELECT id, tags FROM tagged", tables=("tagged",)) == [(1, None), (2, None)]


def test_whether_such_a_column_is_there_can_be_asked(tagged) -> None:
    tags = policy("tags", "object: {tables: [tagged], where: tags IS NOT NULL}, allow: [read]")
    assert len(ask(tagged, tags, "SELECT id, tags FROM tagged", tables=("tagged",))) == 2


def test_a_joint_deny_that_is_not_in_force_withholds_nothing(world) -> None:
    joint = "{tables: [emp, dept], attributes: [salary], where: emp.dept = dept.code}"
    deny = policy("joint", f"object: {joint}, deny: [read], when: \"env.ip = '192.0.2.1'\"")
    found = ask(world, ALL + DEPARTMENTS + deny, "SELECT id, salary FROM emp", environment={"ip": "203.0.113.9"})
    assert dict(found)[3] == 100


def test_a_joint_deny_in_force_withholds_what_it_names(world) -> None:
    joint = "{tables: [emp, dept], attributes: [salary], where: emp.dept = dept.code}"
    deny = policy("joint", f"object: {joint}, deny: [read], when: \"env.ip = '192.0.2.1'\"")
    found = ask(world, ALL + DEPARTMENTS + deny, "SELECT id, salary FROM emp", environment={"ip": "192.0.2.1"})
    assert dict(found)[3] is None
