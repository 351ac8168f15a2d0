"""On a real cluster: a standalone master and two workers on loopback, each in a process of its own."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from spark_combined import combined
from standalone import cluster
from test_faults import PROGRAM, _push

from headgate.columnar.strategy import Strategy
from headgate.policy.model import Defaults
from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.spark.engine import Engine, Settings
from headgate.spark.replay import delivered
from headgate.testing.systems import systems

__all__ = ["cluster"]  # a fixture


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
