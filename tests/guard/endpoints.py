"""A Connect endpoint in a process of its own, and unmodified clients in another."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
import pyarrow.parquet
from guarded import ROOT

SERVER = """
import sys, json, threading
from pathlib import Path
from headgate.guard import Guard, Limits, Settings, Source
from headgate.guard.connect import serve
from headgate.guard.tokens import read_tokens
from headgate.policy.yaml_file import parse_policies
from headgate.scenario.load import load_scenario
system = load_scenario(Path(sys.argv[1])).system
limits = Limits(**json.loads(sys.argv[5]))
opened = (str(Path(sys.argv[3]).parent / "out" / "{user}"),)
settings = Settings({sys.argv[7]: Source(path=sys.argv[3])}, {}, opened, frozenset({"bob"}), limits=limits)
guard = Guard(system.streams, system.policies, system.users, settings)
config = {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2", "spark.sql.warehouse.dir": sys.argv[4],
          "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", **json.loads(sys.argv[6])}
def prepare(spark):
    assert spark.createDataFrame([(1,)], "x int").count() == 1  # by which Spark takes this session for everybody's
    spark.sql("CREATE FUNCTION raised(x INT) RETURNS INT RETURN x + 4711")  # one that was there before
endpoint = serve(guard, read_tokens(Path(sys.argv[2]), system.users), 0, "127.0.0.1", config, prepare)
print(json.dumps({"port": endpoint.port}), flush=True)
for policies in map(json.loads, sys.stdin):
    if policies is None:
        calls = endpoint.spark.sparkContext._gateway._callback_server
        for one in list(calls.connections):
            one.socket.shutdown(2)  # whoever waits for a call would keep it from being closed
        calls.shutdown()
    else:
        guard.replace_policies(parse_policies(policies, guard.catalog))
    print("changed", flush=True)
endpoint.stop()
"""


class Endpoint(NamedTuple):
    """A server that runs: its port, the folder of its table, how to put other policies in force, its process.

    `change(None)` closes the way to the decision point, as if it had gone down.
    """

    port: int
    data: Path
    change: Callable[[str | None], None]
    process: int


BOB, ALICE = "bob-example", "alice-example"


def environment() -> dict[str, str]:
    """As on a machine whose users did not say who they are."""
    kept = {key: value for key, value in os.environ.items() if key not in ("USER", "SPARK_USER", "SPARK_REMOTE")}
    return kept | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


def _patients() -> pyarrow.Table:
    columns = {"Id": [101, 102, 103], "Disease": ["gastric cancer", "cerebroma", "neuralgia"]}
    columns |= {"Expense": [8000, 9300, 4000], "PatientName": ["Aaron", "Brown", "Camille"]}
    types = {"Id": pyarrow.int32(), "Expense": pyarrow.int32()}
    return pyarrow.table({name: pyarrow.array(values, types.get(name)) for name, values in columns.items()})


@contextmanager
def running_endpoint(
    folder: Path,
    limits: Mapping[str, int] | None = None,
    config: Mapping[str, str] | None = None,
    scenario: Path = ROOT / "examples/medical/scenario.yaml",
    table: tuple[str, pyarrow.Table] | None = None,
) -> Iterator[Endpoint]:
    """A server for Alice and Bob; `config` is more of Spark's configuration.

    Without a scenario and its table it is the medical example, with three patients in files.
    """
    name, rows = table or ("patient", _patients())
    data = folder / f"{name}s"
    data.mkdir()
    pyarrow.parquet.write_table(rows, data / "part.parquet")
    arguments = [
        scenario,
        ROOT / "examples/guard/tokens.yaml",
        data,
        folder / "warehouse",
        json.dumps(limits or {}),
        json.dumps(config or {}),
        name,
    ]
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, *map(str, arguments)],
        env={key: value for key, value in environment().items() if key != "SPARK_LOCAL_IP"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    told, said = server.stdin, server.stdout
    assert told is not None
    assert said is not None

    def change(policies: str | None) -> None:
        told.write(json.dumps(policies) + "\n")
        told.flush()
        assert next((line for line in said if line == "changed\n"), None), "the server is gone"

    try:
        line = next((line for line in said if line.startswith("{")), "")
        assert line, "the server did not start"
        yield Endpoint(json.loads(line)["port"], data, change, server.pid)
    finally:
        told.close()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.send_signal(signal.SIGKILL)
            server.wait()
        said.close()


def listening(process: int) -> set[str]:
    """The addresses at which a process and its children listen, as Linux writes them: the bytes from behind."""
    parents: dict[int, list[int]] = {}
    for one in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents.setdefault(int(one.read_text().rpartition(")")[2].split()[1]), []).append(int(one.parent.name))
    family = [process]
    for one in family:
        family += parents.get(one, [])
    links = (link for one in family for link in Path(f"/proc/{one}/fd").iterdir())
    sockets = set()
    for link in links:
        with suppress(OSError):
            sockets.add(str(link.readlink()))
    lines = (
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    )
    return {line[1].partition(":")[0] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets}


CLIENT = """
import atexit, gc, json, os, sys, textwrap
from pyspark.sql import SparkSession
gc.disable()  # a model that is collected asks the server to let go of it, and in the midst of a call waits for ever
port, tasks = sys.argv[1], json.loads(sys.argv[2])
kept = []  # a session that is collected while another one works may keep the client waiting for ever
def session(token, more=""):
    kept.append(SparkSession.builder.remote(f"sc://localhost:{port}/;token={token}{more}").create())
    return kept[-1]
def outcome(act):
    try:
        act()
        return "done"
    except Exception as error:
        return str(error)
def change(policies):
    print(json.dumps({"change": policies}), flush=True)
    sys.stdin.readline()
answers = {}
for name, (token, more, program) in tasks.items():
    try:
        scope = {"spark": session(token, more), "session": session, "change": change, "outcome": outcome}
        exec(textwrap.dedent(program), scope)
        answers[name] = {"answer": scope["answer"]}
    except Exception as error:
        answers[name] = {"error": str(error)[:2000]}
print(json.dumps({"answers": answers}), flush=True)
atexit._run_exitfuncs()  # which closes the sessions
os._exit(0)  # models and sessions that are collected while a process ends may keep it from ending
"""


def answers_to(
    endpoint: Endpoint, tasks: Mapping[str, tuple[str, str, str]], login: str | None = None
) -> dict[str, dict[str, Any]]:
    """What unmodified clients get: one process for all, a session for each (token, more of the address, program).

    With a `login` they run as on most machines, which say who is logged in.
    """
    data = str(endpoint.data)
    placed = {name: (token, more, program.replace("DATA", data)) for name, (token, more, program) in tasks.items()}
    command = [sys.executable, "-c", CLIENT, str(endpoint.port), json.dumps(placed)]
    pipe = subprocess.PIPE
    own = environment() | ({"USER": login} if login is not None else {})
    found: dict[str, dict[str, Any]] = {}
    # A client says of every error where it was. Through a pipe that nobody reads, some forty of them keep it waiting.
    with (
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen(command, env=own, stdin=pipe, stdout=pipe, stderr=complaints, text=True) as client,
    ):
        assert client.stdin is not None
        assert client.stdout is not None
        for said in map(json.loads, client.stdout):
            if "change" in said:
                endpoint.change(said["change"])
                client.stdin.write("\n")
                client.stdin.flush()
            else:
                found = said["answers"]
        complaints.seek(0)
        assert found, complaints.read()
    return found


def answer_of(answers: Mapping[str, Mapping[str, Any]], name: str) -> Any:
    assert "answer" in answers[name], answers[name]
    return answers[name]["answer"]
