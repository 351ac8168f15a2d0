"""The Connect endpoint: unmodified clients, tokens bound to users, sessions apart (way in 12)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from endpoints import ALICE, BOB, answer_of, answers_to, listening, running_endpoint
from guarded import ROOT

APPLICATION = """
patient = spark.read.parquet("DATA")
frame = patient.selectExpr("PatientName", "Expense as exp1").filter("exp1 > 6000")
answer = sorted(map(list, frame.groupBy("PatientName").sum("exp1").collect()), key=str)
"""

SWITCHING_OFF = """
answer = []
frame = spark.read.parquet("DATA").select("Id")
answer.append(outcome(lambda: frame.collect()))
answer.append(outcome(lambda: frame.inputFiles()))
answer.append(outcome(lambda: spark.addArtifacts("/etc/hostname", file=True)))
answer.append(outcome(lambda: spark.read.parquet("/etc").collect()))
answer.append(outcome(lambda: spark.conf.set("spark.sql.optimizer.excludedRules", "x")))
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

# Spark does not count the rows that it writes to files.
PROGRESS_OF_FILES = """
from pathlib import Path
own = Path("DATA").parent / "out" / "alice"
stream = spark.readStream.schema(spark.read.parquet("DATA").schema).parquet("DATA").select("Id")
writer = stream.writeStream.format("parquet").option("checkpointLocation", str(own / "state"))
query = writer.trigger(availableNow=True).start(str(own / "written"))
query.awaitTermination(60)
answer = [len(list((own / "written").glob("*.parquet"))) > 0, query.lastProgress, len(query.recentProgress)]
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

EVERYBODYS = """
answer = []
spark.range(3).createOrReplaceTempView("three")
spark.catalog.cacheTable("three")
answer.append(outcome(spark.catalog.clearCache))
answer.append(outcome(lambda: spark.catalog.uncacheTable("three")))
answer.append(outcome(lambda: spark.catalog.refreshTable("three")))
answer.append(outcome(lambda: spark.catalog.refreshByPath("DATA")))
answer.append(outcome(lambda: spark.catalog.recoverPartitions("three")))
answer.append(outcome(lambda: spark.catalog.dropGlobalTempView("others")))
answer.append(outcome(lambda: spark.sql("CLEAR CACHE")))
answer.append(outcome(lambda: spark.sql("UNCACHE TABLE three")))
"""

CHANGED = """
frame = spark.read.parquet("DATA").select("Id").persist()
twice = frame.join(frame.withColumnRenamed("Id", "other"), frame.Id == frame.Id).persist()
view = spark.read.parquet("DATA").select("Id")
view.createOrReplaceTempView("ids")
answer = [frame.count(), spark.table("ids").count(), twice.count()]
change("{version: 1, policies: [{id: some, subject: {role: r}, object: {tables: [patient], where: 'Id > 101'}, "
       "allow: [read]}]}".replace("role: r", "user: bob"))
answer += [frame.count(), spark.table("ids").count()]
frame.unpersist()
answer += [twice.count(), view.count(), sorted(row.Id for row in frame.collect())]
"""

# Spark parses the texts of a frame as rows of its own, which it would not plan again.
PARSED = """
texts = spark.read.parquet("DATA").selectExpr("to_json(struct(Id)) AS value")
spark.read.schema("Id int").json(texts).createOrReplaceTempView("objects")
spark.read.schema("Id string").csv(texts).createOrReplaceTempView("lines")
asked = lambda: [outcome(lambda: spark.table(one).collect()) for one in ("objects", "lines")]
answer = asked()
change("{version: 1, policies: [{id: none, subject: {user: bob}, object: {tables: [patient], where: 'Id > 102'}, "
       "allow: [read]}]}")
answer += asked() + [[row.Id for row in spark.read.schema("Id int").json(texts).collect()]]
"""

# Rows that come later are delivered as the policies say by then.
FOLLOWED = """
import os, pyarrow, pyarrow.parquet
def rule(where):
    change("{version: 1, policies: [{id: some, subject: {user: bob}, object: {tables: [patient], where: 'WHERE'}, "
           "allow: [read]}]}".replace("WHERE", where))
