"""What is withheld is nowhere: not in the window log, the result log, the checkpoint or the manifests."""

from __future__ import annotations

from pathlib import Path

import pytest
from at_rest import at_rest
from pyspark.sql import SparkSession

from headgate.columnar.strategy import Strategy
from headgate.policy.store.catalog import Catalog
from headgate.spark.api import Headgate

HIDDEN = ("canary-of-a-hidden-tuple", "canary-of-a-hidden-column", "canary-of-a-closed-time")
COLUMNS = {"SID": "string", "Name": "string", "Pos": "int", "ts": "timestamp"}


def at(second: int) -> str:
    return f"2026-01-01T08:00:{second:02d}Z"


def contains(folder: Path, text: str) -> list[str]:
    """The files in which a text stands."""
    return [name for name, content in at_rest(folder) if text.encode() in content]


@pytest.mark.parametrize("strategy", [Strategy.SWITCHES, Strategy.POSTFILTER])
def test_withheld_values_are_not_at_rest(spark: SparkSession, tmp_path: Path, strategy: Strategy) -> None:
    root = tmp_path / "data"
    with Headgate(spark, Catalog.open(), root=str(root), enforcement=strategy) as hg:
        hg.stream("Position", COLUMNS, governed=True)
        hg.user("ann", roles=["Doctor"])
        hg.policies.apply("GRANT READ (SID, Pos, ts) ON STREAM Position WHERE Pos < 50 TO ROLE Doctor;")
        joined = hg.query(
            "SELECT a.SID, b.Pos FROM Position AS a [RANGE 60 s], Position AS b [RANGE 60 s] WHERE a.SID = b.SID",
            user="ann",
        )
        counted = hg.query("SELECT SID, count(*) AS n FROM Position [RANGE 10 s] GROUP BY SID", user="ann")
        hg.punctuate(f"PUNCTUATE STREAM Position ON (*, *) TO ROLE Doctor GRANT AT TIMESTAMP '{at(1)}'")
        hg.push(
            "Position",
            [
                {"SID": HIDDEN[2], "Name": "n", "Pos": 1, "ts": at(1)},
                {"SID": "seen-by-ann", "Name": HIDDEN[1], "Pos": 2, "ts": at(2)},
                {"SID": HIDDEN[0], "Name": "n", "Pos": 99, "ts": at(3)},
            ],
        )
        hg.drain()
        hg.push("Position", [{"SID": "seen-by-ann", "Name": "n", "Pos": 3, "ts": at(30)}])
        hg.drain()
        hg.push("Position", [{"SID": "seen-by-ann", "Name": "n", "Pos": 3, "ts": at(50)}])
        hg.drain()
        assert len(joined.rows()) == 9
        assert [row["SID"] for row in counted.rows()] == ["seen-by-ann"]
        assert contains(root, "seen-by-ann"), "what is not withheld can be found, or this test could not fail"
        for canary in HIDDEN:
            assert contains(root, canary) == []


def test_the_folder_is_for_its_owner_only(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "data"
    with Headgate(spark, Catalog.open(), root=str(root)) as hg:
        hg.stream("Position", COLUMNS, owner="ann")
        assert hg.engine.epoch == -1
    assert root.stat().st_mode & 0o077 == 0
