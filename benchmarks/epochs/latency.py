"""From a punctuation's arrival to its effect, at 10,000 tuples per second."""

from __future__ import annotations

import statistics
import time
from random import Random
from typing import Any

from epochs.bench import BEGIN, Bench, Feed, stream, system_of
from headgate.model.instant import SECOND
from headgate.model.pattern import Names
from headgate.model.punctuation import Kind, Objects, Punctuation
from headgate.spark.engine import Engine
from headgate.spark.sources import SourceSpec, StreamSources


def latency(bench: Bench) -> dict[str, Any]:
    """Tuples arrive at 10,000 per second as files; punctuations are pushed now and then.

    What is measured is the time from pushing one until the epoch is committed in which it took effect; for those of the
    first seconds, in which Java still compiles, on its own.
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
    waited: list[tuple[float, float]] = []
    pending: list[tuple[float, int]] = []
    pushed = 0
    began = time.monotonic()
    for number in range(int(seconds / period)):
        feed.add()
        if random.random() < 0.3:
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
    cold = sorted(took for at, took in waited if at < began + warming)
    warm = sorted(took for at, took in waited if at >= began + warming)
    epochs = [one["seconds"] for one in engine.metrics][3:]
    return {
        "tuples_per_second": round(per_file / period),
        "punctuations": len(warm),
        "p50_seconds": _percentile(warm, 50),
        "p99_seconds": _percentile(warm, 99),
        f"in_the_first_{warming}_seconds": {
            "punctuations": len(cold),
            "p50_seconds": _percentile(cold, 50),
            "p99_seconds": _percentile(cold, 99),
        },
        "median_epoch_seconds": round(statistics.median(epochs), 3) if epochs else None,
        "target": "p99 under 1 s",
    }


def _percentile(ordered: list[float], percent: int) -> float:
    return round(ordered[min(len(ordered) - 1, len(ordered) * percent // 100)], 3)


def _settled(
    engine: Engine, pending: list[tuple[float, int]], waited: list[tuple[float, float]]
) -> list[tuple[float, int]]:
    """Those that are still awaited; for the others, when they were pushed and how long they took is noted."""
    seen = sum(engine.totals.punctuations.values())
    now = time.monotonic()
    waited.extend((pushed, now - pushed) for pushed, number in pending if number <= seen)
    return [one for one in pending if one[1] > seen]
