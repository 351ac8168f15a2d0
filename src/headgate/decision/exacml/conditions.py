"""`when` of a grant and the condition of a rule: comparisons of the environment and the profile with constants.

Both logics agree where a value is missing: what SQL calls NULL XACML calls Indeterminate, `and` and `or` decide past it
where they can, and neither lets an allow be in force nor a deny be out of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headgate.decision.exacml.vocabulary import ENVIRONMENT_NAME, PROFILE
from headgate.decision.xacml.datatypes import BOOLEAN, DOUBLE, INTEGER, STRING
from headgate.decision.xacml.datatypes import DataType as XacmlType
from headgate.decision.xacml.identifiers import ACCESS_SUBJECT, ENVIRONMENT, XACML_1
from headgate.decision.xacml.syntax import Apply, Designator, Literal
from headgate.decision.xacml.syntax import Expression as XacmlExpression
from headgate.errors import InputError, Place
from headgate.model.datatype import DataType
from headgate.model.expression import nodes
from headgate.model.expression.nodes import ComparisonSign, Expression
from headgate.policy.bind import constant

_FUNCTION: Final = XACML_1 + "function:"
_NUMBERS = (DataType.INT, DataType.BIGINT, DataType.DOUBLE)
_SIGNS: dict[ComparisonSign, str] = {
    "<": "less-than",
    "<=": "less-than-or-equal",
    ">": "greater-than",
    ">=": "greater-than-or-equal",
}
_MIRRORED: dict[ComparisonSign, ComparisonSign] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_EXACT = 1 << 53
"""Whole numbers up to here are doubles without loss."""


class UnsayableError(InputError):
    """The other language has no words for it."""


# From grants to XACML -------------------------------------------------------------------------------------------------


def to_condition(expression: Expression) -> XacmlExpression:
    """The condition of a rule that holds where the expression does."""
    match expression:
        case nodes.And():
            return _apply("and", *map(to_condition, expression.operands))
        case nodes.Or():
            return _apply("or", *map(to_condition, expression.operands))
        case nodes.Not():
            return _apply("not", to_condition(expression.operand))
        case nodes.Comparison():
            return _comparison(expression)
        case nodes.In():
            return _apply(
                "or", *(_comparison(nodes.Comparison("=", expression.operand, one)) for one in expression.items)
            )
    raise UnsayableError("the condition is more than comparisons with constants")


def _comparison(node: nodes.Comparison) -> XacmlExpression:
    sign, left, right = node.sign, node.left, node.right
    if isinstance(left, nodes.Constant):
        sign, left, right = _MIRRORED[sign], right, left
    if not isinstance(right, nodes.Constant) or right.value is None:
        raise UnsayableError("a comparison is not with a constant")
    kind, value = _constant(right)
    reference = _apply(f"{kind.name}-one-and-only", _designator(left, kind))
    literal = Literal(kind, value)
    if sign in ("=", "<>"):
        equal = _apply(f"{kind.name}-equal", reference, literal)
        return equal if sign == "=" else _apply("not", equal)
    if kind is BOOLEAN:
        raise UnsayableError("truth values have no order in XACML")
    return _apply(f"{kind.name}-{_SIGNS[sign]}", reference, literal)


def _constant(node: nodes.Constant) -> tuple[XacmlType, object]:
    if node.type is DataType.STRING:
        return STRING, node.value
    if node.type is DataType.BOOLEAN:
        return BOOLEAN, node.value
    if node.type in _NUMBERS and isinstance(node.value, int | float) and abs(node.value) <= _EXACT:
        return DOUBLE, float(node.value)
    raise UnsayableError(f"a constant of type {node.type} is compared")


def _designator(node: Expression, kind: XacmlType) -> Designator:
    if isinstance(node, nodes.EnvironmentRef):
        return Designator(ENVIRONMENT, ENVIRONMENT_NAME + node.name, kind, None, True)
    if isinstance(node, nodes.ProfileRef):
        return Designator(ACCESS_SUBJECT, PROFILE + node.name, kind, None, True)
    raise UnsayableError("something other than the environment or the profile is compared")


def _apply(name: str, *arguments: XacmlExpression) -> Apply:
    return Apply(_FUNCTION + name, arguments)


# From XACML to grants -------------------------------------------------------------------------------------------------


def from_condition(expression: XacmlExpression) -> Expression:
    """The `when` that holds where the condition of a rule does."""
    if not isinstance(expression, Apply):
        raise UnsayableError("the condition is not a comparison", place=getattr(expression, "place", Place()))
    name = expression.function_id.removeprefix(_FUNCTION)
    arguments = expression.arguments
    if name in ("and", "or") and len(arguments) > 1:
        parts = tuple(from_condition(one) for one in arguments)
        return nodes.And(parts) if name == "and" else nodes.Or(parts)
    if name in ("and", "or") and len(arguments) == 1:
        return from_condition(arguments[0])
    if name == "not" and len(arguments) == 1:
        return nodes.Not(from_condition(arguments[0]))
    for kind in (STRING, BOOLEAN, INTEGER, DOUBLE):
        sign = _sign(name, kind)
        if sign is not None and len(arguments) == 2:
            return _compared(sign, arguments, kind, expression)
    raise UnsayableError(f"the function `{expression.function_id}` cannot be said", place=expression.place)


def _sign(name: str, kind: XacmlType) -> ComparisonSign | None:
    words: dict[ComparisonSign, str] = {"=": "equal", **_SIGNS}
    return next((sign for sign, word in words.items() if name == f"{kind.name}-{word}"), None)


def _compared(
    sign: ComparisonSign, arguments: tuple[XacmlExpression, ...], kind: XacmlType, whole: Apply
) -> Expression:
    left, right = arguments
    if isinstance(left, Literal):
        sign, left, right = _MIRRORED[sign], right, left
    if not isinstance(right, Literal) or right.data_type is not kind:
        raise UnsayableError("a comparison is not with a constant", place=whole.place)
    value = right.value
    if not isinstance(value, str | int | float):
        raise UnsayableError("a comparison is not with a plain constant", place=whole.place)
    return nodes.Comparison(sign, _reference(left, kind, whole), constant(value))


def _reference(expression: XacmlExpression, kind: XacmlType, whole: Apply) -> Expression:
    is_single = isinstance(expression, Apply) and expression.function_id == f"{_FUNCTION}{kind.name}-one-and-only"
    inner = expression.arguments[0] if is_single and isinstance(expression, Apply) else None
    known: dict[str, tuple[str, Callable[[str], Expression]]] = {
        ENVIRONMENT: (ENVIRONMENT_NAME, nodes.EnvironmentRef),
        ACCESS_SUBJECT: (PROFILE, nodes.ProfileRef),
    }
    if isinstance(inner, Designator) and inner.issuer is None and inner.category in known:
        prefix, make = known[inner.category]
        if inner.attribute_id.startswith(prefix):
            return make(inner.attribute_id.removeprefix(prefix))
    raise UnsayableError("a comparison is not of the environment or the profile", place=whole.place)
