"""A real cluster for tests: a standalone master and two workers on loopback, each in a process of its own."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def await_log(path: Path, pattern: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has written this into its log."""
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
    port, here = free_port(), {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
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
            await_log(log, ready, one)
        yield address
    finally:
        for one in reversed(running):
            one.terminate()
            one.wait(30)
