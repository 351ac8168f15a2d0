"""What the endpoint tells of streams, queries, databases and errors: users, and administrators (ways in 9 and 10)."""

from __future__ import annotations

from typing import Any

import pytest
from endpoints import ALICE, BOB, answer_of, answers_to
from requests_by_hand import BY_HAND

STREAMS = """
stream = spark.readStream.schema(spark.read.parquet("DATA").schema).parquet("DATA").select("Id")
query = stream.writeStream.format("memory").queryName("managed").start()
answer = [[one.name for one in spark.streams.active], spark.streams.get(query.id).name]
answer.append(spark.streams.awaitAnyTermination(1))
query.stop()
spark.streams.resetTerminated()
answer.append(len(spark.streams.active))
"""

# A status is there for a moment only, so that it is asked for all the time.
STATUS = """
stream = spark.readStream.schema(spark.read.parquet("DATA").schema).parquet("DATA")
slow = "if(Id < 0, Id, levenshtein(repeat('a', 9000), repeat('b', 9000)))"
failing = stream.selectExpr(slow, "cast(concat('secret', Id) AS int)")
query = failing.writeStream.format("memory").queryName("failing").start()
answer = [query.status]
while query.isActive:
    answer.append(query.status)
answer.append(query.status)
"""

METRICS = """
frame = spark.read.parquet("DATA").select("Id")
frame.collect()
found = frame.executionInfo.metrics
answer = [] if found is None else [[one.name, str(one.metrics)] for one in found._metrics]
"""

PROGRESS = (
    BY_HAND
    + """
def work(plan):
    plan.root.sql.query = "SELECT sum(length(sha2(repeat(cast(id AS string), 500000), 512))) FROM range(0, 40, 1, 40)"
answer = [one.WhichOneof("response_type") for one in executed(work)]
"""
)

DATABASES = (
    BY_HAND
    + """
def viewed(plan):
    plan.command.create_dataframe_view.name = "databases"
    plan.command.create_dataframe_view.input.catalog.list_databases.SetInParent()
executed(viewed)
found = spark.catalog.listDatabases() + [spark.catalog.getDatabase("default")]
answer = [[one.name, one.locationUri] for one in found] + [spark.table("databases").first().locationUri]
"""
)

FUNCTIONS = """
found = [one for one in spark.catalog.listFunctions() if one.name in ("raised", "abs")] + [
    spark.catalog.getFunction("raised"), spark.catalog.getFunction("abs")]
answer = [[one.name, one.description] for one in sorted(found, key=lambda one: one.name)]
"""

DETAILS = """
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from pyspark.sql.connect import proto
def details(query):
    request = spark.client._execute_plan_request_with_metadata()
    request.plan.root.sql.query = query
    try:
        list(spark.client._stub.ExecutePlan(request, metadata=spark.client._builder.metadata()))
    except Exception as error:
        status = rpc_status.from_call(error)
    info = error_details_pb2.ErrorInfo()
    next(one for one in status.details if one.Is(info.DESCRIPTOR)).Unpack(info)
    asked = proto.FetchErrorDetailsRequest(session_id=spark.client._session_id, error_id=info.metadata["errorId"])
    found = spark.client._stub.FetchErrorDetails(asked, metadata=spark.client._builder.metadata())
    (first,) = found.errors
    thrown = first.spark_throwable
    parameters = [info.metadata.get("messageParameters", ""), str(thrown.message_parameters)]
    return [status.message, first.message, len(first.stack_trace), thrown.error_class, parameters]
subquery = "(SELECT max(r.id) FROM range(3) r WHERE r.id = v.Id)"
many = ", ".join(f"Id AS a{number}" for number in range(100))
correlated = [
    details(f"SELECT * FROM parquet.`DATA` v ORDER BY {subquery}"),
    details(f"SELECT * FROM (SELECT Id, {many} FROM parquet.`DATA`) v ORDER BY {subquery}"),
]
answer = [details("SELECT Nane FROM parquet.`DATA`"), details("SELECT * FROM parquet.`/etc`"), correlated]
"""

