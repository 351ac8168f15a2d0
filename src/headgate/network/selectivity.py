"""How many tuples a condition is expected to let through, by its form alone; and whether one keeps less than another.

The estimates are the textbook's and only steer choices between plans that mean the same: a wrong one costs time, never
rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from headgate.model.expression import nodes
from headgate.model.expression.nodes import Expression

EQUAL, RANGE, LIKE, NULL, OTHER = 0.1, 1 / 3, 0.25, 0.1, 0.5


def selectivity(condition: Expression) -> float:
    """The expected share of tuples for which the condition is true.

    >>> from headgate.model.datatype import DataType
    >>> x = nodes.ColumnRef("s", "x", DataType.INT)
    >>> selectivity(nodes.Comparison("=", x, nodes.Constant(1, DataType.INT)))
    0.1
    """
    estimate = _ESTIMATES.get(type(condition))
    return estimate(condition) if estimate else OTHER


def combined(conditions: Iterable[Expression]) -> float:
    """The share for which all of them are true, taken for independent."""
    return math.prod(selectivity(condition) for condition in conditions)


def _comparison(node: nodes.Comparison) -> float:
    return EQUAL if node.sign == "=" else 1 - EQUAL if node.sign == "<>" else RANGE


_ESTIMATES: dict[type[Expression], Callable[..., float]] = {
    nodes.Comparison: _comparison,
    nodes.And: lambda node: combined(node.operands),
    nodes.Or: lambda node: 1 - math.prod(1 - selectivity(one) for one in node.operands),
    nodes.Not: lambda node: 1 - selectivity(node.operand),
    nodes.IsNull: lambda _: NULL,
    nodes.In: lambda node: min(1.0, EQUAL * len(node.items)),
    nodes.Like: lambda _: LIKE,
}


def implies_cheaply(stronger: Expression, weaker: Expression) -> bool:
    """Whether the first condition being true makes the second true, where that can be seen at a glance.

    Equal conditions, and comparisons of one expression with constants: `5 < x` implies `3 < x`. Both must be in
    canonical form, where `<` and `<=` are the only inequalities. A `False` means no more than "not seen".
    """
    if stronger == weaker:
        return True
    if isinstance(weaker, nodes.Or):
        return any(implies_cheaply(stronger, one) for one in weaker.operands)
    if isinstance(stronger, nodes.Comparison) and isinstance(weaker, nodes.Comparison):
        return _bound_implies(stronger, weaker)
    return False


def _bound_implies(stronger: nodes.Comparison, weaker: nodes.Comparison) -> bool:
    strict_needed = weaker.sign == "<"
    if weaker.sign not in ("<", "<=") or stronger.sign not in ("<", "<=", "="):
        return False
    for low_side in (True, False):  # constant below the expression, or above it
        constant, expression = (weaker.left, weaker.right) if low_side else (weaker.right, weaker.left)
        if not isinstance(constant, nodes.Constant) or isinstance(expression, nodes.Constant):
            continue
        given = _bound_on(stronger, expression, low_side)
        if given is None or not _same_kind(given[0].value, constant.value):
            continue
        inside = given[0].value > constant.value if low_side else given[0].value < constant.value  # type: ignore[operator]
        on_edge = given[0].value == constant.value and (given[1] or not strict_needed)
        return bool(inside or on_edge)
    return False


def _bound_on(
    condition: nodes.Comparison, expression: Expression, low_side: bool
) -> tuple[nodes.Constant, bool] | None:
    """The constant that the condition puts below (or above) the expression, and whether it excludes equality."""
    for constant, other, is_low in (
        (condition.left, condition.right, True),
        (condition.right, condition.left, False),
    ):
        if isinstance(constant, nodes.Constant) and other == expression:
            if condition.sign == "=":
                return constant, False
            if is_low is low_side:
                return constant, condition.sign == "<"
    return None


def _same_kind(left: object, right: object) -> bool:
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (left, right))
    return numbers or (isinstance(left, str) and isinstance(right, str))
