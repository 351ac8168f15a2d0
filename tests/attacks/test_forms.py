"""Ways in 4 and 6: however a table is read, the answer is the same: views, CTEs, paths, pipes, scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from guarded import DEPARTMENTS, OWN, World, has, policy, refused, rows, since
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from query_forms import FORMS, OWN_VIEW, make_views

VISIBLE = [(1, "Ann", 50), (2, "Bob", 60)]


class Kind(NamedTuple):
    """Policies of one kind, and what the forms give under them: as over a table that was prepared by hand.

    Forms that compute `salary` where it may be computed give what they do over the whole table. Some are refused.
    """

    policies: str
    prepared: str
    computing: frozenset[str] = frozenset()
    refused: Mapping[str, str] = MappingProxyType({})


REST = policy("rest", "object: {tables: [emp], attributes: [id, name, dept, since]}, allow: [read]")
CELLS = policy("cells", "object: {tables: [emp], attributes: [salary], where: dept = 'A'}, allow: [read]")
COMPUTED = policy("computed", "object: {tables: [emp], attributes: [salary]}, allow: [compute]")
WHOLE = "spark_catalog.default.emp"
KEYED = ("cte twice", "same branch twice", "intersect", "except", "sorted", "lateral")
"""Forms that use `salary` in a predicate or key; what a lateral subquery hands over counts as such."""

KINDS = {
    "rows": Kind(OWN, f"SELECT * FROM {WHOLE} WHERE dept = 'A'"),
    "cells": Kind(
        REST + CELLS,
        f"SELECT * EXCEPT (salary), if(dept = 'A', salary, NULL) AS salary FROM {WHOLE}",
        refused={"recursive": "`Cell` is not among the functions that the guard understands"},
    ),
    "computed": Kind(
        REST + COMPUTED,
        f"SELECT * EXCEPT (salary), CAST(NULL AS int) AS salary FROM {WHOLE}",
        frozenset(("correlated", "pivot", "rollup")),
        dict.fromkeys(KEYED, "`emp.salary` may not be used in a predicate or key"),
    ),
}


@pytest.fixture(scope="module")
def views(world) -> None:
    make_views(world)


def guarded(world: World, policies: str) -> SparkSession:
    session = world.session("ann", policies + DEPARTMENTS)
    session.sql(OWN_VIEW)
    return session


@pytest.fixture(scope="module")
def ann(world, views) -> SparkSession:
    return guarded(world, OWN)


NOT_YET = set() if has("4.1") else {"recursive"}
"""Forms that this Spark does not know."""


def by_hand(world: World, prepared: str, forms: Iterable[str]) -> dict[str, list[tuple[Any, ...]]]:
    """What the forms give in a session without a guard, over a table in place of `emp`: all in one query."""
    plain = world.spark.newSession()
    plain.sql(f"CREATE TEMPORARY VIEW emp AS {prepared}")
    for name in ("shown_emp", "shown_again", "own_view"):
        plain.sql(f"CREATE TEMPORARY VIEW {name} AS SELECT * FROM emp")
    texts = {form: FORMS[form].removeprefix("EXECUTE IMMEDIATE ").strip("'") for form in forms}
    found = rows(plain.sql(" UNION ALL ".join(f"SELECT '{form}', * FROM ({text})" for form, text in texts.items())))
    return {form: [row[1:] for row in found if row[0] == form] for form in texts}


def told(session: SparkSession, query: str) -> list[tuple[Any, ...]] | str:
    """The rows, or why there are none."""
    try:
        return rows(session.sql(query))
    except AnalysisException as error:
        return str(error).partition("refused by the guard: ")[2].partition(":")[0]


@pytest.mark.usefixtures("views")
@pytest.mark.parametrize("kind", KINDS)
def test_every_way_to_name_a_table_gives_the_same(world, kind) -> None:
    policies, prepared, computing, refusals = KINDS[kind]
    forms = FORMS.keys() - NOT_YET
    expected = by_hand(world, prepared, forms - computing - refusals.keys())
    expected |= by_hand(world, f"SELECT * FROM {WHOLE}", computing) if computing else {}
    ann = guarded(world, policies)
    assert {form: told(ann, FORMS[form]) for form in forms} == expected | {
        form: refusals[form] for form in refusals if form in forms
    }
    assert not any(rows == [] for rows in expected.values())


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
