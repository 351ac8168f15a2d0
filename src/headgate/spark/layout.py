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
from headgate.columnar.plan import StreamPlan

_SPARK = {
    pa.string(): StringType(),
    pa.int64(): LongType(),
    pa.int32(): IntegerType(),
    pa.float64(): DoubleType(),
    pa.bool_(): BooleanType(),
}


def spark_type(kind: pa.DataType) -> DataType:
    """Spark's name of an Arrow type."""
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


def conformed(table: pa.Table, plan: StreamPlan, width: int, wanted: frozenset[str]) -> pa.Table:
    """These columns of tuples of the log; what was written before a bit or a fact existed does not have it."""
    fields = [field for field in kept_fields(plan, width) if field.name in wanted]
    arrays = [
        table.column(field.name) if field.name in table.column_names else _absent(field, table.num_rows)
        for field in fields
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _absent(field: pa.Field, count: int) -> pa.Array:
    if field.name[0] in "ufk":
        return pa.array(np.zeros(count, np.int64))
    return pa.nulls(count, field.type)
