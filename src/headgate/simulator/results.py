"""What the totals mean: mean times, and the shares the paper reports.

Shares are taken of mean times, not averaged over networks: a large network counts for as much as it costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from headgate.simulator.cost import PER_MILLISECOND
from headgate.simulator.experiments import Experiment, Point
from headgate.simulator.measure import Totals


class Charge(StrEnum):
    """How the 0.1 ms "per SP for each PrS" are charged; the paper's text allows each."""

    EVERY = "every"
    """Every switch, for every punctuation: "the PrSs will process all SPs"."""
    MATCHING = "matching"
    """Every switch, for the punctuations of its own query: "but will only take action for those SPs that match"."""
    BATCHED = "batched"
    """Every switch, once for all punctuations that arrive together: algorithm 1 runs when a "new SPs_batch arrives"."""


@dataclass(frozen=True, slots=True)
class PointResult:
    """One measured point."""

    point: Point
    totals: Totals

    def mean(self, total: int) -> float:
        return total / self.totals.networks

    def milliseconds(self, total: int) -> float:
        return self.mean(total) / PER_MILLISECOND

    @property
    def sharing_percent(self) -> float:
        """The degree of sharing that the networks really have, since some have more operators than asked for."""
        return 100 * self.totals.shared_operators / self.totals.operators

    @property
    def saved_by_sharing(self) -> float:
        """In per cent of the time without sharing."""
        return 100 * (1 - self.totals.shared / self.totals.no_sharing)

    def punctuations(self, charge: Charge) -> int:
        """What the switches cost in all, before they save anything."""
        match charge:
            case Charge.EVERY:
                return self.totals.punctuations
            case Charge.MATCHING:
                return self.totals.punctuations_matching
            case Charge.BATCHED:
                return self.totals.punctuations_batched

    def overhead(self, charge: Charge) -> float:
        """What switches cost when nothing is lost, in per cent of the shared network's time."""
        return 100 * self.punctuations(charge) / self.totals.shared

    def saved_by_loss(self, lost: int, charge: Charge, *, pruned: bool = False) -> float:
        """What switches save when `lost` queries are lost, in per cent of the time without switches.

        Taken over every combination of that many queries.
        """
        running = self.totals.pruned if pruned else self.totals.starved
        times = [time for loss, time in zip(self.point.losses, running, strict=True) if len(loss) == lost]
        return 100 * (1 - (fmean(times) + self.punctuations(charge)) / self.totals.shared)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One of the paper's figures beside ours; None where the experiment was not run."""

    key: str
    what: str
    paper: str
    measured: dict[Charge, float] | None
    unit: str = "%"


def compare(results: Sequence[PointResult]) -> list[Comparison]:
    """The five figures of sections 6.2 and 6.3, each averaged over the degrees of sharing."""
    first = [it for it in results if it.point.experiment is Experiment.SHARING]
    second = [it for it in results if it.point.experiment is Experiment.LOSS]
    return [
        Comparison("saved_by_sharing", "time saved by sharing, against none", "92", _same(first, "saved_by_sharing")),
        Comparison("overhead", "time added by switches, nothing lost", "0.5", _overheads(first)),
        Comparison("saved_one_lost", "time saved by switches, one of three queries lost", "19", _saved(second, 1)),
        Comparison("saved_two_lost", "time saved by switches, two of three queries lost", "38", _saved(second, 2)),
        Comparison("switches", "switches in a network of 20 operators", "11", _switches(second), unit=""),
    ]


def _same(results: list[PointResult], name: str) -> dict[Charge, float] | None:
    return dict.fromkeys(Charge, fmean(getattr(it, name) for it in results)) if results else None


def _overheads(results: list[PointResult]) -> dict[Charge, float] | None:
    return {charge: fmean(it.overhead(charge) for it in results) for charge in Charge} if results else None


def _saved(results: list[PointResult], lost: int) -> dict[Charge, float] | None:
    if not results:
        return None
    return {charge: fmean(it.saved_by_loss(lost, charge) for it in results) for charge in Charge}


def _switches(results: list[PointResult]) -> dict[Charge, float] | None:
    return dict.fromkeys(Charge, fmean(it.mean(it.totals.switches) for it in results)) if results else None
