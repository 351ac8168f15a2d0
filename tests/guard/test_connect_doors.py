"""What a client of the endpoint can send beside ordinary queries: code, packed plans, settings, files, ids of others.

Most requests here are written by hand (ways in 5, 6, 12, 19 and 20).
"""

from __future__ import annotations

from typing import Any

import pytest
from endpoints import ALICE, answer_of, answers_to
from guarded import since
from pyspark.sql.connect import proto
from requests_by_hand import BY_HAND, KINDS

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
    outcome(lambda: spark.conf.get("spark.sql.streaming.checkpointLocation", "none")),
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
interrupted = proto.InterruptRequest(interrupt_type=1, **theirs)
answer.append(outcome(lambda: stub.Interrupt(interrupted, metadata=metadata)))
answer += [spark.streams.get(query.id), len(spark.streams.active)]
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

WRITES = """
from pathlib import Path
folder = Path("DATA").parent
def connecting(name):
    return {
        "fs.x.impl": "org.apache.hadoop.mapreduce.lib.db.DBInputFormat",
        "mapreduce.jdbc.driver.class": "org.apache.derby.jdbc.EmbeddedDriver",
        "mapreduce.jdbc.url": f"jdbc:derby:{folder}/canary-{name};create=true",
    }
own, rows = folder / "out" / "alice", spark.range(1)
patients = spark.readStream.schema(spark.read.parquet("DATA").schema).parquet("DATA").select("Id")
def stream():
    return patients.writeStream
answer = [
    outcome(lambda: rows.write.options(**connecting("batch")).parquet("x://a/b")),
    outcome(lambda: rows.write.options(path="x://a/b", **connecting("option")).save()),
    outcome(lambda: rows.write.options(**connecting("open")).parquet(str(own / "refused"))),
    outcome(lambda: stream().options(**connecting("stream")).start("x://a/b", "json")),
    outcome(lambda: rows.write.parquet("x://a/b")),
    outcome(lambda: rows.write.parquet(f"{own}/../bob/refused")),
    outcome(lambda: rows.write.format("java.util.concurrent.ForkJoinPool").save(str(own / "refused"))),
    outcome(lambda: stream().format("java.util.concurrent.ForkJoinPool").start(str(own / "refused"))),
    outcome(lambda: rows.write.option("compression", "java.lang.Object").parquet(str(own / "refused"))),
    outcome(lambda: rows.write.mode("overwrite").saveAsTable("made")),
    outcome(lambda: rows.write.insertInto("made")),
    outcome(lambda: rows.writeTo("made").using("java.util.concurrent.ForkJoinPool").create()),
    outcome(lambda: stream().toTable("made", "parquet", checkpointLocation=str(own / "state"))),
    outcome(lambda: stream().start(str(folder / "elsewhere"), "json", checkpointLocation=str(own / "state"))),
    outcome(lambda: stream().start(str(own / "refused"), "json", checkpointLocation=str(folder / "elsewhere"))),
]
answer = [answer, [one.name for one in folder.iterdir()], (own / "refused").exists()]
rows.write.option("compression", "gzip").csv(str(own / "rows"))
kept = {"checkpointLocation": str(own / "kept"), "path": str(own / "streamed")}
answer.append(stream().format("parquet").options(**kept).trigger(availableNow=True).start().awaitTermination(60))
answer.append([len(list(own.glob(name))) > 0 for name in ("rows/*.csv.gz", "streamed/*.parquet")])
"""

EVALUATED = """
from http.server import BaseHTTPRequestHandler, HTTPServer
import threading
from pyspark.sql import functions as F
asked = []
class Noting(BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        self.send_error(404)
    do_HEAD = do_GET
server = HTTPServer(("127.0.0.1", 0), Noting)
threading.Thread(target=server.serve_forever, daemon=True).start()
function = "from_xml('<a/>', 'a INT', map('rowValidationXSDPath', 'http://127.0.0.1:%d/x.xsd'))" % server.server_port
answer = [
    outcome(lambda: spark.sql(f"SELECT * FROM VALUES ({function})").schema),
    outcome(lambda: spark.sql(f"SELECT * FROM VALUES ({function})").collect()),
    outcome(lambda: spark.range(1).select(F.from_json(F.lit("{}"), F.expr(f"concat('a INT', {function}.a)"))).schema),
    outcome(lambda: spark.sql(f"SELECT * FROM range(1) LIMIT coalesce({function}.a, 1)").schema),
]
server.shutdown()
answer.append(asked)
"""

