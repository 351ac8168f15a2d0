"""Ways in 4 and 6: however a table is read, the answer is the same: views, CTEs, paths, pipes, scripts."""

from __future__ import annotations

import pytest
from guarded import DEPARTMENTS, OWN, refused, rows, since
from query_forms import FORMS, NEWER, OWN_VIEW, make_views

VISIBLE = [(1, "Ann", 50), (2, "Bob", 60)]


@pytest.fixture(scope="module")
def ann(world):
    make_views(world)
    session = world.session("ann", OWN + DEPARTMENTS)
    session.sql(OWN_VIEW)
    return session


@pytest.mark.parametrize("form", [pytest.param(form, marks=NEWER.get(form, ())) for form in FORMS])
def test_every_way_to_name_a_table_gives_the_same(ann, form) -> None:
    assert rows(ann.sql(FORMS[form])) == VISIBLE


def test_frames_give_the_same(ann) -> None:
    frame = ann.table("emp").select("id", "name", "salary")
    assert rows(frame) == VISIBLE
    assert rows(frame.union(frame).distinct()) == VISIBLE
    assert [tuple(row) for row in frame.orderBy("id").toLocalIterator()] == VISIBLE
    assert frame.orderBy("id").toPandas().values.tolist() == [list(row) for row in VISIBLE]
    assert frame.count() == 2
    assert frame.rdd.count() == 2


def test_files_of_a_table_are_the_table(world, ann) -> None:
    path = str(world.folder / "emp")
    assert rows(ann.sql(f"SELECT id, name, salary FROM parquet.`{path}`")) == VISIBLE
    assert rows(ann.read.parquet(path).select("id", "name", "salary")) == VISIBLE
    assert rows(ann.read.parquet(f"{path}/*.parquet").select("id", "name", "salary")) == VISIBLE


@since("4.1", "scripts without a switch")
def test_a_script_is_guarded(ann) -> None:
    ann.conf.set("spark.sql.ansi.enabled", "true")
    assert rows(ann.sql("BEGIN SELECT id, name, salary FROM emp; END")) == VISIBLE


def test_a_table_that_no_policy_names_is_closed(world) -> None:
    world.table("other", [(1,)], "x int")
    ann = world.session("ann", OWN, tables=("emp", "dept", "other"))
    with refused("no use of `other` is allowed"):
        ann.sql("SELECT * FROM other").collect()


def test_a_table_that_the_guard_does_not_know_is_refused(world) -> None:
    world.table("unheard_of", [(1,)], "x int")
    with refused("unheard_of` is not known"):
        world.session("ann", OWN).sql("SELECT * FROM unheard_of").collect()


def test_nobodys_policies_give_nothing(world) -> None:
    with refused("no use of `emp` is allowed: no policy allows it"):
        world.session("nil", OWN).sql("SELECT id FROM emp").collect()


def test_without_policies_everything_is_open(world) -> None:
    assert world.session("nil", None).table("emp").count() == 5
