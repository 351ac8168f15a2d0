"""The README does what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from repository_tree import ROOT, Block, fenced, inline
from typer.testing import CliRunner

from headgate.cli.main import app

README = ROOT / "README.md"


def files_and_sessions() -> tuple[dict[str, str], list[Block]]:
    """The files that the README shows, by the name that stands before each, and what is typed."""
    files, sessions = {}, []
    for block in fenced(README):
        if block.language == "yaml":
            names = [name for name in inline(block.before) if name.endswith(".yaml")]
            files[names[-1]] = block.text
        elif block.language == "console":
            sessions.append(block)
    return files, sessions


def typed(session: Block) -> list[tuple[str, list[list[str]]]]:
    """Commands of a session, each with the words of its output, line by line."""
    commands: list[tuple[str, list[list[str]]]] = []
    for line in session.text.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        elif line.strip():
            commands[-1][1].append(line.split())
    return commands


def output_of(command: str) -> str:
    """What a command prints; `cat` is all there is beside `headgate`."""
    words = shlex.split(command)
    if words[0] == "cat":
        return "".join(Path(name).read_text(encoding="utf-8") for name in words[1:])
    assert words[0] == "headgate"
    outcome = CliRunner().invoke(app, words[1:], catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


def test_the_examples_give_what_they_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files, sessions = files_and_sessions()
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    shown = [pair for session in sessions for pair in typed(session)]
    assert shown
    for command, lines in shown:
        assert [line.split() for line in output_of(command).splitlines() if line.strip()] == lines, command


def test_the_first_example_is_ten_lines_and_ends_in_a_denied_row() -> None:
    files, sessions = files_and_sessions()
    assert len(next(iter(files.values())).splitlines()) == 10
    assert "denied" in typed(sessions[0])[-1][1][-1]


def test_continuous_integration_runs_the_test_command_of_the_readme() -> None:
    commands = [line.strip() for block in fenced(README) if block.language == "sh" for line in block.text.splitlines()]
    tests = [line.partition("#")[0].strip() for line in commands if re.match(r"make test\b", line)]
    script = [line for line in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines() if line]
    run = [line for line in script if not line.startswith(("#", "set ", "cd "))]
    assert tests == ["make test"]
    assert run == tests


def test_the_data_path_shows_every_folder_of_the_package() -> None:
    path = next(block.text for block in fenced(README) if block.text.startswith("src/headgate/"))
    shown = re.findall(r"^  (\w+)(?:/|\.py) ", path, flags=re.MULTILINE)
    package = ROOT / "src" / "headgate"
    there = {one.name for one in package.iterdir() if one.is_dir() and any(one.glob("*.py"))} | {"errors"}
    assert set(shown) == there
