"""Migrations: from nothing, back and forth, and to exactly the tables that the program uses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect

from headgate.policy.store import Catalog, migrate
from headgate.policy.store.engine import Location, Store, create_file
from headgate.policy.store.tables import REVISION_TABLE, metadata


@pytest.fixture
def connection(url: str) -> Iterator[Connection]:
    location = Location.of(url)
    if location.path:
        create_file(location.path, lambda draft: None)
    store = Store(location)
    with store.writing() as opened:
        yield opened
    store.close()


def ours(connection: Connection) -> set[str]:
    return {name for name in inspect(connection).get_table_names() if name.startswith("catalog_")}


def test_upgrade_downgrade_and_upgrade_again(connection: Connection) -> None:
    assert migrate.revision(connection) is None
    migrate.upgrade(connection)
    assert migrate.revision(connection) == migrate.newest_revision()
    migrate.check_tables(connection)
    migrate.downgrade(connection)
    assert ours(connection) == {REVISION_TABLE}
    connection.exec_driver_sql(f"DROP TABLE {REVISION_TABLE}")
    migrate.upgrade(connection)
    assert ours(connection) == {REVISION_TABLE, *metadata.tables}


def test_the_migrations_make_the_tables_that_the_program_uses(connection: Connection) -> None:
    migrate.upgrade(connection)
    options = {"version_table": REVISION_TABLE, "compare_type": True, "compare_server_default": True}
    assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []


def test_a_failed_migration_leaves_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the power went out")

    with monkeypatch.context() as patch:
        patch.setattr("headgate.policy.store.opening._write_empty", fail)
        with pytest.raises(RuntimeError):
            Catalog.open(url)
    with Catalog.open(url) as catalog:
        assert catalog.version() == 0


def test_every_migration_can_be_undone(connection: Connection) -> None:
    revisions = [*sorted(migrate._known_revisions())]
    for name in revisions:
        migrate.upgrade(connection, name)
    for _ in revisions:
        migrate.downgrade(connection, "-1")
    assert ours(connection) == {REVISION_TABLE}
