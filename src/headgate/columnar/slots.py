"""Columns of several schemas in one table: each has a slot of its kind, by position.

One log for the rows of all queries needs one schema, and so does one reader for the tuples of all streams.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from headgate.model.datatype import DataType

_LETTERS = {DataType.STRING: "s", DataType.DOUBLE: "d", DataType.BOOLEAN: "b"}
_TYPES = {"s": pa.string(), "i": pa.int64(), "d": pa.float64(), "b": pa.bool_()}


def slots_of(kinds: Iterable[DataType]) -> tuple[str, ...]:
    """The slot of each column.

    >>> slots_of([DataType.INT, DataType.STRING, DataType.TIMESTAMP])
    ('i0', 's0', 'i1')
    """
    used: dict[str, int] = {}
    found = []
    for kind in kinds:
        letter = _LETTERS.get(kind, "i")
        found.append(f"{letter}{used.get(letter, 0)}")
        used[letter] = used.get(letter, 0) + 1
    return tuple(found)


def slots_together(schemas: Iterable[Iterable[DataType]]) -> tuple[str, ...]:
    """The slots that several schemas need; they share them.

    >>> slots_together([[DataType.INT, DataType.STRING], [DataType.DATE, DataType.INT]])
    ('i0', 'i1', 's0')
    """
    found = {slot for kinds in schemas for slot in slots_of(kinds)}
    return tuple(sorted(found, key=lambda slot: (slot[0], int(slot[1:]))))


def slot_type(slot: str) -> pa.DataType:
    """How the columns in a slot are stored."""
    return _TYPES[slot[0]]
