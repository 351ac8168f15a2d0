"""A window join, 100,000 tuples per epoch, 500,000 held, against Spark's stream-stream join on RocksDB."""

from __future__ import annotations

import statistics
from typing import Any

from pyspark.sql import functions as F

from epochs.bench import Bench, Feed, drained, progress, run_engine, source_of, stream, system_of


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
