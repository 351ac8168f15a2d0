"""A Connect endpoint in a process of its own, and unmodified clients in another."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
from guarded import ROOT

SERVER = """
import sys, json, threading
from pathlib import Path
from headgate.guard import Guard, Limits, Settings, Source
from headgate.guard.connect import serve
from headgate.guard.tokens import read_tokens
from headgate.scenario.load import load_scenario
system = load_scenario(Path(sys.argv[1])).system
limits = Limits(**json.loads(sys.argv[5]))
settings = Settings({"patient": Source(path=sys.argv[3])}, administrators=frozenset({"bob"}), limits=limits)
guard = Guard(system.streams, system.policies, system.users, settings)
config = {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2", "spark.sql.warehouse.dir": sys.argv[4],
          "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
          "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
endpoint = serve(guard, read_tokens(Path(sys.argv[2]), system.users), 0, "127.0.0.1", config)
print(json.dumps({"port": endpoint.port}), flush=True)
sys.stdin.read()
endpoint.stop()
"""

BOB, ALICE = "bob-example", "alice-example"


def environment() -> dict[str, str]:
    """As on a machine whose users did not say who they are."""
    kept = {key: value for key, value in os.environ.items() if key not in ("USER", "SPARK_USER", "SPARK_REMOTE")}
    return kept | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


@contextmanager
def running_endpoint(folder: Path, limits: Mapping[str, int] | None = None) -> Iterator[tuple[int, Path]]:
    """The port of a server, and the folder of the patients."""
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
        json.dumps(limits or {}),
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
kept = []  # a session that is collected while another one works may keep the client waiting for ever
def session(token, more=""):
    kept.append(SparkSession.builder.remote(f"sc://localhost:{port}/;token={token}{more}").create())
    return kept[-1]
answers = {}
for name, (token, more, program) in tasks.items():
    try:
        scope = {"spark": session(token, more), "session": session}
        exec(textwrap.dedent(program), scope)
        answers[name] = {"answer": scope["answer"]}
    except Exception as error:
        answers[name] = {"error": str(error)[:2000]}
print(json.dumps(answers))
"""


def answers_to(port: int, data: Path, tasks: Mapping[str, tuple[str, str, str]]) -> dict[str, dict[str, Any]]:
    """What unmodified clients get: one process for all, a session for each (token, more of the address, program)."""
    placed = {name: (token, more, program.replace("DATA", str(data))) for name, (token, more, program) in tasks.items()}
    command = [sys.executable, "-c", CLIENT, str(port), json.dumps(placed)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.stdout, done.stderr
    found: dict[str, dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found