CLASSES = (
    BY_HAND
    + """
NAME = "org.apache.derby.jdbc.EmbeddedDriver"
TYPE = json.dumps({"type": "udt", "class": NAME, "pyClass": None, "sqlType": "string"})
def in_ddl():
    request = spark.client._analyze_plan_request_with_metadata()
    request.json_to_ddl.json_string = TYPE
    return spark.client._stub.AnalyzePlan(request, metadata=spark.client._builder.metadata())
def rows_of_its_own(plan):
    plan.root.local_relation.schema = TYPE
def read(plan):
    plan.root.read.data_source.format = "parquet"
    plan.root.read.data_source.schema = TYPE
    plan.root.read.data_source.paths.append("DATA")
def cast(plan):
    plan.root.project.input.range.end = 3
    plan.root.project.input.range.step = 1
    made = plan.root.project.expressions.add().cast
    made.expr.unresolved_attribute.unparsed_identifier = "id"
    made.type.udt.type, made.type.udt.jvm_class = "udt", NAME
    made.type.udt.sql_type.string.SetInParent()
def fitted(plan):
    plan.root.to_schema.input.range.end = 3
    field = plan.root.to_schema.schema.struct.fields.add()
    field.name = "id"
    field.data_type.udt.type, field.data_type.udt.jvm_class = "udt", NAME
    field.data_type.udt.sql_type.string.SetInParent()
answer = [outcome(in_ddl), *(told for one in (rows_of_its_own, read, cast, fitted) for told in both(one))]
answer.append(outcome(lambda: spark.sql(f"SELECT from_json('{{}}', '{TYPE}')").schema))
answer.append(spark.createDataFrame([(1, "a")], "id int, name string").collect() == [(1, "a")])
"""
)

# Java matches these with names that users choose, and does not notice that it was told to stop.
PATTERNS = (
    BY_HAND
    + """
name = "a" * 20
frame = spark.range(1).toDF(name)
frame.createOrReplaceTempView(name)
slow, regex = "(*a){3}b", "`(.*a){3}b`"
answer = [
    outcome(lambda: frame.select(frame.colRegex(regex)).columns),
    outcome(lambda: frame.select(frame.colRegex(regex)).collect()),
    outcome(lambda: frame.alias("v").select(frame.colRegex(f"v.{regex}")).columns),
]
answer += [outcome(lambda: spark.sql(f"SHOW {one} LIKE '{slow}'").collect())
    for one in ("TABLES", "SCHEMAS", "FUNCTIONS", "VIEWS")]
def listed(kind):
    def fill(plan):
        getattr(plan.root.catalog, kind).pattern = slow
    return fill
answer += [told for kind in KINDS for told in both(listed(kind))]
answer = [answer, [
    frame.select(frame.colRegex("`a+`")).columns == [name],
    frame.select(frame.colRegex(f"`({name}|b|c)`")).columns == [name],
    [one.name for one in spark.catalog.listTables(pattern="*aa*")] == [name],
    [one.viewName for one in spark.sql("SHOW VIEWS LIKE 'x*z|a*a|b*'").collect()] == [name],
    len(spark.catalog.listFunctions(pattern="abs")) == 1,
]]
"""
)

LISTS = ("list_tables", "list_databases", "list_functions", "list_catalogs", "list_views")

KNOWN = proto.Catalog.DESCRIPTOR.fields_by_name
THERE = [(kind, field) for kind, field in KINDS if kind in KNOWN]

# In what these triggers call a batch, rows come that were not there when it was decided on.
TRIGGERS = (
    BY_HAND
    + """
from pyspark.sql.connect import proto
def started(trigger):
    def fill(plan):
        asked = plan.command.write_stream_operation_start
        asked.input.read.is_streaming = True
        asked.input.read.data_source.format = "rate"
        asked.format, asked.output_mode = "noop", "append"
        setattr(asked, trigger, "1 second")
    return outcome(lambda: executed(fill))
known = proto.WriteStreamOperationStart.DESCRIPTOR.fields_by_name
triggers = [one for one in ("continuous_checkpoint_interval", "real_time_batch_duration") if one in known]
answer = [started(one) for one in triggers] + [started("processing_time_interval")]
"""
)

TASKS = {
    "triggers": (ALICE, "", TRIGGERS),
    "listeners": (ALICE, "", LISTENERS),
    "code": (ALICE, "", CODE),
    "catalog": (ALICE, "", f"KINDS = {THERE!r}\n{CATALOG}"),
    "packed": (ALICE, "", PACKED),
    "large": (ALICE, "", LARGE),
    "substituted": (ALICE, "", SUBSTITUTED),
    "settings": (ALICE, "", SETTINGS),
    "columns": (ALICE, "", COLUMNS),
    "others": (ALICE, "", OTHERS),
    "artifacts": (ALICE, "", ARTIFACTS),
    "writes": (ALICE, "", WRITES),
    "evaluated": (ALICE, "", EVALUATED),
    "classes": (ALICE, "", "import json\n" + CLASSES),
    "patterns": (ALICE, "", f"KINDS = {[one for one in LISTS if one in KNOWN]!r}\n{PATTERNS}"),
}


@pytest.fixture(scope="module")
def answers(watched) -> dict[str, dict[str, Any]]:
    return answers_to(watched, TASKS)


def test_streams_are_decided_on_batch_by_batch(answers) -> None:
    *late, batches = answer_of(answers, "triggers")
    assert late
    for told in late:
        assert "refused by the guard: streams with the triggers `continuous` and `realTime`" in told
    assert "continuous" not in batches


