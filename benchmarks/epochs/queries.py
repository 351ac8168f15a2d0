"""10, 100 and 1,000 queries on one stream."""

from __future__ import annotations

import statistics
from random import Random
from typing import Any

from epochs.bench import Bench, Feed, progress, run_engine, source_of, stream, system_of


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
