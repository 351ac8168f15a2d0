"""From an address to a store that is ready: made where there is none, migrated where it is old, refused if broken."""

from __future__ import annotations

import os

from sqlalchemy import Connection

from headgate.errors import StoreError
from headgate.policy.store import migrate, rows
from headgate.policy.store.content import Content
from headgate.policy.store.engine import Location, Store, check_file, create_file
from headgate.policy.store.version import Clock, Signature, Version

FIRST_AUTHOR = "headgate"


def open_store(where: str | os.PathLike[str], create: bool, clock: Clock) -> Store:
    """The store at an address."""
    location = Location.of(where)
    if location.path is not None:
        if not location.path.exists():
            if not create:
                raise StoreError(f"{location.label}: there is no catalog")
            create_file(location.path, lambda draft: _found(draft, clock))
        check_file(location.path)
    store = Store(location)
    try:
        # A file that is there holds a catalog or is broken. Only a server's database, or memory, may begin empty.
        _prepare(store, create and location.path is None, clock)
    except BaseException:
        store.close()
        raise
    return store


def _prepare(store: Store, create: bool, clock: Clock) -> None:
    with store.reading() as connection:
        current = migrate.revision(connection)
    if current is None:
        if not create:
            raise StoreError(f"{store.location.label}: there is no catalog in this database")
        _found(store, clock)
    elif current != migrate.newest_revision():
        with store.writing() as connection:
            migrate.lock_for_migration(connection)
            migrate.upgrade(connection)
    with store.reading() as connection:
        migrate.check_tables(connection)


def _found(store: Store, clock: Clock) -> None:
    """Make the tables and the empty version 0, in one transaction."""
    with store.writing() as connection:
        migrate.lock_for_migration(connection)
        if migrate.revision(connection) is None:  # else another program was faster
            migrate.upgrade(connection)
            _write_empty(connection, clock)


def _write_empty(connection: Connection, clock: Clock) -> None:
    content = Content.empty()
    signed = Signature.of(FIRST_AUTHOR, "an empty catalog", clock)
    rows.write_first(connection, Version.sealed(0, rows.NO_DIGEST, content, {}, signed), content)
