"""Runs: reproducible on any number of processes, summarised and written out."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import FileError, InputError
from headgate.simulator import (
    Charge,
    Parameters,
    Point,
    PointResult,
    Totals,
    compare,
    points_of,
    prepare_folder,
    run_points,
    to_document,
    write_results,
)
from headgate.simulator import run as run_module
from headgate.simulator.experiments import DEGREES, Experiment, losses
from headgate.simulator.report import to_markdown
from headgate.simulator.run import simulate_networks

POINT = Point(Experiment.LOSS, Parameters(operators=12), losses(3))

UNHURRIED = settings(deadline=None)
"""No time limit per example: the machine may be busy with other work."""


@pytest.fixture(scope="module")
def results() -> list[PointResult]:
    """Every point of every experiment, over few networks."""
    points = points_of("all")
    return [PointResult(*pair) for pair in zip(points, run_points(points, networks=12, seed=7), strict=True)]


def test_any_number_of_processes_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    points = points_of("2")[:2]
    alone = run_points(points, networks=60, seed=3)
    monkeypatch.setattr(run_module, "CHUNK", 7)
    assert run_points(points, networks=60, seed=3, processes=2) == alone


@settings(UNHURRIED, max_examples=20)
@given(st.integers(0, 30), st.integers(0, 30))
def test_property_a_cut_run_adds_up_to_the_whole(one: int, other: int) -> None:
    low, high = sorted((one, other))
    parts = [simulate_networks(POINT, 1, *cut) for cut in ((0, low), (low, high), (high, 30))]
    whole = simulate_networks(POINT, 1, 0, 30)
    assert parts[0] + parts[1] + parts[2] == whole == parts[2] + parts[0] + parts[1]


def test_seeds_matter() -> None:
    assert simulate_networks(POINT, 1, 0, 5) != simulate_networks(POINT, 2, 0, 5)


def test_progress_counts_every_network() -> None:
    told: list[tuple[int, int]] = []
    run_points((POINT, POINT), networks=3, seed=1, progress=lambda *step: told.append(step))
    assert told == [(0, 3), (1, 3)]


@pytest.mark.parametrize(("networks", "processes", "message"), [(0, 1, "`0` networks"), (1, 0, "`0` processes")])
def test_impossible_runs_are_refused(networks: int, processes: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_points((POINT,), networks=networks, seed=1, processes=processes)


def test_the_experiments_are_those_published() -> None:
    shapes = {(it.parameters.operators, it.parameters.queries) for it in points_of("1") if it.experiment == "1"}
    assert shapes == {(15, 3), (25, 5)}
    second = points_of("2")
    assert {(it.parameters.operators, it.parameters.queries, it.parameters.streams) for it in second} == {(20, 3, 3)}
    assert all(len(it.losses) == 8 for it in second)
    assert [it.parameters.sharing for it in second] == list(DEGREES)
    assert len(points_of("all")) == len(points_of("1")) + len(second)


def test_shares_are_taken_as_the_paper_takes_them() -> None:
    totals = Totals(
        networks=2,
        operators=40,
        shared_operators=10,
        switches=22,
        no_sharing=2000,
        shared=200,
        punctuations=20,
        punctuations_matching=10,
        punctuations_batched=2,
        starved=(200, 160, 140, 90),
        pruned=(200, 160, 140, 0),
    )
    result = PointResult(Point(Experiment.LOSS, Parameters(queries=2), losses(2)), totals)
    assert result.milliseconds(totals.shared) == pytest.approx(10)
    assert result.sharing_percent == pytest.approx(25)
    assert result.saved_by_sharing == pytest.approx(90)
    assert [result.overhead(charge) for charge in Charge] == pytest.approx([10, 5, 1])
    assert result.saved_by_loss(1, Charge.EVERY) == pytest.approx(100 * (1 - 170 / 200))
    assert result.saved_by_loss(1, Charge.BATCHED) == pytest.approx(100 * (1 - 152 / 200))
    assert result.saved_by_loss(2, Charge.EVERY, pruned=True) == pytest.approx(90)


def test_comparison_has_the_five_figures_of_the_paper(results: list[PointResult]) -> None:
    rows = compare(results)
    assert [(row.key, row.paper) for row in rows] == [
        ("saved_by_sharing", "92"),
        ("overhead", "0.5"),
        ("saved_one_lost", "19"),
        ("saved_two_lost", "38"),
        ("switches", "11"),
    ]
    assert all(row.measured is not None for row in rows)
    only_first = [it for it in results if it.point.experiment is Experiment.SHARING]
    assert [row.measured is not None for row in compare(only_first)] == [True, True, False, False, False]


def test_what_is_written_can_be_read_back(results: list[PointResult], tmp_path: Path) -> None:
    written = write_results(results, tmp_path, networks=12, seed=7)
    names = {"report.md", "experiment1.csv", "users.csv", "experiment2.csv", "figure8.png", "figure9.png"}
    assert {path.name for path in written} == names == {path.name for path in tmp_path.iterdir()}
    with (tmp_path / "experiment2.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8 * len(DEGREES)
    assert {row["lost"] for row in rows} >= {"none", "q1", "q2 q3", "q1 q2 q3"}
    for name in ("figure8.png", "figure9.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_a_run_of_one_experiment_writes_only_its_own(results: list[PointResult], tmp_path: Path) -> None:
    second = [it for it in results if it.point.experiment is Experiment.LOSS]
    write_results(second, tmp_path, networks=12, seed=7)
    assert {path.name for path in tmp_path.iterdir()} == {"report.md", "experiment2.csv", "figure9.png"}
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "Experiment 2" in text
    assert "Experiment 1" not in text


def test_the_report_shows_the_paper_beside_ours(results: list[PointResult]) -> None:
    text = to_markdown(results, networks=12, seed=7)
    measured = compare(results)[1].measured
    assert measured is not None
    cells = " | ".join(f"{measured[charge]:.1f} %" for charge in Charge)
    assert f"| time added by switches, nothing lost | 0.5 % | {cells} |" in text
    assert text.startswith("# Privacy switches, simulated\n")


def test_the_document_has_every_point_and_loss(results: list[PointResult]) -> None:
    document = to_document(results, networks=12, seed=7)
    points, lost = document["points"], document["losses"]
    assert isinstance(points, list)
    assert isinstance(lost, list)
    assert len(points) == len(results)
    assert len(lost) == 8 * len(DEGREES)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(FileError, match=r"cannot make the folder `.*file/below`: not a directory"):
        prepare_folder(tmp_path / "file" / "below")


def test_a_file_that_cannot_be_written_is_refused(results: list[PointResult], tmp_path: Path) -> None:
    (tmp_path / "report.md").mkdir()
    with pytest.raises(FileError, match="cannot write to"):
        write_results(results, tmp_path, networks=12, seed=7)
