"""The measured points as rows: for CSV files, and for JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from headgate.simulator.results import Charge, PointResult

Row = dict[str, str | int | float]


def point_rows(results: Sequence[PointResult]) -> list[Row]:
    """One row per point: what was asked for, what was drawn, and the mean time of the three cases."""
    return [_shape(it) | _times(it) for it in results]


def loss_rows(results: Sequence[PointResult]) -> list[Row]:
    """One row per point and loss: what still runs, behind the paper's switches and pruned as Headgate does."""
    rows: list[Row] = []
    for it in results:
        shared = it.milliseconds(it.totals.shared)
        switches = it.milliseconds(it.totals.punctuations)
        for loss, starved, pruned in zip(it.point.losses, it.totals.starved, it.totals.pruned, strict=True):
            with_switches, with_pruning = it.milliseconds(starved) + switches, it.milliseconds(pruned) + switches
            rows.append(
                _shape(it)
                | {
                    "lost": name_loss(loss),
                    "queries_lost": len(loss),
                    "shared_ms": round(shared, 3),
                    "switches_ms": round(with_switches, 3),
                    "switches_saved_percent": round(100 * (1 - with_switches / shared), 3),
                    "pruned_ms": round(with_pruning, 3),
                    "pruned_saved_percent": round(100 * (1 - with_pruning / shared), 3),
                }
            )
    return rows


def name_loss(loss: tuple[int, ...]) -> str:
    """The lost queries by name.

    >>> name_loss(()), name_loss((0, 2))
    ('none', 'q1 q3')
    """
    return " ".join(f"q{number + 1}" for number in loss) or "none"


def to_csv(rows: Sequence[Row]) -> str:
    """Rows as CSV with a header line."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _shape(it: PointResult) -> Row:
    asked = it.point.parameters
    return {
        "experiment": it.point.experiment.value,
        "streams": asked.streams,
        "queries": asked.queries,
        "users": asked.users,
        "operators": asked.operators,
        "sharing_percent": asked.sharing,
        "networks": it.totals.networks,
        "mean_operators": round(it.mean(it.totals.operators), 3),
        "mean_sharing_percent": round(it.sharing_percent, 3),
        "mean_streams_per_query": round(it.mean(it.totals.stream_reads) / asked.queries, 3),
        "mean_shared_joins": round(it.mean(it.totals.shared_joins), 3),
        "mean_switches": round(it.mean(it.totals.switches), 3),
        "mean_initial_switches": round(it.mean(it.totals.initial_switches), 3),
        "mean_in_network_switches": round(it.mean(it.totals.in_network_switches), 3),
    }


def _times(it: PointResult) -> Row:
    times: Row = {
        "no_sharing_ms": round(it.milliseconds(it.totals.no_sharing), 3),
        "shared_ms": round(it.milliseconds(it.totals.shared), 3),
        "switches_ms": round(it.milliseconds(it.totals.shared + it.totals.punctuations), 3),
        "saved_by_sharing_percent": round(it.saved_by_sharing, 3),
    }
    return times | {f"overhead_{charge}_percent": round(it.overhead(charge), 3) for charge in Charge}
