"""A second look at single queries, in several Sparks that were just started.

What Java makes of one and the same code differs from process to process by more than what is asked about, and stays so
for as long as the process lives: more runs in one of them do not help. So the runs are divided among several, and what
counts of a query is the mean of what they say, with the interval it would have been in, 95 times in 100, had the same
rounds of each come in other numbers. Of which the first process leaves it uncertain that they are below the limit, the
others look at, too; what all of them say counts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from guarding.planning import planning
from guarding.runs import LIMIT, Runs, differing, measure, noise, slowdown, warm_up
from guarding.sessions import generated, opened, started
from measuring.processes import apart
from measuring.samples import Rounds, geometric_mean, resampled

PATIENCE = 60.0
"""Most seconds for one query in one process. Single runs of short queries spread by a quarter; it takes dozens of them
to tell 5 % from nothing."""

PLANNED = 25
"""How often each query is planned before it is run; with few queries more often."""

WARM = 3
"""Turns, and twice as many of what is short."""


def second_look(
    data: Path, texts: dict[int, str], partitions: int, turns: int, processes: int, patience: float
) -> dict[str, Any]:
    """What new runs say of these queries, and of which of them a difference of more than 5 % is left."""
    seconds: dict[int, list[Rounds]] = {number: [] for number in texts}
    work: dict[int, list[Rounds]] = {number: [] for number in texts}
    left = texts
    for place in range(processes):
        if not left:
            break
        print(f"second look: process {place + 1} of {processes}, {len(left)} queries", file=sys.stderr, flush=True)
        times, processor = apart(_look, data, left, partitions, turns, patience)
        for number in left:
            seconds[number].append(times[number])
            work[number].append(processor[number])
        left = {number: text for number, text in left.items() if _interval(seconds[number])[1] >= LIMIT}
    found = {number: _figures(seconds[number], work[number]) for number in texts}
    told = {
        "guarded": {number: one["guarded"] for number, one in found.items()},
        "plain again": {number: one["plain again"] for number, one in found.items()},
    }
    slower, plain = differing(told)
    by_work = {"guarded": {number: one["processor time"] for number, one in found.items()}, "plain again": {}}
    return {
        "processes": processes,
        "slower": slower,
        "slower in processor time": differing(by_work)[0],
        "plain differs": plain,
        "by query": found,
    }


def _look(data: Path, texts: dict[int, str], partitions: int, turns: int, patience: float) -> tuple[Runs, Runs]:
    with started(data, partitions) as spark:
        sessions = opened(spark, generated(data, 0))
        # Java makes good code of what it has seen thousands of times; with a few queries the planner is not that warm.
        planning(sessions, texts, max(PLANNED, 3 * PLANNED // len(texts)))
        warm_up(sessions["plain"], texts)
        return measure(sessions, texts, turns, warm=WARM, patience=patience)


def _figures(seconds: Sequence[Rounds], work: Sequence[Rounds]) -> dict[str, Any]:
    return {
        "runs": sum(len(one["guarded"]) for one in seconds),
        "guarded": _mean_slowdown(seconds),
        "interval": _interval(seconds),
        "by process": [slowdown(one) for one in seconds],
        "plain again": geometric_mean(noise(one) for one in seconds),
        "processor time": _mean_slowdown(work),
    }


def _interval(series: Sequence[Rounds]) -> tuple[float, float]:
    return resampled(series, _mean_slowdown, 1000)


def _mean_slowdown(series: Sequence[Rounds]) -> float:
    return geometric_mean(slowdown(one) for one in series)
