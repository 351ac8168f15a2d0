"""Whole tables as single values of a Spark row.

What tasks write, and read again, are columns on both sides; Spark in between has rows. Taking columns apart into rows
and putting them together again was two thirds of an epoch's time (docs/engine.md). So each row written is a part's name
and an Arrow table as one value, and Spark carries, commits and finds it again without looking into it.
"""

from __future__ import annotations

import io
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from headgate.errors import FileError, Place
from headgate.spark.storage import Storage, delete_out_of

Batches = Iterable[pa.RecordBatch]
Task = Callable[[Batches], Iterator[pa.RecordBatch]]
Choose = Callable[[pa.Schema], frozenset[str]]
"""Which columns of a packed table are wanted."""

NOTE = "note"
"""The part that is for the driver."""
SUFFIX = ".arrow"
_NAMED = b"file:"
"""A row that begins so names a file; a packed table never does."""

BODY = StructType([StructField("body", BinaryType())])
WRITTEN = StructType([StructField("part", StringType()), *BODY])
_WRITTEN = pa.schema([pa.field("part", pa.string()), pa.field("body", pa.binary())])
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")

_AS_IT_IS = {
    "compression": "none",
    "parquet.enable.dictionary": "false",
    # The manifest says what counts.
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}

MOST_ROWS = 250_000
"""Rows in one value: an Arrow column of values has room for two gigabytes."""


def pack(table: pa.Table) -> bytes:
    """A table as one value."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_OPTIONS) as writer:
        writer.write_table(table)
    body: bytes = sink.getvalue().to_pybytes()
    return body


def unpack(body: bytes | pa.Buffer, choose: Choose | None = None) -> pa.Table:
    """The table that was packed, or those of its columns that are chosen: the others are not even decompressed."""
    options = None
    if choose is not None:
        with pa.ipc.open_stream(body) as reader:
            chosen = choose(reader.schema)
            places = [place for place, name in enumerate(reader.schema.names) if name in chosen]
        options = pa.ipc.IpcReadOptions(included_fields=places)
    with pa.ipc.open_stream(body, options=options) as reader:
        return reader.read_all()


def written(part: str, bodies: Sequence[bytes]) -> pa.RecordBatch:
    """Rows of one part, as tasks give them out."""
    return pa.RecordBatch.from_arrays([pa.array([part] * len(bodies)), pa.array(bodies, pa.binary())], schema=_WRITTEN)


def written_table(part: str, table: pa.Table) -> Iterator[pa.RecordBatch]:
    """A table as rows of one part."""
    for begin in range(0, table.num_rows, MOST_ROWS):
        yield written(part, [pack(table.slice(begin, MOST_ROWS))])


def unpacked(batches: Batches, choose: Choose | None = None) -> Iterator[pa.Table]:
    """The tables in rows that were read, or in files that rows name; of each the chosen columns."""
    for batch in batches:
        for body in batch.column("body"):
            content = body.as_buffer()
            named = content.size > len(_NAMED) and content.slice(0, len(_NAMED)).to_pybytes() == _NAMED
            yield unpack(_mapped(content.to_pybytes()[len(_NAMED) :].decode()) if named else content, choose)


def _mapped(path: str) -> pa.Buffer:
    with pa.memory_map(path) as file:
        return file.read_buffer()


def read_packed(spark: SparkSession, storage: Storage, folders: Sequence[str]) -> DataFrame:
    """The tables of some folders, as rows of one value each: a table, or the name of its file."""
    files = []
    carried = []
    for folder in folders:
        names = storage.names(folder)
        files += [f"{storage.folder}/{folder}/{name}" for name in names if name.endswith(SUFFIX)]
        if any(name.endswith(".parquet") for name in names):
            carried.append(storage.path(folder))
    found = []
    if files or not carried:
        # As an Arrow table Spark has them at once; a list of rows it hands to a stage of its own, which took 60 ms.
        names = pa.table({"body": pa.array([_NAMED + name.encode() for name in files], pa.binary())})
        found.append(spark.createDataFrame(names, BODY))
    if carried:
        found.append(spark.read.schema(BODY).parquet(*carried))
    return reduce(DataFrame.unionAll, found)


def read_bodies(storage: Storage, folder: str) -> Iterator[bytes]:
    """The values in all files of a folder, read by the driver."""
    for name in storage.names(folder):
        content = storage.read(f"{folder}/{name}") if name.endswith((SUFFIX, ".parquet")) else None
        if content is not None and name.endswith(SUFFIX):
            yield content
        elif content is not None:
            table = pq.read_table(io.BytesIO(content), columns=["body"], partitioning=None)
            yield from table.column("body").to_pylist()


class Sink(Protocol):
    """Where the rows of an epoch's tasks go: `task` fits a task to it, `write` runs them and gives their notes."""

    def task(self, task: Task) -> Task: ...
    def write(self, rows: DataFrame) -> list[bytes]: ...


