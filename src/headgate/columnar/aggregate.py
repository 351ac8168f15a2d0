"""Aggregates over windows: groups of combinations, each function over exactly the cells covered for it.

All windows that close together are computed together: the end of its window is part of a combination's group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.columnar.column import Column, Mask, Rows, Values, column_of, with_ordered_words
from headgate.columnar.evaluate import evaluate, selected
from headgate.columnar.frame import Frame
from headgate.columnar.plan import Groups
from headgate.columnar.project import omitted_bits, with_members
from headgate.columnar.result import Produced
from headgate.columnar.view import View
from headgate.decision.timeline.version import Version
from headgate.model.datatype import DataType, Value
from headgate.model.expression.evaluate import fit
from headgate.model.expression.nodes import AggregateCall, ColumnRef, Expression, columns_of
from headgate.model.privilege import ASSIST, READ
from headgate.policy.masking import DROPPED, masked
from headgate.policy.model import NULL_MASK

Numbers = NDArray[np.int64]

_SAFE = 1 << 62


def aggregated(view: View, mask: Mask | None, version: Version) -> Produced:
    """The rows of every group of every window in the frame."""
    groups = view.plan.groups
    assert groups is not None
    rows = np.arange(view.frame.count) if mask is None else np.flatnonzero(mask)
    work = _Work(view, groups, rows)
    return with_members(work.produced(), version)


def in_order(view: View, rows: Rows) -> Rows:
    """These rows by time and, at equal times, by id and columns as the operator sees them, NULL first."""
    keys: list[NDArray[np.generic]] = []
    for alias in view.plan.order:
        stream = view.frame.parts[alias].stream
        names = ([stream.tid] if stream.tid else []) + list(stream.names)
        for name in names:
            keys.extend(_sortable(view.as_seen(alias, name).take(rows)))
    order = np.lexsort([*reversed(keys), view.frame.times[rows]])
    return rows[order]


def _sortable(column: Column) -> list[NDArray[np.generic]]:
    """Whether there is a value, then the value: NULL comes first."""
    if column.type is DataType.STRING:
        column = with_ordered_words([column])[0]
    present = column.present
    return [present, np.where(present, column.values, np.zeros(1, column.values.dtype))]


@dataclass(frozen=True)
class _Computed:
    """An aggregate function over every group."""

    values: list[Value]
    covered: Numbers
    need: Numbers
    touched: Mask


class _Work:
    """One class's groups."""

    def __init__(self, view: View, groups: Groups, rows: Rows) -> None:
        self.view = view
        self.groups = groups
        self.keys = {text: view.evaluate(key, ASSIST) for text, key in groups.keys}
        hidden = {text: self._hidden(key) for text, key in groups.keys}
        ordered = any(call.function in ("first", "last") for _, call in groups.calls)
        if ordered or any(one is not None for one in hidden.values()):
            rows = in_order(view, rows)
        self.rows, self.starts, self.count = _grouped(view.frame, list(self.keys.values()), rows)
        self.sizes = np.diff(np.append(self.starts, len(self.rows)))
        self.group_of = np.repeat(np.arange(self.count), self.sizes)
        self.first = self.rows[self.starts] if self.count else self.rows[:0]
        # A grouping key is shown iff it is covered for `read` in every tuple of the group.
        self.hidden = {text: None if one is None else one[self.rows] for text, one in hidden.items()}

    def _hidden(self, key: Expression) -> Mask | None:
        seen: Mask | None = None
        for column in columns_of(key):
            seen = self.view.frame.both(seen, self.view.sees(column.source, column.name, READ))
        return None if seen is None else ~seen

    def produced(self) -> Produced:
        computed = {text: self._compute(call) for text, call in self.groups.calls}
        kept = np.ones(self.count, bool)
        values: dict[str, Column] = {}
        having: dict[str, Column] = {}
        for text, call in self.groups.calls:
            one = computed[text]
            kept &= ~((one.covered > 0) & (one.covered < one.need))
            values[text] = column_of(one.values, call.type)
            having[text] = values[text].where(one.touched)
        for text, key in self.keys.items():
            values[text] = having[text] = key.take(self.first)
        for condition in self.groups.having:
            column = evaluate(condition, lambda one: having[one.name], self.count)
            kept &= column.values.astype(bool) & column.present if column.type is not DataType.NULL else False
        return self._outputs(values, np.flatnonzero(kept))

    def _outputs(self, values: dict[str, Column], kept: Rows) -> Produced:
        shown = {text: self._shown(text) for text in self.keys}
        visible = {text: one.where(shown.get(text)) for text, one in values.items()}
        columns, omitted = [], []
        for output, grouped in self.groups.outputs:
            if isinstance(output.expression, ColumnRef) and isinstance(grouped, ColumnRef):
                mask = shown[grouped.name]
                column, left_out = self._key_output(output.expression, values[grouped.name], mask)
            else:
                column, left_out = evaluate(grouped, lambda one: visible[one.name], self.count), None
            columns.append(column.take(kept))
            omitted.append(None if left_out is None else left_out[kept])
        times = self.view.frame.now[self.first][kept]
        bits = omitted_bits(omitted, len(kept))
        return Produced(self.view.entry.owner, times, tuple(columns), None, bits)

    def _shown(self, text: str) -> Mask | None:
        hidden = self.hidden[text]
        if hidden is None:
            return None
        shown: Mask = np.bincount(self.group_of[hidden], minlength=self.count) == 0
        return shown

    def _key_output(self, column: ColumnRef, values: Column, shown: Mask | None) -> tuple[Column, Mask | None]:
        if shown is None or shown.all():
            return values, None
        made: list[Value] = [None] * self.count
        omitted = np.zeros(self.count, bool)
        for group in np.flatnonzero(~shown).tolist():
            value = self._masked_key(column, values.cell(group), group)
            if value is DROPPED:
                omitted[group] = True
            else:
                made[group] = value  # type: ignore[call-overload]
        column_made = column_of(made, column.type)
        return selected([(shown, values), (~shown, column_made)], column.type, self.count), omitted

    def _masked_key(self, column: ColumnRef, value: Value, group: int) -> object:
        """What stands for a key that is hidden in some tuple: by the mask of the first of these."""
        hidden = self.hidden[_text_of(self.groups, column)]
        assert hidden is not None
        begin = int(self.starts[group])
        row = int(self.rows[begin + int(hidden[begin : begin + int(self.sizes[group])].argmax())])
        reached = self.view.reaches(column.source, column.name)
        if reached is not None and not reached[row]:
            return None
        mask = next(
            (
                clause.mask or NULL_MASK
                for clause in self.view.plan.guards[column.source, column.name, READ].denies
                if _holds_at(self.view.denied(clause), row)
            ),
            self.view.plan.masks.get((column.source, column.name), NULL_MASK),
        )
        # A group is not one tuple: a mask that is an expression sees the key and nothing else.
        return masked(mask, value, column.type, lambda named: value if named.name == column.name else None)

    # Functions --------------------------------------------------------------------------------------------------------

    def _compute(self, call: AggregateCall) -> _Computed:
        whole, needs = self._covered(call)
        need = np.zeros(self.count, np.int64)
        np.maximum.at(need, self.group_of, np.where(needs > 0, needs, 0))
        lenient = need[self.group_of] <= 1
        if call.argument is None:
            counted, values = whole, None
        else:
            counted = (needs > 0) & (whole | lenient)
            values = self.view.evaluate(call.argument, call.function, self.rows)
        touched = np.bincount(self.group_of[counted], minlength=self.count) > 0
        covered = self._tuples_behind(call, whole)
        return _Computed(self._values(call, values, counted), covered, need, touched)

    def _covered(self, call: AggregateCall) -> tuple[Mask, Numbers]:
        """Which tuples are covered for the function, and the group size each needs; 0 if none of its cells is."""
        columns = columns_of(call.argument) if call.argument is not None else ()
        asked = [(column.source, column.name) for column in columns] or self._everything()
        whole: Mask | None = None
        needs: Numbers | None = None
        for alias, name in asked:
            seen = self.view.sees(alias, name, call.function)
            here = np.ones(len(self.rows), bool) if seen is None else seen[self.rows]
            need = self.view.cover(alias, name, call.function)[1]
            own = np.where(here, need if isinstance(need, int) else need[self.rows], 0)
            if needs is None or whole is None:
                whole, needs = here, own
            elif columns:
                whole, needs = whole & here, np.maximum(needs, own)
            else:
                whole = whole | here
                needs = np.where(own == 0, needs, np.where(needs == 0, own, np.minimum(needs, own)))
        assert whole is not None
        assert needs is not None
        return whole, needs

    def _everything(self) -> list[tuple[str, str]]:
        return [(source.alias, name) for source in self.view.plan.block.sources for name in source.stream.names]

    def _tuples_behind(self, call: AggregateCall, whole: Mask) -> Numbers:
        """How many tuples stand behind each group's value: combinations repeat them, and each counts once."""
        columns = columns_of(call.argument) if call.argument is not None else ()
        asked = [(column.source, column.name) for column in columns] or self._everything()
        behind: Numbers | None = None
        for alias in dict.fromkeys(alias for alias, _ in asked):
            seen = np.zeros(len(self.rows), bool)
            for _, name in (one for one in asked if one[0] == alias):
                mask = self.view.sees(alias, name, call.function)
                seen = np.ones(len(self.rows), bool) if mask is None else seen | mask[self.rows]
            taken = whole & seen
            if len(self.view.frame.parts) == 1:
                found = np.bincount(self.group_of[taken], minlength=self.count)
            else:
                pairs = np.stack([self.group_of[taken], self.view.frame.parts[alias].uids[self.rows[taken]]])
                found = np.bincount(np.unique(pairs, axis=1)[0].astype(np.int64), minlength=self.count)
            # An alias of which nothing was covered in a group has no say in it.
            behind = (
                found
                if behind is None
                else np.where(found == 0, behind, np.where(behind == 0, found, np.minimum(behind, found)))
            )
        return np.zeros(self.count, np.int64) if behind is None else behind

    def _values(self, call: AggregateCall, values: Column | None, counted: Mask) -> list[Value]:
        present = counted if values is None else counted & values.present
        if call.function == "count":
            counts: list[Value] = np.bincount(self.group_of[present], minlength=self.count).tolist()
            return counts
        assert values is not None
        chosen = np.flatnonzero(present)
        groups = self.group_of[chosen]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        found: list[Value] = [None] * self.count
        compute = _FUNCTIONS[call.function]
        for group, value in zip(groups[starts].tolist(), compute(values.take(chosen), starts, call.type), strict=True):
            found[group] = value
        return found


