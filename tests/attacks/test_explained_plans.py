"""Way in 10: what EXPLAIN shows users follows from their query and their rights alone; administrators see all."""

from __future__ import annotations

import pytest
from guarded import DEPARTMENTS, OWN, policy, refused

from headgate.guard import Settings

MODES = ["", "EXTENDED", "FORMATTED", "COST", "CODEGEN"]
LIMITED = policy("limited", 'object: {tables: [TABLE], where: "salary < 4711"}, allow: [read]')
QUERIES = [
    "SELECT name, salary FROM emp WHERE salary > 10",
    "SELECT dept, avg(salary) FROM emp GROUP BY dept HAVING count(*) > 1",
    "SELECT e.name, d.title FROM emp e JOIN dept d ON e.dept = d.code ORDER BY e.id LIMIT 3",
    "WITH c AS (SELECT * FROM emp) SELECT (SELECT max(salary) FROM c) AS top, id FROM c WHERE id IN (SELECT 1)",
    "SELECT id, sum(salary) OVER (PARTITION BY dept) FROM emp",
]


def explained(session, query: str, mode: str = "") -> str:
    ((text,),) = session.sql(f"EXPLAIN {mode} {query}").collect()
    return text


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", QUERIES)
def test_no_mode_shows_policies_files_or_counts(world, query, mode) -> None:
    text = explained(world.session("ann", LIMITED + DEPARTMENTS), query, mode)
    assert "== Asked ==" in text
    assert "permitted" in text
    for hidden in ("4711", str(world.folder), "file:", "parquet", "Statistics", "sizeInBytes", "GuardBarrier"):
        assert hidden not in text


def test_what_was_asked_can_be_read(world) -> None:
    text = explained(world.session("ann", LIMITED), "SELECT name FROM emp WHERE salary > 10")
    asked, _, said = text.partition("== Guard ==")
    assert [line.strip(" +-") for line in asked.splitlines()[1:] if line] == [
        "Project [spark_catalog.default.emp.name]",
        "Filter [(spark_catalog.default.emp.salary > 10)]",
        "SubqueryAlias emp",
        "LogicalRelation [id, name, dept, salary, since]",
    ]
    assert said.splitlines()[1].startswith("permitted")


@pytest.mark.parametrize("mode", MODES)
def test_hidden_rows_make_no_difference(world, mode) -> None:
    """The same question over tables that differ in what is hidden."""
    query = "SELECT name FROM explained WHERE salary > 10"
    own = OWN.replace("emp", "explained")
    texts = set()
    for hidden in ([], [(3, "Cid", "B", 100)], [(number, "Eve", "B", number) for number in range(500)]):
        world.table("explained", [(1, "Ann", "A", 50), *hidden], "id int, name string, dept string, salary int")
        texts.add(explained(world.session("ann", own, tables=("explained",)), query, mode))
    assert len(texts) == 1


def test_what_a_lasting_view_is_made_of_is_not_shown(world) -> None:
    world.spark.sql("CREATE OR REPLACE VIEW rich AS SELECT id, name FROM emp WHERE salary > 54321")
    try:
        granted = "".join(policy(one, "object: {tables: [TABLE]}, allow: [read]", table=one) for one in ("rich", "emp"))
        ann = world.session("ann", granted, tables=("rich", "emp"))
        text = explained(ann, "SELECT name FROM rich", "EXTENDED")
    finally:
        world.spark.sql("DROP VIEW rich")
    assert "rich" in text
    assert "54321" not in text
    assert "salary" not in text


def test_a_view_of_ones_own_is_shown(world) -> None:
    ann = world.session("ann", LIMITED)
    ann.sql("SELECT * FROM emp WHERE id > 999").createOrReplaceTempView("mine")
    assert "999" in explained(ann, "SELECT name FROM mine")


def test_of_a_query_that_is_refused_only_that_is_said(world) -> None:
    text = explained(world.session("nil", LIMITED), "SELECT name FROM emp")
    assert text.startswith("== Guard ==\nrefused: ")
    assert "Asked" not in text


def test_what_is_withheld_is_said_as_far_as_the_policies_disclose_it(world) -> None:
    head = "version: 1\ndefaults: {disclosure: LEVEL}\npolicies:\n" + LIMITED
    said = {
        level: explained(world.session("ann", head.replace("LEVEL", level)), "SELECT name FROM emp").partition(
            "== Guard =="
        )[2]
        for level in ("clause", "name", "nothing")
    }
    assert "permitted in part" in said["clause"]
    assert "`emp" in said["name"]
    assert said["nothing"].strip() == "permitted; what the policies do not allow is left out"
    assert "4711" not in said["name"]


def test_explaining_runs_nothing_and_changes_nothing(world) -> None:
    ann = world.session("ann", LIMITED)
    text = explained(ann, "CREATE OR REPLACE TEMPORARY VIEW made AS SELECT * FROM emp")
    assert "Guard" in text
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        ann.table("made").collect()


def test_administrators_see_all(world) -> None:
    guard = {"settings": Settings(administrators=frozenset({"ann"}))}
    text = explained(world.session("ann", LIMITED, **guard), "SELECT name FROM emp")
    assert "4711" in text
    assert str(world.folder) in text


def test_the_names_of_files_are_for_administrators(world) -> None:
    ann = world.session("ann", LIMITED)
    for frame in (ann.table("emp"), ann.sql("SELECT id FROM emp"), ann.table("emp").groupBy("dept").count()):
        frame.collect()
        with refused("the names of files are for administrators"):
            frame.inputFiles()
    administrator = world.session("ann", LIMITED, settings=Settings(administrators=frozenset({"ann"})))
    assert administrator.table("emp").inputFiles()
