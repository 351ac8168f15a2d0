"""Spark's own record of what each epoch reads: a file of offsets for each, a line for each source.

    v1
    {"batchWatermarkMs":0, ...}
    {"logOffset":0}
    -

A source whose offset is that of the epoch before has nothing in the epoch: by this Spark tells whether to ask it.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame

from headgate.errors import StoreError
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


def pad_offsets(storage: Storage, count: int) -> None:
    """Tell Spark of sources that were added at the end, so that there are so many: they begin at their beginning.

    To a total, so that a driver that went down over it can do it again.
    """
    for epoch in planned_epochs(storage):
        offsets = _offsets(storage, epoch)
        if offsets is None:
            raise StoreError(
                f"`{storage.root}/{_FOLDER}/{epoch}` is written in a way that is not known: no source can be added"
            )
        if len(offsets) < count:
            path = f"{_FOLDER}/{epoch}"
            content = storage.read(path) or b""
            storage.write(path, content.rstrip(b"\n") + (b"\n" + _NOTHING_YET) * (count - len(offsets)))


def planned_epochs(storage: Storage) -> list[int]:
    """The epochs of which Spark has written down what they read, in order; the oldest ones it has forgotten."""
    return sorted(int(name) for name in storage.names(_FOLDER) if name.isdigit())


def sources_in(elements: DataFrame) -> int:
    """How many sources Spark sees in a frame: as many lines it writes. One that a user made may have several."""
    leaves = elements._jdf.queryExecution().analyzed().collectLeaves()
    kinds = (leaves.apply(place).getClass().getSimpleName() for place in range(leaves.size()))
    return sum(kind.startswith("StreamingRelation") for kind in kinds)


def _offsets(storage: Storage, epoch: int) -> list[bytes] | None:
    content = storage.read(f"{_FOLDER}/{epoch}")
    if content is None:
        return None
    version, _, *offsets = content.rstrip(b"\n").split(b"\n")
    return offsets if version == _VERSION else None
