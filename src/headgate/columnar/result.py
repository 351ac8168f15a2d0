"""Rows that come out, of all queries in one table: each output has a slot of its kind, by position.

One log for all queries needs one schema. A class knows which slots are its own and what they are called; `omitted`
marks the outputs that a mask drops from a row, `members` the subscribers of the class who have access at its time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.columnar.column import Column, arrow_type, to_arrow
from headgate.columnar.plan import ClassPlan, Plan
from headgate.model.datatype import DataType, Value
from headgate.model.instant import Instant

Fields = Sequence[tuple[str, DataType]]

_LETTERS = {DataType.STRING: "s", DataType.DOUBLE: "d", DataType.BOOLEAN: "b"}
_TYPES = {"s": pa.string(), "i": pa.int64(), "d": pa.float64(), "b": pa.bool_()}

HEAD = (("class", pa.int32()), ("ts", pa.int64()), ("members", pa.int64()), ("omitted", pa.int64()))
"""What every row has: whose it is, its result time, who may have it, and what is left out of it."""


@dataclass(frozen=True)
class Produced:
    """Rows of one class: a column for each output, all of one length."""

    owner: ClassPlan
    times: NDArray[np.int64]
    columns: tuple[Column, ...]
    members: NDArray[np.int64] | None = None
    omitted: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.times)


def slots_of(fields: Fields) -> tuple[str, ...]:
    """The slot of each output.

    >>> slots_of([("a", DataType.INT), ("b", DataType.STRING), ("c", DataType.TIMESTAMP)])
    ('i0', 's0', 'i1')
    """
    used: dict[str, int] = {}
    found = []
    for _, kind in fields:
        letter = _LETTERS.get(kind, "i")
        found.append(f"{letter}{used.get(letter, 0)}")
        used[letter] = used.get(letter, 0) + 1
    return tuple(found)


def all_slots(plan: Plan) -> tuple[str, ...]:
    """The slots that the classes of a plan need together."""
    found = {slot for one in plan.classes for slot in slots_of(one.fields)}
    return tuple(sorted(found, key=lambda slot: (slot[0], int(slot[1:]))))


def result_fields(slots: Sequence[str]) -> list[pa.Field]:
    """The schema of a table of results."""
    head = [pa.field(name, kind) for name, kind in HEAD]
    return head + [pa.field(slot, _TYPES[slot[0]]) for slot in slots]


def results_table(produced: Sequence[Produced], slots: Sequence[str]) -> pa.Table:
    """All rows in one table."""
    schema = pa.schema(result_fields(slots))
    filled = [one for one in produced if len(one)]
    if not filled:
        return schema.empty_table()
    arrays: dict[str, list[pa.Array]] = {slot: [] for slot in slots}
    for one in filled:
        own = dict(zip(slots_of(one.owner.fields), one.columns, strict=True))
        for slot in slots:
            kind = _TYPES[slot[0]]
            arrays[slot].append(to_arrow(own[slot]) if slot in own else pa.nulls(len(one), kind))
    counts = [len(one) for one in filled]
    zeros = [np.zeros(count, np.int64) for count in counts]
    head = {
        "class": np.repeat(np.array([one.owner.bit for one in filled], np.int32), counts),
        "ts": np.concatenate([one.times for one in filled]),
        "members": np.concatenate([_everybody(one) if one.members is None else one.members for one in filled]),
        "omitted": np.concatenate(
            [zero if one.omitted is None else one.omitted for one, zero in zip(filled, zeros, strict=True)]
        ),
    }
    columns = [pa.array(values) for values in head.values()] + [pa.chunked_array(arrays[slot]) for slot in slots]
    return pa.Table.from_arrays(columns, schema=schema)


def _everybody(one: Produced) -> NDArray[np.int64]:
    return np.full(len(one), (1 << len(one.owner.members)) - 1, np.int64)


def rows_of(table: pa.Table, fields: Fields) -> list[tuple[Instant, int, dict[str, Value]]]:
    """Result time, members and row of each line of one class's part of the log."""
    slots = slots_of(fields)
    present = set(table.column_names)
    cells = [table.column(slot).to_pylist() if slot in present else [None] * len(table) for slot in slots]
    rows = []
    marks = zip(
        table.column("ts").to_pylist(),
        table.column("members").to_pylist(),
        table.column("omitted").to_pylist(),
        strict=True,
    )
    for (time, members, omitted), values in zip(
        marks, zip(*cells, strict=True) if cells else [()] * len(table), strict=True
    ):
        row = {
            name: value
            for position, ((name, _), value) in enumerate(zip(fields, values, strict=True))
            if not omitted >> position & 1
        }
        rows.append((time, members, row))
    return rows


def typed_null(kind: DataType, count: int) -> pa.Array:
    """A stored column of NULLs."""
    return pa.nulls(count, arrow_type(kind))


def by_class(table: pa.Table) -> Mapping[int, pa.Table]:
    """The part of each class."""
    owners = table.column("class").to_numpy()
    return {int(bit): table.filter(pa.array(owners == bit)) for bit in np.unique(owners)}
