"""What is remembered from epoch to epoch is as much as what there is now, not as what there has been."""

from __future__ import annotations

import gc
from pathlib import Path

from pyspark.sql import SparkSession

from headgate.spark.api import Headgate


def test_what_was_registered_and_in_force_once_is_not_remembered(spark: SparkSession, tmp_path: Path) -> None:
    with Headgate(spark, root=str(tmp_path)) as hg:
        hg.stream("Position", {"SID": "string", "Pos": "int", "ts": "timestamp"}, owner="eve")
        hg.user("eve")
        hg.user("ann", roles=["D"])
        for number in range(5):
            policies = f"GRANT READ ON STREAM Position WHERE Pos > {number} TO ROLE D;"
            hg.policies.apply("version: 1\npolicies: []\n")
            hg.policies.apply(policies)
            handle = hg.query("SELECT SID, Pos FROM Position", user="ann")
            hg.push("Position", [{"SID": "p", "Pos": pos, "ts": f"2026-01-01T08:00:{number:02d}Z"} for pos in range(9)])
            hg.drain()
            assert [row["Pos"] for row in handle.rows()] == list(range(number + 1, 9))
            last = hg.engine._manifests.last()
            assert last is not None
            assert len(last.facts["Position"]) <= 1
            assert list(last.totals["withheld"]) == [f"{handle.id}/ann"]
            assert last.totals["withheld"][f"{handle.id}/ann"] == number + 1
            handle.stop()


def test_what_tasks_were_sent_goes_with_the_plan(spark: SparkSession, tmp_path: Path) -> None:
    """Spark writes it to a file of its own, for each change of policies another one."""
    sent = Path(spark.sparkContext._temp_dir)
    with Headgate(spark, root=str(tmp_path)) as hg:
        hg.stream("Position", {"SID": "string", "ts": "timestamp"}, owner="ann")
        hg.user("ann")
        near = hg.query("SELECT SID FROM Position", user="ann")
        counts = []
        for number in range(4):
            hg.user("bob", profile={"level": number})
            hg.push("Position", [{"SID": f"p{number}", "ts": f"2026-01-01T08:00:{number:02d}Z"}])
            hg.drain()
            counts.append(len(list(sent.iterdir())))
        assert counts[-1] <= counts[0]
        assert [row["SID"] for row in near.rows()] == ["p0", "p1", "p2", "p3"]


def test_handles_that_nobody_has_are_not_remembered(spark: SparkSession, tmp_path: Path) -> None:
    with Headgate(spark, root=str(tmp_path)) as hg:
        hg.stream("Position", {"SID": "string", "ts": "timestamp"}, owner="ann")
        hg.user("ann")
        near = hg.query("SELECT SID FROM Position", user="ann")
        for _ in range(20):
            hg.handle(near.id)
        gc.collect()
        assert len(hg._handles) == 1
        other = hg.handle(near.id)
        near.stop()
        assert other.closed == "stopped"
