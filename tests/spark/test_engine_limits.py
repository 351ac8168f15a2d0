"""Bad input while the engine runs: the one that is wrong is told apart, the others go on, nothing is lost."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from headgate.errors import FileError, StoreError, UnknownNameError
from headgate.policy.store.catalog import Catalog
from headgate.spark.api import Headgate
from headgate.spark.engine import Settings

COLUMNS = {"SID": "string", "Pos": "int", "ts": "timestamp"}


def at(second: int) -> str:
    return f"2026-01-01T08:00:{second:02d}Z"


def opened(spark: SparkSession, **options: object) -> Headgate:
    hg = Headgate(spark, Catalog.open(), **options)
    hg.stream("Position", COLUMNS, owner="ann")
    hg.user("ann")
    return hg


@pytest.mark.parametrize("one_task", [0, 1_000_000])
def test_a_join_that_explodes_is_stopped_and_the_others_go_on(spark: SparkSession, one_task: int) -> None:
    with opened(spark, settings=Settings(join_limit=1_000, one_task=one_task)) as hg:
        every = hg.query(
            "SELECT a.SID FROM Position AS a [RANGE 1 h], Position AS b [RANGE 1 h]", user="ann", id="every"
        )
        plain = hg.query("SELECT SID FROM Position", user="ann", id="plain")
        hg.push("Position", [{"SID": "p", "Pos": number, "ts": at(number % 60)} for number in range(100)])
        hg.drain()
        assert "more than 1000 combinations" in str(every.closed)
        hg.push("Position", [{"SID": "q", "Pos": 1, "ts": at(59)}])
        hg.drain()
        assert len(plain.rows()) == 101
        assert plain.closed is None


def test_a_join_that_exploded_stays_out(spark: SparkSession, tmp_path: Path) -> None:
    """Until the program ends: neither another change nor a new reader brings it back."""
    with opened(spark, settings=Settings(join_limit=1_000)) as hg:
        every = hg.query(
            "SELECT a.SID FROM Position AS a [RANGE 1 h], Position AS b [RANGE 1 h]", user="ann", id="every"
        )
        hg.push("Position", [{"SID": "p", "Pos": number, "ts": at(number % 60)} for number in range(100)])
        hg.drain()
        hg.user("ben")
        assert [query.id for query in hg.engine.system.queries] == []
        hg.stream("Health", {"SID": "string", "ts": "timestamp"}, owner="ann")
        assert [query.id for query in hg.engine.system.queries] == []
        for handle in (every, hg.handle("every")):
            assert "more than 1000 combinations" in str(handle.closed)
        every.stop()
        with pytest.raises(UnknownNameError, match="no query"):
            hg.handle("every")


def test_what_does_not_parse_or_fit_is_kept_aside_with_the_reason(spark: SparkSession) -> None:
    with opened(spark) as hg:
        seen = hg.query("SELECT SID FROM Position", user="ann")
        good = {"SID": "p", "Pos": 1, "ts": at(2)}
        wrong = [{**good, "Pos": "one"}, {**good, "Pos": 1 << 40}, {"SID": "p"}, {**good, "new": "drift"}]
        hg.push("Position", [good, *wrong])
        hg.push("Position", [{"sp": {"pt": "dsp", "sign": "?"}}])
        hg.drain()
        hg.push("Position", [{**good, "ts": at(1)}])
        hg.drain()
        assert len(seen.rows()) == 2, "a field that is no column is not read"
        letters = "".join(path.read_text() for path in sorted(Path(hg.root, "dead-letter").glob("*.ndjson")))
        for reason in (
            "column `Pos`",
            "the time column `ts` is null",
            "`srp` is not an object",
            "behind the watermark",
        ):
            assert reason in letters
        assert hg.engine.totals.rejected == 5


def test_typed_tuples_none_of_which_fits_are_kept_aside_as_well(spark: SparkSession, tmp_path: Path) -> None:
    folder = str(tmp_path / "in")
    rows = spark.createDataFrame([("p1", 1), ("p2", 2)], "SID string, Pos int")
    rows.selectExpr("SID", "Pos", "cast(NULL AS timestamp) AS ts").coalesce(1).write.parquet(folder)
    with Headgate(spark, Catalog.open(), root=str(tmp_path / "data")) as hg:
        hg.stream("Position", COLUMNS, owner="ann", source={"format": "parquet", "path": folder})
        hg.user("ann")
        hg.drain()
        assert hg.engine.totals.rejected == 2
        letters = "".join(path.read_text() for path in Path(hg.root, "dead-letter").glob("*.ndjson"))
        assert letters.count("the time column `ts` is null") == 2


def test_a_source_that_disappears_says_so_and_loses_nothing(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    with Headgate(spark, Catalog.open(), root=str(tmp_path / "data")) as hg:
        hg.stream("Position", COLUMNS, owner="ann", source={"format": "json", "path": str(folder)})
        hg.user("ann")
        seen = hg.query("SELECT SID FROM Position", user="ann")
        (folder / "1.json").write_text(f'{{"SID": "p1", "Pos": 1, "ts": "{at(1)}"}}\n')
        hg.drain()
        folder.rename(tmp_path / "away")
        with pytest.raises(Exception, match=r"(?i)path does not exist|FileNotFound|PATH_NOT_FOUND"):
            hg.drain()
        (tmp_path / "away").rename(folder)
        (folder / "2.json").write_text(f'{{"SID": "p2", "Pos": 2, "ts": "{at(2)}"}}\n')
        hg.drain()
        assert [row["SID"] for row in seen.rows()] == ["p1", "p2"]


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
@pytest.mark.parametrize("room", [0, 60_000])
def test_a_full_disk_says_so_and_loses_nothing(spark: SparkSession, tmp_path: Path, room: int) -> None:
    """With no room at all the engine cannot begin; with a little, the tasks of an epoch find the end of it."""
    folder = tmp_path / "in"
    folder.mkdir()
    with (
        small_disk(tmp_path / "disk") as disk,
        Headgate(spark, Catalog.open(), root=str(disk / "data")) as hg,
    ):
        hg.stream("Position", COLUMNS, owner="ann", source={"format": "json", "path": str(folder)})
        hg.user("ann")
        seen = hg.query("SELECT SID FROM Position", user="ann")
        (folder / "1.json").write_text(f'{{"SID": "p1", "Pos": 1, "ts": "{at(1)}"}}\n')
        hg.drain()
        filled = disk / "filled"
        with suppress(OSError), filled.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4_096))
        os.truncate(filled, filled.stat().st_size - room)
        name = Random(1).randbytes(100_000).hex()
        (folder / "2.json").write_text(f'{{"SID": "p2 {name}", "Pos": 2, "ts": "{at(2)}"}}\n')
        with pytest.raises(FileError, match=r"(?i)no space left"):
            hg.drain()
        filled.unlink()
        hg.drain()
        assert [row["SID"].split()[0] for row in seen.rows()] == ["p1", "p2"]


def test_a_manifest_that_is_broken_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "data"
    catalog = Catalog.open()
    with Headgate(spark, catalog, root=str(root)) as hg:
        hg.stream("Position", COLUMNS, owner="ann")
        hg.user("ann")
        hg.push("Position", [{"SID": "p", "Pos": 1, "ts": at(1)}])
        hg.drain()
    (root / "manifest" / "0000000000.json").write_text('{"format": 1, "epoch": 0, "segm')
    with (
        Headgate(spark, catalog, root=str(root)) as hg,
        pytest.raises(StoreError, match="manifest of epoch 0 is broken"),
    ):
        hg.drain()
