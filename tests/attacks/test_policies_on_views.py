"""Way in 6: policies on views, beside those on the tables behind them."""

from __future__ import annotations

import pytest
from guarded import refused, rows

TABLES = ("emp", "dept", "few")
NAMES = "  - {id: names, subject: {role: analyst}, object: {tables: [emp], attributes: [id, name]}, allow: [read]}\n"
ALL = "  - {id: all, subject: {role: analyst}, object: {tables: [emp]}, allow: [read]}\n"
FEW = "  - {id: few, subject: {role: analyst}, object: {tables: [few]}, allow: [read]}\n"
NOT_B = """
  - {id: not-b, subject: {role: analyst}, object: {tables: [few], attributes: [name], where: "dept = 'B'"},
     deny: [read, assist, compute]}
"""
ONLY_A = """
  - {id: only-a, subject: {role: analyst}, object: {tables: [few], where: "dept = 'A'"}, allow: [read]}
"""
SOME_DEPARTMENTS = """
  - {id: some, subject: {role: analyst}, object: {tables: [emp], attributes: [dept], where: "id <> 3"}, allow: [read]}
"""
HIDDEN = [(1, "Ann"), (2, "Bob"), (3, None), (4, None), (5, "Eve")]


@pytest.fixture
def few(world):
    world.spark.sql("CREATE OR REPLACE VIEW few AS SELECT id, name, dept FROM emp")

    def asking(policies):
        return world.session("ann", policies, tables=TABLES)

    yield asking
    world.spark.sql("DROP VIEW few")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, name FROM few",
        "SELECT id, name FROM few WHERE 1 / id > 0",
        "SELECT id, name FROM (SELECT * FROM few) WHERE CAST(id AS string) <> '9'",
    ],
)
def test_a_policy_looks_at_what_its_user_may_not_see(few, query) -> None:
    assert rows(few(NAMES + FEW + NOT_B).sql(query)) == HIDDEN
    assert rows(few(NAMES + ONLY_A).sql(query)) == HIDDEN[:2]


@pytest.mark.parametrize("policies", [NAMES + FEW + NOT_B, NAMES + ONLY_A, NAMES + SOME_DEPARTMENTS + FEW + NOT_B])
@pytest.mark.parametrize("more", ["", " WHERE 1 / id > 0"])
def test_a_policy_cannot_be_blinded_by_asking_for_what_it_looks_at(few, policies, more) -> None:
    with refused("cannot be decided: its policies look at `emp.dept`"):
        few(policies).sql(f"SELECT id, name, dept FROM few{more}").collect()


def test_what_may_be_seen_everywhere_is_looked_at_and_shown(few) -> None:
    found = few(ALL + FEW + NOT_B).sql("SELECT id, name, dept FROM few WHERE 1 / id > 0")
    assert rows(found) == [(1, "Ann", "A"), (2, "Bob", "A"), (3, None, "B"), (4, None, "B"), (5, "Eve", "C")]


def test_a_view_over_a_view(world, few) -> None:
    world.spark.sql("CREATE OR REPLACE VIEW fewer AS SELECT id, upper(name) AS name, dept FROM few")
    on_fewer = (
        (FEW + NOT_B).replace("id: few", "id: fewer").replace("id: not-b", "id: never-b").replace("[few]", "[fewer]")
    )
    ann = world.session("ann", NAMES + FEW + on_fewer, tables=(*TABLES, "fewer"))
    assert rows(ann.sql("SELECT id, name FROM fewer")) == [(1, "ANN"), (2, "BOB"), (3, None), (4, None), (5, "EVE")]
    with refused("cannot be decided"):
        ann.sql("SELECT id, name, dept FROM fewer").collect()
    world.spark.sql("DROP VIEW fewer")


def test_what_a_policy_looks_at_goes_no_further_than_the_view(world) -> None:
    """Whatever was not seen of a query that could fail: what nothing uses of the view is not there."""
    world.spark.sql("CREATE OR REPLACE VIEW few AS SELECT id, name, dept, concat(dept, '!') AS place FROM emp")
    policies = FEW + NOT_B.replace("dept = 'B'", "place = 'B!'")
    frame = world.session("ann", NAMES + policies, tables=TABLES).sql("SELECT id, name FROM few WHERE 1 / id > 0")
    plan = frame._jdf.queryExecution().normalized().toString()
    assert [name for name in ("dept", "place") if f"null AS {name}#" in plan] == ["dept", "place"]
    assert rows(frame) == HIDDEN
    world.spark.sql("DROP VIEW few")


def test_a_policy_looks_at_what_the_view_computes(world) -> None:
    world.spark.sql("CREATE OR REPLACE VIEW few AS SELECT id, name, concat(dept, '!') AS place FROM emp")
    policies = FEW + NOT_B.replace("dept = 'B'", "place = 'B!'")
    ann = world.session("ann", NAMES + policies, tables=TABLES)
    assert rows(ann.sql("SELECT id, name FROM few WHERE 1 / id > 0")) == HIDDEN
    with refused("cannot be decided: its policies look at `emp.dept`"):
        ann.sql("SELECT name, place FROM few").collect()
    world.spark.sql("DROP VIEW few")


COUNTING = """
  - {id: places, subject: {role: analyst}, object: {tables: [few], attributes: [dept]}, allow: [assist]}
  - {id: counting, subject: {role: analyst}, object: {tables: [few], attributes: [id]}, allow: [count], min_group: 2}
"""


@pytest.mark.parametrize("counted", ["*", "1", "id"])
def test_rows_of_a_view_are_counted_as_its_policies_say(few, counted) -> None:
    ann = few(ALL + COUNTING)
    assert rows(ann.sql(f"SELECT count({counted}) FROM few WHERE dept = 'A'")) == [(2,)]
    assert rows(few(ALL + COUNTING).sql(f"SELECT count({counted}) FROM few WHERE dept = 'C'")) == []


@pytest.mark.parametrize("counted", ["*", "1", "id"])
def test_a_view_that_may_not_be_counted_is_not(few, counted) -> None:
    never = "  - {id: never, subject: {role: analyst}, object: {tables: [few]}, deny: [compute]}\n"
    ann = few(ALL + FEW + never)
    assert rows(ann.sql(f"SELECT dept, count({counted}) FROM few GROUP BY dept")) == [
        ("A", None),
        ("B", None),
        ("C", None),
    ]


def test_a_view_of_which_nothing_but_counting_is_allowed(few) -> None:
    only = "  - {id: only, subject: {role: analyst}, object: {tables: [few]}, allow: [count]}\n"
    assert rows(few(ALL + only).sql("SELECT count(*) FROM few")) == [(5,)]
