"""Where catalogs are kept: addresses, files that only their owner can read, making one, and who gets there first."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headgate.errors import InputError, StoreError
from headgate.model.subject import User
from headgate.policy.store import Catalog, Change
from headgate.policy.store.engine import Location, create_file


def test_only_the_owner_can_read_a_catalog_file(tmp_path: Path) -> None:
    path = tmp_path / "a catalog?%41.db"
    with Catalog.open(path) as catalog:
        catalog.apply(Change().put(User("u")), "me", "one")
        files = list(tmp_path.iterdir())
        assert {file.name for file in files} == {path.name, f"{path.name}-wal", f"{path.name}-shm"}
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    path.chmod(0o644)
    with Catalog.open(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_catalog_file_is_never_open_to_others_even_while_it_is_made(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    modes = []
    create_file(path, lambda draft: modes.append(stat.S_IMODE(draft.location.path.stat().st_mode)))  # type: ignore[union-attr]
    assert [*modes, stat.S_IMODE(path.stat().st_mode)] == [0o600, 0o600]


def test_a_path_and_a_url_are_the_same_catalog(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    with Catalog.open(f"sqlite:///{path}") as catalog:
        catalog.apply(Change().put(User("u")), "me", "one")
    for where in (path, str(path)):
        with Catalog.open(where, create=False) as catalog:
            assert catalog.version() == 1


@pytest.mark.parametrize("where", [":memory:", "sqlite://", "sqlite:///:memory:"])
def test_catalogs_in_memory_are_apart(where: str) -> None:
    with Catalog.open(where) as one, Catalog.open(where) as two:
        one.apply(Change().put(User("u")), "me", "one")
        assert (one.version(), two.version()) == (1, 0)


def test_nothing_is_made_unless_asked_for(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no catalog"):
        Catalog.open(tmp_path / "none.db", create=False)
    with pytest.raises(StoreError, match="cannot be created: no such file"):
        Catalog.open(tmp_path / "none" / "none.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.postgres
def test_an_empty_database_is_made_a_catalog_only_if_asked_for(server: object) -> None:
    address = server.new_database()  # type: ignore[attr-defined]
    with pytest.raises(StoreError, match="there is no catalog in this database"):
        Catalog.open(address, create=False)
    Catalog.open(address).close()
    Catalog.open(address, create=False).close()


@pytest.mark.parametrize(
    ("where", "match"),
    [
        ("mysql://host/database", "neither SQLite nor PostgreSQL"),
        ("sqlite:///file?mode=ro", "has options"),
        ("://", "not understood"),
    ],
)
def test_an_address_that_is_not_understood(where: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        Catalog.open(where)


def test_a_server_out_of_reach_is_named_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as raised:
        Catalog.open(f"postgresql://me:secret@/none?host={tmp_path}")
    assert "postgresql://me:***@" in str(raised.value)
    assert "secret" not in str(raised.value)
    assert "secret" not in repr(Location.of("postgresql://me:secret@host/none").label)


def test_many_open_a_new_catalog_at_once(url: str) -> None:
    with ThreadPoolExecutor(6) as pool:
        catalogs = list(pool.map(lambda _: Catalog.open(url), range(6)))
    catalogs[0].apply(Change().put(User("u")), "me", "one")
    assert [(catalog.version(), len(catalog.history())) for catalog in catalogs] == [(1, 2)] * 6
    for catalog in catalogs:
        catalog.close()
