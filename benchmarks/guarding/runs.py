"""Queries run in turns, plain and guarded, and how the times compare."""

from __future__ import annotations

import statistics
import sys
import time
from contextlib import suppress
from pathlib import Path

from pyspark.sql import SparkSession

from guarding.sessions import GUARDED, PLAIN
from measuring.samples import Rounds, faster_half, resampled

LIMIT = 1.05
"""How much longer a query may take guarded."""

SHORT = 1.0
"""Seconds. Queries that take less vary more, and are warmed up longer and run more often."""

Runs = dict[int, Rounds]
"""By query."""


def run(spark: SparkSession, query: str) -> float:
    """Seconds."""
    start = time.perf_counter()
    spark.sql(query).collect()
    return time.perf_counter() - start


def processor_times(spark: SparkSession) -> dict[str, int]:
    """What each thread that runs tasks has used of a processor, in nanoseconds.

    Linux says it of every process; to ask Java about some hundred threads takes longer than many a query.
    """
    process = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    found = {}
    for thread in Path(f"/proc/{process}/task").iterdir():
        with suppress(OSError):  # it has ended
            if (thread / "comm").read_text().startswith("Executor task"):
                found[thread.name] = int((thread / "schedstat").read_text().split()[0])
    return found


def run_counted(spark: SparkSession, query: str) -> tuple[float, float]:
    """Seconds, and processor seconds of its tasks: what else the machine does shows less in these."""
    before = processor_times(spark)
    seconds = run(spark, query)
    after = processor_times(spark)
    # Of a thread that ended while it was asked about, nothing is known.
    return seconds, sum(max(0, used - before.get(thread, 0)) for thread, used in after.items()) / 1e9


def measure(
    sessions: dict[str, SparkSession], texts: dict[int, str], turns: int, warm: int = 2, patience: float = 0.0
) -> tuple[Runs, Runs]:
    """Seconds and processor seconds. All runs of a query follow one another, after some that warm up; of short ones
    there are more, and of all of them, for as long as it is not certain that they are below the limit, as many as fit
    into `patience` seconds.

    Whoever comes first after other queries pays for compiling its code, and whoever comes after a run that filled the
    memory pays for clearing it: each kind is as often the first, and as often right after each of the others.
    """
    found: Runs = {number: {name: [] for name in sessions} for number in texts}
    work: Runs = {number: {name: [] for name in sessions} for number in texts}
    kinds = list(sessions)
    for place, (number, text) in enumerate(texts.items(), start=1):
        _clear(sessions["plain"])
        warming = [run(sessions[name], text) for _ in range(warm) for name in kinds]
        if min(warming) < SHORT:
            warming += [run(sessions[name], text) for _ in range(warm) for name in kinds]
        takes = min(warming[-len(kinds) :])  # when it is warm
        least = max(turns, min(4 * turns, int(2 * SHORT / takes)))
        most = max(least, int(patience / len(kinds) / takes))
        rounds = 0
        while rounds < least or (rounds < most and not below_the_limit(found[number])):
            for turn in balanced(kinds):
                for name in turn:
                    seconds, processor = run_counted(sessions[name], text)
                    found[number][name].append(seconds)
                    work[number][name].append(processor)
            rounds += len(kinds)
        shown = ", ".join(
            f"{name} {faster_half(own):.3f} s ({faster_half(work[number][name]):.3f})"
            for name, own in found[number].items()
        )
        told = f"query {number}, {rounds} runs, {slowdown(found[number]):.3f} times as long"
        print(f"{place} of {len(texts)}: {told}, {shown}", file=sys.stderr, flush=True)
    return found, work


def balanced(kinds: list[str]) -> list[list[str]]:
    """Orders of an even number of kinds: in each place each stands once, and once right after each other one."""
    count = len(kinds)
    zigzag = [(place + 1) // 2 if place % 2 else -place // 2 for place in range(count)]
    return [[kinds[(start + place) % count] for place in zigzag] for start in range(count)]


def _clear(spark: SparkSession) -> None:
    """Let go of broadcast tables of queries that are over: Spark keeps them until memory is collected, which else
    happens in the midst of a run."""
    spark.sparkContext._jvm.java.lang.System.gc()


def warm_up(spark: SparkSession, texts: dict[int, str]) -> None:
    """Each query once: the first ones would otherwise pay for compiling what all of them use."""
    for place, text in enumerate(texts.values(), start=1):
        print(f"warming up: {place} of {len(texts)}", file=sys.stderr, flush=True)
        run(spark, text)


def below_the_limit(rounds: Rounds) -> bool:
    """Whether a query is as quick as it should be, 39 times in 40, had the same rounds come in other numbers."""
    return resampled([rounds], lambda drawn: slowdown(drawn[0]), 300)[1] < LIMIT


def slowdown(rounds: Rounds) -> float:
    """How much longer a query takes in both guarded sessions than in both plain ones."""
    return statistics.fmean(faster_half(rounds[kind]) for kind in GUARDED) / plain_seconds(rounds)


def noise(rounds: Rounds) -> float:
    """How much longer it takes in one plain session than in the other."""
    return faster_half(rounds["plain again"]) / faster_half(rounds["plain"])


def plain_seconds(rounds: Rounds) -> float:
    return statistics.fmean(faster_half(rounds[kind]) for kind in PLAIN)


def ratios(times: Runs) -> dict[str, dict[int, float]]:
    return {
        "guarded": {number: slowdown(one) for number, one in times.items()},
        "plain again": {number: noise(one) for number, one in times.items()},
    }


def differing(found: dict[str, dict[int, float]], limit: float = LIMIT) -> tuple[list[int], list[int]]:
    """Queries that take longer guarded, and those of which the two plain sessions differ, by more than a limit."""
    slower = sorted(number for number, one in found["guarded"].items() if one > limit)
    return slower, sorted(number for number, one in found["plain again"].items() if max(one, 1 / one) > limit)
