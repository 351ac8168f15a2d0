"""`tests/attacks/README.md` names tests that are there, for every way in."""

from __future__ import annotations

import ast
import re

from repository_tree import ROOT, tree_of

LIST = ROOT / "tests" / "attacks" / "README.md"
ROWS = re.findall(r"^\| (\d+) \| (.+) \| (.+) \|$", LIST.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_way_in_is_on_the_list() -> None:
    assert [int(number) for number, _, _ in ROWS] == list(range(1, 21))
    assert all("`tests/" in tests or tests.startswith("none yet: ") for _, _, tests in ROWS)


def test_the_tests_that_are_named_are_there() -> None:
    named = [one for _, _, tests in ROWS for one in re.findall(r"`([^`]+)`", tests)]
    assert named
    for one in named:
        path, _, name = one.partition("::")
        functions = [node.name for node in ast.walk(tree_of(ROOT / path)) if isinstance(node, ast.FunctionDef)]
        assert name in functions if name else any(each.startswith("test_") for each in functions), one


def test_every_file_of_attacks_is_named() -> None:
    text = LIST.read_text(encoding="utf-8")
    assert [one.name for one in LIST.parent.glob("test_*.py") if f"tests/attacks/{one.name}" not in text] == []
