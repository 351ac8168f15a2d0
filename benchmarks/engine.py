"""The epoch engine beside the plain Spark programs a user would write instead, interleaved in one session.

Each round gives both sides the same new files and takes the time that Spark itself reports for their micro-batches
(`triggerExecution`), so that reading, planning and committing count on both sides. Ratios are of medians.

    join       window join, 100,000 tuples per epoch, 500,000 held, against the stream-stream join on RocksDB
    sharing    20 queries of 5 users over 3 streams against 20 Structured Streaming queries with filters by hand
    switches   what switches cost while all may see, and save when one or two of three queries are lost
    punctuations   a punctuation every 100 tuples against none; the five strategies beside each other
    latency    from a punctuation's arrival to its effect, at 10,000 tuples per second
    queries    10, 100 and 1,000 queries on one stream
    memory     the driver over 500 epochs
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.columnar.strategy import Strategy
from headgate.model.datatype import DataType
from headgate.model.instant import SECOND, format_timestamp
from headgate.model.pattern import Names
from headgate.model.punctuation import Kind, Objects, Punctuation, SubjectModel
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.scenario.system import System
from headgate.spark.engine import Engine, Settings
from headgate.spark.session import start_session
from headgate.spark.sources import SourceSpec, StreamSources

BEGIN = 1_767_254_400 * SECOND
TYPES = "k long, x long, v string, ts timestamp"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


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
    used = [one.cpu_times() for one in (root, *root.children(recursive=True))]
    return sum(one.user + one.system for one in used)


def turned(kinds: list[str], round_: int) -> list[str]:
    """Each round begins with another, so that none always comes after the heaviest."""
    first = round_ % len(kinds)
    return kinds[first:] + kinds[:first]


def system_of(streams: list[StreamSchema], queries: list[tuple[str, str, str]], punctuated: bool = False) -> System:
    """Queries are (id, user, text); the users own nothing and there are no grants: what is compared is the engine."""
    catalog = StreamCatalog(streams)
    users = {user: User(user, frozenset([user])) for _, user, _ in queries}
    made = tuple(Query(name, user, (user,), parse_cql(text, catalog), punctuated) for name, user, text in queries)
    return System(catalog, users, made)


# The window join ------------------------------------------------------------------------------------------------------


def join(bench: Bench) -> dict[str, Any]:
    rows = 10_000 if bench.quick else 50_000
    held_epochs, rounds = 5, 4 if bench.quick else 6
    seconds = 10
    feeds = [Feed(bench.fresh(name), rows, seconds, keys=rows, seed=place) for place, name in enumerate("AB")]
    span = held_epochs * seconds
    text = f"SELECT a.k, a.x, b.x AS other FROM A a [RANGE {span} s], B b [RANGE {span} s] WHERE a.k = b.k"
    system = system_of([stream("A"), stream("B")], [("q", "u", text)])
    engine = bench.engine(system, {"A": source_of(feeds[0]), "B": source_of(feeds[1])})
    target, checkpoint = bench.fresh("plain"), bench.fresh("checkpoint")

    def plain() -> float:
        a, b = bench.read(feeds[0]).alias("a"), bench.read(feeds[1]).alias("b")
        near = F.expr(
            f"a.k = b.k AND a.ts <= b.ts + interval {span} seconds AND b.ts <= a.ts + interval {span} seconds"
        )
        joined = a.join(b, near).select("a.k", "a.x", F.col("b.x").alias("other"))
        writer = joined.writeStream.format("parquet").option("path", str(target))
        return drained(writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start())

    ours, theirs = [], []
    for number in range(held_epochs + rounds):
        for feed in feeds:
            feed.add()
        ours.append(run_engine(engine))
        theirs.append(plain())
        steps = engine.metrics[-1]["steps"]
        progress(f"join {number}: {ours[-1]:.2f} s {steps}, plain Spark {theirs[-1]:.2f} s")
    mine, other = statistics.median(ours[held_epochs:]), statistics.median(theirs[held_epochs:])
    return {
        "tuples_per_epoch": 2 * rows,
        "held": 2 * rows * held_epochs,
        "rows_per_second": round(2 * rows / mine),
        "rows_per_second_plain": round(2 * rows / other),
        "times_faster": round(other / mine, 2),
        "target": "at least 4",
    }


# Shared queries -------------------------------------------------------------------------------------------------------


def sharing(bench: Bench) -> dict[str, Any]:
    rows = 2_000 if bench.quick else 10_000
    rounds = 2 if bench.quick else 4
    names = ("A", "B", "C")
    feeds = {name: Feed(bench.fresh(name), rows, 10, keys=rows, seed=place) for place, name in enumerate(names)}
    texts, programs = _twenty(bench, feeds)
    queries = [(f"q{number}", f"u{number % 5}", text) for number, text in enumerate(texts)]
    engine = bench.engine(
        system_of([stream(name) for name in names], queries), {name: source_of(feed) for name, feed in feeds.items()}
    )
    ours, theirs = [], []
    for number in range(rounds + 1):
        for feed in feeds.values():
            feed.add()
        ours.append(run_engine(engine))
        theirs.append(sum(program() for program in programs))
        progress(f"sharing {number}: {ours[-1]:.2f} s, 20 plain queries {theirs[-1]:.2f} s")
    mine, other = statistics.median(ours[1:]), statistics.median(theirs[1:])
    return {
        "queries": len(texts),
        "seconds": round(mine, 3),
        "seconds_plain": round(other, 3),
        "times_less": round(other / mine, 2),
        "target": "at least 5",
    }


def _twenty(bench: Bench, feeds: dict[str, Feed]) -> tuple[list[str], list[Callable[[], float]]]:
    """Ten selections, five aggregates and five joins, each selection and join condition used twice."""
    texts: list[str] = []
    programs: list[Callable[[], float]] = []
    names = list(feeds)
    for number in range(10):
        name, bound = names[number // 2 % 3], 10 * (number // 2)
        texts.append(f"SELECT k, x FROM {name} WHERE x > {bound}" + (" AND v <> 'v1'" if number % 2 else ""))
        extra = "v <> 'v1'" if number % 2 else "true"
        programs.append(
            _plain(
                bench,
                lambda n=name, b=bound, e=extra: bench.read(feeds[n]).where(f"x > {b} and {e}").select("k", "x"),
                f"s{number}",
            )
        )
    for number in range(5):
        name, bound = names[number % 3], 10 * number
        texts.append(f"SELECT v, count(*) AS n FROM {name} [RANGE 10 s] WHERE x > {bound} GROUP BY v")

        def counted(n: str = name, b: int = bound) -> DataFrame:
            grouped = bench.read(feeds[n]).where(f"x > {b}").groupBy(F.window("ts", "10 seconds"), "v")
            return grouped.count().select("v", "count")

        programs.append(_plain(bench, counted, f"a{number}"))
    for number in range(5):
        left, right, bound = names[number % 3], names[(number + 1) % 3], 10 * number
        texts.append(
            f"SELECT a.k, b.x FROM {left} a [RANGE 20 s], {right} b [RANGE 20 s] WHERE a.k = b.k AND a.x > {bound}"
        )

        def joined(one: str = left, other: str = right, b: int = bound) -> DataFrame:
            a, c = bench.read(feeds[one]).where(f"x > {b}").alias("a"), bench.read(feeds[other]).alias("b")
            near = "a.k = b.k AND a.ts <= b.ts + interval 20 seconds AND b.ts <= a.ts + interval 20 seconds"
            return a.join(c, F.expr(near)).select("a.k", "b.x")

        programs.append(_plain(bench, joined, f"j{number}"))
    return texts, programs


def _plain(bench: Bench, make: Callable[[], DataFrame], name: str) -> Callable[[], float]:
    target, checkpoint = bench.fresh(name), bench.fresh(f"{name}-checkpoint")

    def run() -> float:
        writer = make().writeStream.format("parquet").option("path", str(target))
        return drained(writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start())

    return run


# Switches -------------------------------------------------------------------------------------------------------------


def switches(bench: Bench) -> dict[str, Any]:
    """Three joins of the paper's kind.

    Work is what epochs use of the processors, less what an epoch without queries uses.
    """
    rows = 5_000 if bench.quick else 100_000
    rounds = 3 if bench.quick else 11
    names = ("A", "B")
    queries = [
        (
            f"q{number}",
            f"u{number}",
            f"SELECT a.k, b.x FROM A a [RANGE {20 + number} s], B b [RANGE {20 + number} s] "
            f"WHERE a.k = b.k AND a.x > {10 * number}",
        )
        for number in range(3)
    ]
    streams = [stream(name) for name in names]
    kinds: dict[str, tuple[System, int]] = {
        "no switches": (system_of(streams, queries), 3),
        "all on": (system_of(streams, queries, punctuated=True), 3),
        "one of three lost": (system_of(streams, queries, punctuated=True), 2),
        "two of three lost": (system_of(streams, queries, punctuated=True), 1),
        "no queries": (System(StreamCatalog(streams)), 0),
    }
    feeds = {name: Feed(bench.fresh(name), rows, 10, keys=rows // 4, seed=place) for place, name in enumerate(names)}
    engines: dict[str, Engine] = {}
    for kind, (system, on) in kinds.items():
        engines[kind] = bench.engine(system, {name: source_of(feed) for name, feed in feeds.items()})
        given = [
            Punctuation(Kind.QUERY, (f"u{number}",), True, BEGIN - SECOND, model=SubjectModel.USERS, query=f"q{number}")
            for number in range(on)
        ]
        if system.queries and system.queries[0].punctuated:
            engines[kind].push("A", given)
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    works: dict[str, list[float]] = {kind: [] for kind in kinds}
    for number in range(rounds + 3):
        for feed in feeds.values():
            feed.add()
        for kind in turned(list(engines), number):
            before = processor_seconds()
            times[kind].append(run_engine(engines[kind]))
            works[kind].append(processor_seconds() - before)
        progress(f"switches {number}: " + ", ".join(f"{kind} {own[-1]:.2f} s" for kind, own in works.items()))
    seconds = {kind: statistics.median(own[3:]) for kind, own in times.items()}
    work = {kind: statistics.median(own[3:]) for kind, own in works.items()}
    lost = ("one of three lost", "two of three lost")

    def saved(of: dict[str, float], without: float) -> dict[str, float]:
        return {kind: round(100 * (1 - (of[kind] - without) / (of["all on"] - without)), 1) for kind in lost}

    return {
        "seconds": {kind: round(value, 3) for kind, value in seconds.items()},
        "processor_seconds": {kind: round(value, 3) for kind, value in work.items()},
        "overhead_percent": round(100 * (work["all on"] / work["no switches"] - 1), 1),
        "saved_percent_of_work": saved(work, work["no queries"]),
        "saved_percent_of_time": saved(seconds, seconds["no queries"]),
        "saved_percent_of_epoch": saved(seconds, 0.0),
        "target": "overhead at most 1 %, saved at least 19 % and 38 %",
    }


# Punctuations and strategies ------------------------------------------------------------------------------------------


def punctuations(bench: Bench) -> dict[str, Any]:
    rows = 10_000 if bench.quick else 50_000
    rounds = 3 if bench.quick else 21
    queries = [(f"q{n}", f"u{n}", f"SELECT k, x, v FROM A WHERE x > {20 * n} AND x < {20 * n + 50}") for n in range(4)]
    governed = system_of([stream("A", governed=True)], queries)
    feed = Feed(bench.fresh("A"), rows, 10, keys=1000, seed=3)
    kinds = {"none": (Strategy.SWITCHES, 0)} | {one.value: (one, 100) for one in Strategy}
    engines = {
        kind: bench.engine(governed, {"A": source_of(feed)}, strategy=strategy) for kind, (strategy, _) in kinds.items()
    }
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for number in range(rounds + 3):
        begin = BEGIN + number * 10 * SECOND
        feed.add()
        for kind in turned(list(engines), number):
            every = kinds[kind][1]
            count = rows // every if every else 1
            engines[kind].push("A", _dsps(begin, 10 * SECOND, count))
            times[kind].append(run_engine(engines[kind]))
        progress(f"punctuations {number}: " + ", ".join(f"{kind} {own[-1]:.2f} s" for kind, own in times.items()))
    medians = {kind: statistics.median(own[3:]) for kind, own in times.items()}
    shield = medians[Strategy.SHIELD.value]
    return {
        "seconds": {kind: round(value, 3) for kind, value in medians.items()},
        "every_100_percent": round(100 * (medians["switches"] / medians["none"] - 1), 1),
        "shield_better_percent": {
            kind: round(100 * (1 - shield / medians[kind]), 1) for kind in ("rewrite", "prefilter", "postfilter")
        },
        "target": "every 100: at most 5 %; FENCE: shields up to 22 % better than rewriting, 37 % than filters",
    }


def _dsps(begin: int, length: int, count: int) -> list[Punctuation]:
    """Punctuations spread over a period: three of four users see each stretch."""
    objects = Objects(Names(("A",)))
    return [
        Punctuation(
            Kind.DATA,
            tuple(f"u{user}" for user in range(4) if user != number % 4),
            True,
            begin - 1 + number * length // count,
            objects=objects,
        )
        for number in range(count)
    ]


# Latency --------------------------------------------------------------------------------------------------------------


def latency(bench: Bench) -> dict[str, Any]:
    """Tuples arrive at 10,000 per second as files; punctuations are pushed now and then, once the JVM is warm.

    What is measured is the time from pushing one until the epoch is committed in which it took effect.
    """
    warming, seconds = (6, 12) if bench.quick else (20, 70)
    per_file, period = 2_000, 0.2
    system = system_of([stream("A", governed=True)], [("q", "u", "SELECT k, x FROM A WHERE x > 20")])
    feed = Feed(bench.fresh("A"), per_file, 1, keys=1000, seed=5)
    engine = bench.engine(system, {"A": StreamSources(SourceSpec("parquet", {}, str(feed.folder)))})
    feed.add()
    engine.start()
    engine.await_epoch(0, 120)
    random = Random(1)
    waited: list[float] = []
    pending: list[tuple[float, int]] = []
    pushed = 0
    began = time.monotonic()
    for number in range(int(seconds / period)):
        feed.add()
        if random.random() < 0.3 and number * period >= warming:
            at = BEGIN + feed.number * SECOND
            pushed += 1
            pending.append((time.monotonic(), pushed))
            engine.push("A", [Punctuation(Kind.DATA, ("u",), bool(number % 2), at, objects=Objects(Names(("A",))))])
        while time.monotonic() < began + (number + 1) * period:
            time.sleep(0.01)
            pending = _settled(engine, pending, waited)
    until = time.monotonic() + 30
    while pending and time.monotonic() < until:
        time.sleep(0.02)
        pending = _settled(engine, pending, waited)
    engine.stop()
    warm = sorted(waited) or [float("nan")]
    epochs = [one["seconds"] for one in engine.metrics][3:]
    return {
        "tuples_per_second": round(per_file / period),
        "punctuations": len(warm),
        "p50_seconds": round(warm[len(warm) // 2], 3),
        "p99_seconds": round(warm[min(len(warm) - 1, int(len(warm) * 0.99))], 3),
        "median_epoch_seconds": round(statistics.median(epochs), 3) if epochs else None,
        "target": "p99 under 1 s",
    }


def _settled(engine: Engine, pending: list[tuple[float, int]], waited: list[float]) -> list[tuple[float, int]]:
    seen = sum(engine.totals.punctuations.values())
    now = time.monotonic()
    waited.extend(now - pushed for pushed, number in pending if number <= seen)
    return [one for one in pending if one[1] > seen]


# Many queries ---------------------------------------------------------------------------------------------------------


def queries(bench: Bench) -> dict[str, Any]:
    rows, rounds = 20_000, 3 if bench.quick else 6
    counts = (10, 100, 1_000)
    random = Random(2)
    feed = Feed(bench.fresh("A"), rows, 10, keys=1000, seed=9)
    engines = {}
    for count in counts:
        texts = [
            (
                f"q{n}",
                f"u{n % 20}",
                f"SELECT k, x FROM A WHERE x > {random.randrange(95)} AND k < {random.randrange(5, 15)}",
            )
            for n in range(count)
        ]
        engines[count] = bench.engine(system_of([stream("A")], texts), {"A": source_of(feed)})
    times: dict[int, list[float]] = {count: [] for count in counts}
    for number in range(rounds + 1):
        feed.add()
        for count, engine in engines.items():
            times[count].append(run_engine(engine))
        progress(f"queries {number}: " + ", ".join(f"{count}: {own[-1]:.2f} s" for count, own in times.items()))
    medians = {count: statistics.median(own[1:]) for count, own in times.items()}
    return {
        "seconds": {str(count): round(value, 3) for count, value in medians.items()},
        "growth": round(medians[1_000] / medians[10], 2),
        "target": "at most 10 times from 10 to 1,000",
    }


def memory(bench: Bench) -> dict[str, Any]:
    """The driver's own memory, Python's: what the JVM holds is Spark's to bound."""
    epochs = 40 if bench.quick else 500
    text = "SELECT a.k, b.x FROM A a [RANGE 30 s], A b [RANGE 30 s] WHERE a.k = b.k"
    system = system_of([stream("A", governed=True)], [("q", "u", text)])
    engine = bench.engine(system, {}, live=False, files_per_epoch=1)
    random = Random(4)
    sizes = []
    for number in range(epochs):
        begin = BEGIN + number * 10 * SECOND
        lines = [
            {"k": random.randrange(1000), "x": random.randrange(100), "v": "v", "ts": format_timestamp(begin + place)}
            for place in range(50)
        ]
        engine.push("A", [Punctuation(Kind.DATA, ("u",), True, begin - 1, objects=Objects(Names(("A",)))), *lines])
        if number % 10 == 9:
            engine.drain()
            sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
            progress(f"memory {number}: {sizes[-1]} MiB, {len(engine.state.segments)} segments")
    return {
        "epochs": epochs,
        "mib_after_a_tenth": sizes[max(0, len(sizes) // 10)],
        "mib_at_the_end": sizes[-1],
        "segments_at_the_end": len(engine.state.segments),
        "punctuations_kept": len(engine.state.timeline),
        "target": "bounded",
    }


PARTS: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "join": join,
    "sharing": sharing,
    "switches": switches,
    "punctuations": punctuations,
    "latency": latency,
    "queries": queries,
    "memory": memory,
}


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"which of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="smaller, to see that it works")
    arguments = parser.parse_args()
    spark = start_session("local[2]", {"spark.sql.streaming.stateStore.providerClass": ROCKSDB})
    folder = Path(tempfile.mkdtemp(prefix="headgate-bench-"))
    found = {}
    try:
        for name in arguments.parts or PARTS:
            part = folder / name
            found[name] = PARTS[name](Bench(spark, part, arguments.quick))
            print(json.dumps({name: found[name]}, indent=2), flush=True)
            shutil.rmtree(part, ignore_errors=True)
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
