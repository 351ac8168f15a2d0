"""One form for expressions that mean the same: the ground for sharing work between queries.

Equal up to the order of conjuncts and of commutative operands, the direction of comparisons, double negation and De
Morgan's laws, repeated items and nesting of AND and OR. All of these hold in three-valued logic too. Nothing is
reassociated: sums of doubles and overflow depend on the order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headgate.model.datatype import DataType
from headgate.model.expression import nodes
from headgate.model.expression.nodes import Expression
from headgate.model.expression.print import to_text
from headgate.model.expression.transform import flattened, with_operands

_FLIPPED: dict[str, nodes.ComparisonSign] = {">": "<", ">=": "<="}
_OPPOSITE: dict[str, nodes.ComparisonSign] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def canonical(expression: Expression) -> Expression:
    """The canonical form; applying it twice changes nothing."""
    return _canonical(expression, negated=False)


def _canonical(node: Expression, negated: bool) -> Expression:
    if isinstance(node, nodes.Not):
        return _canonical(node.operand, not negated)
    if isinstance(node, nodes.And | nodes.Or):
        kind = nodes.And if isinstance(node, nodes.And) != negated else nodes.Or
        return _joined(kind, (_canonical(operand, negated) for operand in node.operands))
    if isinstance(node, nodes.Comparison):
        return _comparison(node, negated)
    rebuilt = _atom(with_operands(node, lambda operand: _canonical(operand, negated=False)))
    if isinstance(rebuilt, nodes.Comparison):  # `x IN (1)` became `x = 1`
        return _comparison(rebuilt, negated)
    return nodes.Not(rebuilt) if negated else rebuilt


def _joined(kind: type[nodes.And | nodes.Or], operands: Iterable[Expression]) -> Expression:
    flat: dict[str, Expression] = {}
    for part in flattened(kind, operands):
        flat.setdefault(to_text(part), part)
    parts = tuple(flat[text] for text in sorted(flat))
    return parts[0] if len(parts) == 1 else kind(parts)


def _comparison(node: nodes.Comparison, negated: bool) -> Expression:
    sign = _OPPOSITE[node.sign] if negated else node.sign
    left, right = _plain_number(canonical(node.left)), _plain_number(canonical(node.right))
    if sign in _FLIPPED or (sign in ("=", "<>") and to_text(right) < to_text(left)):
        left, right, sign = right, left, _FLIPPED.get(sign, sign)
    return nodes.Comparison(sign, left, right)


def _atom(node: Expression) -> Expression:
    if isinstance(node, nodes.Arithmetic) and node.sign in ("+", "*") and node.type.numeric:
        left, right = sorted((node.left, node.right), key=to_text)
        return replace(node, left=left, right=right)
    if isinstance(node, nodes.In):
        items = {to_text(item): item for item in map(_plain_number, node.items)}
        if len(items) == 1:
            return nodes.Comparison("=", node.operand, next(iter(items.values())))
        return nodes.In(_plain_number(node.operand), tuple(items[text] for text in sorted(items)))
    return node


def _plain_number(node: Expression) -> Expression:
    # Where a constant is only compared, 5 and 5.0 say the same.
    if isinstance(node, nodes.Constant) and isinstance(node.value, float) and node.value.is_integer():
        whole = int(node.value)
        if abs(whole) < 1 << 31:
            return nodes.Constant(whole, DataType.INT)
    return node
