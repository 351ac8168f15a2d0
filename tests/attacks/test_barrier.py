"""Ways in 2 and 3: functions that see what they should not, and barriers that the optimiser takes away."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from guarded import OWN, below_the_barrier, physical, policy, refused, rows, spying_udf
from pyspark.errors import AnalysisException
from pyspark.sql import Window
from pyspark.sql.functions import array, avg, coalesce, collect_list, count, explode, expr, lag, lit

from headgate.guard import Settings, session
from headgate.guard.plan import Description, Expression, Node
from headgate.guard.purposes import analyse


def test_a_users_function_is_refused(world, tmp_path) -> None:
    ann = world.session("ann", OWN)
    with refused("the function `spy` is the user's own"):
        ann.table("emp").where(spying_udf(tmp_path / "seen")("salary")).collect()
    assert not (tmp_path / "seen").exists()


def test_a_function_that_was_registered_is_refused(world, tmp_path) -> None:
    ann = world.session("ann", OWN)
    ann.udf.register("spied", spying_udf(tmp_path / "seen"))
    with refused("has to be granted by name"):
        ann.sql("SELECT id FROM emp WHERE spied(salary)").collect()


def test_a_function_that_is_granted_sees_authorised_rows_only(world, tmp_path) -> None:
    for number, where in enumerate(("dept = 'A'", "dept IN ('A', 'Z')", "upper(dept) = 'A' OR dept = self.dept")):
        seen = tmp_path / f"seen{number}"
        own = policy("own", f'object: {{tables: [emp], where: "{where}"}}, allow: [read]')
        ann = world.session("ann", own, settings=Settings(functions={"role:analyst": ["spy"]}))
        assert len(rows(ann.table("emp").where(spying_udf(seen)("salary")))) == 2
        assert sorted(seen.read_text().split()) == ["50", "60"]


REST = policy("rest", "object: {tables: [emp], attributes: [id, dept]}, allow: [read]")
SPYING = Settings(functions={"role:analyst": ["spy"]})

GIVEN = {
    "where": lambda emp, spy: emp.where(spy("salary")).select("id"),
    "shown": lambda emp, spy: emp.select("id", spy("salary")),
    "shown beside": lambda emp, spy: emp.select("salary", "id", spy("salary")),
    "in a function": lambda emp, spy: emp.select("id", coalesce(spy("salary"), lit(True))),
    "average": lambda emp, spy: emp.agg(avg(spy(emp.salary + 1).cast("int")), count("id")),
    "groups": lambda emp, spy: emp.groupBy("dept").agg(avg(spy("salary").cast("int"))),
    "join": lambda emp, spy: emp.join(emp.select(emp.id.alias("other")), spy("salary")).select("id"),
    "key": lambda emp, spy: emp.groupBy(spy("salary")).agg(count("id")),
    "order": lambda emp, spy: emp.orderBy(spy("salary")).select("id"),
    "window": lambda emp, spy: emp.select("id", count("id").over(Window.partitionBy(spy("salary")))),
    "generator": lambda emp, spy: emp.select("id", explode(array(spy("salary")))),
    "list": lambda emp, spy: emp.groupBy("dept").agg(spy(collect_list("salary"))),
    "lists": lambda emp, spy: emp.groupBy("dept").agg(collect_list("salary").alias("l")).agg(spy(expr("max(l)"))),
    "row before": lambda emp, spy: emp.withColumn("s", lag("salary").over(Window.orderBy("id"))).where(spy("s")),
    "of an alias": lambda emp, spy: emp.select("id", (emp.salary + 1).alias("s")).where(spy("s")).select("id"),
}
"""Places in which a user's own function is given salaries."""


@pytest.mark.parametrize("allowed", ["assist", "avg", "assist, compute"])
@pytest.mark.parametrize("place", GIVEN)
def test_a_users_function_is_given_nothing_that_may_not_be_read(world, tmp_path, place, allowed) -> None:
    seen = tmp_path / "seen"
    use = policy("use", f"object: {{tables: [emp], attributes: [salary]}}, allow: [{allowed}]")
    ann = world.session("ann", REST + use, settings=SPYING)
    with suppress(AnalysisException):
        GIVEN[place](ann.table("emp"), spying_udf(seen)).collect()
    assert not seen.exists() or not re.findall(r"\d+", seen.read_text())


def test_a_value_that_is_used_otherwise_is_not_given_to_a_function(world, tmp_path) -> None:
    use = policy("use", "object: {tables: [emp], attributes: [salary]}, allow: [assist]")
    ann = world.session("ann", REST + use, settings=SPYING)
    with refused("`emp.salary` may not be given to a user's own function"):
        ann.table("emp").where("salary > 1").where(spying_udf(tmp_path / "seen")("salary")).select("id").collect()


@pytest.mark.parametrize("place", GIVEN)
def test_a_users_function_is_given_what_may_be_read(world, tmp_path, place) -> None:
    seen = tmp_path / "seen"
    use = policy("use", "object: {tables: [emp], attributes: [salary]}, allow: [assist, compute]")
    own = policy("own", "object: {tables: [emp], attributes: [salary], where: dept = 'A'}, allow: [read]")
    GIVEN[place](world.session("ann", REST + use + own, settings=SPYING).table("emp"), spying_udf(seen)).collect()
    found = set(re.findall(r"\d+", seen.read_text()))
    assert found in ({"50", "60"}, {"51", "61"})


