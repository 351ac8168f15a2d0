"""What a client of the endpoint can send beside ordinary queries: code, packed plans, settings, and what comes back.

Most requests here are written by hand, as no official client would (ways in 5, 9, 10 and 19).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from endpoints import ALICE, BOB, answers_to, running_endpoint
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from guarded import since
from pyspark.sql.connect import proto

from headgate.guard import protocol

BY_HAND = """
def executed(fill):
    request = spark.client._execute_plan_request_with_metadata()
    fill(request.plan)
    return list(spark.client._stub.ExecutePlan(request, metadata=spark.client._builder.metadata()))
def analysed(fill):
    request = spark.client._analyze_plan_request_with_metadata()
    fill(request.schema.plan)
    return spark.client._stub.AnalyzePlan(request, metadata=spark.client._builder.metadata())
def both(fill):
    return [outcome(lambda: executed(fill)), outcome(lambda: analysed(fill))]
"""

LISTENERS = (
    BY_HAND
    + """
def listening(act, field, value):
    return lambda plan: setattr(getattr(plan.command.streaming_query_manager_command, act), field, value)
answer = [
    outcome(lambda: executed(listening("add_listener", "listener_payload", b"code"))),
    outcome(lambda: executed(listening("remove_listener", "listener_payload", b"code"))),
]
def in_python(plan):
    payload = plan.command.streaming_query_manager_command.add_listener.python_listener_payload
    payload.command, payload.python_ver = b"code", "3.11"
answer.append(outcome(lambda: executed(in_python)))
"""
)

STREAMS = """
stream = spark.readStream.schema(spark.read.parquet("DATA").schema).parquet("DATA").select("Id")
query = stream.writeStream.format("memory").queryName("managed").start()
answer = [[one.name for one in spark.streams.active], spark.streams.get(query.id).name]
answer.append(spark.streams.awaitAnyTermination(1))
query.stop()
spark.streams.resetTerminated()
answer.append(len(spark.streams.active))
"""

# A status is there for a moment only, so that it is asked for until the stream has failed, and a little longer.
STATUS = """
stream = spark.readStream.schema(spark.read.parquet("DATA").schema).parquet("DATA")
query = stream.selectExpr("cast(concat('secret', Id) AS int)").writeStream.format("memory").queryName("failing").start()
answer = [query.status["message"]]
while query.isActive:
    answer.append(query.status["message"])
answer.append(query.status["message"])
"""

CODE = (
    BY_HAND
    + """
def projected(plan):
    plan.root.project.input.range.end = 3
    plan.root.project.input.range.step = 1
    return plan.root.project.expressions.add()
def scala(plan):
    function = projected(plan).common_inline_user_defined_function
    function.function_name = "f"
    function.scalar_scala_udf.payload = b"code"
def java(plan):
    function = projected(plan).common_inline_user_defined_function
    function.function_name = "f"
    function.java_udf.class_name = "java.lang.Object"
def typed(plan):
    projected(plan).typed_aggregate_expression.scalar_scala_udf.payload = b"code"
def extended(plan):
    projected(plan).extension.type_url = "x"
def mapped(plan):
    plan.root.map_partitions.input.range.end = 3
    plan.root.map_partitions.func.scalar_scala_udf.payload = b"code"
def relation(plan):
    plan.root.extension.type_url = "x"
answer = [both(one) for one in (scala, java, typed, extended, mapped, relation)]
def contextual():
    request = spark.client._analyze_plan_request_with_metadata()
    request.schema.plan.root.range.end = 3
    request.user_context.extensions.add().type_url = "x"
    spark.client._stub.AnalyzePlan(request, metadata=spark.client._builder.metadata())
answer.append([outcome(contextual)])
"""
)

CATALOG = (
    BY_HAND
    + """
def asked(kind, **fields):
    def fill(plan):
        message = getattr(plan.root.catalog, kind)
        message.SetInParent()
        for key, value in fields.items():
            setattr(message, key, value)
    return both(fill)
