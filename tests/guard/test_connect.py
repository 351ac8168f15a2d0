"""The Connect endpoint: unmodified clients, tokens bound to users, sessions apart (way in 12)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from guarded import ROOT

SERVER = """
import sys, json, threading
from pathlib import Path
from headgate.guard import Guard, Settings, Source
from headgate.guard.connect import serve
from headgate.guard.tokens import read_tokens
from headgate.scenario.load import load_scenario
system = load_scenario(Path(sys.argv[1])).system
settings = Settings({"patient": Source(path=sys.argv[3])}, administrators=frozenset({"bob"}))
guard = Guard(system.streams, system.policies, system.users, settings)
config = {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2", "spark.sql.warehouse.dir": sys.argv[4],
          "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
          "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
endpoint = serve(guard, read_tokens(Path(sys.argv[2]), system.users), 0, "127.0.0.1", config)
print(json.dumps({"port": endpoint.port}), flush=True)
sys.stdin.read()
endpoint.stop()
"""


def environment() -> dict[str, str]:
    """As on a machine whose users did not say who they are."""
    kept = {key: value for key, value in os.environ.items() if key not in ("USER", "SPARK_USER", "SPARK_REMOTE")}
    return kept | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """A server in a process of its own: the port, and the folder of the patients."""
    folder = tmp_path_factory.mktemp("connect")
    data = folder / "patients"
    data.mkdir()
    columns = {"Id": [101, 102, 103], "Disease": ["gastric cancer", "cerebroma", "neuralgia"]}
    columns |= {"Expense": [8000, 9300, 4000], "PatientName": ["Aaron", "Brown", "Camille"]}
    types = {"Id": pyarrow.int32(), "Expense": pyarrow.int32()}
    arrays = {name: pyarrow.array(values, types.get(name)) for name, values in columns.items()}
    pyarrow.parquet.write_table(pyarrow.table(arrays), data / "part.parquet")
    arguments = [
        ROOT / "examples/medical/scenario.yaml",
        ROOT / "examples/guard/tokens.yaml",
        data,
        folder / "warehouse",
    ]
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, *map(str, arguments)],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    try:
        line = next((line for line in server.stdout if line.startswith("{")), "")
        assert line, "the server did not start"
        yield json.loads(line)["port"], data
    finally:
        assert server.stdin is not None
        server.stdin.close()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.send_signal(signal.SIGKILL)
            server.wait()
        server.stdout.close()


CLIENT = """
import json, sys, textwrap
from pyspark.sql import SparkSession
port, tasks = sys.argv[1], json.loads(sys.argv[2])
answers = {}
for name, (token, more, program) in tasks.items():
    try:
        spark = SparkSession.builder.remote(f"sc://localhost:{port}/;token={token}{more}").create()
        scope = {"spark": spark}
        exec(textwrap.dedent(program), scope)
        answers[name] = {"answer": scope["answer"]}
    except Exception as error:
        answers[name] = {"error": str(error)[:2000]}
print(json.dumps(answers))
"""

APPLICATION = """
patient = spark.read.parquet("DATA")
frame = patient.selectExpr("PatientName", "Expense as exp1").filter("exp1 > 6000")
answer = sorted(map(list, frame.groupBy("PatientName").sum("exp1").collect()), key=str)
"""

SWITCHING_OFF = """
answer = []
def tried(act):
    try:
        act()
        answer.append("done")
    except Exception as error:
        answer.append(str(error))
frame = spark.read.parquet("DATA").select("Id")
tried(lambda: frame.collect())
tried(lambda: frame.inputFiles())
tried(lambda: spark.addArtifacts("/etc/hostname", file=True))
tried(lambda: spark.read.parquet("/etc").collect())
spark.conf.set("spark.sql.optimizer.excludedRules", "x")
tried(lambda: frame.collect())
"""

VIEW = """
spark.read.parquet("DATA").select("Id").createOrReplaceTempView("mine")
answer = spark.sql("SELECT count(*) FROM mine").first()[0]
"""

PROGRESS = """
stream = spark.readStream.schema(spark.read.parquet("DATA").schema).parquet("DATA").select("Id")
query = stream.writeStream.format("memory").queryName("followed").trigger(availableNow=True).start()
query.awaitTermination(60)
last = query.lastProgress
answer = [spark.sql("SELECT count(*) FROM followed").first()[0], last.sink.numOutputRows, last.json]
answer.append([one.batchId for one in query.recentProgress])
try:
    query.explain()
except Exception as error:
    answer.append(str(error))
"""

EXPLAIN = """
frame = spark.read.parquet("DATA").select("Id", "PatientName").filter("Expense > 6000")
answer = [frame._explain_string(mode=mode) for mode in ("simple", "extended", "codegen", "cost", "formatted")]
answer.append(spark.sql("EXPLAIN EXTENDED SELECT * FROM {frame}", frame=frame).first()[0])
answer.append(len(frame.collect()))
try:
    spark.read.parquet("DATA").select("Nane").explain()
except Exception as error:
    answer.append(f"{type(error).__name__}: {error}")
"""

ERRORS = """
answer = []
def told(act):
    try:
        act()
    except Exception as error:
        answer.append(f"{type(error).__name__}: {error}")
patient = spark.read.parquet("DATA")
told(lambda: patient.selectExpr("CAST(PatientName AS int)").collect())
told(lambda: patient.selectExpr("1 / (Id - 101)").collect())
told(lambda: patient.selectExpr("raise_error(Disease)").collect())
told(lambda: patient.selectExpr("Nane").collect())
stream = spark.readStream.schema(patient.schema).parquet("DATA").selectExpr("CAST(PatientName AS int) AS x")
query = stream.writeStream.format("memory").queryName("failing").trigger(availableNow=True).start()
told(lambda: query.awaitTermination(60))
answer.append(str(query.exception()))
"""

TASKS = {
    "errors": ("bob-example", "", ERRORS),
    "bob": ("bob-example", "", APPLICATION),
    "alice": ("alice-example", "", APPLICATION),
    "wrong": ("wrong", "", APPLICATION),
    "nearly": ("alice-example2", "", APPLICATION),
    "false": ("alice-example", ";user_id=bob", APPLICATION),
    "true": ("alice-example", ";user_id=alice", APPLICATION),
    "off": ("alice-example", "", SWITCHING_OFF),
    "view": ("bob-example", "", VIEW),
    "no view": ("alice-example", "", 'answer = spark.sql("SELECT * FROM mine").count()'),
    "progress": ("alice-example", "", PROGRESS),
    "progress of an administrator": ("bob-example", "", PROGRESS),
    "explain": ("alice-example", "", EXPLAIN),
    "explain to an administrator": ("bob-example", "", EXPLAIN),
}


@pytest.fixture(scope="module")
def answers(endpoint) -> dict[str, dict[str, Any]]:
    """What unmodified clients get: one process for all, a session for each."""
    port, data = endpoint
    tasks = {name: (token, more, program.replace("DATA", str(data))) for name, (token, more, program) in TASKS.items()}
    command = [sys.executable, "-c", CLIENT, str(port), json.dumps(tasks)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_bob_and_alice_get_their_own_answers(answers) -> None:
    assert answers["bob"]["answer"] == [["Aaron", 8000], ["Brown", 9300]]
    assert answers["alice"]["answer"] == [[None, 8000], [None, 9300]]


@pytest.mark.parametrize("name", ["wrong", "nearly"])
def test_a_token_that_is_not_known_is_refused(answers, name) -> None:
    assert "UNAUTHENTICATED" in answers[name]["error"].upper()


def test_a_false_user_id_is_refused(answers) -> None:
    assert "the user_id `bob` is not the user of the token" in answers["false"]["error"]
    assert answers["true"]["answer"] == [[None, 8000], [None, 9300]]


def test_what_switches_things_off_is_refused(answers) -> None:
    done, *refused = answers["off"]["answer"]
    assert done == "done"
    assert [one for one in refused if one == "done"] == []
    assert "AnalyzePlanRequest.input_files" in refused[0]
    assert "excludedRules` may not be changed" in refused[-1]


def test_what_goes_wrong_while_a_query_runs_is_told_as_a_code(answers) -> None:
    """Way in 1: `CAST_INVALID_INPUT` and not the name that is no number; what is wrong with the query is in words."""
    assert "answer" in answers["errors"], answers["errors"]
    cast, divided, raised, misspelt, *stream = answers["errors"]["answer"]
    assert "[CAST_INVALID_INPUT] The query failed while it ran" in cast
    assert "DIVIDE_BY_ZERO" in divided
    assert "USER_RAISED_EXCEPTION" in raised
    assert "A column, variable, or function parameter with name `Nane` cannot be resolved" in misspelt
    assert any("CAST_INVALID_INPUT" in one or "STREAM_FAILED" in one for one in stream), stream
    shown = " ".join(answers["errors"]["answer"])
    for value in ("Aaron", "Brown", "Camille", "gastric", "cerebroma", "part.parquet"):
        assert value not in shown


def test_sessions_are_apart(answers) -> None:
    assert answers["view"]["answer"] == 3
    assert "TABLE_OR_VIEW_NOT_FOUND" in answers["no view"]["error"]


def test_the_progress_of_a_stream_tells_what_was_delivered(answers) -> None:
    """Way in 10: three rows came; how many were read, from where and in what time is not told."""
    assert "answer" in answers["progress"], answers["progress"]
    count, delivered, progress, batches, plan = answers["progress"]["answer"]
    assert (count, delivered, batches) == (3, 3, [0])
    told = json.loads(progress)
    assert set(told) == {
        *("id", "runId", "name", "timestamp", "batchId", "batchDuration", "stateOperators", "sources", "sink")
    }
    assert (told["sources"], told["stateOperators"], told["batchDuration"]) == ([], [], 0)
    assert "refused by the guard" in plan


def test_administrators_get_the_progress_as_it_is(answers) -> None:
    assert "answer" in answers["progress of an administrator"], answers["progress of an administrator"]
    told = json.loads(answers["progress of an administrator"]["answer"][2])
    (source,) = told["sources"]
    assert "FileStreamSource" in source["description"]
    assert source["numInputRows"] == 3


def test_a_plan_is_shown_to_its_user_without_files_and_policies(answers) -> None:
    """Way in 10, by DataFrames and by SQL; what cannot be analysed is told as ever."""
    assert "answer" in answers["explain"], answers["explain"]
    *texts, count, misspelt = answers["explain"]["answer"]
    assert count == 2
    for text in texts:
        assert "== Asked ==" in text
        assert "Expense > 6000" in text.replace("`", "")
        for hidden in ("part.parquet", "file:", "/connect", "Guard" + "Barrier", "Physical", "Statistics"):
            assert hidden not in text
    assert "AnalysisException" in misspelt
    assert "`Nane`" in misspelt


def test_administrators_are_shown_plans_as_they_are(answers) -> None:
    assert "answer" in answers["explain to an administrator"], answers["explain to an administrator"]
    for text in answers["explain to an administrator"]["answer"][:6]:
        assert "== Asked ==" not in text
        assert "FileScan" in text or "Scan parquet" in text or "WholeStageCodegen" in text or "Relation" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "there is nothing to serve"),
        (["--connect"], "nobody could sign in"),
        (["--connect", "--tokens", "examples/guard/tokens.yaml", "--setting", "fast"], "`fast` is not a setting"),
        (["--connect", "--tokens", "nothing.yaml"], "nothing.yaml"),
    ],
)
def test_what_is_wrong_with_a_command_is_said(options, message) -> None:
    command = [sys.executable, "-c", "from headgate.cli.main import main; main()", "serve"]
    done = subprocess.run(
        [*command, "examples/medical/scenario.yaml", *options], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
