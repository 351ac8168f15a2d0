"""What switches cost while all may see, and save when one or two of three queries are lost."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
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
)
from epochs.kernels import alternating
from headgate.model.instant import SECOND
from headgate.model.punctuation import Kind, Punctuation, SubjectModel
from headgate.spark.engine import Engine
from measuring.samples import Rounds as Measured
from measuring.samples import faster_half, resampled

QUERIES = [
    (
        f"q{number}",
        f"u{number}",
        f"SELECT a.k, b.x FROM A a [RANGE {40 + number} s], B b [RANGE {40 + number} s] "
        f"WHERE a.k = b.k AND a.x > b.x + {80 + number}",
    )
    for number in range(3)
]
"""Three joins of the paper's kind. One pair in fifty qualifies: with more of them, what is measured is the disk."""

LOST = {"one of three lost": (0, 2), "two of three lost": (1,)}
"""Which queries are left."""

WARMING = 3

HELD = 5
"""So many files reach as far back as the windows do; what was said of tuples before them has been forgotten."""


def switches(bench: Bench) -> dict[str, Any]:
    return {
        **_saved(bench, 3 if bench.quick else 25),
        **_overhead(bench, 3 if bench.quick else 120),
        "target": "overhead at most 1 %, saved at least 19 % and 38 %",
    }


def _saved(bench: Bench, rounds: int) -> dict[str, Any]:
    """What is saved when queries are lost: of the whole epoch, of what it does beyond an epoch without queries, and of
    what the kernels do. The queries differ a little in what they cost; the one that goes first is that in the middle,
    and the one that is left as well."""
    done = _rounds(bench, {"all on": (0, 1, 2), **LOST, "no queries": ()}, rounds)
    kernels = alternating({kind: done.engines[kind] for kind in ("all on", *LOST)}, done.files, rounds)

    def saved(of: Measured, base: str | None = None) -> dict[str, float]:
        typical = {kind: faster_half(own) for kind, own in of.items()}
        without = typical[base] if base else 0.0
        return {kind: round(100 * (1 - (typical[kind] - without) / (typical["all on"] - without)), 1) for kind in LOST}

    return {
        "seconds": {kind: round(faster_half(own), 3) for kind, own in done.seconds.items()},
        "saved_percent_of_work": saved(done.work, "no queries"),
        "saved_percent_of_time": saved(done.seconds, "no queries"),
        "saved_percent_of_epoch": saved(done.seconds),
        "saved_percent_of_kernels": saved(kernels),
    }


def _overhead(bench: Bench, rounds: int) -> dict[str, Any]:
    """What switches cost while all may see, beside what equal engines differ by: the machine's noise.

    Two engines have switches and two have not, because the first one that is made in a session is quicker than those
    after it: they are made in an order that favours neither. Single epochs differ by more than what is asked about, so
    there are many of them, and beside each figure stands the interval it would have been in, 95 times in 100, had
    the same rounds come in other numbers.
    """
    pairs = {"no switches": None, "all on": range(3), "all on again": range(3), "no switches again": None}
    done = _rounds(bench, pairs, rounds)
    kernels = alternating(done.engines, done.files, rounds)
    found: dict[str, Any] = {}
    for of, own in {"": done.seconds, "_of_work": done.work, "_of_kernels": kernels}.items():
        one, on, on_again, again = (faster_half(own[kind]) for kind in pairs)
        found[f"overhead_percent{of}"] = round(_slower(own), 2)
        found[f"overhead_interval{of}"] = [
            round(limit, 2) for limit in resampled([own], lambda series: _slower(series[0]))
        ]
        found[f"noise_percent{of}"] = [round(100 * (again / one - 1), 2), round(100 * (on_again / on - 1), 2)]
    return found


def _slower(own: Measured) -> float:
    """By how many percent the two engines with switches are slower than the two without."""
    one, on, on_again, again = map(faster_half, own.values())
    return 100 * ((on + on_again) / (one + again) - 1)


@dataclass(frozen=True)
class Rounds:
    """What was measured of each kind, and what it was measured on."""

    seconds: Measured
    work: Measured
    engines: dict[str, Engine]
    files: dict[str, list[Path]]


def _rounds(bench: Bench, kinds: Mapping[str, Collection[int] | None], rounds: int) -> Rounds:
    """Seconds and processor seconds of epochs, in turns; a kind is the queries that are on, or None: no switches."""
    rows = 5_000 if bench.quick else 100_000
    feeds = {name: Feed(bench.fresh(name), rows, 10, keys=rows // 4, seed=place) for place, name in enumerate("AB")}
    engines = {kind: _engine(bench, feeds, on) for kind, on in kinds.items()}
    times: Measured = {kind: [] for kind in kinds}
    works: Measured = {kind: [] for kind in kinds}
    for number in range(rounds + WARMING):
        for feed in feeds.values():
            feed.add()
        for kind in random.sample(list(engines), len(engines)):
            before = processor_seconds()
            times[kind].append(run_engine(engines[kind]))
            works[kind].append(processor_seconds() - before)
        progress(f"switches {number}: " + ", ".join(f"{kind} {own[-1]:.2f} s" for kind, own in times.items()))
    warm = [{kind: own[WARMING:] for kind, own in of.items()} for of in (times, works)]
    files = {name: sorted(feed.folder.glob("*.parquet"))[-HELD:] for name, feed in feeds.items()}
    return Rounds(warm[0], warm[1], engines, files)


def _engine(bench: Bench, feeds: dict[str, Feed], on: Collection[int] | None) -> Engine:
    streams = [stream(name) for name in feeds]
    queries = QUERIES if on is None or on else []
    engine = bench.engine(
        system_of(streams, queries, punctuated=on is not None), {name: source_of(feed) for name, feed in feeds.items()}
    )
    # Queries without switches hear of these punctuations too, so that nothing but the switches is different.
    told = range(len(QUERIES)) if on is None else on
    if told:
        engine.push("A", [_allowed(number) for number in told])
    return engine


def _allowed(number: int) -> Punctuation:
    who = (f"u{number}",)
    return Punctuation(Kind.QUERY, who, True, BEGIN - SECOND, model=SubjectModel.USERS, query=f"q{number}")