def _text_of(groups: Groups, column: ColumnRef) -> str:
    return next(text for text, key in groups.keys if key == column)


def _holds_at(mask: Mask | None, row: int) -> bool:
    return mask is None or bool(mask[row])


def _grouped(frame: Frame, keys: Sequence[Column], rows: Rows) -> tuple[Rows, Rows, int]:
    """The rows by window and key, keeping their order within; where each group begins; how many there are."""
    if not len(rows):
        return rows, np.zeros(0, np.int64), 0
    codes: list[Values] = [frame.windows[rows]]
    for key in keys:
        taken = key.take(rows)
        present = taken.present
        values = taken.values
        if values.dtype == np.float64:
            # Equal doubles are one key (0.0 and -0.0 too).
            values = np.where(present, values, 0.0) + 0.0
        codes.extend([present, np.where(present, values, np.zeros(1, values.dtype))])
    order = np.lexsort(codes)
    ordered = [one[order] for one in codes]
    changes = np.zeros(len(rows), bool)
    changes[0] = True
    for one in ordered:
        changes[1:] |= one[1:] != one[:-1]
    starts = np.flatnonzero(changes)
    return rows[order], starts, len(starts)


# What each function makes of the values of each group, which stand together; no group is empty.


def _slices(values: list[Value], starts: Rows) -> list[list[Value]]:
    ends = [*starts[1:].tolist(), len(values)]
    return [values[begin:end] for begin, end in zip(starts.tolist(), ends, strict=True)]