def come(*ids):
    numbers, texts = pyarrow.array(ids, pyarrow.int32()), ["new"] * len(ids)
    table = pyarrow.table({"Id": numbers, "Disease": texts, "Expense": numbers, "PatientName": texts})
    pyarrow.parquet.write_table(table, f"DATA/.{ids[0]}")
    os.rename(f"DATA/.{ids[0]}", f"DATA/{ids[0]}.parquet")
def followed():
    told = outcome(query.processAllAvailable)
    answer.append([sorted(row.Id for row in spark.table("news").collect()), told])
rule("Id <> 102")
answer, stream = [], spark.readStream.schema(spark.read.parquet("DATA").schema).parquet("DATA").select("Id")
query = stream.writeStream.format("memory").queryName("news").start()
followed()
rule("Id <> 201")
come(201, 202)
followed()
change("{version: 1, policies: []}")
come(301)
followed()
"""

TASKS = {
    "errors": (BOB, "", ERRORS),
    "bob": (BOB, "", APPLICATION),
    "alice": (ALICE, "", APPLICATION),
    "wrong": ("wrong", "", APPLICATION),
    "nearly": ("alice-example2", "", APPLICATION),
    "false": (ALICE, ";user_id=bob", APPLICATION),
    "true": (ALICE, ";user_id=alice", APPLICATION),
    "a login": (ALICE, ";user_id=root", APPLICATION),
    "off": (ALICE, "", SWITCHING_OFF),
    "view": (BOB, "", VIEW),
    "no view": (ALICE, "", 'answer = spark.sql("SELECT * FROM mine").count()'),
    "progress": (ALICE, "", PROGRESS),
    "progress of files": (ALICE, "", PROGRESS_OF_FILES),
    "progress of an administrator": (BOB, "", PROGRESS),
    "explain": (ALICE, "", EXPLAIN),
    "explain to an administrator": (BOB, "", EXPLAIN),
    "everybody's": (ALICE, "", EVERYBODYS),
    # The last: the others ask under the policies that were there before.
    "changed": (BOB, "", CHANGED),
    "parsed": (BOB, "", PARSED),
    "followed": (BOB, "", FOLLOWED),
}


LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    with running_endpoint(tmp_path_factory.mktemp("connect")) as endpoint:
        found = answers_to(endpoint, TASKS)
        places = sorted(listening(endpoint.process)) if Path("/proc/net/tcp").exists() else None
        return found | {"listens": {"answer": places}}


def test_nothing_listens_but_for_this_machine(answers) -> None:
    """Spark's servers for executors ask nobody who it is."""
    places = answer_of(answers, "listens")
    if places is None:
        pytest.skip("only Linux tells who listens where")
    assert places
    assert set(places) <= LOOPBACK


def test_bob_and_alice_get_their_own_answers(answers) -> None:
    assert answer_of(answers, "bob") == [["Aaron", 8000], ["Brown", 9300]]
    assert answer_of(answers, "alice") == [[None, 8000], [None, 9300]]


@pytest.mark.parametrize("name", ["wrong", "nearly"])
def test_a_token_that_is_not_known_is_refused(answers, name) -> None:
    assert "UNAUTHENTICATED" in answers[name]["error"].upper()


def test_a_false_user_id_is_refused(answers) -> None:
    assert "the user_id `bob` is not the user of the token" in answers["false"]["error"]
    assert answer_of(answers, "true") == [[None, 8000], [None, 9300]]


def test_a_login_that_is_no_user_is_nobodys_claim(answers) -> None:
    """PySpark puts it there by itself; the token says who it is."""
    assert answer_of(answers, "a login") == [[None, 8000], [None, 9300]]


def test_what_switches_things_off_is_refused(answers) -> None:
    done, *refused = answer_of(answers, "off")
    assert done == "done"
    assert [one for one in refused if one == "done"] == []
    assert "AnalyzePlanRequest.input_files" in refused[0]
    assert "excludedRules` may not be changed" in refused[-1]


