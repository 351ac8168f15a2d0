"""Catalogs for the tests of this folder: in memory, in a file, and on a PostgreSQL server that is started for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres_server import Server, postgres_server

from headgate.policy.store import Catalog


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with postgres_server() as running:
        yield running


@pytest.fixture
def catalog() -> Iterator[Catalog]:
    with Catalog.open() as opened:
        yield opened


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a catalog may be made, on each kind of database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'catalog.db'}"
    return request.getfixturevalue("server").new_database()