def test_a_listener_of_the_users_is_refused(answers) -> None:
    """Its code would run on the driver, beside every query and without a grant."""
    for told in answer_of(answers, "listeners"):
        assert "refused by the guard: requests of the kind" in told


def test_code_in_expressions_and_relations_is_refused(answers) -> None:
    """What a Scala function is made of would be deserialised while the request is still being read."""
    found = answer_of(answers, "code")
    assert len(found) == 7
    for tolds in found:
        for told in tolds:
            assert "refused by the guard: a request with" in told


def test_requests_of_the_catalog_that_change_or_show_tables_are_refused(answers) -> None:
    for tolds in answer_of(answers, "catalog"):
        for told in tolds:
            assert "refused by the guard: a request with" in told


@since("4.1", "compressed plans")
def test_a_packed_plan_is_refused(answers) -> None:
    """The server would unpack it after the guard has looked."""
    executed, analysed = answer_of(answers, "packed")
    assert "refused by the guard: requests of the kind `ExecutePlanRequest.compressed_operation`" in executed
    assert "refused by the guard: a request with `compressed_operation`" in analysed


def test_a_plan_so_large_that_clients_would_pack_it(answers) -> None:
    assert answer_of(answers, "large") == [["n"], 11 * 1024 * 1024]


def test_nothing_is_put_in_place_of_words_of_a_query(answers) -> None:
    """Way in 19: the parser would put in the server's environment, properties and settings."""
    columns, row = answer_of(answers, "substituted")
    assert columns == row == ["${env:PATH}", "${system:user.dir}", "${spark.driver.host}"]


def test_settings_are_checked_when_they_are_set(answers) -> None:
    *refused, allowed, count, afterwards, modifiable = answer_of(answers, "settings")
    assert len(refused) == 10
    for told in refused:
        assert "refused by the guard" in told
        assert "may not be" in told
    assert (allowed, count, modifiable) == ("3", 3, True)
    assert afterwards != "3"


def test_asking_for_columns_looks_at_no_file_and_no_database(answers) -> None:
    """Way in 6: a schema is asked for without a plan that could be decided on."""
    *refused, columns = answer_of(answers, "columns")
    assert len(refused) == 8
    for told in refused:
        assert "refused by the guard" in told
    assert "give the schema" in refused[1]
    assert columns == ["Id", "Disease", "Expense", "PatientName"]


def test_ids_of_others_open_nothing(answers) -> None:
    """Way in 12: of a session, an operation and a stream that somebody else has."""
    view, stream, operation, interrupted, *found = answer_of(answers, "others")
    for told in (view, interrupted):
        assert "refused by the guard: another user has a session of this id" in told
    assert "STREAMING_QUERY_NOT_FOUND" in stream or "IllegalArgumentException" in stream  # so Spark 4.0
    assert "INVALID_HANDLE" in operation
    assert found == [None, 0, True, 5]


def test_artifacts_are_refused_before_the_server_makes_room_for_them(answers) -> None:
    """Way in 20: there was a folder for each request, refused or not, until the server ended."""
    *refused, folders = answer_of(answers, "artifacts")
    for told in refused:
        assert "refused by the guard: requests of the kind `AddArtifactsRequest` are not allowed" in told
    assert folders == 0


def test_what_is_to_be_written_is_looked_at_before_spark_makes_it_ready(answers) -> None:
    """Way in 5: a path's file system is made by the options beside it, a source by its name, and then there is a plan.

    The class that is named here connects to a database when it is made.
    """
    refused, folders, made, drained, written = answer_of(answers, "writes")
    assert not [one for one in folders if one.startswith(("canary", "elsewhere"))]
    assert len(refused) == 15
    for told in refused:
        assert "refused by the guard" in told
    for place, why in {
        2: "the option `fs.x.impl`",
        4: "writing to",
        6: "among the formats",
        9: "the table `made`",
    }.items():
        assert why in refused[place]
    assert not made
    assert drained
    assert written == [True, True]


def test_no_function_is_evaluated_that_the_guard_does_not_know(answers) -> None:
    """Way in 5: in VALUES, a schema or a limit Spark evaluates while it analyses, and asks nobody."""
    *refused, asked = answer_of(answers, "evaluated")
    assert asked == []
    for told in refused:
        assert "`XmlToStructs` is not among the functions that the guard understands" in told


def test_no_class_is_made_of_a_type(answers) -> None:
    """Way in 5: a type that names a class has Spark make an object of it, whoever only asks for columns."""
    *refused, own = answer_of(answers, "classes")
    assert len(refused) == 10
    for told in refused:
        assert "is not among the types that the guard understands" in told
    assert own


def test_a_pattern_of_names_that_might_take_for_ever_is_refused(answers) -> None:
    """Way in 20: neither time nor an interrupt ends it, on a thread that analyses or on one that executes."""
    refused, allowed = answer_of(answers, "patterns")
    assert len(refused) >= 13
    for told in refused:
        assert "refused by the guard" in told
        assert "pattern" in told
    assert allowed == [True] * 5
