"""The Spark that a command starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyspark
import pytest

PROGRAM = """
import json
from pathlib import Path
from headgate.spark.session import start_session

spark = start_session("local[1]")
name = "spark.python.unix.domain.socket."
started = spark.sparkContext.getConf()
folder = Path(started.get(name + "dir"))
spark.range(1).mapInArrow(lambda batches: batches, "id long").collect()
sockets = sum(one.is_socket() for one in folder.iterdir())
mode = folder.stat().st_mode & 0o777
start_session("local[1]")
kept = spark.conf.get(name + "dir") == str(folder)
print(json.dumps({"enabled": started.get(name + "enabled"), "sockets": sockets, "mode": oct(mode), "kept": kept}))
spark.stop()
"""


@pytest.mark.skipif(pyspark.__version__.startswith("4.0"), reason="Spark has Unix sockets from 4.1 on")
def test_only_this_user_can_reach_the_python_workers() -> None:
    """Who can connect to their sockets can tell them what to do. A process of its own: tests have others."""
    short = {**os.environ, "TMPDIR": "/tmp"}  # where names of folders are too long for sockets, there are none
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, env=short)
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout.splitlines()[-1])
    assert said.pop("sockets") > 0, "a version of Spark that puts them elsewhere"
    assert said == {"enabled": "true", "mode": "0o700", "kept": True}, "kept: by whoever starts one while it runs"
