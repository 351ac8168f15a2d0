"""Put the results of a run into a folder: CSV files, the report, and the plots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headgate.errors import FileError
from headgate.simulator.experiments import Experiment
from headgate.simulator.plots import draw_figure8, draw_figure9
from headgate.simulator.report import to_markdown
from headgate.simulator.results import Charge, PointResult, compare
from headgate.simulator.tables import loss_rows, point_rows, to_csv


def prepare_folder(folder: Path) -> None:
    """Make the folder before the simulation starts, so that nobody waits for a run that cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"cannot make the folder `{folder}`: {_reason(error)}", hint="choose another with `--out`"
        ) from error


def write_results(results: Sequence[PointResult], folder: Path, *, networks: int, seed: int) -> list[Path]:
    """Write what there is to write; returns the files. Those of an earlier run with the same names are replaced."""
    of = {kind: [it for it in results if it.point.experiment is kind] for kind in Experiment}
    texts = {"report.md": to_markdown(results, networks=networks, seed=seed)}
    if of[Experiment.SHARING]:
        texts["experiment1.csv"] = to_csv(point_rows(of[Experiment.SHARING]))
    if of[Experiment.USERS]:
        texts["users.csv"] = to_csv(point_rows(of[Experiment.USERS]))
    if of[Experiment.LOSS]:
        texts["experiment2.csv"] = to_csv(loss_rows(of[Experiment.LOSS]))
    written = []
    try:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
            written.append(folder / name)
        if of[Experiment.SHARING]:
            draw_figure8(of[Experiment.SHARING], folder / "figure8.png")
            written.append(folder / "figure8.png")
        if of[Experiment.LOSS]:
            draw_figure9(of[Experiment.LOSS], folder / "figure9.png")
            written.append(folder / "figure9.png")
    except OSError as error:
        raise FileError(f"cannot write to `{folder}`: {_reason(error)}", hint="choose another with `--out`") from error
    return written


def to_document(results: Sequence[PointResult], *, networks: int, seed: int) -> dict[str, object]:
    """The same results as values that JSON can hold."""
    losses = [it for it in results if it.point.losses]
    return {
        "networks": networks,
        "seed": seed,
        "comparison": [
            {"key": row.key, "paper": float(row.paper), "unit": row.unit or "count", "measured": _rounded(row.measured)}
            for row in compare(results)
            if row.measured is not None
        ],
        "points": point_rows(results),
        "losses": loss_rows(losses),
    }


def _rounded(measured: dict[Charge, float]) -> dict[str, float]:
    return {str(charge): round(value, 3) for charge, value in measured.items()}


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
