"""Ways in 6 and 20: what is kept in memory is what was shown to whoever keeps it, and nobody else takes it away."""

from __future__ import annotations

import pytest
from guarded import ALL, DEPARTMENTS, OWN, refused, rows

from headgate.guard import session
from headgate.policy.yaml_file import parse_policies

VISIBLE = [(1, "Ann", 50), (2, "Bob", 60)]
PLAIN = "SELECT id, name, salary FROM emp"
OTHERS = OWN.replace("dept = self.dept", "dept <> 'B'")


@pytest.fixture
def ann(world):
    yield world.session("ann", OTHERS + DEPARTMENTS)
    world.spark.catalog.clearCache()


def test_a_cached_table_is_guarded(world) -> None:
    ann = world.session("ann", OWN)
    world.spark.catalog.cacheTable("emp")
    try:
        world.spark.table("emp").count()
        assert rows(ann.sql(PLAIN)) == VISIBLE
        mine = ann.table("emp").cache()
        assert mine.count() == 2
        assert rows(mine.select("id", "name", "salary")) == VISIBLE
        mine.unpersist()
        assert world.spark.table("emp").count() == 5
    finally:
        world.spark.catalog.uncacheTable("emp")


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_rows_that_are_there_already_are_what_was_shown(world, adaptive: str) -> None:
    """However Spark says that they are divided among tasks and ordered."""
    ann = world.session("ann", OWN)
    ann.conf.set("spark.sql.adaptive.enabled", adaptive)
    frame = ann.table("emp").select("id", "name", "salary")
    assert rows(frame.localCheckpoint()) == VISIBLE
    assert rows(frame.repartition(3, "id").localCheckpoint()) == VISIBLE
    assert rows(frame.orderBy("salary").localCheckpoint()) == VISIBLE
    totals = frame.groupBy("id").sum("salary").localCheckpoint()
    assert rows(totals.join(frame, "id").select("id", "name", "sum(salary)")) == VISIBLE


def test_letting_go_of_a_part_leaves_the_rest_as_it_was_shown(ann) -> None:
    part = ann.table("emp").persist()
    whole = part.join(ann.table("dept"), part.dept == ann.table("dept").code).select("id", "title").persist()
    part.unpersist()
    assert rows(whole) == [(1, "Accounts"), (2, "Accounts"), (5, "Care")]


def test_what_an_administrator_keeps_is_not_planned_again_for_a_user(world, ann) -> None:
    """Ann may see one of its tables whole: her plan for that one is a part of the administrator's."""
    joined = world.spark.table("emp").join(
        world.spark.table("dept"), world.spark.table("emp").dept == world.spark.table("dept").code
    )
    joined = joined.select("id", "title").persist()
    ann.table("dept").persist().unpersist()
    assert joined.storageLevel.useMemory
    assert rows(joined)[2:4] == [(3, "Board"), (4, "Board")]
    assert rows(ann.sql("SELECT id, title FROM emp JOIN dept ON dept = code"))[2:] == [(5, "Care")]


@pytest.mark.parametrize("command", ["CLEAR CACHE", "UNCACHE TABLE emp", "DROP VIEW global_temp.everybodys"])
def test_what_all_sessions_share_is_not_for_one_user_to_take_away(world, ann, command: str) -> None:
    """Way in 20: the others go on as before."""
    world.spark.catalog.cacheTable("emp")
    world.spark.table("dept").createOrReplaceGlobalTempView("everybodys")
    with refused("belongs to all sessions"):
        ann.sql(command)
    assert world.spark.catalog.isCached("emp")
    assert world.spark.table("global_temp.everybodys").count() == 3


def test_own_views_are_kept_and_let_go_of(ann) -> None:
    ann.sql("CACHE TABLE mine AS SELECT id FROM emp")
    assert ann.catalog.isCached("mine")
    assert rows(ann.table("mine")) == [(1,), (2,), (5,)]
    ann.sql("UNCACHE TABLE mine")
    assert not ann.catalog.isCached("mine")
    ann.sql("DROP VIEW mine")


def test_what_was_kept_under_earlier_policies_is_not_an_answer_to_later_ones(world) -> None:
    guard = world.guard(ALL + DEPARTMENTS)
    ann = session("ann", guard, world.spark)
    joined = "SELECT id, title FROM emp JOIN dept ON dept = code"
    part, whole = ann.table("emp").persist(), ann.sql(joined).persist()
    try:
        guard.replace_policies(parse_policies(f"version: 1\npolicies:\n{OTHERS}{DEPARTMENTS}", guard.catalog))
        part.unpersist()
        whole.count()
        assert rows(ann.sql(joined)) == [(1, "Accounts"), (2, "Accounts"), (5, "Care")]
        assert rows(ann.table("emp").select("id")) == [(1,), (2,), (5,)]
    finally:
        world.spark.catalog.clearCache()
