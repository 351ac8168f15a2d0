"""Section 5, one block for one subscriber: what comes out of a combination, or of the combinations of a window."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from headgate.algebra.block import Block
from headgate.algebra.operators import Aggregate, Output
from headgate.model.datatype import Value
from headgate.model.expression.evaluate import evaluate, fit, is_true
from headgate.model.expression.nodes import AggregateCall, ColumnRef, Expression, columns_of
from headgate.model.expression.print import to_text
from headgate.model.instant import Instant
from headgate.model.privilege import ASSIST, READ
from headgate.policy.masking import DROPPED, masked
from headgate.reference.coverage import Combination
from headgate.reference.visibility import Visibility

Row = dict[str, Value]


@dataclass(frozen=True)
class Result:
    """One output of a query."""

    time: Instant
    row: Row


class Passes(Protocol):
    """Decides which combinations count, judged at `now`."""

    def __call__(self, view: Visibility, combination: Combination, now: Instant) -> bool: ...


def passes_where(block: Block) -> Passes:
    """No tuple is dropped, and WHERE is true of what is seen."""

    def passes(view: Visibility, combination: Combination, now: Instant) -> bool:
        if not view.keeps(combination, now):
            return False
        cells = view.cells(combination, ASSIST, now)
        return all(is_true(condition, cells) for condition in block.where)

    return passes


def projected(block: Block, view: Visibility, combination: Combination, now: Instant) -> Result:
    """The row of one combination."""
    row: Row = {}
    for output in block.outputs:
        value = _shown(output, view, combination, now)
        if value is not DROPPED:
            row[output.name] = value  # type: ignore[assignment]
    return Result(now, row)


def _shown(output: Output, view: Visibility, combination: Combination, now: Instant) -> object:
    cells = view.cells(combination, READ, now)
    column = output.expression
    if not isinstance(column, ColumnRef):
        return evaluate(column, cells)
    if not view.reaches(combination, column.source, column.name, now):
        return None
    if view.sees(combination, column.source, column.name, READ, now):
        return cells(column)
    mask = view.coverage.mask(column.source, column.name, combination)

    raw = view.raw(combination, column.source, column.name)
    return masked(mask, raw, column.type, view.raw_cells(combination, column.source))


def aggregated(
    block: Block, view: Visibility, passes: Passes, combinations: Iterable[Combination], now: Instant
) -> list[Result]:
    """The rows of one window: one for each group with a tuple that was not dropped."""
    kept = [one for one in combinations if passes(view, one, now)]
    kept.sort(key=lambda one: view.order(one, now))
    groups: dict[tuple[tuple[str, Value], ...], list[Combination]] = {}
    for combination in kept:
        cells = view.cells(combination, ASSIST, now)
        values = [evaluate(key, cells) for key in block.keys]
        # True and 1 are equal to Python, not to SQL; the type of a key never varies, so its text tells them apart.
        groups.setdefault(tuple((type(value).__name__, value) for value in values), []).append(combination)
    rows = (_Group(block, view, members, now).row() for members in groups.values())
    return [Result(now, row) for row in rows if row is not None]


class _Group:
    """One group of one window."""

    def __init__(self, block: Block, view: Visibility, members: Sequence[Combination], now: Instant) -> None:
        self.block = block
        self.view = view
        self.members = members
        self.now = now
        operator = block.operator()
        self.aggregate = next(one for one in operator.walk() if isinstance(one, Aggregate))

    def row(self) -> Row | None:
        """The row of the group, or None if HAVING or a minimum group size withholds it."""
        values: dict[str, Value] = {}
        unknown: set[str] = set()
        for call in self.block.calls:
            computed = _Computed.of(call, self)
            if 0 < computed.covered < computed.need:
                return None
            values[to_text(call)] = computed.value
            if not computed.touched:
                unknown.add(to_text(call))
        for key in self.block.keys:
            values[to_text(key)] = evaluate(key, self.view.cells(self.members[0], ASSIST, self.now))
        having = {name: None if name in unknown else value for name, value in values.items()}
        for condition in self.block.having:
            if not is_true(self.aggregate.of_group(condition), lambda column: having[column.name]):
                return None
        return self._outputs(values)

    def _outputs(self, values: dict[str, Value]) -> Row:
        shown = {to_text(key): self._key_shown(key) for key in self.block.keys}
        row: Row = {}
        for output in self.block.outputs:
            expression = self.aggregate.of_group(output.expression)
            if isinstance(output.expression, ColumnRef) and not shown[to_text(output.expression)]:
                value = self._masked_key(output.expression, values[to_text(output.expression)])
                if value is not DROPPED:
                    row[output.name] = value  # type: ignore[assignment]
                continue
            row[output.name] = evaluate(
                expression, lambda column: values[column.name] if shown.get(column.name, True) else None
            )
        return row

    def _key_shown(self, key: Expression) -> bool:
        """A grouping key is shown iff it is covered for `read` in every tuple of the group."""
        return all(
            self.view.sees(member, column.source, column.name, READ, self.now) is not None
            for member in self.members
            for column in columns_of(key)
        )

    def _masked_key(self, column: ColumnRef, value: Value) -> object:
        hidden = next(
            member
            for member in self.members
            if self.view.sees(member, column.source, column.name, READ, self.now) is None
        )
        if not self.view.reaches(hidden, column.source, column.name, self.now):
            return None
        mask = self.view.coverage.mask(column.source, column.name, hidden)
        # A group is not one tuple: a mask that is an expression sees the key and nothing else.
        return masked(mask, value, column.type, lambda named: value if named.name == column.name else None)


@dataclass(frozen=True)
class _Computed:
    """The value of an aggregate function over a group, and how many tuples stand behind it."""

    value: Value
    covered: int
    need: int
    touched: bool

    @classmethod
    def of(cls, call: AggregateCall, group: _Group) -> _Computed:
        behind = _Behind()
        values: list[tuple[bool, Value]] = []
        for member in group.members:
            whole, need = _covered(call, group, member, behind)
            if call.argument is None:
                values.extend([(True, 1)] if whole else [])
            elif need:
                value = evaluate(call.argument, group.view.cells(member, call.function, group.now))
                values.append((whole, value))
        # INVARIANT: where a group size is asked for, only tuples that count towards it are computed with.
        counted = [value for whole, value in values if whole or behind.need <= 1]
        return cls(compute(call, counted), behind.tuples, behind.need, touched=bool(counted))


class _Behind:
    """The tuples that stand behind a value. A combination is not a tuple: joining with a stream must not get around
    `min_group` by repeating the same few."""

    def __init__(self) -> None:
        self.need = 0
        self._seen: dict[str, set[int]] = {}

    @property
    def tuples(self) -> int:
        return min((len(seen) for seen in self._seen.values()), default=0)

    def take(self, member: Combination, aliases: Iterable[str]) -> None:
        for alias in aliases:
            self._seen.setdefault(alias, set()).add(id(member[alias]))


def _covered(call: AggregateCall, group: _Group, member: Combination, behind: _Behind) -> tuple[bool, int]:
    """Whether the tuple is covered for the function, and the group size it needs; 0 if none of its cells is covered."""
    view, now = group.view, group.now
    columns = columns_of(call.argument) if call.argument is not None else ()
    everything = [(source.alias, name) for source in group.block.sources for name in source.stream.names]
    asked = [(column.source, column.name) for column in columns] or everything
    covers = {one: view.sees(member, *one, call.function, now) for one in asked}
    needs = [cover.need for cover in covers.values() if cover]
    whole = len(needs) == len(covers) if columns else bool(needs)
    # Where any cell will do, the most lenient grant decides; where several are needed, the strictest.
    need = (max if columns else min)(needs, default=0)
    behind.need = max(behind.need, need)
    if whole:
        behind.take(member, dict.fromkeys(alias for (alias, _), cover in covers.items() if cover))
    return whole, need


def compute(call: AggregateCall, values: list[Value]) -> Value:
    """An aggregate function over the values of a group, NULLs ignored."""
    present = [value for value in values if value is not None]
    if call.function == "count":
        return len(present)
    if not present:
        return None
    match call.function:
        case "min":
            return _without_sign(min(present))
        case "max":
            return _without_sign(max(present))
        case "first":
            return present[0]
        case "last":
            return present[-1]
    numbers = [value for value in present if isinstance(value, int | float)]
    return _total(call, numbers)


def _without_sign(value: Value) -> Value:
    """Zero for minus zero: they are equal, and which of them comes first must not show."""
    return value + 0.0 if isinstance(value, float) else value


def _total(call: AggregateCall, numbers: list[int | float]) -> Value:
    try:
        total = math.fsum(numbers) if any(isinstance(one, float) for one in numbers) else sum(numbers)
        return fit(total / len(numbers) if call.function == "avg" else total, call.type)
    except OverflowError:
        return None
