"""The push source: programs put elements into a folder that the engine reads, one file for each time they do."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Sequence
from threading import Lock

from headgate.model.schema import StreamCatalog
from headgate.spark.storage import Storage

FOLDER = "push"


class PushFolder:
    """Writes lines that begin with the number of their stream. What has been written survives a crash."""

    def __init__(self, storage: Storage, streams: StreamCatalog) -> None:
        self._storage = storage
        self._numbers = {name: number for number, name in enumerate(streams.names)}
        self._streams = streams
        self._lock = Lock()
        self._last = 0
        storage.write(f"{FOLDER}/.keep", b"")

    def put(self, stream: str, lines: Sequence[str]) -> None:
        """Put elements of one stream."""
        self.put_lines((stream, line) for line in lines)

    def put_lines(self, lines: Iterable[tuple[str, str]], name: str | None = None) -> None:
        """Put elements of several streams, which will be in one epoch together."""
        text = "".join(f"{self._number(stream)}\t{_one_line(line)}\n" for stream, line in lines)
        if text:
            self._write(text.encode("utf-8", "surrogatepass"), name)

    def _write(self, content: bytes, name: str | None = None) -> None:
        with self._lock:
            # Spark takes files by the time of their last change: later ones must not look equally old.
            self._last = max(self._last + 1, time.time_ns() // 1_000_000)
            path = f"{FOLDER}/{name or f'{self._last}-{uuid.uuid4().hex[:8]}'}.txt"
            self._storage.write(path, content)
            self._storage.set_time(path, self._last)

    def put_nothing(self) -> None:
        """Make Spark begin an epoch that has no elements."""
        self._write(b"")

    def _number(self, stream: str) -> int:
        return self._numbers[self._streams.stream(stream).name]


def _one_line(line: str) -> str:
    return line.replace("\r", " ").replace("\n", " ")
