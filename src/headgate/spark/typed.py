"""Tuples as they come in: from typed columns of a Spark source, or from parsed lines."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headgate.columnar.column import Column, Mask, column_of, from_arrow
from headgate.columnar.frame import Part
from headgate.columnar.plan import StreamPlan
from headgate.model.datatype import DataType, to_json
from headgate.model.element import Rejected, Tuple
from headgate.model.instant import FIRST, LAST, Instant

_BOUNDS = {DataType.INT: (-(1 << 31), (1 << 31) - 1), DataType.TIMESTAMP: (FIRST, LAST)}


def untyped_part(plan: StreamPlan, tuples: Sequence[Tuple]) -> Part:
    """Tuples that were parsed one by one."""
    cells = list(zip(*(one.values for one in tuples), strict=True))
    columns = {
        column.name: column_of(cells[position], column.type) for position, column in enumerate(plan.schema.columns)
    }
    return Part(plan, np.fromiter((one.time for one in tuples), np.int64, len(tuples)), columns)


def typed_part(
    cells: Sequence[pa.ChunkedArray], plan: StreamPlan, mark: Instant | None
) -> tuple[Part | None, list[Rejected]]:
    """Tuples of a typed source, column by column, and those that do not fit: no time, out of range, not a number, too
    late."""
    schema = plan.schema
    columns = {column.name: from_arrow(own, column.type) for column, own in zip(schema.columns, cells, strict=True)}
    time = columns[schema.time]
    reasons: list[tuple[str, Mask]] = [(f"the time column `{schema.time}` is null", ~time.present)]
    for name, column in columns.items():
        misfits = _misfits(column)
        if misfits is not None:
            reasons.append((f"column `{name}`: a value is not of type {column.type}", misfits))
    times = time.values.astype(np.int64)
    if mark is not None:
        reasons.append(("behind the watermark", times < mark))
    bad = np.zeros(len(times), bool)
    rejected = []
    for reason, mask in reasons:
        for row in np.flatnonzero(mask & ~bad).tolist():
            rejected.append(Rejected(schema.name, reason, _as_text(columns, row)))
        bad |= mask
    good = ~bad
    if not good.any():
        return None, rejected
    kept = columns if good.all() else {name: _texts_only(column.take(good)) for name, column in columns.items()}
    return Part(plan, times[good], kept), rejected


def _misfits(column: Column) -> Mask | None:
    if column.type is DataType.STRING:
        broken = [code for code, word in enumerate(column.words) if not _is_text(word)]
        if not broken:
            return None
        wrong = np.isin(column.values, broken) & column.present
    elif column.type is DataType.DOUBLE:
        wrong = ~np.isfinite(column.values) & column.present
    elif column.type in _BOUNDS:
        low, high = _BOUNDS[column.type]
        wrong = ((column.values < low) | (column.values > high)) & column.present
    else:
        return None
    return wrong if wrong.any() else None


def _is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _texts_only(column: Column) -> Column:
    """Without words that are no texts, which no row has any more."""
    if all(map(_is_text, column.words)):
        return column
    words = tuple(word if _is_text(word) else "" for word in column.words)
    return Column(column.type, column.values, column.valid, words)


def _as_text(columns: dict[str, Column], row: int) -> str:
    cells = {name: to_json(column.cell(row), column.type) for name, column in columns.items()}
    return json.dumps(cells, ensure_ascii=False, default=str)