def _firsts(column: Column, starts: Rows, _: DataType) -> list[Value]:
    return column.take(starts).to_list()


def _lasts(column: Column, starts: Rows, _: DataType) -> list[Value]:
    return column.take(np.append(starts[1:], len(column)) - 1 if len(starts) else starts).to_list()


def _extremes(choose: np.ufunc) -> Callable[[Column, Rows, DataType], list[Value]]:
    def extremes(column: Column, starts: Rows, kind: DataType) -> list[Value]:
        if not len(starts):
            return []
        if column.type is DataType.STRING:
            column = with_ordered_words([column])[0]
        found = choose.reduceat(column.values, starts)
        if found.dtype == np.float64:
            found = found + 0.0  # minus zero is zero: they are equal, and which of them comes first must not show
        return Column(kind, found, None, column.words).to_list()

    return extremes


def _totals(column: Column, starts: Rows) -> list[int | float]:
    if not len(starts):
        return []
    if column.values.dtype == np.float64:
        return [_exact_sum(part) for part in _slices(column.values.tolist(), starts)]
    sizes = np.diff(np.append(starts, len(column)))
    if int(sizes.max()) * float(np.abs(column.values.astype(np.float64)).max()) < _SAFE:
        return np.add.reduceat(column.values, starts).tolist()  # type: ignore[no-any-return]
    return [sum(part) for part in _slices(column.values.tolist(), starts)]  # type: ignore[arg-type]


def _exact_sum(values: list[Value]) -> float:
    """The sum as if computed exactly and rounded once: whatever the order, the same."""
    try:
        return math.fsum(values)  # type: ignore[arg-type]
    except OverflowError:
        return math.nan


def _sums(column: Column, starts: Rows, kind: DataType) -> list[Value]:
    return [_fitted(total, kind) for total in _totals(column, starts)]


def _averages(column: Column, starts: Rows, kind: DataType) -> list[Value]:
    sizes = np.diff(np.append(starts, len(column))).tolist()
    return [_fitted(_ratio(total, size), kind) for total, size in zip(_totals(column, starts), sizes, strict=True)]


def _ratio(total: int | float, size: int) -> float:
    try:
        return total / size
    except OverflowError:
        return math.nan


def _fitted(value: int | float, kind: DataType) -> Value:
    return None if isinstance(value, float) and math.isnan(value) else fit(value, kind)


_FUNCTIONS: dict[str, Callable[[Column, Rows, DataType], list[Value]]] = {
    "min": _extremes(np.minimum),
    "max": _extremes(np.maximum),
    "first": _firsts,
    "last": _lasts,
    "sum": _sums,
    "avg": _averages,
}
