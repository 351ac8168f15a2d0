"""`headgate serve` as an administrator runs it, with unmodified clients that say who is logged in on their machine."""

from __future__ import annotations

import json
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from endpoints import ALICE, BOB, Endpoint, answer_of, answers_to, environment
from guarded import ROOT

from headgate.cli.serve import administrators_settings
from headgate.guard import Limits, Settings
from headgate.scenario.load import load_scenario

APPLICATION = """
patient = spark.table("patient").selectExpr("PatientName", "Expense as exp1").filter("exp1 > 6000")
answer = sorted(map(list, patient.groupBy("PatientName").sum("exp1").collect()), key=str)
"""

PLACES = """
answer = [outcome(lambda: spark.read.schema(spark.table("patient").schema).json("TEMPORARY").collect())]
answer += [spark.table("patient").count(), spark.sql("SELECT Id FROM default.patient WHERE Id = 101").first()[0]]
"""

CHANGES = """
asks = lambda: outcome(lambda: spark.sql("SELECT PatientName FROM patient").collect())
names = lambda: sorted(row[0] for row in spark.sql("SELECT PatientName FROM patient").collect())
answer = [asks()]
change("a mistake")
answer.append(asks())
change("another table")
answer.append(asks())
change("names for alice")
answer.append(names())
"""

# A call may be begun while the token is good, and say what it wants when it is not any more.
REVOKED = """
import sys
import grpc
from pyspark.sql.connect import proto
begin = grpc.insecure_channel(f"localhost:{sys.argv[1]}").stream_unary(
    "/spark.connect.SparkConnectService/Config",
    request_serializer=proto.ConfigRequest.SerializeToString,
    response_deserializer=proto.ConfigResponse.FromString,
)
request = proto.ConfigRequest(session_id=spark.client._session_id)
request.operation.get.keys.append("spark.sql.shuffle.partitions")
def late():
    change("no token for alice")
    yield request
asks = lambda requests: outcome(lambda: begin(requests, metadata=[("authorization", "Bearer alice-example")]))
count = lambda: outcome(lambda: spark.table("patient").count())
answer = [count(), asks(iter([request])), asks(late()), count()]
answer.append(outcome(lambda: session("alice-example").range(1).count()))
"""

PLAN = """
answer = spark.table("patient").select("Id")._explain_string()
"""

TASKS = {
    "bob": (BOB, "", APPLICATION),
    "alice": (ALICE, "", APPLICATION),
    "alice as bob": (ALICE, ";user_id=bob", APPLICATION),
    "places": (BOB, "", PLACES),
    "plan": (ALICE, "", PLAN),
    "plan for an administrator": (BOB, "", PLAN),
    "changes": (ALICE, "", CHANGES),
    "revoked": (ALICE, "", REVOKED),
    "bob later": (BOB, "", APPLICATION),
}


class Server:
    """The program, with files of its own that a test may change."""

    def __init__(self, folder: Path) -> None:
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self.scenario, self.tokens = folder / "scenario.yaml", folder / "tokens.yaml"
        self.texts = {
            self.scenario: (ROOT / "examples/medical/scenario.yaml").read_text(encoding="utf-8"),
            self.tokens: (ROOT / "examples/guard/tokens.yaml").read_text(encoding="utf-8"),
        }
        for path, text in self.texts.items():
            path.write_text(text, encoding="utf-8")
        settings = folder / "settings.yaml"
        settings.write_text("version: 1\nadministrators: [bob]\n", encoding="utf-8")
        java = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir={self.temporary}"
        command = [sys.executable, "-c", "from headgate.cli.main import main; main()", "serve", self.scenario]
        command += ["--connect", "--tokens", self.tokens, "--port", "0", "--json", "--master", "local[2]"]
        command += ["--settings", settings]
        command += ["--setting", "spark.sql.shuffle.partitions=2", "--setting", f"spark.driver.extraJavaOptions={java}"]
        self.complaints = folder / "stderr"
        with self.complaints.open("w") as complaints:
            self.process = subprocess.Popen(
                command,
                env=environment() | {"TMPDIR": str(self.temporary)},
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
            )

    def said(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.complaints.read_text()
        return json.loads(line)

    def change(self, what: str) -> dict[str, Any]:
        """Change a file, have it read anew, and wait for what is said of that."""
        path, before, after = {
            "a mistake": (self.scenario, "object: {tables: [patient]}", "object: {tables: [patients]}"),
            "another table": (self.scenario, "Id: int,", "Id: bigint,"),
            "names for alice": (self.scenario, "allow: [compute, assist]\n      mask: drop", "allow: [read]"),
            "no token for alice": (self.tokens, "alice: ", "# alice: "),
        }[what]
        assert before in self.texts[path]
        path.write_text(self.texts[path].replace(before, after), encoding="utf-8")
        self.process.send_signal(signal.SIGHUP)
        return self.said()


class Found(NamedTuple):
    answers: dict[str, dict[str, Any]]
    told: dict[str, dict[str, Any]]
    complaints: str
    folders: list[tuple[str, int]]
    """The folders that the program made for itself while it ran, and who may look into them."""

    code: int
    left: list[str]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Found]:
    server = Server(tmp_path_factory.mktemp("serve"))
    told: dict[str, dict[str, Any]] = {}
    try:
        address = server.said()["connect"]
        own = sorted(server.temporary.glob("headgate-*"))
        folders = [(one.name, stat.S_IMODE(one.stat().st_mode)) for one in own]
        elements = next(server.temporary.glob("headgate-*/*patient"))
        tasks = {
            name: (token, more, program.replace("TEMPORARY", str(elements)))
            for name, (token, more, program) in TASKS.items()
        }
        endpoint = Endpoint(
            int(address.rpartition(":")[2]),
            server.scenario.parent,
            lambda what: told.update({what: server.change(what)}),
            server.process.pid,
        )
        answers = answers_to(endpoint, tasks, login="root")
        server.process.send_signal(signal.SIGTERM)
        code = server.process.wait(60)
        left = sorted(one.name for one in server.temporary.glob("headgate-*"))
        yield Found(answers, told | {"address": address}, server.complaints.read_text(), folders, code, left)
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.process.communicate()


