"""`tests/PROPERTIES.md` lists every property that is tested, and nothing else."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from repository_tree import ROOT, shown, tree_of

LIST = ROOT / "tests" / "PROPERTIES.md"
_HEADING = re.compile(r"^### `(tests/[^`]+)`$")
_ROW = re.compile(r"^\| `(\w+)` \| (\S.*) \|$")


def in_the_tests() -> Iterator[tuple[str, str]]:
    """The properties in the tests: functions `test_property_*`, and the rule-based models."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(tree_of(path)):
            is_property = isinstance(node, ast.FunctionDef) and node.name.startswith("test_property_")
            is_model = isinstance(node, ast.ClassDef) and any(
                "RuleBasedStateMachine" in ast.unparse(base) for base in node.bases
            )
            if is_property or is_model:
                yield shown(path), node.name


def on_the_list() -> Iterator[tuple[str, str]]:
    """The properties on the list: file and name."""
    file = ""
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if heading := _HEADING.match(line):
            file = heading[1]
        elif row := _ROW.match(line):
            yield file, row[1]


def test_the_list_and_the_tests_agree() -> None:
    in_tests, on_list = Counter(in_the_tests()), Counter(on_the_list())
    assert sorted(in_tests - on_list) == [], "tested, and not listed"
    assert sorted(on_list - in_tests) == [], "listed, and not tested"


def test_there_are_properties() -> None:
    assert len(list(in_the_tests())) > 40
