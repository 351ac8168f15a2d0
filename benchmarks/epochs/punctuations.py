"""A punctuation every 100 tuples against none; the five strategies beside each other."""

from __future__ import annotations

import random
import statistics
from typing import Any

from epochs.bench import BEGIN, Bench, Feed, progress, run_engine, source_of, stream, system_of
from headgate.columnar.strategy import Strategy
from headgate.model.instant import SECOND
from headgate.model.pattern import Names
from headgate.model.punctuation import Kind, Objects, Punctuation
from measuring.samples import faster_half


def punctuations(bench: Bench) -> dict[str, Any]:
    rows = 10_000 if bench.quick else 50_000
    rounds = 3 if bench.quick else 41
    queries = [(f"q{n}", f"u{n}", f"SELECT k, x, v FROM A WHERE x > {20 * n} AND x < {20 * n + 50}") for n in range(4)]
    governed = system_of([stream("A", governed=True)], queries)
    feed = Feed(bench.fresh("A"), rows, 10, keys=1000, seed=3)
    none = (Strategy.SWITCHES, 0)
    kinds = {"none": none, **{one.value: (one, 100) for one in Strategy}, "none again": none}
    engines = {
        kind: bench.engine(governed, {"A": source_of(feed)}, strategy=strategy) for kind, (strategy, _) in kinds.items()
    }
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for number in range(rounds + 3):
        begin = BEGIN + number * 10 * SECOND
        feed.add()
        for kind in random.sample(list(engines), len(engines)):
            every = kinds[kind][1]
            count = rows // every if every else 1
            engines[kind].push("A", _dsps(begin, 10 * SECOND, count))
            times[kind].append(run_engine(engines[kind]))
        progress(f"punctuations {number}: " + ", ".join(f"{kind} {own[-1]:.2f} s" for kind, own in times.items()))
    typical = {kind: faster_half(own[3:]) for kind, own in times.items()}
    medians = {kind: statistics.median(own[3:]) for kind, own in times.items()}
    none_of_both = (typical["none"] + typical["none again"]) / 2
    shield = typical[Strategy.SHIELD.value]
    return {
        "seconds": {kind: round(value, 3) for kind, value in typical.items()},
        "every_100_percent": round(100 * (typical["switches"] / none_of_both - 1), 1),
        "every_100_percent_of_medians": round(100 * (medians["switches"] / medians["none"] - 1), 1),
        "noise_percent": round(100 * (typical["none again"] / typical["none"] - 1), 1),
        "shield_better_percent": {
            kind: round(100 * (1 - shield / typical[kind]), 1) for kind in ("rewrite", "prefilter", "postfilter")
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
