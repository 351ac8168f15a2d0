"""The commands that run on Spark: the same output from both engines, any format, and the demo."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headgate.cli.options import Enforcement, Engine
from headgate.cli.run import execute
from headgate.scenario.expect import differences
from headgate.scenario.load import load_scenario

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", ["acstream", "fence", "medical", "smart-health"])
def test_both_engines_give_the_same(spark: SparkSession, name: str) -> None:
    del spark  # it is there: the command takes the session that runs
    scenario = load_scenario(EXAMPLES / name / "scenario.yaml")
    reference = execute(scenario, Engine.REFERENCE)
    ours = execute(scenario, Engine.SPARK, Enforcement.SWITCHES, epoch_elements=9)
    assert ours.subscribers == reference.subscribers
    assert (ours.tuples, ours.punctuations) == (reference.tuples, reference.punctuations)
    assert differences(scenario, ours) == []
    assert ours.report()["engine"] == "spark"


def test_a_source_of_another_format_is_read_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("p1", 1, "2026-01-01T08:00:01Z"), ("p2", 2, "2026-01-01T08:00:02Z")]
    frame = spark.createDataFrame(rows, "SID string, Pos int, at string")
    frame.selectExpr("SID", "Pos", "cast(at as timestamp) as ts").write.parquet(str(tmp_path / "positions"))
    (tmp_path / "scenario.yaml").write_text(
        """
version: 1
streams:
  Position:
    columns: {SID: string, Pos: int, ts: timestamp}
    source: {format: parquet, path: positions}
users: {ann: {}}
queries: {q: {by: ann, cql: "SELECT SID FROM Position WHERE Pos > 1"}}
expect: {q: {ann: [{SID: p2, _ts: "2026-01-01T08:00:02Z"}]}}
"""
    )
    scenario = load_scenario(tmp_path / "scenario.yaml")
    assert differences(scenario, execute(scenario, Engine.SPARK)) == []


def test_the_demo_ends_by_itself_and_leaks_nothing() -> None:
    command = [str(Path(sys.executable).with_name("headgate")), "demo", "--seconds", "2", "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr[-2000:]
    summary = json.loads(ended.stdout)
    assert summary["differences_from_the_reference"] == 0
    assert summary["epochs"] >= 1
    assert any(one["delivered"] for one in summary["users"].values())
