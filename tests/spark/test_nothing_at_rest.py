"""What is withheld is nowhere: not in the window log, the result log, the checkpoint or the manifests."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest
from at_rest import at_rest
from pyspark.sql import SparkSession

from headgate.columnar.strategy import Strategy
from headgate.policy.store.catalog import Catalog
from headgate.spark.api import Headgate
from headgate.spark.engine import Settings

HIDDEN = ("canary-of-a-hidden-tuple", "canary-of-a-hidden-column", "canary-of-a-closed-time")
COLUMNS = {"SID": "string", "Name": "string", "Pos": "int", "ts": "timestamp"}
NUMBERS = COLUMNS | {"Code": "bigint", "Level": "double"}


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


@pytest.mark.parametrize("carried", [False, True])
def test_nothing_stands_under_a_null(spark: SparkSession, tmp_path: Path, carried: bool) -> None:
    """A table that says NULL has room for a value there; of numbers nothing may be left in it."""
    root = tmp_path / "data"
    with Headgate(spark, Catalog.open(), root=str(root), settings=Settings(carried=carried)) as hg:
        hg.stream("Position", NUMBERS)
        hg.user("ann", roles=["Doctor"])
        hg.policies.apply("GRANT READ (SID, ts) ON STREAM Position TO ROLE Doctor;")
        hg.policies.apply("GRANT READ (Code, Level) ON STREAM Position WHERE Pos < 50 TO ROLE Doctor;")
        text = "FROM Position AS a [RANGE 60 s], Position AS b [RANGE 60 s] WHERE a.SID = b.SID"
        hg.query(f"SELECT a.SID, a.Code, b.Code + 1 AS more, b.Level {text}", user="ann")
        hg.query("SELECT SID, Code, Code - 1 AS less FROM Position", user="ann")
        rows = [("seen", 2, 0x1122334455667788, 1e300), ("other", 77, 0x0123456789ABCDE, 2e300)]
        hg.push(
            "Position",
            [
                {"SID": sid, "Name": "n", "Pos": position, "Code": code, "Level": level, "ts": at(second)}
                for second, (sid, position, code, level) in enumerate(rows)
            ],
        )
        hg.drain()
        seen, hidden = ([*(code + one for one in (-1, 0, 1)), level] for _, _, code, level in rows)
        assert all(_contains_number(root, one) for one in seen), "or this test could not fail"
        assert not any(_contains_number(root, one) for one in hidden)


def _contains_number(folder: Path, number: float) -> bool:
    text = struct.pack("<q" if isinstance(number, int) else "<d", number)
    return any(text in content for _, content in at_rest(folder))


def test_what_was_pushed_is_gone_once_it_was_taken_in(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "data"
    with Headgate(spark, Catalog.open(), root=str(root)) as hg:
        hg.stream("Position", COLUMNS, owner="ann")
        hg.user("ann")
        seen = hg.query("SELECT Pos FROM Position", user="ann")
        hg.start()
        for second in range(6):
            hg.push("Position", [{"SID": "s", "Name": "n", "Pos": second, "ts": at(second)}])
            assert hg.engine.await_epoch(second)
        assert len(seen.rows()) == 6
        until = time.monotonic() + 30
        while len(list((root / "push").iterdir())) > 2 and time.monotonic() < until:  # Spark does it on the side
            hg.push("Position", [])
            hg.engine.await_epoch(hg.engine.epoch + 1, 1)
        assert len(list((root / "push").iterdir())) <= 2, "that of the last epoch, and one that comes"


def test_the_folder_is_for_its_owner_only(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "data"
    with Headgate(spark, Catalog.open(), root=str(root)) as hg:
        hg.stream("Position", COLUMNS, owner="ann")
        assert hg.engine.epoch == -1
    assert root.stat().st_mode & 0o077 == 0
