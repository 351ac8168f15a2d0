"""Attacks on guarded Spark use the same tables as the tests of the guard."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "guard"))

from guarded import World, start_spark, the_world
from live_files import LINES


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return start_spark(tmp_path_factory.mktemp("warehouse"))


@pytest.fixture(scope="session")
def world(spark, tmp_path_factory: pytest.TempPathFactory) -> World:
    return the_world(spark, lambda: tmp_path_factory.mktemp("tables"))


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """The folder of the table `live`."""
    folder = tmp_path / "json"
    folder.mkdir()
    (folder / "part.json").write_text("\n".join(map(json.dumps, LINES)))
    return folder
