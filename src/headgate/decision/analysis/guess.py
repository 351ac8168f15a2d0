"""An example without a solver: plain values, repaired where a condition does not hold yet.

Most conditions can hold, and an example proves it at a fraction of a solver's cost. A guess that fails proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from headgate.decision.analysis.box import Name
from headgate.model.datatype import DataType, Value, in_range
from headgate.model.expression import nodes
from headgate.model.expression.canonical import canonical
from headgate.model.expression.evaluate import evaluate, is_true
from headgate.model.expression.nodes import ColumnRef, Expression, columns_of
from headgate.model.expression.transform import conjuncts

ROUNDS = 4
PLAIN: dict[DataType, Value] = {
    DataType.STRING: "a",
    DataType.DOUBLE: 1.0,
    DataType.BOOLEAN: True,
    DataType.TIMESTAMP: 1_767_225_600_000_000,
    DataType.DATE: 20_454,
}
"""What a column holds where nothing asks for anything else; whole numbers are 1, times the start of 2026."""
_TURNED: dict[str, str] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def guess(conditions: Iterable[Expression]) -> dict[Name, Value]:
    """Values of the columns for which all conditions may well hold: whether they do is for the caller to find out."""
    goals = [part for condition in conditions for part in conjuncts(canonical(condition))]
    guesser = _Guesser(goals)
    for turn in range(ROUNDS):
        failing = [goal for goal in goals if not is_true(goal, guesser.cell)]
        if not failing:
            break
        for goal in failing:
            guesser.repair(goal, turn)
    return guesser.values


class _Guesser:
    def __init__(self, goals: list[Expression]) -> None:
        columns = dict.fromkeys(column for goal in goals for column in columns_of(goal))
        self.values: dict[Name, Value] = {(one.source, one.name): PLAIN.get(one.type, 1) for one in columns}

    def cell(self, column: ColumnRef) -> Value:
        return self.values[column.source, column.name]

    def repair(self, goal: Expression, turn: int) -> None:
        """Change what a condition is about so that it holds by itself; each turn tries another way."""
        repair = _REPAIRS.get(type(goal))
        if repair is not None:
            repair(self, goal, turn)

    def set(self, target: Expression, value: Value) -> None:
        """Give the first column of the target a value; if it computes with the column, that is a try and no more."""
        column = next(iter(columns_of(target)), None)
        if column is not None:
            fitted = float(value) if column.type is DataType.DOUBLE and type(value) is int else value
            if _fits(fitted, column.type):
                self.values[column.source, column.name] = fitted

    def comparison(self, goal: nodes.Comparison, _: int) -> None:
        sign: str = goal.sign
        target, other = goal.left, goal.right
        if not isinstance(target, ColumnRef) and columns_of(other):
            target, other, sign = other, target, _TURNED[sign]
        value = evaluate(other, self.cell)
        if value is not None:
            self.set(target, _beside(value, sign))

    def membership(self, goal: nodes.In, turn: int) -> None:
        self.set(goal.operand, evaluate(goal.items[turn % len(goal.items)], self.cell))

    def negation(self, goal: nodes.Not, turn: int) -> None:
        inner = goal.operand
        if isinstance(inner, nodes.In):
            known = [evaluate(item, self.cell) for item in inner.items]
            self.set(inner.operand, next((one for one in _others(known[0]) if one not in known), None))
        elif isinstance(inner, nodes.Like):
            self.set(inner.operand, "zz" if turn % 2 == 0 else "")
        elif isinstance(inner, ColumnRef):
            self.set(inner, False)

    def choice(self, goal: nodes.Or, turn: int) -> None:
        self.repair(goal.operands[turn % len(goal.operands)], turn)

    def all_of(self, goal: nodes.And, turn: int) -> None:
        for part in goal.operands:
            if not is_true(part, self.cell):
                self.repair(part, turn)


def _fits(value: Value, kind: DataType) -> bool:
    """Whether a column of this type can hold the value: `length(c) > 3` must not make a number of the text `c`."""
    if value is None:
        return True
    if kind in (DataType.INT, DataType.BIGINT):
        return type(value) is int and in_range(value, kind)
    kinds: dict[DataType, type] = {DataType.STRING: str, DataType.BOOLEAN: bool, DataType.DOUBLE: float}
    return type(value) is kinds.get(kind, int)


def _beside(value: Value, sign: str) -> Value:
    """A value that stands in this relation to the given one, if there is a plain one."""
    if sign in ("=", "<=", ">="):
        return value
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return "" if sign == "<" else f"{value}a"
    assert value is not None
    return value - 1 if sign == "<" else value + 1


def _others(value: Value) -> Iterator[Value]:
    for _ in range(50):
        value = _beside(value, ">") if value is not None else "a"
        yield value


_REPAIRS: dict[type[Expression], Callable[..., None]] = {
    nodes.Comparison: _Guesser.comparison,
    nodes.In: _Guesser.membership,
    nodes.Not: _Guesser.negation,
    nodes.Or: _Guesser.choice,
    nodes.And: _Guesser.all_of,
    nodes.Like: lambda guesser, goal, _: guesser.set(goal.operand, goal.pattern.replace("%", "").replace("_", "a")),
    nodes.IsNull: lambda guesser, goal, _: guesser.set(goal.operand, None),
    nodes.ColumnRef: lambda guesser, goal, _: guesser.set(goal, True),
}
"""Kinds that are not here are left as they are."""