answer = [
    asked("create_table", table_name="t", path="/etc", source="text"),
    asked("create_external_table", table_name="t", path="/etc", source="text"),
]
for kind, field in KINDS:
    answer.append(asked(kind, **{field: "t"}))
spark.catalog.listTables()
spark.catalog.listDatabases()
spark.catalog.tableExists("t")
"""
)

PACKED = (
    BY_HAND
    + """
def packed(plan):
    plan.compressed_operation.data = b"code"
    plan.compressed_operation.op_type = 1
    plan.compressed_operation.compression_codec = 1
answer = both(packed)
"""
)

LARGE = """
from pyspark.sql import functions as F
text = "a" * (11 * 1024 * 1024)
frame = spark.range(3).select(F.length(F.lit(text)).alias("n"))
answer = [frame.columns, frame.first()[0]]
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

SUBSTITUTED = """
frame = spark.sql("SELECT '${env:PATH}', '${system:user.dir}', '${spark.driver.host}'")
answer = [list(frame.columns), list(frame.first())]
"""

SETTINGS = """
key = "spark.sql.variable.substitute"
answer = [
    outcome(lambda: spark.conf.set(key, "true")),
    outcome(lambda: spark.conf.unset(key)),
    outcome(lambda: spark.conf.set("spark.sql.streaming.stateStore.providerClass", "org.example.Mine")),
    outcome(lambda: spark.conf.set("spark.connect.session.planCompression.threshold", "1")),
    outcome(lambda: spark.sql(f"SET {key}=true")),
    outcome(lambda: spark.conf.get("spark.driver.host")),
    outcome(lambda: spark.conf.get("spark.hadoop.fs.s3a.secret.key", "none")),
    outcome(lambda: spark.conf.get("spark.headgate.ticket")),
    outcome(lambda: spark.conf.unset("spark.headgate.ticket")),
]
spark.conf.set("spark.sql.shuffle.partitions", "3")
spark.conf.set("spark.sql.streaming.stateStore.providerClass",
    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
answer += [spark.conf.get("spark.sql.shuffle.partitions"), spark.range(3).count()]
spark.conf.unset("spark.sql.shuffle.partitions")
answer += [spark.conf.get("spark.sql.shuffle.partitions"), spark.conf.isModifiable("spark.sql.shuffle.partitions")]
"""

COLUMNS = """
raw = dict(multiLine=True, header=True, lineSep="\\u0001", sep="\\u0002")
url = "jdbc:derby:memory:made;create=true"
answer = [
    outcome(lambda: spark.read.options(**raw).csv("/etc/hostname").columns),
    outcome(lambda: spark.read.options(**raw).csv("DATA").columns),
    outcome(lambda: spark.read.json("/none").columns),
    outcome(lambda: spark.read.parquet("/et*").schema),
    outcome(lambda: spark.sql("SELECT * FROM csv.`/etc/hostname`").columns),
    outcome(lambda: spark.table("text.`/etc/hostname`").columns),
    outcome(lambda: spark.read.jdbc(url, "sys.systables").columns),
    outcome(lambda: spark.read.jdbc(url, "sys.systables", predicates=["1 = 1"]).columns),
    spark.sql("SELECT * FROM parquet.`DATA`").columns,
]
"""

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

