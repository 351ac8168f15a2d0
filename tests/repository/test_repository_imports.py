"""Folders are stages: imports point up the list, so that a reader follows the data path downwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from repository_tree import PACKAGE, ROOT, module_name, module_paths, shown, tree_of

STAGES = (
    "errors",
    "model",
    "policy",
    "decision",
    "algebra",
    "rewrite",
    "network",
    "scenario",
    "reference",
    "columnar",
    "spark",
    "guard",
    "delivery",
    "service",
    "simulator",
    "cli",
    "testing",
)
"""The data path, from the top. A stage may import itself and what stands above it."""

WITH_SPARK = ("spark", "guard")


def imported_names(tree: ast.Module, name: str, is_package: bool) -> Iterator[str]:
    """Every module a file imports, wherever in the file: in functions, for type checking only, or by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            home = node.module or ""
            if node.level:
                parts = name.split(".")
                parts = parts[: len(parts) - node.level + is_package]
                home = ".".join([*parts, *([node.module] if node.module else [])])
            # `from headgate import policy` names a module in its second half.
            yield from ([f"{home}.{alias.name}" for alias in node.names] if home == "headgate" else [home])
        elif isinstance(node, ast.Call) and _is_import_call(node.func):
            yield from (one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str))


def _is_import_call(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("import_module", "__import__")


def stage_of(name: str) -> str | None:
    """The stage of a module of ours; None for another's, and for the package itself."""
    parts = name.split(".")
    return parts[1] if parts[0] == "headgate" and len(parts) > 1 else None


def forbidden(name: str, tree: ast.Module, is_package: bool = False) -> list[str]:
    """What is wrong with the imports of a module, as messages."""
    own = stage_of(name)
    found = []
    for other in imported_names(tree, name, is_package):
        stage = stage_of(other)
        if other.split(".")[0] == "pyspark" and own not in WITH_SPARK:
            found.append(f"{name} imports {other}: only {' and '.join(WITH_SPARK)} may")
        if other == "headgate":
            found.append(f"{name} imports the package itself")
        if own is None or stage is None:
            continue
        if STAGES.index(stage) > STAGES.index(own) or (own == "testing" and stage == "cli"):
            found.append(f"{name} imports {other}, which stands below it")
    return found


def test_imports_point_up_the_list_of_stages() -> None:
    found = [forbidden(module_name(path), tree_of(path), path.name == "__init__.py") for path in module_paths()]
    assert [message for messages in found for message in messages] == []


def test_every_folder_is_a_stage() -> None:
    found = {stage_of(module_name(path)) for path in module_paths()} - {None}
    assert found <= set(STAGES)


def test_only_tests_of_spark_import_pyspark() -> None:
    for path in sorted((ROOT / "tests").rglob("*.py")):
        folder = path.relative_to(ROOT / "tests").parts[0]
        if folder not in (*WITH_SPARK, "attacks"):  # which are those on Spark
            names = imported_names(tree_of(path), f"tests.{path.stem}", is_package=False)
            assert not any(name.split(".")[0] == "pyspark" for name in names), shown(path)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("headgate.model.schema", "from headgate.policy.model import Policy"),
        ("headgate.model.schema", "from headgate import policy"),
        ("headgate.model.schema", "from ..policy import model"),
        ("headgate.model.schema", "def late():\n    import headgate.cli.main"),
        ("headgate.model.schema", "if TYPE_CHECKING:\n    from headgate.algebra import query"),
        ("headgate.model.schema", "importlib.import_module('headgate.reference.engine')"),
        ("headgate.model.schema", "from pyspark.sql import DataFrame"),
        ("headgate.model.schema", "import headgate"),
        ("headgate.testing.streams", "from headgate.cli.main import app"),
    ],
)
def test_an_import_that_points_down_is_seen(name: str, source: str) -> None:
    assert len(forbidden(name, ast.parse(source))) == 1


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("headgate.policy.model", "from headgate.model.schema import Column\nfrom . import scope\nimport re"),
        ("headgate.testing.streams", "from headgate.simulator import generate"),
        ("headgate.spark.lowering", "from pyspark.sql import DataFrame"),
    ],
)
def test_an_import_that_points_up_is_allowed(name: str, source: str) -> None:
    assert forbidden(name, ast.parse(source)) == []


def test_the_package_is_where_it_is_looked_for() -> None:
    assert (PACKAGE / "errors.py").is_file()
    assert len(module_paths()) > 100
