"""What the parts share: files that streams read, the session, and how long micro-batches take."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.model.datatype import DataType
from headgate.model.instant import SECOND
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.scenario.system import System
from headgate.spark.engine import Engine, Settings
from headgate.spark.sources import SourceSpec, StreamSources

BEGIN = 1_767_254_400 * SECOND
TYPES = "k long, x long, v string, ts timestamp"


def stream(name: str, **flags: Any) -> StreamSchema:
    columns = (
        Column("k", DataType.BIGINT),
        Column("x", DataType.BIGINT),
        Column("v", DataType.STRING),
        Column("ts", DataType.TIMESTAMP),
    )
    return StreamSchema(name, columns, **flags)


class Feed:
    """Files of tuples of one stream: each covers some seconds of event time."""

    def __init__(self, folder: Path, rows: int, seconds: int, keys: int, seed: int) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.rows, self.seconds, self.keys = rows, seconds, keys
        self._random = np.random.default_rng(seed)
        self.number = 0

    def add(self) -> None:
        begin = BEGIN + self.number * self.seconds * SECOND
        times = np.sort(begin + self._random.integers(0, self.seconds * SECOND, self.rows))
        table = pa.table(
            {
                "k": self._random.integers(0, self.keys, self.rows),
                "x": self._random.integers(0, 100, self.rows),
                "v": pa.array([f"v{one}" for one in self._random.integers(0, 50, self.rows)]),
                "ts": pa.array(times, pa.timestamp("us", "UTC")),
            }
        )
        draft = self.folder / f".{self.number}.draft"
        pq.write_table(table, draft)
        draft.rename(self.folder / f"{self.number:05d}.parquet")
        self.number += 1


class Bench:
    """A Spark session, a scratch folder, and how long micro-batches take."""

    def __init__(self, spark: SparkSession, folder: Path, quick: bool) -> None:
        self.spark = spark
        self.folder = folder
        self.quick = quick
        self._names = 0

    def fresh(self, name: str) -> Path:
        self._names += 1
        return self.folder / f"{self._names}-{name}"

    def engine(self, system: System, sources: dict[str, StreamSources], **settings: Any) -> Engine:
        return Engine(self.spark, str(self.fresh("engine")), system, sources, Settings(**settings))

    def read(self, feed: Feed, late: str = "0 seconds") -> DataFrame:
        rows = self.spark.readStream.schema(TYPES).option("maxFilesPerTrigger", 1).parquet(str(feed.folder))
        return rows.withWatermark("ts", late)


def source_of(feed: Feed) -> StreamSources:
    return StreamSources(SourceSpec("parquet", {"maxFilesPerTrigger": "1"}, str(feed.folder)))


def drained(query: Any) -> float:
    """Seconds of the micro-batches of a query that reads what is there."""
    query.awaitTermination()
    if query.exception() is not None:
        raise query.exception()
    return sum(one["durationMs"]["triggerExecution"] for one in query.recentProgress if one["numInputRows"]) / 1000


def run_engine(engine: Engine) -> float:
    seconds = drained(engine.start(available_now=True))
    engine.check()
    return seconds


def processor_seconds() -> float:
    """What this program, its JVM and the Python workers have used of the processors so far."""
    root = psutil.Process()
    used = 0.0
    for one in (root, *root.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # it has ended since it was listed
            times = one.cpu_times()
            used += times.user + times.system
    return used


def system_of(streams: list[StreamSchema], queries: list[tuple[str, str, str]], punctuated: bool = False) -> System:
    """Queries are (id, user, text); the users own nothing and there are no grants: what is compared is the engine."""
    catalog = StreamCatalog(streams)
    users = {user: User(user, frozenset([user])) for _, user, _ in queries}
    made = tuple(Query(name, user, (user,), parse_cql(text, catalog), punctuated) for name, user, text in queries)
    return System(catalog, users, made)


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
