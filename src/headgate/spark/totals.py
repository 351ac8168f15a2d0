"""What an engine has counted since its beginning, and what it tells of one epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from headgate.spark.epoch import Report
from headgate.spark.planning import Planned


@dataclass(frozen=True)
class Totals:
    """What has been counted since the beginning."""

    tuples: Mapping[str, int]
    punctuations: Mapping[str, int]
    withheld: Mapping[str, int]
    """By `query/user`."""
    rejected: int
    epochs: int
    finished: bool = False

    @staticmethod
    def from_json(body: Mapping[str, Any]) -> Totals:
        return Totals(**body) if body else Totals({}, {}, {}, 0, 0)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def plus(self, report: Report, planned: Planned, finish: bool) -> Totals:
        """With what an epoch did."""
        # Ids are not given again: what was counted of a query that is gone would only become more and more.
        registered = {query.id for query in planned.system.queries}
        withheld = {name: count for name, count in self.withheld.items() if name.rpartition("/")[0] in registered}
        for one in planned.classes:
            count = report.withheld.get(one.bit, 0)
            for member in one.members:
                name = f"{one.query}/{member}"
                withheld[name] = withheld.get(name, 0) + count
        return Totals(
            _added(self.tuples, report.tuples),
            _added(self.punctuations, report.punctuations),
            withheld,
            self.rejected + len(report.rejected),
            self.epochs + (not finish),
            finish,
        )


def _added(before: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return {name: before.get(name, 0) + more.get(name, 0) for name in {**before, **more}}


def metrics_of(report: Report) -> dict[str, Any]:
    """An epoch in numbers."""
    return {
        "tuples": sum(report.tuples.values()),
        "punctuations": sum(report.punctuations.values()),
        "rejected": len(report.rejected),
        "steps": {name: round(value, 4) for name, value in report.seconds.items()},
        "frames_run": report.frames_run,
        "classes_off": report.classes_off,
    }
