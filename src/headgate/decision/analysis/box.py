"""Conditions so plain that no solver is needed: a conjunction of comparisons of columns with constants.

Such a condition is a box: for each column the values it admits. Most policies are boxes, and asking whether two boxes
meet or one lies within another is exact and a thousand times cheaper than a solver's answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from headgate.model.datatype import DataType, Value
from headgate.model.expression import nodes
from headgate.model.expression.nodes import Expression
from headgate.model.expression.transform import conjuncts

Name = tuple[str, str]
Number = int | float

_WHOLE = (DataType.INT, DataType.BIGINT, DataType.TIMESTAMP, DataType.DATE)
_LISTED = (DataType.STRING, DataType.BOOLEAN)
_PLAIN = {DataType.TIMESTAMP: 1_767_225_600_000_000, DataType.DATE: 20_454}
"""What an example shows where any value would do: the start of 2026."""
_FEW = 50
"""An interval of so few whole numbers is a list; a condition that leaves out more values than that is no box."""


@dataclass(frozen=True)
class Values:
    """The values of one column that a box admits; NULL never is one."""

    kind: DataType
    low: Number = -math.inf
    high: Number = math.inf
    open_low: bool = False
    open_high: bool = False
    among: frozenset[Value] | None = None
    without: frozenset[Value] = frozenset()

    def meet(self, other: Values) -> Values:
        """What both admit."""
        low, open_low = max((self.low, self.open_low), (other.low, other.open_low))
        high, closed = min((self.high, not self.open_high), (other.high, not other.open_high))
        listed = [one for one in (self.among, other.among) if one is not None]
        among = frozenset.intersection(*listed) if listed else None
        return Values(self.kind, low, high, open_low, not closed, among, self.without | other.without)

    def admits(self, value: Value) -> bool:
        if value in self.without or (self.among is not None and value not in self.among):
            return False
        if self.kind in _LISTED:
            return True
        assert isinstance(value, int | float)
        above = self.low < value or (self.low == value and not self.open_low)
        return above and (value < self.high or (value == self.high and not self.open_high))

    def some(self) -> tuple[bool, Value]:
        """Whether any value is admitted, and one that is: the plainest for a reader, where there is a choice."""
        candidates = self._candidates() if self.among is None else sorted(self.among, key=_plainness)
        found = next((value for value in candidates if self.admits(value)), None)
        return found is not None, found

    def _candidates(self) -> Iterable[Value]:
        if self.kind is DataType.STRING:
            return ("a" * count for count in range(1, len(self.without) + 2))
        if self.kind in _WHOLE:
            start = int(min(max(self.low, _PLAIN.get(self.kind, 0)), self.high))
            # Only `without` can leave out a value of the interval, so one of so many on either side is admitted.
            return (start + sign * count for sign in (1, -1) for count in range(len(self.without) + 1))
        return self._doubles()

    def _doubles(self) -> list[Value]:
        low = self.low if self.low != -math.inf else min(self.high, 0.0) - len(self.without) - 2
        high = self.high if self.high != math.inf else max(self.low, 0.0) + len(self.without) + 2
        parts = len(self.without) + 2
        return [low, *(low + (high - low) * part / parts for part in range(1, parts)), high]

    def within(self, other: Values) -> bool:
        """Whether everything admitted here is admitted there."""
        if self.among is not None:
            return all(other.admits(value) for value in self.among if self.admits(value))
        if other.among is not None:
            return False
        inside = (self.low, self.open_low) >= (other.low, other.open_low) and (self.high, not self.open_high) <= (
            other.high,
            not other.open_high,
        )
        return inside and not any(self.admits(value) for value in other.without)

    @property
    def fixed(self) -> tuple[bool, Value]:
        """Whether just one value is admitted, and which."""
        if self.among is not None and len(self.among) == 1:
            return True, next(iter(self.among))
        return False, None


def _plainness(value: Value) -> tuple[bool, Number, str]:
    number = value if isinstance(value, int | float) else 0
    return number < 0, abs(number), str(value)


Box = Mapping[Name, Values]


def box_of(condition: Expression | None) -> Box | None:
    """The condition as a box, or None where it is not that plain."""
    columns: dict[Name, Values] = {}
    for part in conjuncts(condition):
        found = _atom(part)
        if found is None:
            return None
        name, values = found
        columns[name] = columns[name].meet(values) if name in columns else values
    bounded = {name: _bounded(values) for name, values in columns.items()}
    if any(values is None for values in bounded.values()):
        return None
    return {name: values for name, values in bounded.items() if values is not None}


def _atom(part: Expression) -> tuple[Name, Values] | None:
    match part:
        case nodes.Comparison(sign, nodes.ColumnRef() as column, nodes.Constant() as constant):
            values = _compared(sign, column.type, constant)
        case nodes.Comparison(sign, nodes.Constant() as constant, nodes.ColumnRef() as column):
            values = _compared(_TURNED.get(sign, sign), column.type, constant)
        case nodes.In(nodes.ColumnRef() as column, items):
            values = _listed(column.type, items)
        case _:
            return None
    return ((column.source, column.name), values) if values is not None else None


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _compared(sign: str, kind: DataType, constant: nodes.Constant) -> Values | None:
    value = _fitting(kind, constant)
    if value is None:
        return None
    if sign == "=":
        return Values(kind, among=frozenset((value,)))
    if sign == "<>":
        return Values(kind, without=frozenset((value,)))
    if kind in _LISTED or not isinstance(value, int | float):
        return None
    if kind in _WHOLE and sign in "<>":
        return Values(kind, low=value + 1) if sign == ">" else Values(kind, high=value - 1)
    if sign.startswith(">"):
        return Values(kind, low=value, open_low=sign == ">")
    return Values(kind, high=value, open_high=sign == "<")


def _fitting(kind: DataType, constant: nodes.Constant) -> Value:
    """The constant as a value of the column's type; None where that is left to the solver."""
    whole = (DataType.INT, DataType.BIGINT)
    if kind is constant.type or (kind in whole and constant.type in whole):
        return constant.value
    if kind is DataType.DOUBLE and isinstance(constant.value, int) and abs(constant.value) < 1 << 53:
        return float(constant.value)
    return None


