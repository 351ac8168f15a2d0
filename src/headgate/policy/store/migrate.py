"""The tables brought to the shape that this program knows, by Alembic and without a configuration file."""

from __future__ import annotations

from pathlib import Path
from threading import Lock

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from headgate.errors import StoreError
from headgate.policy.store.tables import REVISION_TABLE, metadata

_ADVISORY_LOCK = 0x6865616467617465
"""Any number will do, so long as every program that migrates a catalog takes the same one."""

_ALEMBIC = Lock()
"""Alembic keeps the migration that is running in module globals."""


def revision(connection: Connection) -> str | None:
    """The revision of the tables; None where there are no tables of a catalog."""
    context = MigrationContext.configure(connection, opts={"version_table": REVISION_TABLE})
    found = context.get_current_heads()
    if len(found) == 1:
        return found[0]
    ours = {REVISION_TABLE, *metadata.tables} & set(inspect(connection).get_table_names())
    if found or ours:
        raise StoreError(f"not a whole catalog: it has {', '.join(sorted(ours))}, but no one schema revision")
    return None


def newest_revision() -> str:
    """The revision that this program works with."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None
    return head


def lock_for_migration(connection: Connection) -> None:
    """Let one program migrate at a time; on SQLite a writing transaction does so by itself."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})


def upgrade(connection: Connection, to: str = "head") -> None:
    """Migrate forward, inside the caller's transaction."""
    current = revision(connection)
    if current is not None and current not in _known_revisions():
        raise StoreError(f"its schema revision `{current}` is unknown: a newer Headgate made it; upgrade Headgate")
    with _ALEMBIC:
        command.upgrade(_config(connection), to)


def downgrade(connection: Connection, to: str = "base") -> None:
    """Migrate back, inside the caller's transaction. Down to `base`, everything in the catalog is dropped."""
    with _ALEMBIC:
        command.downgrade(_config(connection), to)


def check_tables(connection: Connection) -> None:
    """Refuse tables that lack something, before a query meets it half-way."""
    inspector = inspect(connection)
    there = set(inspector.get_table_names())
    for name, table in metadata.tables.items():
        if name not in there:
            raise StoreError(f"the table `{name}` is missing")
        columns = {column["name"] for column in inspector.get_columns(name)}
        for column in set(table.columns.keys()) - columns:
            raise StoreError(f"the table `{name}` has no column `{column}`")


def _known_revisions() -> set[str]:
    return {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    # A percent sign in a path would be taken for the start of a variable.
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