OTHERS = """
import uuid
from pyspark.sql.connect import proto
bob = session("bob-example")
bob.range(5).createOrReplaceTempView("bobs")
stream = bob.readStream.schema(bob.read.parquet("DATA").schema).parquet("DATA")
query = stream.writeStream.format("memory").queryName("bobs_stream").start()
started = bob.client._execute_plan_request_with_metadata()
started.operation_id = str(uuid.uuid4())
started.plan.root.range.end = 5
started.plan.root.range.step = 1
started.request_options.add().reattach_options.reattachable = True
next(bob.client._stub.ExecutePlan(started, metadata=bob.client._builder.metadata()))
stub, metadata = spark.client._stub, spark.client._builder.metadata()
theirs = dict(session_id=bob.client._session_id)
def viewed():
    request = proto.ExecutePlanRequest(**theirs)
    request.plan.root.sql.query = "SELECT * FROM bobs"
    return list(stub.ExecutePlan(request, metadata=metadata))
def stopped():
    request = spark.client._execute_plan_request_with_metadata()
    asked = request.plan.command.streaming_query_command
    asked.query_id.id, asked.query_id.run_id, asked.stop = query.id, query.runId, True
    return list(stub.ExecutePlan(request, metadata=metadata))
def reattached():
    request = proto.ReattachExecuteRequest(operation_id=started.operation_id, **theirs)
    return list(stub.ReattachExecute(request, metadata=metadata))
answer = [outcome(one) for one in (viewed, stopped, reattached)]
answer += [spark.streams.get(query.id), len(spark.streams.active)]
interrupted = proto.InterruptRequest(interrupt_type=1, **theirs)
answer.append(len(stub.Interrupt(interrupted, metadata=metadata).interrupted_ids))
stub.ReleaseSession(proto.ReleaseSessionRequest(**theirs), metadata=metadata)
answer += [query.isActive, bob.table("bobs").count()]
query.stop()
"""

ARTIFACTS = """
from pathlib import Path
temporary = Path("DATA").parent / "temporary"
before = set(temporary.iterdir())
answer = [outcome(lambda: spark.addArtifacts("/etc/hostname", file=True)) for _ in range(3)]
answer.append(len(set(temporary.iterdir()) - before))
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
    return [status.message, first.message, len(first.stack_trace), first.spark_throwable.error_class]
answer = [details("SELECT Nane FROM parquet.`DATA`"), details("SELECT * FROM parquet.`/etc`")]
"""

KINDS = [
    ("drop_table", "table_name"),
    ("drop_view", "view_name"),
    ("create_database", "db_name"),
    ("drop_database", "db_name"),
    ("list_partitions", "table_name"),
    ("get_table_properties", "table_name"),
    ("get_create_table_string", "table_name"),
    ("truncate_table", "table_name"),
    ("analyze_table", "table_name"),
]
"""Requests of Spark 4.3."""

THERE = [(kind, field) for kind, field in KINDS if kind in proto.Catalog.DESCRIPTOR.fields_by_name]

