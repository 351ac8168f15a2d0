"""`headgate simulate` as a person or a script runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from headgate.cli.simulate import simulate
from headgate.errors import InputError


@pytest.fixture
def app() -> typer.Typer:
    """The command on its own, registered as the main program does."""
    app = typer.Typer()
    app.command()(simulate)
    return app


def run(app: typer.Typer, *arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [*arguments, "--processes", "1"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_it_writes_the_report_and_says_where(app: typer.Typer, tmp_path: Path) -> None:
    code, out, err = run(app, "--out", str(tmp_path / "new"), "--networks", "2", "--experiment", "2")
    assert code == 0
    assert out.startswith((tmp_path / "new" / "report.md").read_text(encoding="utf-8"))
    assert f"written: {tmp_path / 'new' / 'report.md'}" in out
    assert err.splitlines()[0] == "experiment 2: 20 operators, 3 queries, 10 users, sharing 10 %: 2 networks"
    assert len(err.splitlines()) == 5


def test_json_alone_goes_to_standard_output(app: typer.Typer, tmp_path: Path) -> None:
    code, out, _ = run(app, "--out", str(tmp_path), "--networks", "1", "--experiment", "2", "--json", "--seed", "5")
    document = json.loads(out)
    assert code == 0
    assert (document["networks"], document["seed"]) == (1, 5)
    assert [row["key"] for row in document["comparison"]] == ["saved_one_lost", "saved_two_lost", "switches"]


def test_the_same_seed_writes_the_same_files(app: typer.Typer, tmp_path: Path) -> None:
    for name in ("one", "two"):
        run(app, "--out", str(tmp_path / name), "--networks", "3", "--experiment", "2", "--seed", "9")
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


@pytest.mark.parametrize("option", ["--networks", "--processes"])
def test_nothing_to_do_is_a_user_mistake(app: typer.Typer, tmp_path: Path, option: str) -> None:
    result = CliRunner().invoke(app, ["--out", str(tmp_path / "none"), option, "0"])
    assert isinstance(result.exception, InputError)
    assert str(result.exception).startswith(f"`{option} 0` leaves ")
    assert not (tmp_path / "none").exists()


def test_an_unknown_experiment_is_a_usage_error(app: typer.Typer) -> None:
    code, _, err = run(app, "--experiment", "3")
    assert code == 2
    assert "'3' is not one of" in err


def test_help_has_an_example(app: typer.Typer) -> None:
    code, out, _ = run(app, "--help")
    assert code == 0
    assert "headgate simulate --experiment 2 --networks 1000" in " ".join(out.split())
