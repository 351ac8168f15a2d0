"""What README and documents name exists: paths, modules, commands with their options, targets of the Makefile."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from repository_tree import DOCUMENTS, PACKAGE, ROOT, code_lines, inline, shown
from typer.main import get_command
from typer.testing import CliRunner

from headgate.cli.main import app

EVERY_DOCUMENT = pytest.mark.parametrize("document", DOCUMENTS, ids=shown)

_PATH = re.compile(r"[\w.*-]+(/[\w.*-]+)*/?")
_LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")
_MAKE = re.compile(r"make ([a-z][\w-]*)$")
_TARGET = re.compile(r"^([a-z][\w-]*):(?!=)", re.MULTILINE)

TOP = {path.name for path in ROOT.iterdir()} - {"out", "build", "dist"}
STAGES = {path.name for path in PACKAGE.iterdir() if path.is_dir()}


def is_repository_path(text: str) -> bool:
    """Whether a piece of code names a file or folder of this repository (and not one that a command writes)."""
    if not _PATH.fullmatch(text) or text.startswith("*"):
        return False
    first, _, rest = text.partition("/")
    if rest or text.endswith("/"):
        return first in TOP | STAGES
    return text.endswith(".py") or text in ("Makefile", "LICENSE") or re.fullmatch(r"[A-Z]+\.md", text) is not None


def exists(text: str) -> bool:
    """Whether the path is there: from the root, from the package, or, for a bare module, anywhere."""
    for base in (ROOT, PACKAGE, ROOT / "tests"):
        if any(base.glob(text.rstrip("/"))):
            return True
    return "/" not in text and any(PACKAGE.rglob(text))


@EVERY_DOCUMENT
def test_paths_that_are_named_exist(document: Path) -> None:
    named = [text for text in inline(document.read_text(encoding="utf-8")) if is_repository_path(text)]
    assert [text for text in named if not exists(text)] == []


@EVERY_DOCUMENT
def test_links_lead_somewhere(document: Path) -> None:
    targets = [match[1] for match in _LINK.finditer(document.read_text(encoding="utf-8"))]
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (document.parent / target).exists()] == []


@EVERY_DOCUMENT
def test_commands_that_are_named_work(document: Path) -> None:
    problems = [problem for line in code_lines(document) for problem in _problems(line)]
    assert problems == []


def _problems(line: str) -> list[str]:
    """What is wrong with a line that calls `headgate`; nothing for other lines."""
    if not re.match(r"headgate( |$)", line):
        return []
    words = shlex.split(line)[1:]
    command, names = get_command(app), []
    while words and not words[0].startswith("-") and hasattr(command, "commands"):
        names.append(words.pop(0))
        if names[-1] not in command.commands:
            return [f"there is no `headgate {' '.join(names)}`"]
        command = command.commands[names[-1]]
    if CliRunner().invoke(app, [*names, "--help"]).exit_code != 0:
        return [f"`headgate {' '.join(names)} --help` fails"]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    given = [word.partition("=")[0] for word in words if re.match(r"-{1,2}[a-z]", word)]
    return [f"`{line}`: there is no {word}" for word in given if word not in known | {"--help"}]


@EVERY_DOCUMENT
def test_targets_of_make_that_are_named_exist(document: Path) -> None:
    targets = set(_TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
    named = [match[1] for line in code_lines(document) if (match := _MAKE.match(line))]
    assert [name for name in named if name not in targets] == []


def test_every_command_shows_an_example_that_exists() -> None:
    commands = list(_leaves("headgate", get_command(app)))
    assert len(commands) > 5
    for name, command in commands:
        example = re.search(rf"^ *Example: ({name}\b.*)$", command.callback.__doc__ or "", re.MULTILINE)
        assert example, f"`{name} --help` shows no example"
        assert _problems(example[1]) == []
        assert [word for word in example[1].split() if is_repository_path(word) and not exists(word)] == []


def _leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its full name."""
    if not hasattr(command, "commands"):
        yield name, command
        return
    for below, inner in command.commands.items():
        yield from _leaves(f"{name} {below}", inner)


@pytest.mark.parametrize(
    "line", ["headgate fly", "headgate run x.yaml --speed 3", "headgate explain --querry q", "headgate test --unit x"]
)
def test_a_command_that_does_not_exist_is_seen(line: str) -> None:
    assert _problems(line)


@pytest.mark.parametrize("text", ["src/headgate/nothing.py", "model/nothing.py", "nothing.py", "docs/nothing.md"])
def test_a_path_that_does_not_exist_is_seen(text: str) -> None:
    assert is_repository_path(text)
    assert not exists(text)


def test_the_lives_name_every_module_on_the_way() -> None:
    """By itself or by its folder. Networks, the simulator and the commands are no part of it."""
    stages = ("model", "policy", "decision", "algebra", "rewrite", "scenario", "reference")
    stages += ("columnar", "spark", "guard")
    lives = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("life-of-a-*.md"))
    named = set(inline(lives))
    missing = []
    for stage in stages:
        for path in sorted((PACKAGE / stage).rglob("*.py")):
            local = str(path.relative_to(PACKAGE))
            inside = {f"{parent}/" for parent in path.relative_to(PACKAGE).parents if len(parent.parts) > 1}
            if path.name != "__init__.py" and local not in named and not inside & named:
                missing.append(local)
    assert missing == []