def _listed(kind: DataType, items: tuple[Expression, ...]) -> Values | None:
    found = {_fitting(kind, item) if isinstance(item, nodes.Constant) else None for item in items}
    return None if None in found else Values(kind, among=frozenset(found))


_EDGES = {
    DataType.INT: (-(1 << 31), (1 << 31) - 1),
    DataType.BIGINT: (-(1 << 63), (1 << 63) - 1),
    DataType.TIMESTAMP: (-62_135_596_800_000_000, 253_402_300_799_999_999),
    DataType.DATE: (-719_162, 2_932_896),
}


def _bounded(values: Values) -> Values | None:
    """The values less what does not fit the type, few ones listed; None if too many are left out."""
    if len(values.without) > _FEW:
        return None
    if values.kind is DataType.BOOLEAN:
        return values.meet(Values(values.kind, among=frozenset((False, True))))
    if values.kind in _EDGES:
        low, high = _EDGES[values.kind]
        values = replace(values, low=max(values.low, low), high=min(values.high, high))
        if values.high - values.low < _FEW:
            few = frozenset(range(int(values.low), int(values.high) + 1))
            values = values.meet(Values(values.kind, among=few))
    elif values.low == values.high:
        values = values.meet(Values(values.kind, among=frozenset((values.low,))))
    return values


def meet(first: Box, second: Box) -> dict[Name, Value] | None:
    """A tuple in both boxes, or None if there is none."""
    example: dict[Name, Value] = {}
    for name in {**first, **second}:
        here, there = first.get(name), second.get(name)
        values = here.meet(there) if here and there else here or there
        assert values is not None
        possible, example[name] = values.some()
        if not possible:
            return None
    return example


def within(inner: Box, outer: Box) -> bool:
    """Whether every tuple of one box is in the other; the inner one must not be empty."""
    return all(name in inner and inner[name].within(values) for name, values in outer.items())
