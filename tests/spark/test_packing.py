"""What tasks write comes back as it was, whether they write it themselves or Spark does; and storage keeps its word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from headgate.errors import FileError
from headgate.spark.packing import (
    BODY,
    NOTE,
    SUFFIX,
    WRITTEN,
    Batches,
    Sink,
    Task,
    as_rows,
    open_sink,
    read_bodies,
    read_packed,
    unpack,
    unpacked,
    written,
    written_table,
)
from headgate.spark.storage import HadoopStorage, LocalStorage, Storage, open_storage

TABLE = pa.table({"n": [1, 2, 3], "text": ["a", None, "c"]})

Open = Callable[[SparkSession, Path], Storage]
STORAGES = [
    pytest.param(lambda spark, path: open_storage(spark, str(path)), id="local"),
    pytest.param(lambda spark, path: HadoopStorage(spark, str(path)), id="hadoop"),
]


def giving(also: Path | None = None) -> Task:
    """A task that Spark's workers can run: they do not know this module."""
    table = TABLE

    def give(_batches: Batches) -> Iterator[pa.RecordBatch]:
        yield from written_table("kept0", table)
        yield from written_table("result", table.slice(1))
        yield written(NOTE, [b'{"seen": 3}'])
        if also is not None:
            also.write_bytes(b"half a table")

    return give


def run(spark: SparkSession, sink: Sink, also: Path | None = None) -> list[bytes]:
    return sink.write(spark.createDataFrame([(b"",)], BODY).coalesce(1).mapInArrow(sink.task(giving(also)), WRITTEN))


@pytest.mark.parametrize("carried", [False, True])
def test_tables_come_back_as_they_were(spark: SparkSession, tmp_path: Path, carried: bool) -> None:
    storage = open_storage(spark, str(tmp_path))
    assert isinstance(storage, LocalStorage)
    assert run(spark, open_sink(storage, "epoch", carried)) == [b'{"seen": 3}']
    assert [unpack(body).to_pydict() for body in read_bodies(storage, "epoch/part=kept0")] == [TABLE.to_pydict()]
    packed = read_packed(spark, storage, ["epoch/part=kept0", "epoch/part=result"])
    rows = as_rows(packed, lambda table: table, "n long, text string")
    assert sorted(map(tuple, rows.collect())) == [(1, "a"), (2, None), (2, None), (3, "c"), (3, "c")]


def test_both_ways_are_read_together_and_nothing_is_nothing(spark: SparkSession, tmp_path: Path) -> None:
    storage = open_storage(spark, str(tmp_path))
    run(spark, open_sink(storage, "one", carried=False))
    run(spark, open_sink(storage, "two", carried=True))
    bodies = read_packed(spark, storage, ["one/part=kept0", "two/part=kept0", "three/part=kept0"]).toArrow()
    assert [table.to_pydict() for table in unpacked(bodies.to_batches())] == [TABLE.to_pydict()] * 2
    assert read_packed(spark, storage, []).count() == 0


def test_what_a_task_that_failed_has_left_does_not_count(spark: SparkSession, tmp_path: Path) -> None:
    storage = open_storage(spark, str(tmp_path))
    stray = tmp_path / "epoch" / "part=kept0" / f"stray{SUFFIX}"
    run(spark, open_sink(storage, "epoch"), also=stray)
    assert len(storage.names("epoch/part=kept0")) == 1
    run(spark, open_sink(storage, "epoch"))
    assert len(list(read_bodies(storage, "epoch/part=kept0"))) == 1, "an epoch that is replayed writes over the old one"


@pytest.mark.parametrize("opened", STORAGES)
def test_a_storage_keeps_files(spark: SparkSession, tmp_path: Path, opened: Open) -> None:
    folder = tmp_path / "a folder %41"
    storage = opened(spark, folder)
    storage.protect()
    assert folder.stat().st_mode & 0o077 == 0
    assert (storage.read("x/y"), storage.names("x")) == (None, [])
    storage.write("x/y", b"1")
    storage.write("x/y", b"2")
    storage.write("x/a", b"3")
    storage.set_time("x/a", 1_000_000)
    assert (storage.read("x/y"), storage.names("x")) == (b"2", ["a", "y"])
    assert (folder / "x" / "a").stat().st_mtime == 1_000
    storage.delete("x/a")
    assert storage.names("x") == ["y"]
    storage.delete("x")
    storage.delete("x")
    assert storage.names("x") == []


@pytest.mark.parametrize("opened", STORAGES)
def test_a_disk_that_cannot_be_written_is_named(spark: SparkSession, opened: Open) -> None:
    with pytest.raises(FileError, match="cannot be written"):
        opened(spark, Path("/proc/headgate")).write("x/y", b"z")
