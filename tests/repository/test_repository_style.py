"""House rules that a reader should be able to rely on."""

from __future__ import annotations

import ast
import importlib
import re
from collections import Counter
from pathlib import Path

import pytest
from repository_tree import DOCUMENTS, PACKAGE, ROOT, kept_files, module_paths, shown, tree_of

from headgate.rewrite.pipeline import OPTIMIZATIONS

MOST_LINES = 500
UNFINISHED = re.compile(r"\b(TO" + "DO|FIX" + "ME|TB" + "D|XX" + "X|Not" + r"ImplementedError)\b")
MACHINE = re.compile(
    r"(?<![\w.:/-])/(wo" + "rk|ro" + "ot|ho" + r"me/\w+)/|\bpy" + r"pi\.org\b|\bpython" + r"hosted\.org\b"
)
"""Paths of one machine and hosts of one registry, in pieces so that this file does not name them itself."""


def test_modules_are_short_enough_to_read() -> None:
    lengths = {shown(path): len(path.read_text(encoding="utf-8").splitlines()) for path in module_paths()}
    assert {path: length for path, length in lengths.items() if length > MOST_LINES} == {}


def test_modules_say_what_they_are_for() -> None:
    silent = [path for path in module_paths() if (tree := tree_of(path)).body and not ast.get_docstring(tree)]
    assert [shown(path) for path in silent] == []


def test_files_of_tests_have_names_of_their_own() -> None:
    """Folders of tests are no packages, so two files of one name hide each other when all tests run together."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("*.py") if path.name != "conftest.py")
    assert [name for name, count in names.items() if count > 1] == []


def test_packages_hold_no_logic() -> None:
    packages = [path for path in module_paths() if path.name == "__init__.py"]
    logic = [f"{shown(path)}: {ast.unparse(node)}" for path in packages for node in _logic(tree_of(path))]
    assert logic == []


def _logic(tree: ast.Module) -> list[ast.stmt]:
    """What is neither the docstring, nor an import, nor `__all__`."""
    body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    return [node for node in body if not isinstance(node, ast.Import | ast.ImportFrom) and not _is_all(node)]


def _is_all(node: ast.stmt) -> bool:
    names = [one.id for one in getattr(node, "targets", []) if isinstance(one, ast.Name)]
    return names == ["__all__"]


def test_logic_in_a_package_is_seen() -> None:
    source = '"""What."""\nfrom a import b\n__all__ = ["b"]\nx = 1\ndef f(): ...\n"more"'
    assert len(_logic(ast.parse(source))) == 3


def test_no_module_is_a_drawer_for_everything() -> None:
    drawers = {"utils.py", "util.py", "helpers.py", "common.py", "misc.py"}
    assert [shown(path) for path in module_paths() if path.name in drawers] == []


def test_nothing_is_left_unfinished() -> None:
    found = []
    for path in [*sorted(PACKAGE.rglob("*")), *DOCUMENTS, *sorted((ROOT / "examples").rglob("*"))]:
        if path.is_file() and path.suffix in (".py", ".md", ".yaml", ".sql", ".mako"):
            found += [f"{shown(path)}: {match[0]}" for match in UNFINISHED.finditer(path.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=shown)
def test_no_section_of_a_document_is_empty(path: Path) -> None:
    lines = [line for line in _without_blocks(path).splitlines() if line.strip()]
    levels = [len(line) - len(line.lstrip("#")) if line.startswith("#") else 0 for line in [*lines, "# end"]]
    empty = [lines[i] for i, level in enumerate(levels[:-1]) if level and 0 < levels[i + 1] <= level]
    assert empty == []


def _without_blocks(path: Path) -> str:
    return re.sub(r"^```.*?^```$", "(code)", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = []
    for path in kept_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{shown(path)}: {match[0]}" for match in MACHINE.finditer(text)]
    assert found == []


@pytest.mark.parametrize("text", ["/wo" + "rk/main", "see /ro" + "ot/.cache", "https://py" + "pi.org/simple"])
def test_a_machine_or_registry_is_seen(text: str) -> None:
    assert MACHINE.search(text)


@pytest.mark.parametrize("step", OPTIMIZATIONS, ids=lambda step: step.__name__)
def test_a_rewrite_is_one_file_of_its_name_and_says_why_it_is_safe(step) -> None:
    assert step.__module__.rsplit(".", 1)[1] == step.__name__
    for part in ("What:", "Why it helps:", "When it does not apply:", "Why it is safe:"):
        assert part in (step.__doc__ or ""), part


def test_every_rewrite_has_its_place_in_the_pipeline() -> None:
    files = {path.stem for path in (PACKAGE / "rewrite" / "optimize").glob("*.py")} - {"__init__"}
    assert files == {step.__name__ for step in OPTIMIZATIONS}


def test_every_exception_is_drawn_in_the_tree_of_errors() -> None:
    errors = importlib.import_module("headgate.errors")
    defined = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, Exception)}
    drawn = set(re.findall(r"[A-Z]\w+Error", (errors.__doc__ or "")))
    assert drawn == defined