TASKS = {
    "streams": (ALICE, "", STREAMS),
    "status": (ALICE, "", STATUS),
    "status of an administrator": (BOB, "", STATUS),
    "metrics": (ALICE, "", METRICS),
    "metrics of an administrator": (BOB, "", METRICS),
    "progress": (ALICE, "", PROGRESS),
    "databases": (ALICE, "", DATABASES),
    "databases of an administrator": (BOB, "", DATABASES),
    "functions": (ALICE, "", FUNCTIONS),
    "functions of an administrator": (BOB, "", FUNCTIONS),
    "details": (ALICE, "", DETAILS),
    "details of an administrator": (BOB, "", DETAILS),
}


@pytest.fixture(scope="module")
def answers(watched) -> dict[str, dict[str, Any]]:
    return answers_to(watched, TASKS)


def test_streams_are_managed_as_ever(answers) -> None:
    assert answer_of(answers, "streams") == [["managed"], "managed", False, 0]


STATUSES = {
    "Initializing StreamExecution",
    "Initializing sources",
    "Starting new streaming query",
    "Running",
    "Stopped",
    "Terminated with exception",
}


def test_the_status_of_a_stream_tells_no_value_and_no_place(answers) -> None:
    """Way in 10: Spark puts the error as it is behind `Terminated with`, and a folder behind `Getting offsets`."""
    found = answer_of(answers, "status")
    assert {one["message"] for one in found} <= STATUSES
    assert found[-1]["message"] == "Terminated with exception"
    assert "secret" in answer_of(answers, "status of an administrator")[-1]["message"]


def test_the_status_of_a_stream_tells_of_no_batch(answers) -> None:
    """Way in 10: one in which everything is hidden is none to the user."""
    told = {(one["isDataAvailable"], one["isTriggerActive"]) for one in answer_of(answers, "status")}
    assert told == {(False, False)}
    whole = answer_of(answers, "status of an administrator")
    assert any(one["isDataAvailable"] for one in whole)
    assert "Processing new data" in {one["message"] for one in whole}


def test_metrics_of_a_query_are_for_administrators(answers) -> None:
    """Way in 9: how many rows a scan gave, counts those that are hidden."""
    assert answer_of(answers, "metrics") == []
    assert answer_of(answers, "metrics of an administrator") != []


def test_how_a_query_gets_on_is_for_administrators(answers) -> None:
    assert "execution_progress" not in answer_of(answers, "progress")
    assert "arrow_batch" in answer_of(answers, "progress")


def test_where_databases_are_is_for_administrators(answers) -> None:
    """Way in 10: the warehouse's folder, by either request and inside of another."""
    assert answer_of(answers, "databases") == [["default", ""], ["default", ""], ""]
    *found, viewed = answer_of(answers, "databases of an administrator")
    assert all("warehouse" in place for place in (viewed, *(place for _, place in found)))


def test_what_functions_are_made_of_is_for_administrators(answers) -> None:
    """Way in 10: Spark puts it where it says of its own functions how they are used."""
    *own, first, second = answer_of(answers, "functions")
    assert [first, second] == [["raised", None]] * 2
    assert [name for name, _ in own] == ["abs"] * 2
    assert all("absolute value" in text for _, text in own)
    *_, first, second = answer_of(answers, "functions of an administrator")
    assert all("4711" in text for _, text in (first, second))


def test_what_is_wrong_is_told_without_plan_and_place_in_the_server(answers) -> None:
    """Way in 10: a plan as Spark prints it shows what views are made of, whichever way it comes."""
    (message, detailed, traces, code, _), refused, _ = answer_of(answers, "details")
    assert code == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    assert traces == refused[2] == 0
    for told in (message, detailed):
        assert "with name `Nane` cannot be resolved" in told
        assert "Relation" not in told
        assert "Project" not in told
    assert "the folder that is read is not known" in refused[1]
    whole, *_ = answer_of(answers, "details of an administrator")
    assert "Project" in whole[1]
    assert whole[2] > 0


def test_what_is_wrong_is_told_without_the_plan_in_its_midst(answers) -> None:
    """Way in 10: some words have a plan among their parameters, which come beside them too."""
    *_, correlated = answer_of(answers, "details")
    assert len(correlated) == 2
    for message, detailed, _, code, parameters in correlated:
        assert code.startswith("UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.")
        for told in (message, detailed, *parameters):
            assert not [word for word in ("Relation", "Project", "Sort", "#") if word in told], told
        for told in (message, detailed):
            assert "orrelated scalar subquer" in told
    *_, whole = answer_of(answers, "details of an administrator")
    assert "Relation" in whole[0][1]
