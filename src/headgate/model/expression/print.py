"""From expressions to text that parses back to the same expression, with no more parentheses than it needs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

from headgate.model.datatype import DataType
from headgate.model.duration import format_duration, format_time_of_day
from headgate.model.expression import nodes
from headgate.model.expression.nodes import Expression
from headgate.model.expression.tokens import is_plain_name
from headgate.model.instant import format_date, format_timestamp

_OR, _AND, _NOT, _COMPARE, _ADD, _MULTIPLY, _UNARY, _ATOM = range(8)

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*$")
# Words that are tokenised as names and yet parsed as something else in some places.
_RESERVED = frozenset(
    ("date", "end", "if", "interval", "now", "range", "rows", "slide", "start", "target", "time", "timestamp", "xor")
)


def quote_name(name: str) -> str:
    """A name as it can stand in a query: quoted where it would not be read back as that name.

    >>> quote_name("heartRate"), quote_name("odd name")
    ('heartRate', '"odd name"')
    """
    if _PLAIN_NAME.match(name) and name.lower() not in _RESERVED and is_plain_name(name):
        return name
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("'", "''") + "'"


def to_text(expression: Expression, qualified: bool = True) -> str:
    """The text of an expression; `qualified=False` leaves the sources out, as output names do."""
    return _Printer(qualified).text(expression)


class _Printer:
    def __init__(self, qualified: bool) -> None:
        self.qualified = qualified

    def text(self, node: Expression, above: int = _OR) -> str:
        strength, text = _PRINTERS[type(node)](self, node)
        return f"({text})" if strength < above else text

    def column(self, node: nodes.ColumnRef) -> tuple[int, str]:
        name = quote_name(node.name)
        return _ATOM, f"{quote_name(node.source)}.{name}" if node.source and self.qualified else name

    def constant(self, node: nodes.Constant) -> tuple[int, str]:
        return (_UNARY if _negative(node) else _ATOM), _constant_text(node)

    def chain(self, word: str, strength: int, operands: tuple[Expression, ...]) -> tuple[int, str]:
        return strength, f" {word} ".join(self.text(operand, strength + 1) for operand in operands)

    def comparison(self, node: nodes.Comparison) -> tuple[int, str]:
        return _COMPARE, f"{self.text(node.left, _ADD)} {node.sign} {self.text(node.right, _ADD)}"

    def negation(self, node: nodes.Not) -> tuple[int, str]:
        inner = node.operand
        if isinstance(inner, nodes.IsNull):
            return _COMPARE, f"{self.text(inner.operand, _ADD)} IS NOT NULL"
        if isinstance(inner, nodes.In):
            return _COMPARE, self._membership(inner, "NOT IN")
        if isinstance(inner, nodes.Like):
            return _COMPARE, f"{self.text(inner.operand, _ADD)} NOT LIKE {quote_text(inner.pattern)}"
        return _NOT, f"NOT {self.text(inner, _COMPARE + 1)}"

    def _membership(self, node: nodes.In, word: str) -> str:
        items = ", ".join(self.text(item) for item in node.items)
        return f"{self.text(node.operand, _ADD)} {word} ({items})"

    def arithmetic(self, node: nodes.Arithmetic) -> tuple[int, str]:
        strength = _ADD if node.sign in "+-" else _MULTIPLY
        return strength, f"{self.text(node.left, strength)} {node.sign} {self.text(node.right, strength + 1)}"

    def case(self, node: nodes.Case) -> tuple[int, str]:
        branches = " ".join(f"WHEN {self.text(when)} THEN {self.text(then)}" for when, then in node.branches)
        return _ATOM, f"CASE {branches} ELSE {self.text(node.otherwise)} END"

    def call(self, name: str, arguments: tuple[Expression, ...]) -> tuple[int, str]:
        return _ATOM, f"{name}({', '.join(self.text(argument) for argument in arguments)})"

    def aggregate(self, node: nodes.AggregateCall) -> tuple[int, str]:
        return (_ATOM, f"{node.function}(*)") if node.argument is None else self.call(node.function, node.operands)


def _negative(node: nodes.Constant) -> bool:
    return node.type.numeric and isinstance(node.value, int | float) and str(node.value).startswith("-")


def _constant_text(node: nodes.Constant) -> str:
    value = node.value
    if value is None:
        return "NULL"
    match node.type:
        case DataType.BOOLEAN:
            return "TRUE" if value else "FALSE"
        case DataType.STRING:
            return quote_text(cast(str, value))
        case DataType.TIMESTAMP:
            return f"TIMESTAMP '{format_timestamp(cast(int, value))}'"
        case DataType.DATE:
            return f"DATE '{format_date(cast(int, value))}'"
        case DataType.DURATION:
            return format_duration(cast(int, value))
        case DataType.TIME_OF_DAY:
            return format_time_of_day(cast(int, value))
    return repr(value)


_PRINTERS: dict[type[Expression], Callable[..., tuple[int, str]]] = {
    nodes.Constant: _Printer.constant,
    nodes.ColumnRef: _Printer.column,
    nodes.ProfileRef: lambda _, node: (_ATOM, f"self.{quote_name(node.name)}"),
    nodes.EnvironmentRef: lambda _, node: (_ATOM, f"env.{quote_name(node.name)}"),
    nodes.EventRef: lambda _, node: (_ATOM, f"{node.part}({node.event})"),
    nodes.Comparison: _Printer.comparison,
    nodes.And: lambda printer, node: printer.chain("AND", _AND, node.operands),
    nodes.Or: lambda printer, node: printer.chain("OR", _OR, node.operands),
    nodes.Not: _Printer.negation,
    nodes.IsNull: lambda printer, node: (_COMPARE, f"{printer.text(node.operand, _ADD)} IS NULL"),
    nodes.In: lambda printer, node: (_COMPARE, printer._membership(node, "IN")),
    nodes.Like: lambda printer, node: (
        _COMPARE,
        f"{printer.text(node.operand, _ADD)} LIKE {quote_text(node.pattern)}",
    ),
    nodes.LocalTime: lambda printer, node: (_ATOM, printer.text(node.operand, _ATOM)),
    nodes.Arithmetic: _Printer.arithmetic,
    nodes.Negate: lambda printer, node: (_UNARY, f"-{printer.text(node.operand, _ATOM)}"),
    nodes.Call: lambda printer, node: printer.call(node.function, node.operands),
    nodes.Cast: lambda printer, node: (_ATOM, f"CAST({printer.text(node.operand)} AS {node.type.value})"),
    nodes.Case: _Printer.case,
    nodes.AggregateCall: _Printer.aggregate,
}
