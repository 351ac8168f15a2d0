"""A PostgreSQL server for tests: its own folder, a unix socket only, nothing kept."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest


class Server:
    """A running server; every test takes a database of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._databases = 0

    def new_database(self) -> str:
        """The URL of an empty database."""
        self._databases += 1
        name = f"catalog{self._databases}"
        with psycopg.connect(host=str(self._folder), user="headgate", dbname="postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql://headgate@/{name}?host={self._folder}"


def find_program(name: str) -> str:
    """A program of PostgreSQL, on the path or where Debian puts it; the test is skipped where there is none."""
    found = shutil.which(name) or next(
        (str(path) for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)), None
    )
    return found or pytest.skip(f"PostgreSQL is not installed: no `{name}` on the path")


def unprivileged() -> tuple[list[str], int, int]:
    """How to run a program as somebody whom PostgreSQL accepts (it refuses root), and who that is."""
    if os.geteuid() != 0:
        return [], os.geteuid(), os.getegid()
    for account in ("postgres", "nobody"):
        for prefix in (["runuser", "-u", account, "--"], ["setpriv", "--reuid", account, "--clear-groups"]):
            if shutil.which(prefix[0]) and account in {entry.pw_name for entry in pwd.getpwall()}:
                entry = pwd.getpwnam(account)
                return prefix, entry.pw_uid, entry.pw_gid
    return pytest.skip("PostgreSQL refuses to run as root, and no other account can be used")


@contextmanager
def postgres_server() -> Iterator[Server]:
    """A server that runs as long as the context."""
    prefix, user, group = unprivileged()
    initdb, pg_ctl = find_program("initdb"), find_program("pg_ctl")
    # Not below pytest's folder, into which nobody else can look; and short, as socket paths must be.
    folder = Path(tempfile.mkdtemp(prefix="hg-"))
    try:
        os.chown(folder, user, group)
        data, log = folder / "data", folder / "log"

        def run(*command: str) -> None:
            done = subprocess.run([*prefix, *command], capture_output=True, text=True, cwd=folder, timeout=60)
            assert done.returncode == 0, done.stdout + done.stderr + (log.read_text() if log.exists() else "")

        run(initdb, "-D", str(data), "-U", "headgate", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        options = f"-F -c listen_addresses='' -c unix_socket_directories='{folder}' -c shared_buffers=16MB"
        # The log goes to a file: pipes that the server inherits would never be closed.
        run(pg_ctl, "start", "-w", "-D", str(data), "-l", str(log), "-o", options)
        try:
            yield Server(folder)
        finally:
            run(pg_ctl, "stop", "-w", "-m", "fast", "-D", str(data))
    finally:
        shutil.rmtree(folder)
