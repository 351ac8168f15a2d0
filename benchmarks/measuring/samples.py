"""Figures of many runs, and how sure they are."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence

import numpy as np

Rounds = dict[str, list[float]]
"""By kind, one after the other; what stands in the same place was measured in one round."""


def faster_half(values: list[float]) -> float:
    """The mean of the faster half: whatever else the machine does only makes runs slower."""
    return statistics.fmean(sorted(values)[: (len(values) + 1) // 2])


def geometric_mean(values: Iterable[float]) -> float:
    logarithms = [math.log(one) for one in values]
    return math.exp(statistics.fmean(logarithms)) if logarithms else math.nan


def resampled(
    series: Sequence[Rounds], figure: Callable[[Sequence[Rounds]], float], times: int = 2000
) -> tuple[float, float]:
    """Between which values 95 of 100 figures lie that are taken of rounds drawn from each series, with repetition."""
    random = np.random.default_rng(1)
    arrays = [{kind: np.array(own) for kind, own in rounds.items()} for rounds in series]

    def drawn(rounds: dict[str, np.ndarray]) -> Rounds:
        count = len(next(iter(rounds.values())))
        places = random.integers(0, count, count)
        return {kind: own[places].tolist() for kind, own in rounds.items()}

    low, high = np.percentile([figure([drawn(rounds) for rounds in arrays]) for _ in range(times)], [2.5, 97.5])
    return float(low), float(high)
