"""`headgate simulate`: run the published experiments on privacy switches and write what they give."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from headgate.errors import InputError
from headgate.simulator.experiments import Point, points_of
from headgate.simulator.results import PointResult
from headgate.simulator.run import Progress as Report
from headgate.simulator.run import run_points
from headgate.simulator.write import prepare_folder, to_document, write_results


class Choice(StrEnum):
    """What to run."""

    FIRST = "1"
    SECOND = "2"
    ALL = "all"


def simulate(
    out: Annotated[Path, typer.Option(help="Folder for CSV files, report and plots.")] = Path("out/simulate"),
    networks: Annotated[int, typer.Option(help="Random networks per point.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Same seed, same results, on any number of processes.")] = 2020,
    processes: Annotated[int | None, typer.Option(help="Processes to use; default: one per processor.")] = None,
    experiment: Annotated[
        Choice, typer.Option(help="1: degree of sharing (figure 8); 2: loss of access (figure 9).")
    ] = Choice.ALL,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Simulate shared-operator networks with privacy switches, as published.

    Example: headgate simulate --experiment 2 --networks 1000 --out out/loss
    """
    if networks < 1:
        raise InputError(f"`--networks {networks}` leaves nothing to simulate", hint="use at least 1")
    if processes is not None and processes < 1:
        raise InputError(f"`--processes {processes}` leaves nobody to simulate", hint="use at least 1")
    prepare_folder(out)
    points = points_of(experiment)
    with _progress(points, networks) as report:
        totals = run_points(points, networks=networks, seed=seed, processes=processes or _processors(), progress=report)
    results = [PointResult(point, total) for point, total in zip(points, totals, strict=True)]
    written = write_results(results, out, networks=networks, seed=seed)
    if as_json:
        typer.echo(json.dumps(to_document(results, networks=networks, seed=seed), indent=2))
        return
    typer.echo((out / "report.md").read_text(encoding="utf-8"))
    typer.echo("written: " + ", ".join(str(path) for path in written))


def _processors() -> int:
    """Those this process may use, which in a container are fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _progress(points: Sequence[Point], networks: int) -> Iterator[Report]:
    """A bar on a terminal, a line per finished point elsewhere; on standard error, so that results can be piped."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(points, networks)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("simulating networks", total=networks * len(points))
        yield lambda _, finished: bar.advance(task, finished)


def _lines(points: Sequence[Point], networks: int) -> Report:
    left = [networks] * len(points)

    def report(number: int, finished: int) -> None:
        left[number] -= finished
        if left[number] == 0:
            typer.echo(f"{points[number].label}: {networks} networks", err=True)

    return report
