"""The window log: what is kept of tuples, as segments named by epoch, until no window can ask for it again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from headgate.model.instant import Instant
from headgate.spark.layout import conformed, kept_fields, spark_schema
from headgate.spark.packing import WRITTEN, Batches, Task, as_rows, open_sink, read_packed, unpacked, written_table
from headgate.spark.storage import Storage
from headgate.spark.tasks import Shared

COMPACT_AFTER = 8
"""So many segments of one level are put together into one of the next."""

LARGE = 1_000_000
"""A segment of so many tuples is left as it is: what costs is to open many, not to read much."""


@dataclass(frozen=True)
class Segment:
    """Kept tuples of one stream: of one epoch, or of several that were put together."""

    stream: str
    path: str
    rows: int
    first: Instant
    last: Instant
    level: int = 0
    epoch: int = 0
    """The first epoch whose tuples are in it."""

    def to_json(self) -> dict[str, object]:
        return asdict(self)


class WindowLog:
    """Reads segments, forgets old ones, and puts small ones together."""

    def __init__(self, spark: SparkSession, storage: Storage, shared: Shared, carried: bool = False) -> None:
        self._spark = spark
        self._storage = storage
        self._carried = carried
        self._plan = shared.plan
        self._streams = shared.streams

    def packed(self, segments: Iterable[Segment], counted: Iterable[str] = ()) -> DataFrame:
        """The tables of these segments, and of windows of rows."""
        return read_packed(self._spark, self._storage, [*(one.path for one in segments), *counted])

    def of_stream(
        self, segments: Iterable[Segment], stream: str, since: Instant, columns: frozenset[str] | None = None
    ) -> DataFrame:
        """The tuples of one stream from some time on."""
        own = [one for one in segments if one.stream == stream and one.last >= since]
        plan, width = self._plan.streams[stream], self._plan.width
        fields = [one for one in kept_fields(plan, width) if columns is None or one.name in columns]
        names = frozenset(one.name for one in fields)

        def recent(table: pa.Table) -> pa.Table:
            return _since(conformed(table, plan, width, names), since)

        return as_rows(self.packed(own), recent, spark_schema(fields))

    def expire(self, segments: Iterable[Segment], needed: Mapping[str, Instant]) -> tuple[list[Segment], list[Segment]]:
        """Those that are still needed, and those that are not."""
        kept: list[Segment] = []
        gone: list[Segment] = []
        for one in segments:
            (kept if one.last >= needed.get(one.stream, one.last + 1) else gone).append(one)
        return kept, gone

    def compact(self, segments: Sequence[Segment], epoch: int, needed: Mapping[str, Instant]) -> list[Segment]:
        """The segments with as many as are due put together; what has aged within them is left out."""
        result = list(segments)
        for stream in dict.fromkeys(one.stream for one in segments):
            for level in sorted({one.level for one in segments}):
                due = [one for one in result if one.stream == stream and one.level == level and one.rows < LARGE]
                if len(due) >= COMPACT_AFTER:
                    merged = self._merge(due, epoch, needed.get(stream))
                    result = [one for one in result if one not in due] + [merged]
        return result

    def _merge(self, due: Sequence[Segment], epoch: int, since: Instant | None) -> Segment:
        first = due[0]
        path = f"compact/{epoch}-kept{self._streams.index(first.stream)}-{first.level + 1}"
        sink = open_sink(self._storage, path, self._carried)
        sink.write(self.packed(due).coalesce(1).mapInArrow(sink.task(_merging(since)), WRITTEN))
        return Segment(
            first.stream,
            f"{path}/part=merged",
            sum(one.rows for one in due),
            min(one.first for one in due),
            max(one.last for one in due),
            first.level + 1,
            min(one.epoch for one in due),
        )


def _merging(since: Instant | None) -> Task:
    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        tables = [table if since is None else _since(table, since) for table in unpacked(batches)]
        if tables:
            merged = pa.concat_tables(tables, promote_options="default").combine_chunks()
            yield from written_table("merged", merged.replace_schema_metadata(tables[0].schema.metadata))

    return run


def _since(table: pa.Table, since: Instant) -> pa.Table:
    return table.filter(pc.greater_equal(table.column("t"), since))
