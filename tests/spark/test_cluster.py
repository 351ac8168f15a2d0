"""On a real cluster: a standalone master and two workers on loopback, each in a process of its own."""

from __future__ import annotations

import os
import pickle
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from spark_combined import combined
from test_faults import PROGRAM, _push

from headgate.columnar.strategy import Strategy
from headgate.policy.model import Defaults
from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.spark.engine import Engine, Settings
from headgate.spark.replay import delivered
from headgate.testing.systems import systems

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _await_log(path: Path, pattern: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if path.exists() and re.search(pattern, path.read_text(errors="replace")):
            return
        assert process.poll() is None, path.read_text(errors="replace")[-2000:]
        time.sleep(0.1)
    raise AssertionError(path.read_text(errors="replace")[-2000:])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a master with two workers of one core each."""
    folder = tmp_path_factory.mktemp("cluster")
    port, here = _free_port(), {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    address = f"spark://127.0.0.1:{port}"
    node = "org.apache.spark.deploy"
    commands = {
        "master": [f"{node}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"],
        **{
            name: [
                *(f"{node}.worker.Worker", address, "--host", "127.0.0.1", "--cores", "1", "--memory", "1g"),
                *("--webui-port", "0", "--work-dir", str(folder / name)),
            ]
            for name in ("worker1", "worker2")
        },
    }
    running = []
    try:
        for name, command in commands.items():
            log = folder / f"{name}.log"
            with log.open("wb") as out:
                one = subprocess.Popen(
                    [str(SPARK_CLASS), *command], stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **here}
                )
            running.append(one)
            ready = "I have been elected leader" if name == "master" else "Successfully registered with master"
            _await_log(log, ready, one)
        yield address
    finally:
        for one in reversed(running):
            one.terminate()
            one.wait(30)


@settings(
    max_examples=2, derandomize=True, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(data=st.data())
def test_property_a_cluster_equals_the_reference(
    spark: SparkSession, cluster: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    group = combined([data.draw(systems(with_policies=True, max_queries=3)) for _ in range(6)], Defaults())
    folder = tmp_path_factory.mktemp("on-cluster")
    root, system_file = folder / "root", folder / "system.pickle"
    system_file.write_bytes(pickle.dumps(group.system))
    _push(group, root, epochs=3)
    one_task = data.draw(st.sampled_from(["0", "1000000"]))
    command = [sys.executable, str(PROGRAM), str(root), str(system_file), "switches", one_task, cluster]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    )
    assert "finished" in ended.stdout, ended.stderr[-3000:]
    reference = Interpreter(group.system)
    reference.epoch(in_replay_order(group.system, group.elements))
    reference.finish()
    chosen = Settings(Strategy.SWITCHES, live=False, files_per_epoch=1)
    rows = delivered(Engine(spark, str(root), group.system, settings=chosen))
    for key, outcome in reference.outcomes.items():
        wanted = sorted(repr((one.time, sorted(one.row.items()))) for one in outcome.results)
        assert sorted(repr((at, sorted(row.items()))) for at, row in rows.get(key, [])) == wanted, key
