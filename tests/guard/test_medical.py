"""The worked example of GuardSpark++, section 2.2: what Bob and Alice get, and why."""

from __future__ import annotations

import pytest
from guarded import rows
from pyspark.errors import AnalysisException

from headgate.guard import Guard, describe, explain, session, without_dropped
from headgate.guard.paths import operator_paths, purpose_paths
from headgate.scenario.load import load_scenario


@pytest.fixture(scope="module")
def guard(spark, medical, tmp_path_factory) -> Guard:
    scenario = load_scenario(medical)
    elements = scenario.inputs["patient"].elements or []
    frame = spark.createDataFrame(
        [(one["Id"], one["Disease"], one["Expense"], one["PatientName"]) for one in elements],
        "Id int, Disease string, Expense int, PatientName string",
    )
    folder = tmp_path_factory.mktemp("medical") / "patient"
    frame.coalesce(1).write.mode("overwrite").option("path", str(folder)).saveAsTable("patient")
    system = scenario.system
    return Guard(system.streams, system.policies, system.users)


def application(spark):
    """The application of figure 1, as printed."""
    patient = spark.table("patient")
    selected = patient.selectExpr("PatientName", "Expense as exp1").filter("exp1 > 6000")
    return selected.groupBy("PatientName").sum("exp1").select("*")


def test_bob_gets_both_columns(spark, guard) -> None:
    answer = application(session("bob", guard, spark))
    assert answer.columns == ["PatientName", "sum(exp1)"]
    assert rows(answer) == [("Aaron", 8000), ("Brown", 9300)]
    assert not guard.outcomes[-1].reasons


def test_alice_gets_the_same_sums_without_the_names(spark, guard) -> None:
    answer = without_dropped(application(session("alice", guard, spark)))
    assert answer.columns == ["sum(exp1)"]
    assert rows(answer) == [(8000,), (9300,)]


def test_alices_own_program_runs_unchanged(spark, guard) -> None:
    answer = application(session("alice", guard, spark))
    assert rows(answer) == [(None, 8000), (None, 9300)]
    assert guard.outcomes[-1].reasons == ("read of `patient.PatientName` is withheld: no policy allows it",)


def test_alice_may_not_list_names(spark, guard) -> None:
    with pytest.raises(AnalysisException, match="no use of `patient` is allowed"):
        session("alice", guard, spark).sql("SELECT PatientName FROM patient").collect()


def test_the_owner_is_told(spark, guard) -> None:
    guard.notifications.clear()
    application(session("alice", guard, spark)).collect()
    told = {(one.owner, one.user, one.column, one.privilege, one.output, one.given) for one in guard.notifications}
    assert told == {
        ("hospital_r", "alice", "PatientName", "read", True, "nothing"),
        ("hospital_r", "alice", "PatientName", "assist", False, "all"),
        ("hospital_r", "alice", "Expense", "assist", False, "all"),
        ("hospital_r", "alice", "Expense", "sum", True, "all"),
    }
    assert all(one.permitted for one in guard.notifications)


# Figures 5, 6 and 3, by the names of the figures: R the relation, P1 the projection, F the filter, A the aggregate, P2
# the projection at the root. Spark adds a node that only names the table; the figures leave it out.


def letters(description) -> dict[int, str]:
    names = [node for node in description.nodes if node.name != "SubqueryAlias"]
    return {node.id: letter for node, letter in zip(names, ("P2", "A", "F", "P1", "R"), strict=True)}


def test_the_analysed_plan_of_figure_5(spark, guard) -> None:
    description = describe(application(session("alice", guard, spark)))
    names = [node.name for node in description.nodes if node.name != "SubqueryAlias"]
    assert names == ["Project", "Aggregate", "Filter", "Project", "LogicalRelation"]
    columns = [
        [description.names[one] for one in node.out] for node in description.nodes if node.name != "SubqueryAlias"
    ]
    assert columns == [
        ["PatientName", "sum(exp1)"],
        ["PatientName", "sum(exp1)"],
        ["PatientName", "exp1"],
        ["PatientName", "exp1"],
        ["Id", "Disease", "Expense", "PatientName"],
    ]


def test_the_operator_paths_of_figure_6(spark, guard) -> None:
    description = describe(application(session("alice", guard, spark)))
    by_letter = letters(description)
    paths = {name: [by_letter[node] for node in way] for name, way in operator_paths(description).items()}
    assert paths["Expense"] == ["R", "P1"]
    assert paths["exp1"] == ["P1", "F", "A"]
    assert paths["sum(exp1)"] == ["A", "P2"]


def test_the_purpose_graph_of_figure_3(spark, guard) -> None:
    description = describe(application(session("alice", guard, spark)))
    paths = purpose_paths(description, "Expense")
    assert [str(path) for path in paths] == [
        "Expense: retrieve (Project) -> assist (Filter)",
        "Expense: retrieve (Project) -> retrieve (Filter) -> compute (Aggregate) -> output",
    ]
    assert {path.purpose for path in paths} == {("compute", "output"), ("assist", None)}


def test_the_purposes_of_the_name(spark, guard) -> None:
    paths = purpose_paths(describe(application(session("alice", guard, spark))), "PatientName")
    assert {path.purpose for path in paths} == {("assist", None), ("retrieve", "output")}


def test_explaining_runs_nothing(spark, guard) -> None:
    outcome = explain(application(session("alice", guard, spark)))
    assert outcome.partial
    assert outcome.dropped == (0,)
