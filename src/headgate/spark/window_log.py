"""The window log: what is kept of tuples, as Parquet segments named by epoch, until no window can ask for it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from headgate.model.instant import Instant
from headgate.spark.layout import kept_fields, spark_schema
from headgate.spark.storage import Storage
from headgate.spark.tasks import Shared

COMPACT_AFTER = 8
"""So many segments of one level are put together into one of the next."""


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

    def __init__(self, spark: SparkSession, storage: Storage, shared: Shared) -> None:
        self._spark = spark
        self._storage = storage
        self._streams = shared.streams
        self._schema = StructType(
            [
                StructField(f"kept{place}", spark_schema(kept_fields(shared.plan.streams[name], shared.plan.width)))
                for place, name in enumerate(shared.streams)
            ]
        )

    def tuples(
        self,
        segments: Iterable[Segment],
        counted: Iterable[str] = (),
        wanted: Mapping[str, frozenset[str]] | None = None,
    ) -> DataFrame:
        """All tuples of these segments, and of windows of rows: a column for each stream, with the columns wanted."""
        schema = self._schema if wanted is None else self._pruned(wanted)
        paths = [self._storage.path(one.path) for one in segments] + [self._storage.path(path) for path in counted]
        if not paths:
            return self._spark.createDataFrame([], schema)
        return self._spark.read.schema(schema).parquet(*paths)

    def _pruned(self, wanted: Mapping[str, frozenset[str]]) -> StructType:
        fields = []
        for place, name in enumerate(self._streams):
            if name in wanted:
                kept = [one for one in self._schema[place].dataType if one.name in wanted[name]]  # type: ignore[attr-defined]
                fields.append(StructField(f"kept{place}", StructType(kept)))
        return StructType(fields)

    def of_stream(self, segments: Iterable[Segment], stream: str, since: Instant) -> DataFrame:
        """The tuples of one stream from some time on."""
        own = [one for one in segments if one.stream == stream and one.last >= since]
        name = f"kept{self._streams.index(stream)}"
        rows = self.tuples(own).select(f"{name}.*").where(F.col("t") >= since)
        # What was written before a bit or a fact existed does not have it.
        return rows.fillna(0, subset=[one for one in rows.columns if one[0] in "uf" or one == "k"])

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
                due = [one for one in result if one.stream == stream and one.level == level]
                if len(due) >= COMPACT_AFTER:
                    merged = self._merge(due, epoch, needed.get(stream))
                    result = [one for one in result if one not in due] + [merged]
        return result

    def _merge(self, due: Sequence[Segment], epoch: int, since: Instant | None) -> Segment:
        first = due[0]
        name = f"kept{self._streams.index(first.stream)}"
        path = f"compact/{epoch}-{name}-{first.level + 1}"
        rows = self.tuples(due).select(name)
        if since is not None:
            rows = rows.where(F.col(f"{name}.t") >= since)
        rows.coalesce(1).write.mode("overwrite").parquet(self._storage.path(path))
        return Segment(
            first.stream,
            path,
            sum(one.rows for one in due),
            min(one.first for one in due),
            max(one.last for one in due),
            first.level + 1,
            min(one.epoch for one in due),
        )
