"""Twenty queries of five users over three streams against twenty Structured Streaming queries, filters by hand."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from epochs.bench import Bench, Feed, drained, progress, run_engine, source_of, stream, system_of


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
