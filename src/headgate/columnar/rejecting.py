"""Which conditions NULL cannot pass: they can be asked of more than is seen without letting anything through."""

from __future__ import annotations

from headgate.model.expression.nodes import (
    And,
    Arithmetic,
    ColumnRef,
    Comparison,
    Constant,
    Expression,
    In,
    Like,
    LocalTime,
    Negate,
    Or,
)


def rejects_null(condition: Expression) -> bool:
    """Whether the condition, true of some cells, would be true of these with more of them not hidden.

    That is so for comparisons of what is computed from columns by operators that hand NULL on, and for what AND and OR
    make of them: hiding a cell can only make such a condition less true.
    """
    match condition:
        case And(operands) | Or(operands):
            return all(rejects_null(one) for one in operands)
        case Comparison(_, left, right):
            return _hands_on(left) and _hands_on(right)
        case In(operand, items):
            return _hands_on(operand) and all(isinstance(item, Constant) for item in items)
        case Like(operand, _):
            return _hands_on(operand)
        case Constant():
            return True
    return False


def _hands_on(expression: Expression) -> bool:
    match expression:
        case ColumnRef() | Constant():
            return True
        case Arithmetic(_, left, right):
            return _hands_on(left) and _hands_on(right)
        case Negate(operand) | LocalTime(operand, _):
            return _hands_on(operand)
    return False
