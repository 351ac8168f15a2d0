"""Whole tables as single values of a Spark row.

What tasks write, and read again, are columns on both sides; Spark in between has rows. Taking columns apart into rows
and putting them together again was two thirds of an epoch's time (docs/engine.md). So each row written is a part's name
and an Arrow table as one value, and Spark carries, commits and finds it again without looking into it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

Batches = Iterable[pa.RecordBatch]

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


def unpack(body: bytes | pa.Buffer) -> pa.Table:
    """The table that was packed."""
    with pa.ipc.open_stream(body) as reader:
        return reader.read_all()


def written(part: str, bodies: Sequence[bytes]) -> pa.RecordBatch:
    """Rows of one part, as tasks give them out."""
    return pa.RecordBatch.from_arrays([pa.array([part] * len(bodies)), pa.array(bodies, pa.binary())], schema=_WRITTEN)


def written_table(part: str, table: pa.Table) -> Iterator[pa.RecordBatch]:
    """A table as rows of one part."""
    for begin in range(0, table.num_rows, MOST_ROWS):
        yield written(part, [pack(table.slice(begin, MOST_ROWS))])


def unpacked(batches: Batches) -> Iterator[pa.Table]:
    """The tables in rows that were read."""
    for batch in batches:
        for body in batch.column("body"):
            yield unpack(body.as_buffer())


def write_packed(rows: DataFrame, path: str, by_part: bool = True) -> None:
    """Write rows of packed tables, each part to a folder of its own."""
    writer = rows.write.mode("overwrite").options(**_AS_IT_IS)
    (writer.partitionBy("part") if by_part else writer).parquet(path)


def read_packed(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Rows of packed tables."""
    return spark.read.schema(BODY).parquet(*paths) if paths else spark.createDataFrame([], BODY)


def as_rows(packed: DataFrame, task: Callable[[pa.Table], pa.Table], schema: StructType) -> DataFrame:
    """What `task` makes of each packed table, as rows of Spark's own."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for table in unpacked(batches):
            yield from task(table).to_batches()

    return packed.mapInArrow(run, schema)
