"""A handle: the one name under which a user gets the results of a query, for as long as policies let the query run.

The name is a URI that nobody can guess, and it is good for the user it was given to only. Results are numbered, so that
a reader who comes back goes on where it stopped; one who never comes holds up nobody, as only the last ones are kept.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from urllib.parse import quote

from headgate.model.datatype import Value
from headgate.model.instant import Instant

KEPT_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Delivered:
    """One result; numbers count from one."""

    number: int
    time: Instant
    row: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Page:
    """What a reader gets: results in order, how many between these and the last page were thrown away, and, once the
    handle is closed, why."""

    rows: tuple[Delivered, ...]
    missed: int = 0
    closed: str | None = None


class Handle:
    """Open until it is closed, once, with a reason."""

    def __init__(self, user: str, stream: str, kept_rows: int = KEPT_ROWS) -> None:
        self.uri = f"headgate://{quote(stream, safe='')}/{secrets.token_urlsafe(24)}"
        self.user = user
        self.stream = stream
        self._rows: deque[Delivered] = deque(maxlen=kept_rows)
        self._count = 0
        self._closed: str | None = None
        self._lock = Lock()

    def deliver(self, time: Instant, row: Mapping[str, Value]) -> None:
        """Take a result. INVARIANT: a closed handle takes nothing, whatever the engine still sends."""
        with self._lock:
            if self._closed is None:
                self._count += 1
                self._rows.append(Delivered(self._count, time, dict(row)))

    def read(self, after: int = 0) -> Page:
        """The results after the one with this number."""
        with self._lock:
            rows = tuple(one for one in self._rows if one.number > after)
            first = rows[0].number if rows else self._count + 1
            return Page(rows, max(0, first - after - 1), self._closed)

    def close(self, reason: str) -> bool:
        """Close it, and throw away what was not read yet; False if it was closed before."""
        with self._lock:
            if self._closed is not None:
                return False
            self._closed = reason
            self._rows.clear()
            return True

    @property
    def closed(self) -> str | None:
        """Why it is closed; None while it is open."""
        return self._closed
