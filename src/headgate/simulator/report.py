"""The report: the paper's figures beside ours, and the points they were taken from, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headgate.simulator.experiments import Experiment
from headgate.simulator.results import Charge, Comparison, PointResult, compare

_CHARGES = {
    Charge.EVERY: "every punctuation, as printed",
    Charge.MATCHING: "own query's only",
    Charge.BATCHED: "once per batch",
}


def to_markdown(results: Sequence[PointResult], *, networks: int, seed: int) -> str:
    """A self-contained page; sections of experiments that were not run are left out."""
    of = {kind: [it for it in results if it.point.experiment is kind] for kind in Experiment}
    parts = [
        "# Privacy switches, simulated\n",
        f"{networks:,} random networks per point, seed {seed}. Times are for 1,000 tuples, an upper bound.\n",
        "## Beside the paper's figures\n",
        "Three ways of charging 0.1 ms per punctuation and switch, since the paper's text allows each.\n",
        _comparison(compare(results)),
    ]
    if of[Experiment.SHARING]:
        parts += ["## Experiment 1: degree of sharing\n", _sharing(of[Experiment.SHARING])]
    if of[Experiment.LOSS]:
        parts += [
            "## Experiment 2: loss of access\n",
            "Per cent of the shared network's time without switches that is saved; every punctuation is charged. In"
            " brackets what Headgate saves, which also stops a shared operator once all of its queries are lost.\n",
            _loss(of[Experiment.LOSS]),
        ]
    if of[Experiment.USERS]:
        parts += ["## How much depends on the number of users\n", _users(of[Experiment.USERS])]
    return "\n".join(parts)


def _comparison(rows: Iterable[Comparison]) -> str:
    header = ["", "paper", *_CHARGES.values()]
    return _table(
        header,
        [[row.what, f"{row.paper} {row.unit}".strip(), *_measured(row)] for row in rows if row.measured is not None],
    )


def _measured(row: Comparison) -> list[str]:
    assert row.measured is not None
    return [f"{row.measured[charge]:.1f} {row.unit}".strip() for charge in _CHARGES]


def _sharing(results: Sequence[PointResult]) -> str:
    header = ["operators", "queries", "sharing", "mean operators", "mean sharing", "switches", "no sharing, ms"]
    header += ["shared, ms", "with switches, ms", "saved by sharing", "switches cost"]
    rows = []
    for it in results:
        asked, totals = it.point.parameters, it.totals
        times = (totals.no_sharing, totals.shared, totals.shared + totals.punctuations)
        rows.append(
            [
                f"{asked.operators}",
                f"{asked.queries}",
                f"{asked.sharing} %",
                f"{it.mean(totals.operators):.1f}",
                f"{it.sharing_percent:.0f} %",
                f"{it.mean(totals.switches):.1f}",
                *(f"{it.milliseconds(time):,.0f}" for time in times),
                f"{it.saved_by_sharing:.1f} %",
                f"{it.overhead(Charge.EVERY):.1f} %",
            ]
        )
    return _table(header, rows)


def _loss(results: Sequence[PointResult]) -> str:
    most = max(len(loss) for loss in results[0].point.losses)
    header = ["sharing", "mean operators", "switches", *(f"{lost} lost" for lost in range(most + 1))]
    rows = []
    for it in results:
        saved = [
            f"{it.saved_by_loss(lost, Charge.EVERY):.1f} % ({it.saved_by_loss(lost, Charge.EVERY, pruned=True):.1f} %)"
            for lost in range(most + 1)
        ]
        counts = [f"{it.mean(it.totals.operators):.1f}", f"{it.mean(it.totals.switches):.1f}"]
        rows.append([f"{it.point.parameters.sharing} %", *counts, *saved])
    return _table(header, rows)


def _users(results: Sequence[PointResult]) -> str:
    header = ["users", "saved by sharing", *(f"switches cost: {text}" for text in _CHARGES.values())]
    return _table(
        header,
        [
            [
                f"{it.point.parameters.users}",
                f"{it.saved_by_sharing:.1f} %",
                *(f"{it.overhead(charge):.1f} %" for charge in _CHARGES),
            ]
            for it in results
        ],
    )


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