def test_the_documented_example_gives_bob_and_alice_their_own_answers(found) -> None:
    assert answer_of(found.answers, "bob") == [["Aaron", 8000], ["Brown", 9300]]
    assert answer_of(found.answers, "alice") == [[None, 8000], [None, 9300]]


def test_the_address_that_is_told_is_one_that_clients_send_tokens_to(found) -> None:
    assert found.told["address"].startswith("sc://localhost:")


def test_the_name_of_another_user_is_refused(found) -> None:
    assert "the user_id `bob` is not the user of the token" in found.answers["alice as bob"]["error"]


def test_elements_are_a_table_wherever_they_lie(found) -> None:
    """By name, in SQL, and as files of that table; in a folder for nobody else."""
    assert answer_of(found.answers, "places") == ["done", 4, 101]
    ((_, mode),) = found.folders
    assert mode == stat.S_IRWXU


def test_settings_are_those_of_the_file(found) -> None:
    assert "FileScan" in answer_of(found.answers, "plan for an administrator")
    assert "FileScan" not in answer_of(found.answers, "plan")


def test_limits_of_the_command_line_win(tmp_path) -> None:
    (tmp_path / "settings.yaml").write_text("version: 1\nlimits: {seconds: 60, queries: 3}\n", encoding="utf-8")
    scenario = load_scenario(ROOT / "examples/medical/scenario.yaml")
    assert administrators_settings(tmp_path / "settings.yaml", scenario, {"queries": 2}).limits == Limits(60, 2)
    assert administrators_settings(None, scenario, {}) == Settings()


def test_policies_are_read_anew_and_followed_by_sessions_that_are_open(found) -> None:
    before, *wrong, after = answer_of(found.answers, "changes")
    assert "no use of `patient` is allowed" in before
    assert wrong == [before, before]
    assert after == ["Aaron", "Brown", "Camille", "Hannah"]
    assert found.told["names for alice"] == {"reloaded": {"policies": 3, "users": 2, "tokens": 2}}


def test_a_file_with_a_mistake_changes_nothing_and_says_where_it_is(found) -> None:
    assert "unknown stream `patients`" in found.told["a mistake"]["not_reloaded"]
    assert re.search(r"error: \S+scenario\.yaml:22:\d+: unknown stream ", found.complaints)
    assert "did you mean `patient`?" in found.complaints


def test_streams_are_not_read_anew(found) -> None:
    assert "the streams of the scenario have changed" in found.told["another table"]["not_reloaded"]


def test_a_token_that_is_gone_opens_nothing_not_even_what_was_begun_with_it(found) -> None:
    before, begun, late, after, anew = answer_of(found.answers, "revoked")
    assert (before, begun) == ("done", "done")
    for told in (late, after, anew):
        assert "the token is missing or not known" in told
    assert found.told["no token for alice"] == {"reloaded": {"policies": 3, "users": 2, "tokens": 1}}
    assert answer_of(found.answers, "bob later") == [["Aaron", 8000], ["Brown", 9300]]


def test_it_ends_when_it_is_told_to_and_leaves_nothing_behind(found) -> None:
    assert found.code == 0
    assert found.left == []
    assert "Traceback" not in found.complaints
