"""A query's condition as it is really asked: of the cells that the subscriber sees, not of the raw ones.

A hidden cell is NULL to the condition. Most conditions are then not true, and nothing is lost by reasoning about raw
tuples. Those that NULL can satisfy (`x IS NULL`, `coalesce`) hold for tuples whose raw values do not meet them, and a
verdict that forgot this would promise too much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headgate.decision.guard import Guard
from headgate.model.expression import nodes
from headgate.model.expression.canonical import canonical
from headgate.model.expression.functions import FUNCTIONS
from headgate.model.expression.nodes import ColumnRef, Expression, columns_of
from headgate.model.expression.transform import rewrite

GuardOf = Callable[[ColumnRef], Guard]


def as_seen(conditions: Sequence[Expression], guard_of: GuardOf) -> tuple[Expression, ...]:
    """The conditions over raw tuples that hold iff the given ones hold of what is seen; the same ones if hiding makes
    no difference that could let a tuple pass.

    >>> from headgate.model.datatype import DataType
    >>> from headgate.model.expression.print import to_text
    >>> x = ColumnRef("S", "x", DataType.INT)
    >>> as_seen([nodes.Comparison(">", x, nodes.Constant(1, DataType.INT))], lambda _: Guard())[0].right.value
    1
    >>> to_text(as_seen([nodes.IsNull(x)], lambda _: Guard())[0])
    'CASE WHEN FALSE THEN S.x ELSE NULL END IS NULL'
    """
    guarded = {column for one in conditions for column in columns_of(one) if not _always_seen(guard_of(column))}
    strict: set[ColumnRef] = set()
    for one in conditions:
        strict |= _rejecting_null(canonical(one))
    open_to_null = guarded - strict
    if not open_to_null:
        return tuple(conditions)

    def seen(node: Expression) -> Expression:
        if isinstance(node, ColumnRef) and node in guarded:
            return nodes.Case(((guard_of(node).predicate, node),), nodes.Constant(None, node.type))
        return node

    return tuple(rewrite(one, seen) for one in conditions)


def _always_seen(guard: Guard) -> bool:
    return guard.owned or (not guard.denies and any(one.condition is None for one in guard.allows))


def _rejecting_null(condition: Expression) -> set[ColumnRef]:
    """Columns for which a condition is not true if they are NULL; in canonical form, where negations are innermost."""
    match condition:
        case nodes.And(operands):
            return set().union(*map(_rejecting_null, operands))
        case nodes.Or(operands):
            return set.intersection(*map(_rejecting_null, operands))
        case nodes.Not(nodes.IsNull(operand)) | nodes.Not(operand):
            return _null_by_null(operand)
    return _null_by_null(condition)


def _null_by_null(node: Expression) -> set[ColumnRef]:
    """Columns for which the expression is NULL if they are."""
    match node:
        case ColumnRef():
            return {node}
        case nodes.Comparison() | nodes.Arithmetic() | nodes.Negate() | nodes.Like() | nodes.LocalTime() | nodes.Cast():
            return set().union(*map(_null_by_null, node.operands))
        case nodes.Call(function) if not FUNCTIONS[function].handles_null:
            return set().union(*map(_null_by_null, node.operands))
        case nodes.In():
            return _null_by_null(node.operand)
    return set()
