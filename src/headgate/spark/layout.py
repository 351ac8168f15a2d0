"""How tuples are kept: the columns of the window log, named by position so that no name of a user's can do harm.

`t` time, `e` epoch of arrival, `id` a number for each tuple, `h` the window of rows that holds it (or `FREE`), `k` how
many facts were known, `u*` words of the bitmap of classes, `f*` words of facts, `c*` the declared columns as somebody
may see them, `r*` raw columns that only judgements look at, `d*` what masks made of raw values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from headgate.columnar.column import Column, arrow_type, from_arrow, nothing, to_arrow
from headgate.columnar.frame import WORD_BITS, Bits, Part
from headgate.columnar.plan import Plan, StreamPlan

_SPARK = {
    pa.string(): StringType(),
    pa.int64(): LongType(),
    pa.int32(): IntegerType(),
    pa.float64(): DoubleType(),
    pa.bool_(): BooleanType(),
}


def spark_type(kind: pa.DataType) -> DataType:
    """Spark's name of an Arrow type."""
    if pa.types.is_struct(kind):
        return StructType([StructField(kind[place].name, spark_type(kind[place].type)) for place in range(len(kind))])
    return _SPARK[kind]


def spark_schema(fields: Sequence[pa.Field]) -> StructType:
    """Spark's name of a schema."""
    return StructType([StructField(field.name, spark_type(field.type)) for field in fields])


def words(width: int) -> int:
    """How many words hold so many bits."""
    return max(1, -(-width // WORD_BITS))


def kept_fields(plan: StreamPlan, width: int) -> list[pa.Field]:
    """The schema of a stream's tuples in the log, for so many classes."""
    whole = pa.int64()
    fields = [pa.field(name, whole) for name in ("t", "e", "id", "h", "k")]
    fields += [pa.field(f"u{number}", whole) for number in range(words(width))]
    fields += [pa.field(f"f{number}", whole) for number in range(words(len(plan.facts)))]
    for place, column in enumerate(plan.schema.columns):
        fields.append(pa.field(f"c{place}", arrow_type(column.type)))
    for name in sorted(plan.sealed):
        fields.append(pa.field(f"r{plan.schema.position(name)}", arrow_type(plan.schema.column(name).type)))
    for number, one in enumerate(plan.derived):
        if one is not None:
            fields.append(pa.field(f"d{number}", arrow_type(plan.schema.column(one[0]).type)))
    return fields


FREE = -1
"""The holder of tuples that are in the log for every frame."""


def kept_table(part: Part, epoch: int, width: int, holder: int = FREE) -> pa.Table:
    """Tuples as the log keeps them."""
    plan = part.plan
    assert part.usable is not None
    facts = part.fact_bits_kept()
    columns: dict[str, pa.Array] = {
        "t": pa.array(part.times),
        "e": pa.array(np.full(len(part), epoch, np.int64)),
        "id": pa.array(part.uids),
        "h": pa.array(np.full(len(part), holder, np.int64)),
        "k": pa.array(part.known()),
    }
    columns |= {f"u{number}": pa.array(word) for number, word in enumerate(part.usable.words)}
    columns |= {f"f{number}": pa.array(word) for number, word in enumerate(facts.words)}
    columns |= {f"c{plan.schema.position(name)}": to_arrow(column) for name, column in part.columns.items()}
    columns |= {f"r{plan.schema.position(name)}": to_arrow(part.raw[name]) for name in plan.sealed}
    columns |= {f"d{number}": to_arrow(column) for number, column in (part.derived or {}).items()}
    fields = kept_fields(plan, width)
    arrays = [columns[field.name] if field.name in columns else pa.nulls(len(part), field.type) for field in fields]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def part_of(table: pa.Table, plan: StreamPlan, width: int, prefix: str = "") -> Part:
    """Tuples of the log, of which some columns may be missing: those that the frame does not look at."""
    present = set(table.column_names)

    def whole(name: str) -> NDArray[np.int64]:
        if prefix + name not in present:
            return np.zeros(len(table), np.int64)
        array = table.column(prefix + name)
        values: NDArray[np.int64] = (array.fill_null(0) if array.null_count else array).to_numpy()
        return values

    def column(name: str, kind: str) -> Column:
        declared = plan.schema.column(name).type
        own = f"{prefix}{kind}"
        return from_arrow(table.column(own), declared) if own in present else nothing(declared, len(table))

    schema = plan.schema
    named = {name: f"c{place}" for place, name in enumerate(schema.names) if f"{prefix}c{place}" in present}
    return Part(
        plan,
        whole("t"),
        {name: column(name, own) for name, own in named.items()},
        {name: column(name, f"r{schema.position(name)}") for name in plan.sealed},
        Bits(np.stack([whole(f"u{number}") for number in range(words(width))])),
        Bits(np.stack([whole(f"f{number}") for number in range(words(len(plan.facts)))])),
        whole("k"),
        {number: column(one[0], f"d{number}") for number, one in enumerate(plan.derived) if one is not None},
        whole("id"),
    )


def output_fields(plan: Plan, slots: Sequence[pa.Field], streams: Sequence[str]) -> list[pa.Field]:
    """The schema of what an epoch writes: rows, kept tuples and notes, told apart by `part`."""
    fields = [pa.field("part", pa.string()), pa.field("note", pa.string()), *slots]
    for place, name in enumerate(streams):
        fields.append(pa.field(f"kept{place}", pa.struct(kept_fields(plan.streams[name], plan.width))))
    return fields


def output_table(
    fields: Sequence[pa.Field],
    part: str,
    given: pa.Table | None,
    kept: tuple[str, pa.Table] | None = None,
    notes: Sequence[str] | None = None,
) -> pa.Table:
    """Rows of one part, all other columns NULL."""
    count = len(notes) if notes is not None else (given if given is not None else kept[1]).num_rows  # type: ignore[index]
    columns: dict[str, pa.Array] = {"part": pa.repeat(pa.scalar(part, pa.string()), count)}
    if notes is not None:
        columns["note"] = pa.array(notes, pa.string())
    if given is not None:
        columns |= {name: given.column(name) for name in given.column_names}
    if kept is not None:
        name, table = kept
        combined = table.combine_chunks()
        arrays = [one.chunk(0) if one.num_chunks else pa.nulls(0, one.type) for one in combined.columns]
        columns[name] = pa.StructArray.from_arrays(arrays, fields=list(table.schema))
    arrays = [columns[field.name] if field.name in columns else pa.nulls(count, field.type) for field in fields]
    return pa.Table.from_arrays(arrays, schema=pa.schema(list(fields)))
