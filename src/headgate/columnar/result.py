"""Rows that come out, of all queries in one table: each output has a slot of its kind, by position.

A class knows which slots are its own and what they are called; `omitted` marks the outputs that a mask drops from a
row, `members` the subscribers of the class who have access at its time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.columnar.column import Column, to_arrow
from headgate.columnar.plan import ClassPlan, Plan
from headgate.columnar.slots import slot_type, slots_of, slots_together
from headgate.model.datatype import DataType, Value
from headgate.model.instant import Instant

Fields = Sequence[tuple[str, DataType]]

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


def all_slots(plan: Plan) -> tuple[str, ...]:
    """The slots that the classes of a plan need together."""
    return slots_together(_kinds(one.fields) for one in plan.classes)


def result_fields(slots: Sequence[str]) -> list[pa.Field]:
    """The schema of a table of results."""
    head = [pa.field(name, kind) for name, kind in HEAD]
    return head + [pa.field(slot, slot_type(slot)) for slot in slots]


def results_table(produced: Sequence[Produced], slots: Sequence[str]) -> pa.Table:
    """All rows in one table."""
    schema = pa.schema(result_fields(slots))
    filled = [one for one in produced if len(one)]
    if not filled:
        return schema.empty_table()
    arrays: dict[str, list[pa.Array]] = {slot: [] for slot in slots}
    for one in filled:
        own = dict(zip(slots_of(_kinds(one.owner.fields)), one.columns, strict=True))
        for slot in slots:
            arrays[slot].append(to_arrow(own[slot]) if slot in own else pa.nulls(len(one), slot_type(slot)))
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


def _kinds(fields: Fields) -> Iterator[DataType]:
    return (kind for _, kind in fields)


def _everybody(one: Produced) -> NDArray[np.int64]:
    return np.full(len(one), (1 << len(one.owner.members)) - 1, np.int64)


def rows_of(table: pa.Table, fields: Fields) -> list[tuple[Instant, int, dict[str, Value]]]:
    """Result time, members and row of each line of one class's part of the log."""
    slots = slots_of(_kinds(fields))
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


def by_class(table: pa.Table) -> Mapping[int, pa.Table]:
    """The part of each class."""
    owners = table.column("class").to_numpy()
    return {int(bit): table.filter(pa.array(owners == bit)) for bit in np.unique(owners)}
