"""What an engine's folder contains, for tests that look for what must not be there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.spark.packing import SUFFIX, unpack


def at_rest(root: Path) -> Iterator[tuple[str, bytes]]:
    """Every file with what it says, as it is and unpacked, except where the elements came in."""
    for path in root.rglob("*"):
        relative = path.relative_to(root)
        if path.is_file() and relative.parts[0] != "push":
            yield str(relative), path.read_bytes() + _unpacked(path)


def _unpacked(path: Path) -> bytes:
    """The tables that a file carries: what they say, and what stands in them where they say NULL."""
    if path.suffix == SUFFIX:
        return _said(unpack(path.read_bytes()))
    if path.suffix != ".parquet" or "part=note" in str(path):
        return b""
    bodies = pq.read_table(path, partitioning=None).column("body").to_pylist()
    return b"".join(_said(unpack(body)) for body in bodies)


def _said(table: pa.Table) -> bytes:
    chunks = [chunk for column in table.columns for chunk in column.chunks]
    buffers = [bytes(buffer) for chunk in chunks for buffer in chunk.buffers() if buffer is not None]
    return repr(table.to_pydict()).encode() + b"".join(buffers)
