"""The network stands above the reference, Spark and the simulator, and imports none of them."""

from __future__ import annotations

import ast
from pathlib import Path

import headgate.network

ABOVE = ("headgate.errors", "headgate.model", "headgate.policy", "headgate.decision", "headgate.algebra")
ALLOWED = (*ABOVE, "headgate.rewrite", "headgate.network")


def test_imports_point_up_the_list_of_folders_only() -> None:
    folder = Path(headgate.network.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.split(".")[0] != "pyspark", path.name
                assert not name.startswith("headgate.") or name.startswith(ALLOWED), f"{path.name} imports {name}"