def test_a_users_function_may_be_called_for_each_element() -> None:
    spy = Expression("function", "ScalaUDF", label="spy", by="some.Spy")
    each = Expression("function", "LambdaFunction", of=(spy,))
    found = Expression("function", "ArrayExists", of=(Expression("column", column=0), each))
    leaf = Node(1, "LogicalRelation", (0, 1), (), {})
    kept = Node(0, "Filter", (0, 1), (leaf,), {}, where=(found,))
    uses = analyse(Description("guard", "ann", kept, (kept, leaf), {}, {}, {})).uses
    assert {(use.privilege, use.shown) for use in uses if use.origin[0] == "where"} == {("read", False)}


def test_a_users_function_under_a_built_in_name_does_not_reach_policies(world) -> None:
    own = policy("own", "object: {tables: [emp], where: upper(dept) = 'A'}, allow: [read]")
    ann = world.session("ann", own)
    ann.udf.register("upper", lambda text: "A")
    assert rows(ann.sql("SELECT id FROM emp")) == [(1,), (2,)]


@pytest.mark.parametrize("name", ["mapInPandas", "mapInArrow"])
def test_code_over_batches_is_refused(world, name) -> None:
    frame = world.session("ann", OWN).table("emp")
    with refused("is not among the operations"):
        getattr(frame, name)(lambda batches: batches, frame.schema).collect()


def test_no_expression_of_the_user_stands_below_the_barrier(world) -> None:
    ann = world.session("ann", OWN)
    frame = ann.sql("SELECT id FROM emp WHERE 1 / (salary - 100) > 0 AND name LIKE '%x%' AND rand() >= 0")
    below = below_the_barrier(frame)
    assert "dept" in below
    for word in ("LIKE", "Contains", "rand", " / ", "salary#", "- 100"):
        assert word not in below.replace("Relation", "") or word == "salary#", (word, below)


def test_what_tells_nothing_is_pushed_to_the_files(world) -> None:
    frame = world.session("ann", OWN).sql("SELECT id FROM emp WHERE salary > 55 AND id IN (1, 2) AND 1 / id > 0")
    assert rows(frame) == [(2,)]
    below = below_the_barrier(frame)
    assert "salary" in below.split("Relation")[0]
    pushed = physical(frame).split("PushedFilters")[1]
    assert "GreaterThan(salary,55)" in pushed
    assert "EqualTo(dept,A)" in pushed


def test_partitions_are_pruned_through_the_barrier(world) -> None:
    spark = world.spark
    frame = spark.table("emp").selectExpr("id", "dept", "since AS day")
    files = str(world.folder / "parts")
    frame.write.mode("overwrite").partitionBy("day").option("path", files).saveAsTable("parts")
    own = policy("own", "object: {tables: [parts], where: dept = 'A'}, allow: [read]")
    frame = world.session("ann", own, tables=("parts",)).sql("SELECT id FROM parts WHERE day = '2026-01-02'")
    assert rows(frame) == [(2,)]
    assert "2026-01-02" in physical(frame).split("PartitionFilters")[1].split("PushedFilters")[0]


def test_masked_cells_are_filtered_below_by_their_raw_column(world) -> None:
    rest = policy("rest", "object: {tables: [emp], attributes: [id, dept]}, allow: [read]")
    some = policy("some", "object: {tables: [emp], attributes: [salary], where: dept = 'A'}, allow: [read]")
    frame = world.session("ann", rest + some).sql("SELECT id FROM emp WHERE salary >= 60")
    assert rows(frame) == [(2,)]
    assert "GreaterThanOrEqual(salary,60)" in physical(frame).split("PushedFilters")[1]


@pytest.mark.parametrize("where", ["salary <> 100", "NOT (salary IN (100, 7))", "salary <> 100 AND dept <> 'Z'"])
@pytest.mark.parametrize("asked", ["SELECT id FROM emp WHERE salary > 0", "SELECT id FROM emp WHERE 1 / salary < 9"])
def test_files_are_not_asked_what_they_cannot_rule_out(world, where, asked) -> None:
    """Asking Parquet whether anything differs from a constant costs more than it can save."""
    rest = policy("rest", "object: {tables: [emp], attributes: [id, dept]}, allow: [read]")
    for some in ("[salary]", "'*'"):
        own = policy("some", f'object: {{tables: [emp], attributes: {some}, where: "{where}"}}, allow: [read]')
        frame = world.session("ann", own + rest * (some == "[salary]")).sql(asked)
        assert rows(frame) == [(1,), (2,), (4,)]
        assert "Not(" not in physical(frame).split("PushedFilters")[1]


def test_settings_that_switch_rules_off_do_not_reach_the_guard(world) -> None:
    guard = world.guard(OWN)
    ann = session("ann", guard, world.spark)
    ann.conf.set("spark.sql.optimizer.excludedRules", "org.apache.spark.sql.headgate.PushLeakproof")
    with refused("the setting `spark.sql.optimizer.excludedRules` may not be changed"):
        ann.sql("SELECT id FROM emp").collect()
    ann.conf.unset("spark.sql.optimizer.excludedRules")
    assert rows(ann.sql("SELECT id FROM emp")) == [(1,), (2,)]
