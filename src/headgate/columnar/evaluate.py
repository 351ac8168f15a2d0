"""What an expression means on whole columns: the same as on plain values, cell by cell.

The kinds that queries and policies are made of are computed on arrays. The rest (rounding, substrings, conversions of
text and the like) go through `model/expression/evaluate.py`, once for each distinct combination of their operands, so
that there is one definition of what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from headgate.columnar.column import Column, Mask, Values, column_of, constant, nothing, with_common_words
from headgate.columnar.column import with_ordered_words as ordered
from headgate.model.datatype import DataType
from headgate.model.expression.evaluate import evaluate as evaluate_cell
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
from headgate.model.expression.transform import with_operands
from headgate.model.instant import DAY, FIRST, LAST

Cells = Callable[[ColumnRef], Column]
"""Where an expression finds its columns."""

_EXACT = 1 << 53
"""Up to here a whole number and its double are the same."""

_SAFE = float(1 << 62)
"""A product whose estimate stays below this has not overflowed."""


def evaluate(expression: Expression, cells: Cells, count: int) -> Column:
    """The value of the expression for each of so many rows."""
    found = _EVALUATORS.get(type(expression))
    if found is None:
        return _by_cell(expression, cells, count)
    return found(expression, cells, count)


def holds(condition: Expression, cells: Cells, count: int) -> Mask:
    """Where a condition is true; NULL is not."""
    return true_in(evaluate(condition, cells, count))


def true_in(column: Column) -> Mask:
    """Where a column of conditions is true."""
    if column.type is DataType.NULL:
        return np.zeros(len(column), bool)
    values = column.values.astype(bool, copy=False)
    return values if column.valid is None else values & column.valid


def _constant(node: Constant, _: Cells, count: int) -> Column:
    return constant(node.value, node.type, count)


def _column(node: ColumnRef, cells: Cells, _: int) -> Column:
    return cells(node)


def _comparison(node: Comparison, cells: Cells, count: int) -> Column:
    word = _compared_with_word(node, cells, count)
    if word is not None:
        return word
    return compared(node.sign, evaluate(node.left, cells, count), evaluate(node.right, cells, count))


def _compared_with_word(node: Comparison, cells: Cells, count: int) -> Column | None:
    """A text against a constant: decided once per word."""
    if isinstance(node.right, Constant) and node.left.type is DataType.STRING and node.right.value is not None:
        column = evaluate(node.left, cells, count)
        sign, word = _SIGNS[node.sign], node.right.value
        decided = [bool(sign(one, word)) for one in column.words]
        return _by_word(column, decided)
    return None


def _by_word(column: Column, decided: Sequence[bool]) -> Column:
    if not column.words:
        return nothing(DataType.BOOLEAN, len(column))
    return Column(DataType.BOOLEAN, np.array(decided, bool)[column.values.astype(np.int64)], column.valid)


_SIGNS: dict[str, Callable[..., Values]] = {
    "=": lambda left, right: left == right,
    "<>": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def compared(sign: str, left: Column, right: Column) -> Column:
    """One comparison; NULL where either side is."""
    count = len(left)
    if DataType.NULL in (left.type, right.type):
        return nothing(DataType.BOOLEAN, count)
    if left.type is DataType.STRING:
        left, right = (with_common_words if sign in ("=", "<>") else ordered)([left, right])
    elif (left.type is DataType.DOUBLE) is not (right.type is DataType.DOUBLE):
        exact = _compared_exactly(sign, left, right)
        if exact is not None:
            return exact
    return Column(DataType.BOOLEAN, _SIGNS[sign](left.values, right.values), both(left, right))


def _compared_exactly(sign: str, left: Column, right: Column) -> Column | None:
    """A whole number that no double holds is compared as it is, not as the double next to it."""
    whole = right if left.type is DataType.DOUBLE else left
    if not len(whole) or np.abs(whole.values.astype(np.float64)).max() <= _EXACT:
        return None
    pairs = zip(left.values.tolist(), right.values.tolist(), strict=True)
    decided = np.fromiter((bool(_SIGNS[sign](one, other)) for one, other in pairs), bool, len(left))
    return Column(DataType.BOOLEAN, decided, both(left, right))


def both(left: Column, right: Column) -> Mask | None:
    """Where neither is NULL."""
    if left.valid is None:
        return right.valid
    return left.valid if right.valid is None else left.valid & right.valid


def _and(node: And, cells: Cells, count: int) -> Column:
    true, false = np.ones(count, bool), np.zeros(count, bool)
    for operand in node.operands:
        column = evaluate(operand, cells, count)
        held = true_in(column)
        true &= held
        false |= column.present & ~held
    return _logic(true, false)


def _or(node: Or, cells: Cells, count: int) -> Column:
    true, false = np.zeros(count, bool), np.ones(count, bool)
    for operand in node.operands:
        column = evaluate(operand, cells, count)
        held = true_in(column)
        true |= held
        false &= column.present & ~held
    return _logic(true, false)


def _logic(true: Mask, false: Mask) -> Column:
    known = true | false
    return Column(DataType.BOOLEAN, true, None if known.all() else known)


def _not(node: Not, cells: Cells, count: int) -> Column:
    column = evaluate(node.operand, cells, count)
    if column.type is DataType.NULL:
        return nothing(DataType.BOOLEAN, count)
    return Column(DataType.BOOLEAN, ~column.values.astype(bool), column.valid)


def _is_null(node: IsNull, cells: Cells, count: int) -> Column:
    return Column(DataType.BOOLEAN, ~evaluate(node.operand, cells, count).present)


def _in(node: In, cells: Cells, count: int) -> Column:
    operand = evaluate(node.operand, cells, count)
    if operand.type is DataType.STRING and all(isinstance(item, Constant) for item in node.items):
        items = [item.value for item in node.items if isinstance(item, Constant)]
        column = _by_word(operand, [word in items for word in operand.words])
        if None in items:  # not equal to any is then unknown
            return Column(DataType.BOOLEAN, column.values, true_in(column))
        return column
    true, false = np.zeros(count, bool), np.ones(count, bool)
    for item in node.items:
        column = compared("=", operand, evaluate(item, cells, count))
        held = true_in(column)
        true |= held
        false &= column.present & ~held
    return _logic(true, false)


def _like(node: Like, cells: Cells, count: int) -> Column:
    column = evaluate(node.operand, cells, count)
    return _by_word(column, [like_matches(node.pattern, word) for word in column.words])


def _local_time(node: LocalTime, cells: Cells, count: int) -> Column:
    if node.zone != "UTC":
        return _by_cell(node, cells, count)
    column = evaluate(node.operand, cells, count)
    return Column(DataType.TIME_OF_DAY, column.values % DAY, column.valid)


def _arithmetic(node: Arithmetic, cells: Cells, count: int) -> Column:
    left, right = evaluate(node.left, cells, count), evaluate(node.right, cells, count)
    kind = node.type
    valid = both(left, right)
    if kind is DataType.NULL or DataType.NULL in (left.type, right.type):
        return nothing(kind, count)
    if kind is DataType.DOUBLE:
        with np.errstate(all="ignore"):
            return _finite(_DOUBLE[node.sign](left.values.astype(np.float64), right.values.astype(np.float64)), valid)
    if node.sign == "%":
        return _remainder(left, right, valid, kind)
    whole = _WHOLE[node.sign](left.values, right.values)
    if whole is None:
        return _by_cell(node, cells, count)
    return in_bounds(whole, valid, kind)


_DOUBLE: dict[str, Callable[[Values, Values], Values]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
}


def _sum_of(left: Values, right: Values) -> Values | None:
    estimate = np.abs(left.astype(np.float64)) + np.abs(right.astype(np.float64))
    return left + right if not len(left) or estimate.max() < _SAFE else None


def _difference_of(left: Values, right: Values) -> Values | None:
    estimate = np.abs(left.astype(np.float64)) + np.abs(right.astype(np.float64))
    return left - right if not len(left) or estimate.max() < _SAFE else None


def _product_of(left: Values, right: Values) -> Values | None:
    estimate = np.abs(left.astype(np.float64) * right.astype(np.float64))
    return left * right if not len(left) or estimate.max() < _SAFE else None


_WHOLE: dict[str, Callable[[Values, Values], Values | None]] = {
    "+": _sum_of,
    "-": _difference_of,
    "*": _product_of,
}


def _remainder(left: Column, right: Column, valid: Mask | None, kind: DataType) -> Column:
    """The remainder of a division towards zero: it has the sign of the dividend."""
    divisor = right.values != 0
    with np.errstate(all="ignore"):
        rest = np.fmod(left.values, np.where(divisor, right.values, 1))
    known = divisor if valid is None else valid & divisor
    return in_bounds(rest, None if known.all() else known, kind)


def _finite(values: Values, valid: Mask | None) -> Column:
    finite = np.isfinite(values)
    known = finite if valid is None else valid & finite
    return Column(DataType.DOUBLE, values, None if known.all() else known)


_BOUNDS = {DataType.INT: (-(1 << 31), (1 << 31) - 1), DataType.TIMESTAMP: (FIRST, LAST)}


def in_bounds(values: Values, valid: Mask | None, kind: DataType) -> Column:
    """Whole numbers as the type holds them, NULL where they do not fit."""
    bounds = _BOUNDS.get(kind)
    if bounds is not None:
        fits = (values >= bounds[0]) & (values <= bounds[1])
        valid = fits if valid is None else valid & fits
    return Column(kind, values, None if valid is None or valid.all() else valid)


def _negate(node: Negate, cells: Cells, count: int) -> Column:
    column = evaluate(node.operand, cells, count)
    if column.type is DataType.NULL:
        return column
    if column.type is DataType.DOUBLE:
        return Column(column.type, -column.values, column.valid)
    if column.type is DataType.BIGINT and (column.values == -(1 << 63)).any():
        return _by_cell(node, cells, count)
    return in_bounds(-column.values, column.valid, column.type)


def _cast(node: Cast, cells: Cells, count: int) -> Column:
    source = node.operand.type
    if source is DataType.NULL:
        return nothing(node.type, count)
    if not (source.numeric and node.type.numeric) or (source is DataType.DOUBLE and node.type is not source):
        return _by_cell(node, cells, count)
    column = evaluate(node.operand, cells, count)
    return widened(column, node.type)


def widened(column: Column, kind: DataType) -> Column:
    """A number as another type holds it."""
    if column.type is kind or kind is DataType.NULL:
        return column
    if column.type is DataType.NULL:
        return nothing(kind, len(column))
    if kind is DataType.DOUBLE:
        return Column(kind, column.values.astype(np.float64), column.valid)
    return in_bounds(column.values, column.valid, kind)


def _case(node: Case, cells: Cells, count: int) -> Column:
    undecided = np.ones(count, bool)
    chosen: list[tuple[Mask, Column]] = []
    for condition, result in node.branches:
        here = undecided & holds(condition, cells, count)
        chosen.append((here, evaluate(result, cells, count)))
        undecided &= ~here
    chosen.append((undecided, evaluate(node.otherwise, cells, count)))
    return selected(chosen, node.type, count)


def selected(chosen: Sequence[tuple[Mask, Column]], kind: DataType, count: int) -> Column:
    """A column put together from parts of others, each where its mask is true; NULL elsewhere."""
    parts = [(here, widened(column, kind) if kind.numeric else column) for here, column in chosen]
    parts = [(here, column) for here, column in parts if column.type is not DataType.NULL]
    if not parts:
        return nothing(kind, count)
    if kind is DataType.STRING:
        recoded = with_common_words([column for _, column in parts])
        parts = [(here, column) for (here, _), column in zip(parts, recoded, strict=True)]
    values, valid = np.zeros(count, parts[0][1].values.dtype), np.zeros(count, bool)
    for here, column in parts:
        values = np.where(here, column.values, values)
        valid |= here & column.present
    return Column(kind, values, None if valid.all() else valid, parts[0][1].words)


def _call(node: Call, cells: Cells, count: int) -> Column:
    if node.function == "coalesce":
        return _coalesce([evaluate(one, cells, count) for one in node.operands], node.type, count)
    if node.function == "if":
        condition, then, otherwise = (evaluate(one, cells, count) for one in node.operands)
        held = true_in(condition)
        # Unlike CASE, `if` and `coalesce` hand on what they are given; only its type is widened.
        return selected([(held, then), (~held, otherwise)], node.type, count)
    if node.function == "abs" and node.type in (DataType.DOUBLE, DataType.INT):
        column = evaluate(node.operands[0], cells, count)
        values = np.abs(column.values)
        return (
            Column(node.type, values, column.valid)
            if node.type is DataType.DOUBLE
            else in_bounds(values, column.valid, node.type)
        )
    return _by_cell(node, cells, count)


def _coalesce(columns: Sequence[Column], kind: DataType, count: int) -> Column:
    undecided = np.ones(count, bool)
    chosen = []
    for column in columns:
        here = undecided & column.present
        chosen.append((here, column))
        undecided &= ~here
    return selected(chosen, kind, count)


def _by_cell(expression: Expression, cells: Cells, count: int) -> Column:
    """One evaluation for each distinct combination of the operands."""
    operands = [evaluate(one, cells, count) for one in expression.operands]
    names = iter(range(len(operands)))

    def placeholder(operand: Expression) -> Expression:
        number = next(names)
        return operand if isinstance(operand, Constant) else ColumnRef("", str(number), operand.type)

    bare = with_operands(expression, placeholder)
    known: dict[tuple[object, ...], object] = {}
    values = []
    for row in zip(*(_told_apart(one) for one in operands), strict=True) if operands else [()] * count:
        if row not in known:
            known[row] = evaluate_cell(bare, lambda column, row=row: row[int(column.name)][1])  # type: ignore[misc]
        values.append(known[row])
    return column_of(values, expression.type)  # type: ignore[arg-type]


def _told_apart(column: Column) -> list[tuple[str, object]]:
    # To a dictionary `True` equals 1, and -0.0 equals 0.0; to an expression they are not the same.
    return [(repr(value) if isinstance(value, float) else type(value).__name__, value) for value in column.to_list()]


_EVALUATORS: dict[type[Expression], Callable[..., Column]] = {
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
    Cast: _cast,
    Case: _case,
    Call: _call,
}
