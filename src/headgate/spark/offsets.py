"""Spark's own record of what each epoch reads: a file of offsets for each, a line for each source.

    v1
    {"batchWatermarkMs":0, ...}
    {"logOffset":0}
    -

A source whose offset is that of the epoch before has nothing in the epoch: by this Spark tells whether to ask it.
"""

from __future__ import annotations

from collections.abc import Iterable

from headgate.spark.storage import Storage

_FOLDER = "checkpoint/offsets"
_VERSION = b"v1"
_NOTHING_YET = b"-"


def brings_nothing(storage: Storage, epoch: int, places: Iterable[int]) -> bool:
    """Whether none of these sources has anything in an epoch; False if that cannot be told."""
    now = _offsets(storage, epoch)
    before = _offsets(storage, epoch - 1) if epoch else []
    if now is None or before is None:
        return False
    return all(
        place < len(now) and now[place] == (before[place] if place < len(before) else _NOTHING_YET) for place in places
    )


def add_sources(storage: Storage, count: int) -> None:
    """Tell Spark of sources that were added at the end: they begin at their beginning."""
    for name in storage.names(_FOLDER):
        if name.isdigit():
            content = storage.read(f"{_FOLDER}/{name}") or b""
            storage.write(f"{_FOLDER}/{name}", content.rstrip(b"\n") + (b"\n" + _NOTHING_YET) * count)


def _offsets(storage: Storage, epoch: int) -> list[bytes] | None:
    content = storage.read(f"{_FOLDER}/{epoch}")
    if content is None:
        return None
    version, _, *offsets = content.rstrip(b"\n").split(b"\n")
    return offsets if version == _VERSION else None
