"""Compute what can be computed before any tuple arrives."""

from __future__ import annotations

from dataclasses import replace

from headgate.algebra.operators import Join, Operator, Select
from headgate.algebra.transform import over_groups, with_inputs
from headgate.model.datatype import DataType
from headgate.model.expression import nodes
from headgate.model.expression.evaluate import evaluate
from headgate.model.expression.nodes import Expression, columns_of
from headgate.model.expression.transform import rewrite


def simplify_conditions(operator: Operator) -> Operator:
    """Fold constants in conditions, and drop conditions that are always true.

    What: `x > 2 + 3 AND 1 = 1` becomes `x > 5`.
    Why it helps: equal conditions written differently become equal, and less is computed per tuple.
    When it does not apply: to anything that names a column; to HAVING, outputs and keys, whose parts must stay as the
    aggregate below computes them.
    Why it is safe: expressions are pure and never raise; `AND TRUE` and `OR FALSE` are neutral in three-valued logic
    as in two-valued. A condition that names a column is never dropped, even where it decides nothing.
    """
    rebuilt = with_inputs(operator, simplify_conditions)
    if isinstance(rebuilt, Select) and not over_groups(rebuilt):
        predicate = simplify(rebuilt.predicate)
        if predicate == nodes.TRUE:
            return rebuilt.input
        return rebuilt if predicate is rebuilt.predicate else Select(rebuilt.input, predicate)
    if isinstance(rebuilt, Join) and rebuilt.predicate is not None:
        predicate = simplify(rebuilt.predicate)
        if predicate is not rebuilt.predicate:
            return replace(rebuilt, predicate=None if predicate == nodes.TRUE else predicate)
    return rebuilt


def simplify(condition: Expression) -> Expression:
    """The condition with its constant parts computed."""
    return rewrite(condition, _folded)


def _folded(node: Expression) -> Expression:
    if isinstance(node, nodes.And):
        return _connected(node, neutral=True)
    if isinstance(node, nodes.Or):
        return _connected(node, neutral=False)
    if not node.operands or not all(isinstance(operand, nodes.Constant) for operand in node.operands):
        return node
    if isinstance(node, nodes.AggregateCall | nodes.LocalTime) or node.type is DataType.NULL:
        return node
    return nodes.Constant(evaluate(node, _no_columns), node.type)


def _connected(node: nodes.And | nodes.Or, neutral: bool) -> Expression:
    kept = tuple(one for one in node.operands if not (isinstance(one, nodes.Constant) and one.value is neutral))
    decided = any(isinstance(one, nodes.Constant) and one.value is (not neutral) for one in kept)
    # INVARIANT: no column falls away. Which columns a query names decides which tuples are dropped (section 4).
    if decided and not any(columns_of(one) for one in kept):
        return nodes.Constant(not neutral, DataType.BOOLEAN)
    if len(kept) == len(node.operands):
        return node
    if not kept:
        return nodes.Constant(neutral, DataType.BOOLEAN)
    return kept[0] if len(kept) == 1 else type(node)(kept)


def _no_columns(column: nodes.ColumnRef) -> None:
    raise AssertionError(f"a constant expression names {column}")