TASKS = {
    "listeners": (ALICE, "", LISTENERS),
    "streams": (ALICE, "", STREAMS),
    "status": (ALICE, "", STATUS),
    "status of an administrator": (BOB, "", STATUS),
    "code": (ALICE, "", CODE),
    "catalog": (ALICE, "", f"KINDS = {THERE!r}\n{CATALOG}"),
    "packed": (ALICE, "", PACKED),
    "large": (ALICE, "", LARGE),
    "metrics": (ALICE, "", METRICS),
    "metrics of an administrator": (BOB, "", METRICS),
    "progress": (ALICE, "", PROGRESS),
    "substituted": (ALICE, "", SUBSTITUTED),
    "settings": (ALICE, "", SETTINGS),
    "columns": (ALICE, "", COLUMNS),
    "databases": (ALICE, "", DATABASES),
    "databases of an administrator": (BOB, "", DATABASES),
    "others": (ALICE, "", OTHERS),
    "artifacts": (ALICE, "", ARTIFACTS),
    "details": (ALICE, "", DETAILS),
    "details of an administrator": (BOB, "", DETAILS),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("doors")
    (folder / "temporary").mkdir()
    java = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir={folder / 'temporary'}"
    with running_endpoint(folder, config={"spark.driver.extraJavaOptions": java}) as endpoint:
        return answers_to(endpoint, TASKS)


def _answer(answers: dict[str, dict[str, Any]], name: str) -> Any:
    assert "answer" in answers[name], answers[name]
    return answers[name]["answer"]


def test_a_listener_of_the_users_is_refused(answers) -> None:
    """Its code would run on the driver, beside every query and without a grant."""
    for told in _answer(answers, "listeners"):
        assert "refused by the guard: requests of the kind" in told


def test_streams_are_managed_as_ever(answers) -> None:
    assert _answer(answers, "streams") == [["managed"], "managed", False, 0]


STATUSES = {
    "Initializing StreamExecution",
    "Initializing sources",
    "Getting offsets",
    "Writing offsets to log",
    "Waiting for data to arrive",
    "Waiting for next trigger",
    "Processing new data",
    "No new data but cleaning up state",
    "Starting new streaming query",
    "Stopped",
    "Terminated with exception",
    "Running",
}


def test_the_status_of_a_stream_tells_no_value_and_no_place(answers) -> None:
    """Way in 10: Spark puts the error as it is behind `Terminated with`, and a folder behind `Getting offsets`."""
    found = _answer(answers, "status")
    assert set(found) <= STATUSES
    assert found[-1] == "Terminated with exception"
    assert "secret" in _answer(answers, "status of an administrator")[-1]


def test_code_in_expressions_and_relations_is_refused(answers) -> None:
    """What a Scala function is made of would be deserialised while the request is still being read."""
    found = _answer(answers, "code")
    assert len(found) == 7
    for tolds in found:
        for told in tolds:
            assert "refused by the guard: a request with" in told


def test_requests_of_the_catalog_that_change_or_show_tables_are_refused(answers) -> None:
    for tolds in _answer(answers, "catalog"):
        for told in tolds:
            assert "refused by the guard: a request with" in told


@since("4.1", "compressed plans")
def test_a_packed_plan_is_refused(answers) -> None:
    """The server would unpack it after the guard has looked."""
    executed, analysed = _answer(answers, "packed")
    assert "refused by the guard: requests of the kind `ExecutePlanRequest.compressed_operation`" in executed
    assert "refused by the guard: a request with `compressed_operation`" in analysed


def test_a_plan_so_large_that_clients_would_pack_it(answers) -> None:
    assert _answer(answers, "large") == [["n"], 11 * 1024 * 1024]


def test_metrics_of_a_query_are_for_administrators(answers) -> None:
    """Way in 9: how many rows a scan gave, counts those that are hidden."""
    assert _answer(answers, "metrics") == []
    assert _answer(answers, "metrics of an administrator") != []


def test_how_a_query_gets_on_is_for_administrators(answers) -> None:
    assert "execution_progress" not in _answer(answers, "progress")
    assert "arrow_batch" in _answer(answers, "progress")


def test_nothing_is_put_in_place_of_words_of_a_query(answers) -> None:
    """Way in 19: the parser would put in the server's environment, properties and settings."""
    columns, row = _answer(answers, "substituted")
    assert columns == row == ["${env:PATH}", "${system:user.dir}", "${spark.driver.host}"]


def test_settings_are_checked_when_they_are_set(answers) -> None:
    *refused, allowed, count, afterwards, modifiable = _answer(answers, "settings")
    assert len(refused) == 9
    for told in refused:
        assert "refused by the guard" in told
        assert "may not be" in told
    assert (allowed, count, modifiable) == ("3", 3, True)
    assert afterwards != "3"


def test_asking_for_columns_looks_at_no_file_and_no_database(answers) -> None:
    """Way in 6: a schema is asked for without a plan that could be decided on."""
    *refused, columns = _answer(answers, "columns")
    assert len(refused) == 8
    for told in refused:
        assert "refused by the guard" in told
    assert "give the schema" in refused[1]
    assert columns == ["Id", "Disease", "Expense", "PatientName"]


def test_where_databases_are_is_for_administrators(answers) -> None:
    """Way in 10: the warehouse's folder, by either request and inside of another."""
    assert _answer(answers, "databases") == [["default", ""], ["default", ""], ""]
    *found, viewed = _answer(answers, "databases of an administrator")
    assert all("warehouse" in place for place in (viewed, *(place for _, place in found)))


def test_ids_of_others_open_nothing(answers) -> None:
    """Way in 12: of a session, an operation and a stream that somebody else has."""
    view, stream, operation, *found = _answer(answers, "others")
    assert "TABLE_OR_VIEW_NOT_FOUND" in view
    assert "STREAMING_QUERY_NOT_FOUND" in stream or "IllegalArgumentException" in stream  # so Spark 4.0
    assert "INVALID_HANDLE" in operation
    assert found == [None, 0, 0, True, 5]


def test_artifacts_are_refused_before_the_server_makes_room_for_them(answers) -> None:
    """Way in 20: there was a folder for each request, refused or not, until the server ended."""
    *refused, folders = _answer(answers, "artifacts")
    for told in refused:
        assert "refused by the guard: requests of the kind `AddArtifactsRequest` are not allowed" in told
    assert folders == 0


def test_what_is_wrong_is_told_without_plan_and_place_in_the_server(answers) -> None:
    """Way in 10: a plan as Spark prints it shows what views are made of, whichever way it comes."""
    (message, detailed, traces, code), refused = _answer(answers, "details")
    assert code == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    assert traces == refused[2] == 0
    for told in (message, detailed):
        assert "with name `Nane` cannot be resolved" in told
        assert "Relation" not in told
        assert "Project" not in told
    assert "the folder that is read is not known" in refused[1]
    whole, _ = _answer(answers, "details of an administrator")
    assert "Project" in whole[1]
    assert whole[2] > 0


# What newer versions of the protocol bring, is refused until somebody has looked at it.


def _messages(descriptor: Descriptor, seen: set[str] | None = None) -> Iterator[Descriptor]:
    """All messages that a request can contain, as far as the guard lets it."""
    seen = set() if seen is None else seen
    if descriptor.full_name in seen:
        return
    seen.add(descriptor.full_name)
    yield descriptor
    allowed = protocol.WORDS.get(descriptor.full_name.removeprefix("spark.connect."))
    for one in descriptor.fields:
        let_in = one.name not in protocol.FORBIDDEN and (allowed is None or one.name in allowed or not _chosen(one))
        if one.message_type is not None and let_in and one.message_type.name != "Command":
            yield from _messages(one.message_type, seen)


def _chosen(one: FieldDescriptor) -> bool:
    return one.containing_oneof is not None and len(one.containing_oneof.fields) > 1


REACHED = {
    one.full_name: one
    for name in ("ExecutePlanRequest", "AnalyzePlanRequest")
    for one in _messages(getattr(proto, name).DESCRIPTOR)
}


def test_bytes_in_requests_are_known() -> None:
    """Data, and Python functions, which run only if they were granted by name."""
    found = {
        f"{name}.{one.name}"
        for name, message in REACHED.items()
        for one in message.fields
        if one.type == one.TYPE_BYTES
    }
    known = {"Expression.Literal.binary", "LocalRelation.data", "PythonUDF.command"}
    assert found - {"google.protobuf.Any.value"} == {f"spark.connect.{one}" for one in known}


@pytest.mark.parametrize("name", sorted(protocol.WORDS))
def test_every_word_of_the_protocol_was_looked_at(name) -> None:
    """A red test means: decide on the new word, then add it to the words let in, or here."""
    message = REACHED[f"spark.connect.{name}"]
    words = {one.name for one in message.fields if _chosen(one)}
    assert words - set(protocol.WORDS[name]) - LOOKED_AT == set()


LOOKED_AT = {
    *protocol.FORBIDDEN,
    *(kind for kind, _ in KINDS),
    "compressed_operation",
    "extension",
    "unknown",
    "scalar_scala_udf",
    "typed_aggregate_expression",
    "merge_action",
    "direct_shuffle_partition_id",
    "ml_relation",
    "apply_in_pandas_with_state",
    "cached_local_relation",
    "chunked_cached_local_relation",
    "relation_changes",
    "nearest_by_join",
    "zip",
    "create_table",
    "create_external_table",
}
