"""One Spark for the run, and guards over its tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "spark"))  # a cluster is started as for the engine

from endpoints import Endpoint, running_endpoint
from guarded import ROOT, World, start_spark, the_world


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An unguarded session: the administrator's, who makes the tables."""
    return start_spark(tmp_path_factory.mktemp("warehouse"))


@pytest.fixture(scope="session")
def world(spark, tmp_path_factory: pytest.TempPathFactory) -> World:
    """The tables that most tests ask about."""
    return the_world(spark, lambda: tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="session")
def medical() -> Path:
    return ROOT / "examples" / "medical" / "scenario.yaml"


@pytest.fixture(scope="session")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """An endpoint whose temporary files are in a folder `temporary`, beside the data."""
    folder = tmp_path_factory.mktemp("watched")
    (folder / "temporary").mkdir()
    java = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir={folder / 'temporary'}"
    with running_endpoint(folder, config={"spark.driver.extraJavaOptions": java}) as endpoint:
        yield endpoint
