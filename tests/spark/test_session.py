"""The Spark that a command starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pyspark
import pytest

from headgate.spark.session import java_options

PROGRAM = """
import json, os, sys
from pathlib import Path
import pyarrow as pa
from headgate.spark.rehearsal import load_workers
from headgate.spark.session import start_session

def worker(batches):
    yield from (pa.record_batch({"id": [os.getpid()], "is": ["headgate.spark.tasks" in sys.modules]}) for _ in batches)

spark = start_session("local[2]")
load_workers(spark)
workers = spark.range(0, 2, 1, 2).mapInArrow(worker, "id long, is boolean").collect()
name = "spark.python.unix.domain.socket."
started = spark.sparkContext.getConf()
folder = Path(started.get(name + "dir"))
sockets = sum(one.is_socket() for one in folder.iterdir())
mode = folder.stat().st_mode & 0o777
start_session("local[2]")
kept = spark.conf.get(name + "dir") == str(folder)
said = {"enabled": started.get(name + "enabled"), "sockets": sockets, "mode": oct(mode), "kept": kept}
print(json.dumps({**said, "workers": len({row.id for row in workers}), "loaded": all(row["is"] for row in workers)}))
spark.stop()
"""


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    """Of a process of its own: tests have others."""
    short = {**os.environ, "TMPDIR": "/tmp"}  # where names of folders are too long for sockets, there are none
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, env=short)
    assert ran.returncode == 0, ran.stderr
    answer: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return answer


@pytest.mark.skipif(pyspark.__version__.startswith("4.0"), reason="Spark has Unix sockets from 4.1 on")
def test_only_this_user_can_reach_the_python_workers(said: dict[str, Any]) -> None:
    """Who can connect to their sockets can tell them what to do."""
    assert said["sockets"] > 0, "a version of Spark that puts them elsewhere"
    assert (said["enabled"], said["mode"]) == ("true", "0o700")
    assert said["kept"], "by whoever starts one while it runs"


def test_every_core_has_a_worker_that_has_loaded_the_engine(said: dict[str, Any]) -> None:
    assert (said["workers"], said["loaded"]) == (2, True)


def test_a_machine_with_few_cores_has_the_collector_that_takes_none_for_itself() -> None:
    assert "SerialGC" in java_options(2, {})
    assert "GC" not in java_options(4, {})
    assert "GC" not in java_options(None, {}), "a cluster is not this machine"
    assert "GC" not in java_options(2, {"JAVA_TOOL_OPTIONS": "-XX:+UseParallelGC"}), "Java starts with one only"


def test_java_starts_where_somebody_has_chosen_a_collector() -> None:
    program = "from headgate.spark.session import start_session; print(start_session('local[1]').range(3).count())"
    chosen = {**os.environ, "JAVA_TOOL_OPTIONS": "-XX:+UseParallelGC"}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=chosen)
    assert ran.stdout.strip() == "3", ran.stderr
