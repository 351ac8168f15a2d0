"""What an expression means on plain values: SQL's three-valued logic, and never an exception.

Division by zero, overflow and failed casts give NULL, so that one tenant's mistake cannot stop the others and an error
tells nothing about values that are hidden (semantics.md, section 5).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from headgate.model.datatype import DataType, Value, in_range
from headgate.model.expression.functions import FUNCTIONS
from headgate.model.expression.like import like_matches
from headgate.model.expression.nodes import (
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    ColumnRef,
    Comparison,
    Constant,
    Expression,
    In,
    IsNull,
    Like,
    LocalTime,
    Negate,
    Not,
    Or,
)
from headgate.model.instant import FIRST, LAST, time_of_day, zone

Cells = Callable[[ColumnRef], Value]
"""Where an expression finds the values of its columns."""


def evaluate(expression: Expression, cells: Cells) -> Value:
    """The value of the expression over these cells."""
    return _EVALUATORS[type(expression)](expression, cells)


def is_true(condition: Expression, cells: Cells) -> bool:
    """Whether a condition holds: NULL is not true."""
    return evaluate(condition, cells) is True


def _constant(node: Constant, _: Cells) -> Value:
    return node.value


def _column(node: ColumnRef, cells: Cells) -> Value:
    return cells(node)


def _comparison(node: Comparison, cells: Cells) -> Value:
    return compare(node.sign, evaluate(node.left, cells), evaluate(node.right, cells))


def compare(sign: str, left: Value, right: Value) -> bool | None:
    """One comparison; NULL if either side is."""
    if left is None or right is None:
        return None
    match sign:
        case "=":
            return left == right
        case "<>":
            return left != right
        case "<":
            return left < right  # type: ignore[operator]
        case "<=":
            return left <= right  # type: ignore[operator]
        case ">":
            return left > right  # type: ignore[operator]
    return left >= right  # type: ignore[operator]


def _and(node: And, cells: Cells) -> Value:
    unknown = False
    for operand in node.operands:
        value = evaluate(operand, cells)
        if value is False:
            return False
        unknown = unknown or value is None
    return None if unknown else True


def _or(node: Or, cells: Cells) -> Value:
    unknown = False
    for operand in node.operands:
        value = evaluate(operand, cells)
        if value is True:
            return True
        unknown = unknown or value is None
    return None if unknown else False


def _not(node: Not, cells: Cells) -> Value:
    value = evaluate(node.operand, cells)
    return None if value is None else not value


def _is_null(node: IsNull, cells: Cells) -> Value:
    return evaluate(node.operand, cells) is None


def _in(node: In, cells: Cells) -> Value:
    value = evaluate(node.operand, cells)
    outcomes = [compare("=", value, evaluate(item, cells)) for item in node.items]
    if True in outcomes:
        return True
    return None if None in outcomes else False


def _like(node: Like, cells: Cells) -> Value:
    value = evaluate(node.operand, cells)
    return None if value is None else like_matches(node.pattern, str(value))


def _local_time(node: LocalTime, cells: Cells) -> Value:
    value = evaluate(node.operand, cells)
    return None if value is None else time_of_day(int(value), zone(node.zone))


def fit(value: int | float, kind: DataType) -> Value:
    """A number as the given type holds it, or NULL where it does not fit."""
    if kind is DataType.DOUBLE:
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    if kind is DataType.TIMESTAMP:
        return int(value) if FIRST <= value <= LAST else None
    return int(value) if kind is DataType.NULL or in_range(int(value), kind) else None


def _arithmetic(node: Arithmetic, cells: Cells) -> Value:
    left, right = evaluate(node.left, cells), evaluate(node.right, cells)
    if left is None or right is None:
        return None
    assert isinstance(left, int | float)
    assert isinstance(right, int | float)
    if node.type is DataType.DOUBLE:
        left, right = float(left), float(right)
    try:
        return _computed(node.sign, left, right, node.type)
    except (OverflowError, ZeroDivisionError, ValueError):
        return None


def _computed(sign: str, left: int | float, right: int | float, kind: DataType) -> Value:
    match sign:
        case "+":
            return fit(left + right, kind)
        case "-":
            return fit(left - right, kind)
        case "*":
            return fit(left * right, kind)
        case "/":
            return fit(left / right, kind)
    return fit(remainder(left, right), kind)


def remainder(left: int | float, right: int | float) -> int | float:
    """The remainder of a division towards zero: it has the sign of the dividend."""
    if isinstance(left, float) or isinstance(right, float):
        return math.fmod(left, right)
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _negate(node: Negate, cells: Cells) -> Value:
    value = evaluate(node.operand, cells)
    return None if value is None else fit(-value, node.type)  # type: ignore[operator]


def _call(node: Call, cells: Cells) -> Value:
    function = FUNCTIONS[node.function]
    values = [evaluate(operand, cells) for operand in node.operands]
    if not function.handles_null and None in values:
        return None
    result = function.compute(*values)
    return fit(result, node.type) if node.type.numeric and isinstance(result, int | float) else result


def _cast(node: Cast, cells: Cells) -> Value:
    return cast_value(evaluate(node.operand, cells), node.operand.type, node.type)


_NUMBER_TEXT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$")
_INTEGER_TEXT = re.compile(r"[+-]?\d+$")


def cast_value(value: Value, source: DataType, target: DataType) -> Value:
    """One conversion, NULL where it fails."""
    if value is None or source is target:
        return value
    if target is DataType.STRING:
        return str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, str):
        text = value.strip(" ")
        pattern = _NUMBER_TEXT if target is DataType.DOUBLE else _INTEGER_TEXT
        if not pattern.match(text) or len(text) > 400:
            return None
        return fit(float(text) if target is DataType.DOUBLE else int(text), target)
    return fit(value, target)


def _case(node: Case, cells: Cells) -> Value:
    result = next((result for condition, result in node.branches if is_true(condition, cells)), node.otherwise)
    value = evaluate(result, cells)
    return fit(value, node.type) if node.type.numeric and isinstance(value, int | float) else value


_EVALUATORS: dict[type[Expression], Callable[..., Value]] = {
    Constant: _constant,
    ColumnRef: _column,
    Comparison: _comparison,
    And: _and,
    Or: _or,
    Not: _not,
    IsNull: _is_null,
    In: _in,
    Like: _like,
    LocalTime: _local_time,
    Arithmetic: _arithmetic,
    Negate: _negate,
    Call: _call,
    Cast: _cast,
    Case: _case,
}
"""Aggregate calls are not here: they mean something only over a window. Nor are references to a profile, an event or
the
environment, which are bound to constants before anything is evaluated."""
