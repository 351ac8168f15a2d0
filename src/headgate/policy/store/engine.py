"""Where a catalog is kept, and connections to it: a SQLite file that only its owner can read, memory, or PostgreSQL."""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from headgate.errors import InputError, StoreError

BUSY_SECONDS = 30
"""How long a connection waits for another writer before it gives up."""

_WRITING = "headgate_writing"

# INVARIANT: all that one transaction reads is of one moment, so that the head and the versions agree.
_SERVER_READING = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
# INVARIANT: a writer that waited for the head's row sees the row as the other writer left it. Under stricter levels,
# which a database may have as its default, it would fail instead.
_SERVER_WRITING = {"isolation_level": "READ COMMITTED", "postgresql_readonly": False}

_HINT = "give a path, `sqlite:///file` or `postgresql://host/database`"


@dataclass(frozen=True)
class Location:
    """Where a catalog is: a file, a server, or with neither given memory; `label` names it, without secrets."""

    label: str
    path: Path | None = None
    server: URL | None = None

    @classmethod
    def of(cls, where: str | os.PathLike[str]) -> Location:
        """Read a path or URL."""
        text = os.fspath(where)
        if "://" not in text:
            return cls("memory") if text == ":memory:" else cls(text, path=Path(text))
        try:
            url = make_url(text)
        except (ArgumentError, ValueError) as error:
            raise InputError("the address of the catalog is not understood", hint=_HINT) from error
        label = url.render_as_string(hide_password=True)
        match url.get_backend_name():
            case "sqlite" if url.query:
                raise InputError(f"`{label}` has options, which a SQLite catalog does not take", hint=_HINT)
            case "sqlite":
                return cls.of(url.database or ":memory:")
            case "postgresql":
                return cls(label, server=url.set(drivername="postgresql+psycopg"))
        raise InputError(f"`{label}` is neither SQLite nor PostgreSQL", hint=_HINT)


class Store:
    """An engine on a location; every transaction goes through `reading` or `writing`, every failure is a StoreError."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self._identity = _identity(location.path) if location.path else None
        with store_errors(location.label):
            self.engine = _server_engine(location.server) if location.server else _sqlite_engine(location.path)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database."""
        with self._connection(writing=False) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that changes the database, all or nothing."""
        with self._connection(writing=True) as connection:
            yield connection

    @contextmanager
    def _connection(self, *, writing: bool) -> Iterator[Connection]:
        self._check_file()
        with store_errors(self.location.label), self.engine.connect() as connection:
            connection.execution_options(**{_WRITING: writing})
            if self.location.server is not None:
                connection.execution_options(**(_SERVER_WRITING if writing else _SERVER_READING))
            with connection.begin():
                yield connection

    def _check_file(self) -> None:
        # An open file that was removed or replaced still takes writes, which nobody else would ever see.
        if self.location.path is not None and _identity(self.location.path) != self._identity:
            raise StoreError(f"{self.location.label}: the file was removed or replaced while it was in use")

    def close(self) -> None:
        self.engine.dispose()


@contextmanager
def store_errors(label: str) -> Iterator[None]:
    """What a database says, as a StoreError that names the catalog; never with the statement or its values."""
    try:
        yield
    except DBAPIError as error:
        raise StoreError(f"{label}: {str(error.orig).strip()}") from error
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise StoreError(f"{label}: {error}") from error
    except StoreError as error:
        raise error if str(error).startswith(f"{label}: ") else StoreError(f"{label}: {error}") from error


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _server_engine(url: URL) -> Engine:
    try:
        return create_engine(url, pool_pre_ping=True)
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        raise StoreError("the driver for PostgreSQL is not installed: install `psycopg[binary]`") from error


def _sqlite_engine(path: Path | None) -> Engine:
    # `mode=rw`: connecting never creates a file. In memory there is one connection, which its users take in turn.
    address = f"{path.absolute().as_uri()}?mode=rw" if path else "file::memory:"
    sizes = {} if path else {"pool_size": 1, "max_overflow": 0, "pool_timeout": BUSY_SECONDS}
    engine = create_engine("sqlite://", creator=_connector(address), poolclass=QueuePool, **sizes)
    event.listen(engine, "begin", _begin)
    return engine


def _connector(address: str) -> Callable[[], sqlite3.Connection]:
    def connect() -> sqlite3.Connection:
        # `isolation_level=None`: Python's sqlite3 would otherwise decide by itself where transactions begin.
        connection = sqlite3.connect(
            address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            # FULL: a revocation that was acknowledged survives a power cut.
            for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF"):
                connection.execute(f"PRAGMA {setting}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    return connect


def _begin(connection: Connection) -> None:
    # A writer takes the lock at once: upgrading a read lock later could fail although nobody is in the way for long.
    writing = connection.get_execution_options().get(_WRITING, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def create_file(path: Path, fill: Callable[[Store], None]) -> None:
    """Make a catalog file whole under another name first: nobody ever opens one that is half made."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.absolute().parent)
        os.close(handle)
        draft = Path(name)
        try:
            store = Store(Location(str(path), path=draft))
            try:
                fill(store)
            finally:
                store.close()
            _publish(draft, path)
        finally:
            draft.unlink()
    except OSError as error:
        raise StoreError(f"{path}: cannot be created: {(error.strerror or str(error)).lower()}") from error


def _publish(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        return  # another process made one at the same moment: that one counts


def check_file(path: Path) -> None:
    """Refuse a file that cannot be a catalog, and close it to everybody but its owner."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise StoreError(f"{path}: not a file")
        if status.st_size == 0:
            raise StoreError(f"{path}: the file is empty; if a new catalog is meant, remove it")
        if stat.S_IMODE(status.st_mode) & 0o077:
            path.chmod(0o600)
    except OSError as error:
        raise StoreError(f"{path}: cannot be used: {(error.strerror or str(error)).lower()}") from error