def test_what_goes_wrong_while_a_query_runs_is_told_as_a_code(answers) -> None:
    """Way in 1: `CAST_INVALID_INPUT` and not the name that is no number; what is wrong with the query is in words."""
    assert "answer" in answers["errors"], answers["errors"]
    cast, divided, raised, misspelt, *stream = answer_of(answers, "errors")
    assert "[CAST_INVALID_INPUT] The query failed while it ran" in cast
    assert "DIVIDE_BY_ZERO" in divided
    assert "USER_RAISED_EXCEPTION" in raised
    assert "A column, variable, or function parameter with name `Nane` cannot be resolved" in misspelt
    assert any("CAST_INVALID_INPUT" in one or "STREAM_FAILED" in one for one in stream), stream
    shown = " ".join(answer_of(answers, "errors"))
    for value in ("Aaron", "Brown", "Camille", "gastric", "cerebroma", "part.parquet"):
        assert value not in shown


def test_frames_that_were_run_and_kept_follow_a_change_of_policies(answers) -> None:
    """Way in 13, and 6: nothing that was planned or kept before is an answer after it."""
    assert answers["changed"] == {"answer": [3, 3, 9, 2, 2, 4, 2, [102, 103]]}


def test_texts_that_were_parsed_are_refused_after_a_change_of_policies(answers) -> None:
    *before, objects, lines, anew = answer_of(answers, "parsed")
    assert before == ["done", "done"]
    for told in (objects, lines):
        assert "policies have changed since these rows were asked for" in told
    assert anew == [103]


def test_a_running_stream_follows_a_change_at_its_next_micro_batch(answers) -> None:
    first, second, last = answer_of(answers, "followed")
    assert first == [[101, 103], "done"]
    assert second == [[101, 103, 202], "done"]
    assert last[0] == [101, 103, 202]
    assert "[STREAM_FAILED]" in last[1]


def test_what_all_sessions_share_is_not_for_one_client_to_change(answers) -> None:
    *refused, let_go = answer_of(answers, "everybody's")
    assert len(refused) == 7
    assert all("refused by the guard" in one for one in refused), refused
    assert all("all sessions" in one for one in refused), refused
    assert let_go == "done"


def test_sessions_are_apart(answers) -> None:
    assert answer_of(answers, "view") == 3
    assert "TABLE_OR_VIEW_NOT_FOUND" in answers["no view"]["error"]


def test_the_progress_of_a_stream_tells_what_was_delivered(answers) -> None:
    """Way in 10: three rows came; how many were read, from where and in what time is not told."""
    assert "answer" in answers["progress"], answers["progress"]
    count, delivered, progress, batches, plan = answer_of(answers, "progress")
    assert (count, delivered, batches) == (3, 3, [0])
    told = json.loads(progress)
    assert set(told) == {
        *("id", "runId", "name", "timestamp", "batchId", "batchDuration", "stateOperators", "sources", "sink")
    }
    assert (told["sources"], told["stateOperators"], told["batchDuration"]) == ([], [], 0)
    assert "refused by the guard" in plan


def test_the_progress_of_a_stream_to_files_tells_nothing(answers) -> None:
    """Way in 10: batches of which nobody knows whether they brought rows, and when all of them were hidden."""
    assert "answer" in answers["progress of files"], answers["progress of files"]
    assert answer_of(answers, "progress of files") == [True, None, 0]


def test_administrators_get_the_progress_as_it_is(answers) -> None:
    assert "answer" in answers["progress of an administrator"], answers["progress of an administrator"]
    told = json.loads(answer_of(answers, "progress of an administrator")[2])
    (source,) = told["sources"]
    assert "FileStreamSource" in source["description"]
    assert source["numInputRows"] == 3


def test_a_plan_is_shown_to_its_user_without_files_and_policies(answers) -> None:
    """Way in 10, by DataFrames and by SQL; what cannot be analysed is told as ever."""
    assert "answer" in answers["explain"], answers["explain"]
    *texts, count, misspelt = answer_of(answers, "explain")
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
    for text in answer_of(answers, "explain to an administrator")[:6]:
        assert "== Asked ==" not in text
        assert "FileScan" in text or "Scan parquet" in text or "WholeStageCodegen" in text or "Relation" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "there is nothing to serve"),
        (["--connect"], "nobody could sign in"),
        (["--connect", "--tokens", "examples/guard/tokens.yaml", "--setting", "fast"], "`fast` is not a setting"),
        (["--connect", "--tokens", "nothing.yaml"], "nothing.yaml"),
        (
            ["--connect", "--tokens", "examples/guard/tokens.yaml", "--settings", "none.yaml"],
            "none.yaml: cannot be read",
        ),
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