def open_sink(storage: Storage, folder: str, carried: bool = False) -> Sink:
    """Files that tasks write themselves, where there is a disk they share; elsewhere, or `carried`, Spark writes."""
    return FileSink(storage, folder) if storage.folder is not None and not carried else SparkSink(storage, folder)


class SparkSink:
    """Spark writes the rows, each part to a folder of its own."""

    def __init__(self, storage: Storage, folder: str) -> None:
        self._storage = storage
        self._folder = folder

    def task(self, task: Task) -> Task:
        return task

    def write(self, rows: DataFrame) -> list[bytes]:
        writer = rows.write.mode("overwrite").options(**_AS_IT_IS).partitionBy("part")
        writer.parquet(self._storage.path(self._folder))
        notes = list(read_bodies(self._storage, f"{self._folder}/part={NOTE}"))
        # They are the driver's, which has them now; what was rejected stands in them, and is to be kept in one place.
        delete_out_of(self._storage, f"{self._folder}/part={NOTE}")
        return notes


class FileSink:
    """Tasks write the tables to files and hand their names on; notes come back with the names.

    What costs is not the bytes: for every file and folder that Hadoop makes on a disk it starts a process.
    """

    def __init__(self, storage: Storage, folder: str) -> None:
        assert storage.folder is not None
        self._root = storage.folder / folder

    def task(self, task: Task) -> Task:
        root = str(self._root)

        def run(batches: Batches) -> Iterator[pa.RecordBatch]:
            for batch in task(batches):
                for part, body in zip(batch.column("part").to_pylist(), batch.column("body"), strict=True):
                    yield written(part, [body.as_py() if part == NOTE else _to_file(root, part, body.as_buffer())])

        return run

    def write(self, rows: DataFrame) -> list[bytes]:
        # What was there before is of an epoch that was not committed.
        shutil.rmtree(self._root, ignore_errors=True)
        table = rows.toArrow()
        parts, bodies = table.column("part").to_pylist(), table.column("body").to_pylist()
        named = {body.decode() for part, body in zip(parts, bodies, strict=True) if part != NOTE}
        gone = next((name for name in sorted(named) if not Path(name).exists()), None)
        if gone is not None:
            raise FileError(
                "a task wrote this file on another machine",
                place=Place(file=gone),
                hint="use a folder that all machines share, such as one on HDFS, or `Settings(carried=True)`",
            )
        for path in self._root.rglob(f"*{SUFFIX}"):
            if str(path) not in named:
                path.unlink()  # of a task that failed and was run again
        return [body for part, body in zip(parts, bodies, strict=True) if part == NOTE]


def _to_file(root: str, part: str, body: pa.Buffer) -> bytes:
    folder = Path(root) / f"part={part}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{uuid.uuid4().hex}{SUFFIX}"
    path.write_bytes(body)
    return str(path).encode()


def as_rows(packed: DataFrame, task: Callable[[pa.Table], pa.Table], schema: StructType) -> DataFrame:
    """What `task` makes of each packed table, as rows of Spark's own."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for table in unpacked(batches):
            yield from task(table).to_batches()

    return packed.mapInArrow(run, schema)
