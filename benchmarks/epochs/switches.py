"""What switches cost while all may see, and save when one or two of three queries are lost."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from epochs.bench import (
    BEGIN,
    Bench,
    Feed,
    processor_seconds,
    progress,
    run_engine,
    source_of,
    stream,
    system_of,
    turned,
)
from headgate.model.instant import SECOND
from headgate.model.punctuation import Kind, Punctuation, SubjectModel
from headgate.spark.engine import Engine

QUERIES = [
    (
        f"q{number}",
        f"u{number}",
        f"SELECT a.k, b.x FROM A a [RANGE {20 + number} s], B b [RANGE {20 + number} s] "
        f"WHERE a.k = b.k AND a.x > {10 * number}",
    )
    for number in range(3)
]
"""Three joins of the paper's kind."""

WARMING = 3


def switches(bench: Bench) -> dict[str, Any]:
    rounds = 3 if bench.quick else 11
    return {
        **_saved(bench, rounds),
        **_overhead(bench, 3 if bench.quick else 40),
        "target": "overhead at most 1 %, saved at least 19 % and 38 %",
    }


def _saved(bench: Bench, rounds: int) -> dict[str, Any]:
    """What is saved when queries are lost: of the whole epoch, and of what it does beyond an epoch without queries."""
    kinds = {"all on": 3, "one of three lost": 2, "two of three lost": 1, "no queries": 0}
    seconds, work = _rounds(bench, kinds, rounds)
    lost = ("one of three lost", "two of three lost")

    def saved(of: dict[str, list[float]], base: bool) -> dict[str, float]:
        medians = {kind: statistics.median(own) for kind, own in of.items()}
        without = medians["no queries"] if base else 0.0
        return {kind: round(100 * (1 - (medians[kind] - without) / (medians["all on"] - without)), 1) for kind in lost}

    return {
        "seconds": {kind: round(statistics.median(own), 3) for kind, own in seconds.items()},
        "saved_percent_of_work": saved(work, base=True),
        "saved_percent_of_time": saved(seconds, base=True),
        "saved_percent_of_epoch": saved(seconds, base=False),
    }


def _overhead(bench: Bench, rounds: int) -> dict[str, Any]:
    """What switches cost while all may see, beside what two engines without switches differ by: the machine's noise."""
    kinds = {"no switches": None, "no switches again": None, "all on": 3}
    seconds, work = _rounds(bench, kinds, rounds)

    def percent(of: dict[str, list[float]], kind: str) -> float:
        return round(100 * (_faster_half(of[kind]) / _faster_half(of["no switches"]) - 1), 2)

    return {
        "overhead_percent": percent(seconds, "all on"),
        "overhead_percent_of_work": percent(work, "all on"),
        "noise_percent": percent(seconds, "no switches again"),
        "noise_percent_of_work": percent(work, "no switches again"),
    }


def _faster_half(values: list[float]) -> float:
    """The mean of the faster half: whatever else the machine does only makes epochs slower."""
    return statistics.fmean(sorted(values)[: (len(values) + 1) // 2])


Measured = dict[str, list[float]]


def _rounds(bench: Bench, kinds: Mapping[str, int | None], rounds: int) -> tuple[Measured, Measured]:
    """Seconds and processor seconds of epochs, in turns; a kind is how many queries are switched on, or no switches."""
    rows = 5_000 if bench.quick else 100_000
    feeds = {name: Feed(bench.fresh(name), rows, 10, keys=rows // 4, seed=place) for place, name in enumerate("AB")}
    engines = {kind: _engine(bench, feeds, on) for kind, on in kinds.items()}
    times: Measured = {kind: [] for kind in kinds}
    works: Measured = {kind: [] for kind in kinds}
    for number in range(rounds + WARMING):
        for feed in feeds.values():
            feed.add()
        for kind in turned(list(engines), number):
            before = processor_seconds()
            times[kind].append(run_engine(engines[kind]))
            works[kind].append(processor_seconds() - before)
        progress(f"switches {number}: " + ", ".join(f"{kind} {own[-1]:.2f} s" for kind, own in times.items()))
    warm = [{kind: own[WARMING:] for kind, own in of.items()} for of in (times, works)]
    return warm[0], warm[1]


def _engine(bench: Bench, feeds: dict[str, Feed], on: int | None) -> Engine:
    streams = [stream(name) for name in feeds]
    queries = [] if on == 0 else QUERIES
    engine = bench.engine(
        system_of(streams, queries, punctuated=on is not None), {name: source_of(feed) for name, feed in feeds.items()}
    )
    if on:
        engine.push("A", [_allowed(number) for number in range(on)])
    return engine


def _allowed(number: int) -> Punctuation:
    who = (f"u{number}",)
    return Punctuation(Kind.QUERY, who, True, BEGIN - SECOND, model=SubjectModel.USERS, query=f"q{number}")
