"""The rows of combinations: what is seen is shown, what is not is masked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.columnar.column import Column, Mask, Rows, column_of, nothing
from headgate.columnar.evaluate import evaluate, selected
from headgate.columnar.frame import Part
from headgate.columnar.plan import ClassPlan
from headgate.columnar.result import Produced
from headgate.columnar.view import OPEN_STREAM, View
from headgate.decision.timeline.audience import Audience
from headgate.decision.timeline.tuples import Span, Tuples
from headgate.decision.timeline.version import Version
from headgate.model.datatype import DataType, Value
from headgate.model.expression.nodes import ColumnRef, Expression
from headgate.model.privilege import READ
from headgate.policy.masking import DROPPED, masked, standing_for
from headgate.policy.model import NULL_MASK, MaskKind
from headgate.policy.model import Mask as PolicyMask


@dataclass(frozen=True)
class Shown:
    """One output for some rows, and which of the rows leave it out."""

    column: Column
    omitted: Mask | None = None


def projected(view: View, rows: Rows) -> tuple[list[Column], NDArray[np.int64] | None]:
    """The outputs of these combinations, and the bits of those that are left out."""
    shown = [_shown(view, output.expression, rows) for output in view.plan.block.outputs]
    return [one.column for one in shown], omitted_bits([one.omitted for one in shown], len(rows))


_ROOM = 64
"""The outputs of a row that can be left out of it; those after them are NULL instead."""


def omitted_bits(omitted: Sequence[Mask | None], count: int) -> NDArray[np.int64] | None:
    """A bit for each output that a row leaves out; None if none does."""
    if all(one is None for one in omitted):
        return None
    bits = np.zeros(count, np.int64)
    for position, mask in enumerate(omitted):
        if mask is not None and position < _ROOM:
            bits |= np.where(mask, np.int64(1) << np.int64(position), np.int64(0))
    return bits


def _shown(view: View, expression: Expression, rows: Rows) -> Shown:
    if not isinstance(expression, ColumnRef):
        return Shown(view.evaluate(expression, READ, rows))
    alias, name = expression.source, expression.name
    whole = view.frame.column(expression).take(rows)
    seen = view.sees(alias, name, READ)
    if seen is None:
        return Shown(whole)
    visible = seen[rows]
    reached = view.reaches(alias, name)
    hidden = ~visible if reached is None else reached[rows] & ~visible
    if visible.all():
        return Shown(whole)
    return _with_masks(view, expression, rows, whole, visible, hidden)


def _with_masks(view: View, column: ColumnRef, rows: Rows, whole: Column, visible: Mask, hidden: Mask) -> Shown:
    chosen = [(visible, whole)]
    omitted = np.zeros(len(rows), bool)
    for here, mask in _masks_for(view, column, rows, hidden):
        if mask.kind is MaskKind.DROP:
            omitted |= here
        elif mask.kind is not MaskKind.NULL:
            chosen.append((here, mask_values(view, column, mask, rows, here)))
    combined = selected(chosen, column.type, len(rows))
    return Shown(combined, omitted if omitted.any() else None)


def _masks_for(view: View, column: ColumnRef, rows: Rows, hidden: Mask) -> list[tuple[Mask, PolicyMask]]:
    """Which mask stands where: of the deny that withholds the cell, else of the subject's first grant on it."""
    left = hidden
    found = []
    for clause in view.plan.guards[column.source, column.name, READ].denies:
        held = view.denied(clause)
        here = left if held is None else left & held[rows]
        if here.any():
            found.append((here, clause.mask or NULL_MASK))
            left = left & ~here
    if left.any():
        found.append((left, view.plan.masks.get((column.source, column.name), NULL_MASK)))
    return found


def mask_values(view: View, column: ColumnRef, mask: PolicyMask, rows: Rows, here: Mask) -> Column:
    """What stands for the hidden cells: of tuples of the log, what was made of the raw value when they arrived."""
    part = view.frame.parts[column.source]
    if part.derived is not None:
        kept = [number for number, one in enumerate(part.plan.derived) if one == (column.name, mask)]
        if kept and kept[0] in part.derived:
            return part.derived[kept[0]].take(rows)
    if mask.kind is MaskKind.EXPRESSION:
        stands = standing_for(mask, column.type)
        return evaluate(stands, lambda one: _raw_for_mask(view, column.source, one, rows), len(rows))
    return masked_column(part, column.name, column.type, mask, rows, here)


def masked_column(part: Part, name: str, kind: DataType, mask: PolicyMask, rows: Rows, here: Mask) -> Column:
    """A mask that needs no other cell, once for each distinct value."""
    if mask.kind is MaskKind.HASH:
        raw = part.raw[name].take(rows)
        known: dict[Value, Value] = {}
        values: list[Value] = []
        for value, wanted in zip(raw.to_list(), here.tolist(), strict=True):
            if not wanted:
                values.append(None)
                continue
            if value not in known:
                known[value] = masked(mask, value, kind, _nothing)  # type: ignore[assignment]
            values.append(known[value])
        return column_of(values, kind)
    stands = masked(mask, None, kind, _nothing)
    assert stands is not DROPPED
    return nothing(kind, len(rows)) if stands is None else column_of([stands] * len(rows), kind)  # type: ignore[list-item]


def _nothing(_: ColumnRef) -> None:
    return None


def _raw_for_mask(view: View, alias: str, column: ColumnRef, rows: Rows) -> Column:
    part = view.part_for(alias, column.source)
    return nothing(column.type, len(rows)) if part is None else part.raw[column.name].take(rows)


def derive(part: Part) -> dict[int, Column]:
    """What masks make of the raw values of fresh tuples, for the log."""
    everything = np.ones(len(part), bool)
    rows = np.arange(len(part))
    made = {}
    for number, one in enumerate(part.plan.derived):
        if one is None:
            continue
        name, mask = one
        kind = part.stream.column(name).type
        if mask.kind is MaskKind.EXPRESSION:
            made[number] = evaluate(standing_for(mask, kind), lambda column: part.raw[column.name], len(part))
        else:
            made[number] = masked_column(part, name, kind, mask, rows, everything)
    return made


def with_members(one: Produced, version: Version, within: Span | None = None) -> Produced:
    """The terminal switch: who of the class has access at each result's time, all of which lie `within`."""
    if not one.owner.punctuated or not len(one):
        return one
    if within is not None and version.on_throughout(one.owner.query, one.owner.members, within, every=True):
        return one
    audiences = [Audience(one.owner.query, frozenset(), frozenset([member])) for member in one.owner.members]
    sight = version.visible(OPEN_STREAM, ["ts"], audiences, Tuples(one.times, within=within))["ts"]
    if sight.constant == (1 << len(audiences)) - 1:
        return one
    members = np.array(sight.bitmaps, np.int64)[sight.numbers]
    return _some(Produced(one.owner, one.times, one.columns, members, one.omitted), members != 0)


def _some(one: Produced, rows: Mask) -> Produced:
    if rows.all():
        return one
    return Produced(
        one.owner,
        one.times[rows],
        tuple(column.take(rows) for column in one.columns),
        None if one.members is None else one.members[rows],
        None if one.omitted is None else one.omitted[rows],
    )


def produced(view: View, rows: Rows, version: Version) -> Produced:
    """The rows of a class for these combinations, judged at their own time."""
    owner: ClassPlan = view.entry.owner
    columns, omitted = projected(view, rows)
    made = Produced(owner, view.frame.now[rows], tuple(columns), None, omitted)
    return with_members(made, version, view.frame.within)
