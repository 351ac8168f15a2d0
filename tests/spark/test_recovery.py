"""What a driver finds when the one before went down at a bad moment, or when somebody tidied up."""

from __future__ import annotations

import errno
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headgate.errors import FileError, StoreError
from headgate.policy.store.catalog import Catalog
from headgate.spark.api import Headgate
from headgate.spark.engine import SOURCES
from headgate.spark.storage import HadoopStorage, LocalStorage

COLUMNS = {"SID": "string", "Pos": "int", "ts": "timestamp"}


def at(second: int) -> str:
    return f"2026-01-01T08:00:{second:02d}Z"


def tuples(*seconds: int) -> list[dict[str, object]]:
    return [{"SID": f"p{second}", "Pos": second, "ts": at(second)} for second in seconds]


def flows(hg: Headgate, *seconds: int) -> None:
    hg.push("Position", tuples(*seconds))
    hg.drain()


def shown(rows: list[dict[str, object]]) -> list[object]:
    return [row["SID"] for row in rows]


@pytest.fixture
def catalog() -> Catalog:
    return Catalog.open()


def opened(spark: SparkSession, catalog: Catalog, root: Path) -> Headgate:
    hg = Headgate(spark, catalog, root=str(root))
    hg.stream("Position", COLUMNS, owner="ann")
    hg.user("ann")
    return hg


# Drafts ---------------------------------------------------------------------------------------------------------------


def test_a_draft_of_a_plan_is_no_plan(spark: SparkSession, catalog: Catalog, tmp_path: Path) -> None:
    with opened(spark, catalog, tmp_path) as hg:
        hg.query("SELECT SID FROM Position", user="ann", id="near")
        flows(hg, 1)
    (tmp_path / "plans" / ".7.json.tmp").write_bytes(b"{")
    with opened(spark, catalog, tmp_path) as hg:
        near = hg.handle("near")
        flows(hg, 2)
        assert shown(near.rows()) == ["p2"]


def test_a_write_that_fails_leaves_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = LocalStorage(tmp_path)
    storage.write("a/b.json", b"before")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(FileError, match="No space left"):
        storage.write("a/b.json", b"after")
    assert storage.names("a") == ["b.json"]
    assert storage.read("a/b.json") == b"before"


class Killed:
    """A file system whose driver is killed when it removes a file."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def delete(self, *given: Any) -> None:
        self._real.delete(*given)
        raise KeyboardInterrupt


def test_a_file_that_is_written_over_is_there_at_every_moment(spark: SparkSession, tmp_path: Path) -> None:
    storage = HadoopStorage(spark, f"file:{tmp_path}/a folder")
    storage.write("queries.json", b"before")
    storage._fs = Killed(storage._fs)
    with suppress(KeyboardInterrupt):
        storage.write("queries.json", b"after")
    assert HadoopStorage(spark, f"file:{tmp_path}/a folder").read("queries.json") in (b"before", b"after")


def test_hadoop_files_are_put_in_their_places_whole(spark: SparkSession, tmp_path: Path) -> None:
    storage = HadoopStorage(spark, f"file:{tmp_path}/root")
    for content in (b"one", b"two", b""):
        storage.write("deep/er/file.json", content)
        assert storage.read("deep/er/file.json") == content
    assert storage.names("deep/er") == ["file.json"]
    (tmp_path / "root" / "file").write_bytes(b"")
    with pytest.raises(FileError, match="cannot be written"):
        storage.write("file/below", b"")


# Spark's checkpoint ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("two_in_one", [False, True])
def test_a_source_is_added_once_though_the_driver_went_down_meanwhile(
    spark: SparkSession, catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, two_in_one: bool
) -> None:
    """A frame of the user's own may be made of several sources, each of which has a line of its own."""
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    read = spark.readStream.schema("SID string, Pos int, ts timestamp")
    frame = read.json(str(folders[0]))
    frame = frame.unionAll(read.json(str(folders[1]))) if two_in_one else frame
    with Headgate(spark, catalog, root=str(tmp_path / "data")) as hg:
        hg.stream("Position", COLUMNS, owner="ann", source=frame)
        hg.user("ann")
        old = hg.query("SELECT SID FROM Position", user="ann", id="old")
        flows(hg, 1)
        hg.stream("Health", COLUMNS, owner="ann", source={"format": "json", "path": str(folders[2])})
        new = hg.query("SELECT SID FROM Health", user="ann", id="new")
        write = hg.engine.storage.write

        def dies(name: str, content: bytes) -> None:
            if name == SOURCES:
                raise KeyboardInterrupt
            write(name, content)

        monkeypatch.setattr(hg.engine.storage, "write", dies)
        with pytest.raises(KeyboardInterrupt):
            hg.drain()
        monkeypatch.setattr(hg.engine.storage, "write", write)
        (folders[2] / "one.json").write_text(f'{{"SID": "h2", "Pos": 1, "ts": "{at(2)}"}}\n')
        flows(hg, 3)
        assert shown(old.rows()) == ["p1", "p3"]
        assert shown(new.rows()) == ["h2"]


@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_a_checkpoint_that_is_gone_is_noticed(
    spark: SparkSession, catalog: Catalog, tmp_path: Path, epochs: int
) -> None:
    with opened(spark, catalog, tmp_path) as hg:
        hg.query("SELECT SID FROM Position", user="ann", id="near")
        for number in range(epochs):
            flows(hg, number)
    shutil.rmtree(tmp_path / "checkpoint")
    with opened(spark, catalog, tmp_path) as hg, pytest.raises(StoreError, match="checkpoint"):
        flows(hg, 9)


def test_a_checkpoint_of_another_engine_is_noticed(spark: SparkSession, catalog: Catalog, tmp_path: Path) -> None:
    roots = [tmp_path / "one", tmp_path / "other"]
    for root, epochs in zip(roots, (1, 4), strict=True):
        with opened(spark, catalog, root) as hg:
            for number in range(epochs):
                flows(hg, number)
    for own, other in (roots, roots[::-1]):
        shutil.rmtree(tmp_path / "mixed", ignore_errors=True)
        shutil.copytree(own, tmp_path / "mixed")
        shutil.rmtree(tmp_path / "mixed" / "checkpoint")
        shutil.copytree(other / "checkpoint", tmp_path / "mixed" / "checkpoint")
        with opened(spark, catalog, tmp_path / "mixed") as hg, pytest.raises(StoreError, match="checkpoint"):
            flows(hg, 9)


def test_what_comes_after_the_end_is_refused_and_not_dropped(
    spark: SparkSession, catalog: Catalog, tmp_path: Path
) -> None:
    with opened(spark, catalog, tmp_path) as hg:
        hg.query("SELECT count(*) AS n FROM Position [RANGE 5 s]", user="ann", id="counts")
        flows(hg, 1)
        hg.engine.finish()
        hg.drain()
    with opened(spark, catalog, tmp_path) as hg:
        hg.drain()
        hg.engine.finish()
        with pytest.raises(StoreError, match="at their end"):
            flows(hg, 9)
