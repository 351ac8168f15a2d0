"""Conditions and masks of policies as expressions of a recipe, from which the hook builds Catalyst's own.

They mean what they mean everywhere else: nothing raises, what cannot be computed is NULL. Columns stand by the ids they
have in the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from headgate.errors import InputError
from headgate.model.datatype import DataType
from headgate.model.expression import nodes
from headgate.model.expression.nodes import Expression
from headgate.policy.masking import standing_for
from headgate.policy.model import Mask, MaskKind

Term = dict[str, Any]
"""An expression of a recipe, as JSON."""


class Columns(Protocol):
    """What stands for a column; `presence` if it is only asked whether there is a value."""

    def __call__(self, reference: nodes.ColumnRef, /, presence: bool = False) -> Term: ...


NULL: Term = {"type": "null", "value": None}
TRUE: Term = {"type": "boolean", "value": True}
FALSE: Term = {"type": "boolean", "value": False}


class NotLoweredError(InputError):
    """A condition that cannot be put to Spark; the policy it stands in covers nothing."""


def call(name: str, *of: Term) -> Term:
    """A call of one of the functions that the hook knows."""
    return {"call": name, "of": list(of)}


def columns_by_id(ids: Mapping[str, int], padded: Collection[int] = (), opaque: Collection[int] = ()) -> Columns:
    """Columns of one table by their ids in the plan; those that are `padded` without the blanks behind their texts.

    Of the values of `opaque` ones policies have no type: they can ask whether there is one, and nothing else.
    """

    def column(reference: nodes.ColumnRef, /, presence: bool = False) -> Term:
        found = ids.get(reference.name.lower())
        if found is None:
            raise NotLoweredError(f"the table has no column `{reference.name}` in this plan")
        if found in opaque and not presence:
            raise NotLoweredError(f"values of `{reference.name}` are of a type that policies do not know")
        return call(_WITHOUT_BLANKS, {"column": found}) if found in padded else {"column": found}

    return column


def lower(expression: Expression, columns: Columns) -> Term:
    """The expression as the hook builds it."""
    lowered = _LOWERED.get(type(expression))
    if lowered is None:
        raise NotLoweredError(f"`{type(expression).__name__}` cannot be put to Spark")
    return lowered(expression, lambda inner: lower(inner, columns), columns)


_Down = Callable[[Expression], Term]

_ARITHMETIC = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "/": "try_divide", "%": "try_mod"}


def _constant(node: nodes.Constant, _: _Down, __: Columns) -> Term:
    if node.type in (DataType.DURATION, DataType.TIME_OF_DAY):
        return {"type": "bigint", "value": node.value}
    return {"type": node.type.value, "value": node.value}


_WITHOUT_BLANKS = "rtrim"


def _compared(terms: list[Term]) -> list[Term]:
    """Terms as they are compared: with a CHAR, blanks behind a text make no difference.

    >>> _compared([call("rtrim", {"column": 1}), {"type": "string", "value": "B  "}])[1]
    {'type': 'string', 'value': 'B'}
    """
    padded = any(one.get("call") == _WITHOUT_BLANKS for one in terms)
    return [_without_blanks(one) for one in terms] if padded else terms


def _without_blanks(term: Term) -> Term:
    if term.get("call") == _WITHOUT_BLANKS:
        return term
    if term.get("type") == "string" and term["value"] is not None:
        return {**term, "value": term["value"].rstrip(" ")}
    return call(_WITHOUT_BLANKS, term)


def _is_null(node: nodes.IsNull, down: _Down, columns: Columns) -> Term:
    one = node.operand
    return call("isnull", columns(one, presence=True) if isinstance(one, nodes.ColumnRef) else down(one))


def _arithmetic(node: nodes.Arithmetic, down: _Down, _: Columns) -> Term:
    if node.type is DataType.TIMESTAMP:
        moved = call(_ARITHMETIC[node.sign], call("unix_micros", down(node.left)), down(node.right))
        return call("timestamp_micros", moved)
    left, right = down(node.left), down(node.right)
    if node.sign == "/":
        left, right = _cast_to(left, DataType.DOUBLE), _cast_to(right, DataType.DOUBLE)
    return call(_ARITHMETIC[node.sign], left, right)


def _cast_to(term: Term, kind: DataType) -> Term:
    return {"try_cast": kind.value, "of": [term]}


def _call(node: nodes.Call, down: _Down, _: Columns) -> Term:
    return call(node.function, *(down(one) for one in node.operands))


def _case(node: nodes.Case, down: _Down, _: Columns) -> Term:
    result = down(node.otherwise)
    for condition, value in reversed(node.branches):
        result = call("if", down(condition), down(value), result)
    return result


def _local_time(node: nodes.LocalTime, down: _Down, _: Columns) -> Term:
    zone: Term = {"type": "string", "value": node.zone}
    there = call("from_utc_timestamp", down(node.operand), zone)
    return call("pmod", call("unix_micros", there), {"type": "bigint", "value": 86_400_000_000})


_LOWERED: dict[type[Expression], Callable[[Any, _Down, Columns], Term]] = {
    nodes.Constant: _constant,
    nodes.ColumnRef: lambda node, _, columns: columns(node),
    nodes.Comparison: lambda node, down, _: call(node.sign, *_compared([down(node.left), down(node.right)])),
    nodes.And: lambda node, down, _: call("and", *(down(one) for one in node.operands)),
    nodes.Or: lambda node, down, _: call("or", *(down(one) for one in node.operands)),
    nodes.Not: lambda node, down, _: call("not", down(node.operand)),
    nodes.IsNull: _is_null,
    nodes.In: lambda node, down, _: call("in", *_compared([down(one) for one in node.operands])),
    nodes.Like: lambda node, down, _: call("like", down(node.operand), {"type": "string", "value": node.pattern}),
    nodes.LocalTime: _local_time,
    nodes.Arithmetic: _arithmetic,
    nodes.Negate: lambda node, down, _: call("try_subtract", {"type": "int", "value": 0}, down(node.operand)),
    nodes.Call: _call,
    nodes.Cast: lambda node, down, _: _cast_to(down(node.operand), node.type),
    nodes.Case: _case,
}


def is_text(spark_type: str) -> bool:
    """Whether values are texts, however they are compared.

    >>> is_text("string collate UTF8_LCASE"), is_text("array<string>")
    (True, False)
    """
    return spark_type.partition(" ")[0] == "string"


def masked_term(mask: Mask, value: Term, spark_type: str, columns: Columns) -> Term:
    """What stands in place of a value of this type; what should be dropped is NULL, as a schema cannot change."""
    match mask.kind:
        case MaskKind.ZERO:
            return _zero(value, spark_type)
        case MaskKind.HASH:
            return _hash(value, spark_type)
        case MaskKind.REDACT:
            return {"type": "string", "value": "***"} if is_text(spark_type) else NULL
        case MaskKind.EXPRESSION:
            kind = DataType.STRING if is_text(spark_type) else _KINDS.get(spark_type.partition("(")[0])
            assert mask.expression is not None
            return NULL if kind is None else lower(standing_for(mask, kind), columns)
    return NULL


_KINDS = {
    **{one.value: one for one in DataType},
    "tinyint": DataType.INT,
    "smallint": DataType.INT,
    "float": DataType.DOUBLE,
    "decimal": DataType.DOUBLE,
}


def _zero(value: Term, spark_type: str) -> Term:
    if is_text(spark_type):
        return {"type": "string", "value": "0"}
    if spark_type in ("boolean", "date", "timestamp"):
        return {"type": spark_type, "value": False if spark_type == "boolean" else 0}
    if spark_type in _NUMBERS or spark_type.startswith("decimal"):
        return call("fit", {"type": "int", "value": 0}, value)
    return NULL


_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")


def _hash(value: Term, spark_type: str) -> Term:
    """As in the reference: hexadecimal digits for texts, a number of the first digits for whole numbers."""
    digest = call("sha2", call("binary", value), {"type": "int", "value": 256})
    digits = {"int": 7, "bigint": 15, "smallint": 7, "tinyint": 7}.get(spark_type)
    if is_text(spark_type):
        return digest
    if digits is None or spark_type in ("smallint", "tinyint"):
        return NULL
    first = call("substring", digest, {"type": "int", "value": 1}, {"type": "int", "value": digits})
    number = call("conv", first, {"type": "int", "value": 16}, {"type": "int", "value": 10})
    return _cast_to(number, DataType(spark_type))
