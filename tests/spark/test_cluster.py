"""On a real cluster: a standalone master and two workers on loopback, each in a process of its own."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pushed import push
from pyspark.sql import SparkSession
from spark_combined import combined
from standalone import cluster
from test_faults import PROGRAM

from headgate.columnar.strategy import Strategy
from headgate.policy.model import Defaults
from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.reference.run import Outcome
from headgate.spark.engine import Engine, Settings
from headgate.spark.replay import delivered
from headgate.testing.systems import GeneratedSystem, systems

__all__ = ["cluster"]  # a fixture


def outcomes(group: GeneratedSystem) -> dict[tuple[str, str], Outcome]:
    reference = Interpreter(group.system)
    reference.epoch(in_replay_order(group.system, group.elements))
    reference.finish()
    return reference.outcomes


def shows_and_withholds(group: GeneratedSystem) -> bool:
    """Whether some subscriber is shown something and something is kept from one who may ask."""
    found = [one for one in outcomes(group).values() if not one.verdict.denied]
    return any(one.results for one in found) and any(one.withheld for one in found)


@settings(
    max_examples=2, derandomize=True, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(data=st.data())
def test_property_a_cluster_equals_the_reference(
    spark: SparkSession, cluster: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    drawn = [data.draw(systems(with_policies=True, max_queries=3).filter(shows_and_withholds)) for _ in range(6)]
    group = combined(drawn, Defaults())
    folder = tmp_path_factory.mktemp("on-cluster")
    root, system_file = folder / "root", folder / "system.pickle"
    system_file.write_bytes(pickle.dumps(group.system))
    push(group, root, epochs=3, files=2)
    one_task = data.draw(st.sampled_from(["0", "1000000"]))
    command = [sys.executable, str(PROGRAM), str(root), str(system_file), "switches", one_task, cluster, "2"]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    )
    assert "finished" in ended.stdout, ended.stderr[-3000:]
    chosen = Settings(Strategy.SWITCHES, live=False, files_per_epoch=2)
    rows = delivered(Engine(spark, str(root), group.system, settings=chosen))
    for key, outcome in outcomes(group).items():
        wanted = sorted(repr((one.time, sorted(one.row.items()))) for one in outcome.results)
        assert sorted(repr((at, sorted(row.items()))) for at, row in rows.get(key, [])) == wanted, key
