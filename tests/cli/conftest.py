"""The program, run in the process of the test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from headgate.cli.main import main
from headgate.errors import HeadgateError


@pytest.fixture
def headgate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """Run the program in this process: exit code, standard output, standard error. A traceback fails the test."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["headgate", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


@pytest.fixture
def run():
    """Run one command on its own: exit code, standard output, standard error. A mistake of the user is raised."""

    def run_command(app: typer.Typer, *arguments: object) -> tuple[int, str, str]:
        result = CliRunner().invoke(app, [str(one) for one in arguments])
        if isinstance(result.exception, HeadgateError):
            raise result.exception
        return result.exit_code, result.stdout, result.stderr

    return run_command
