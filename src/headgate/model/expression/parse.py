"""From text to typed expressions. sqlglot parses; every node it hands over is checked against a closed list.

An unknown function, an unknown kind of node, or a known kind with an option that is not understood is refused: nothing
passes because it was not understood.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Protocol, cast, get_args

from sqlglot import exp
from sqlglot.errors import ParseError as SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token

from headgate.errors import InputError, ParseError, Place, TypeMismatchError, UnknownNameError
from headgate.model.closest import closest
from headgate.model.datatype import DataType, in_range, parse_type
from headgate.model.duration import parse_duration, parse_time_of_day, unit_length
from headgate.model.expression import nodes
from headgate.model.expression.functions import FUNCTIONS
from headgate.model.expression.nodes import Expression
from headgate.model.expression.tokens import DIALECT, DURATION, EVENT, TIME_OF_DAY, place_of, tokenize
from headgate.model.expression.transform import flattened
from headgate.model.instant import SECOND, parse_date, parse_timestamp
from headgate.model.schema import Column

MAX_DEPTH = 200
"""How deep an expression may be nested; chains of AND and OR count once."""


class Scope(Protocol):
    """What the names in an expression stand for."""

    def column(self, source: str | None, name: str) -> tuple[nodes.ColumnRef, Column, str]:
        """The reference, the declared column, and the time zone of its stream."""

    def special(self, source: str | None, name: str) -> Expression | None:
        """A reference that is not a column (`self.x`, `env.x`), where the scope has such."""

    aggregates: bool
    """Whether aggregate functions may be called here."""

    events: bool
    """Whether `start(a)` and its like may be used here."""


def parse_expression(text: str, scope: Scope) -> Expression:
    """Read one expression."""
    tree = parse_tokens(tokenize(text), text, into=exp.Condition)
    return Builder(text, scope).build(tree)


def parse_condition(text: str, scope: Scope) -> Expression:
    """Read one condition."""
    condition = parse_expression(text, scope)
    try:
        nodes.require_conditions((condition,))
    except InputError as error:
        raise error.at(Place(1, 1)) from None
    return condition


def parse_tokens(tokens: list[Token], text: str, into: type[exp.Expr] | None = None) -> exp.Expr:
    """Let sqlglot parse one expression or statement, its errors turned into ours."""
    if not tokens:
        raise ParseError("the text is empty", place=Place(1, 1))
    try:
        parser = Parser(dialect=DIALECT)
        trees = parser.parse_into(into, tokens, text) if into else parser.parse(tokens, text)
    except SqlglotError as error:
        detail = error.errors[0] if error.errors else {}
        line, column = detail.get("line"), detail.get("col")
        near = str(detail.get("highlight") or "").strip()
        start = max((column or 1) - len(near) + 1, 1)
        message = f"unexpected `{near}`" if near else "the text ends too soon or is not understood"
        raise ParseError(message, place=Place(line or 1, start), hint="check the words just before it") from error
    except RecursionError as error:
        raise ParseError("nested too deeply", place=Place(1, 1), hint=f"the limit is {MAX_DEPTH} levels") from error
    if len(trees) != 1 or trees[0] is None:
        raise ParseError("there is more than one statement", place=Place(1, 1), hint="write one")
    return trees[0]


def only(node: exp.Expr, *allowed: str) -> None:
    """Refuse a node that carries an option beyond the allowed ones."""
    for key, value in node.args.items():
        if key not in allowed and key not in _HARMLESS and value not in (None, False, []):
            raise ParseError(
                f"`{node.sql()[:80]}` is not understood", hint="write it without the parts beyond plain SQL"
            )


_HARMLESS = {"big_int", "safe", "coalesce", "ignore_nulls", "_type", "nested"}
"""Flags that sqlglot sets by itself on nodes written in the plain way."""


class Builder:
    """Turns one sqlglot tree into typed nodes, and knows where each part of the text is."""

    def __init__(self, text: str, scope: Scope) -> None:
        self.text = text
        self.scope = scope
        self._depth = 0

    def place(self, tree: exp.Expr) -> Place:
        """Where the tree's first word stands."""
        starts = [node.meta["start"] for node in tree.walk() if "start" in node.meta]
        return place_of(self.text, min(starts)) if starts else Place(1, 1)

    def build(self, tree: exp.Expr) -> Expression:
        """The typed expression of a tree."""
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                raise ParseError("nested too deeply", hint=f"the limit is {MAX_DEPTH} levels")
            return self._build(tree)
        except InputError as error:
            raise error.at(self.place(tree)) from error.__cause__
        finally:
            self._depth -= 1

    def _build(self, tree: exp.Expr) -> Expression:
        builder = _BUILDERS.get(type(tree))
        if builder is not None:
            return builder(self, tree)
        if isinstance(tree, exp.Func):
            return self._function(tree)
        raise ParseError(f"`{tree.sql()[:80]}` is not understood here", hint="see docs/cql.md for what can be written")

    def _function(self, tree: exp.Func) -> Expression:
        name, arguments = _call_parts(tree)
        if name in _AGGREGATE_NAMES:
            return self._aggregate(_AGGREGATE_NAMES[name], arguments)
        if name not in FUNCTIONS:
            known = [*FUNCTIONS, *nodes.AGGREGATES] if self.scope.aggregates else [*FUNCTIONS]
            raise UnknownNameError(f"unknown function `{name}`", hint=closest(name, known))
        return nodes.Call(name, tuple(self.build(argument) for argument in arguments))

    def _aggregate(self, function: str, arguments: list[exp.Expr]) -> Expression:
        if not self.scope.aggregates:
            raise ParseError(f"`{function}` cannot be used here", hint="aggregate functions go in SELECT and HAVING")
        if len(arguments) != 1:
            raise ParseError(f"`{function}` takes one argument, not {len(arguments)}")
        if isinstance(arguments[0], exp.Star):
            return nodes.AggregateCall(function, None)
        argument = self.build(arguments[0])
        if any(isinstance(node, nodes.AggregateCall) for node in nodes.walk(argument)):
            raise ParseError("an aggregate function inside another", hint="aggregate once")
        return nodes.AggregateCall(function, argument)

    def chain(self, tree: exp.Expr, kind: type[exp.Connector]) -> tuple[Expression, ...]:
        """The operands of a chain of ANDs or ORs, however long, in order."""
        operands: list[exp.Expr] = []
        stack: list[exp.Expr] = [tree]
        while stack:
            node = stack.pop()
            if isinstance(node, kind):
                stack.extend((node.expression, node.this))
            elif isinstance(node, exp.Paren) and isinstance(node.unnest(), kind):
                stack.append(node.unnest())
            else:
                operands.append(node)
        return tuple(self.build(operand) for operand in operands)

    def comparison(self, sign: nodes.ComparisonSign, left: Expression, right: Expression) -> Expression:
        """A comparison, with the literals of one side understood by the type of the other."""
        return nodes.Comparison(sign, self._as_like(left, right), self._as_like(right, left))

    def _as_like(self, side: Expression, other: Expression) -> Expression:
        if isinstance(side, nodes.Constant):
            if side.type is DataType.DURATION and (other.type.numeric or other.type is DataType.NULL):
                return _in_units(side, self._unit(other))
            side = text_as(side, other.type)
        if side.type is DataType.TIMESTAMP and other.type is DataType.TIME_OF_DAY:
            return nodes.LocalTime(side, self._zone(side))
        return side

    def _unit(self, expression: Expression) -> int:
        for column in nodes.columns_of(expression):
            declared = self.scope.column(column.source or None, column.name)[1]
            if declared.unit:
                return unit_length(declared.unit)
        return SECOND

    def _zone(self, expression: Expression) -> str:
        columns = nodes.columns_of(expression)
        return self.scope.column(columns[0].source or None, columns[0].name)[2] if columns else "UTC"


def text_as(constant: nodes.Constant, kind: DataType) -> nodes.Constant:
    """A text literal that is compared with a timestamp or a date stands for one."""
    if constant.type is DataType.STRING and isinstance(constant.value, str):
        if kind is DataType.TIMESTAMP:
            return nodes.Constant(parse_timestamp(constant.value), kind)
        if kind is DataType.DATE:
            return nodes.Constant(parse_date(constant.value), kind)
    return constant


def _in_units(duration: nodes.Constant, unit: int) -> nodes.Constant:
    micros = cast(int, duration.value)
    if micros % unit == 0:
        return _integer(micros // unit)
    return nodes.Constant(micros / unit, DataType.DOUBLE)


def _integer(value: int) -> nodes.Constant:
    for kind in (DataType.INT, DataType.BIGINT):
        if in_range(value, kind):
            return nodes.Constant(value, kind)
    raise TypeMismatchError(f"the number {value} does not fit", hint="whole numbers have at most 64 bits")


_AGGREGATE_NAMES = {
    **{name: name for name in nodes.AGGREGATES},
    "firstval": "first",
    "firstvalue": "first",
    "first_value": "first",
    "lastval": "last",
    "lastvalue": "last",
    "last_value": "last",
    "average": "avg",
    "maximum": "max",
    "minimum": "min",
}

_FUNCTION_NAMES = {"substr": "substring", "ceiling": "ceil", "char_length": "length", "ifnull": "coalesce"}


def _call_parts(tree: exp.Func) -> tuple[str, list[exp.Expr]]:
    """The name of a call and its arguments; any option beside them is refused."""
    if isinstance(tree, exp.Anonymous):
        name = str(tree.this).lower()
        arguments = list(tree.expressions)
        only(tree, "this", "expressions")
    else:
        name = tree.sql_name().lower()
        slots = _ARGUMENTS.get(name, ("this", "expression", "expressions"))
        only(tree, *slots)
        arguments = [one for slot in slots for one in _listed(tree.args.get(slot))]
    return _FUNCTION_NAMES.get(name, name), arguments


_ARGUMENTS = {
    "substring": ("this", "start", "length"),
    "round": ("this", "decimals"),
    "if": ("this", "true", "false"),
}


def _listed(value: object) -> Iterable[exp.Expr]:
    if value is None:
        return []
    return value if isinstance(value, list) else [cast(exp.Expr, value)]


def _column(builder: Builder, tree: exp.Expr) -> Expression:
    only(tree, "this", "table")
    assert isinstance(tree, exp.Column)
    if isinstance(tree.this, exp.Star):
        raise ParseError("`*` cannot be used here", hint="name the columns")
    special = builder.scope.special(tree.table or None, tree.name)
    return special if special is not None else builder.scope.column(tree.table or None, tree.name)[0]


def _literal(_: Builder, tree: exp.Expr) -> Expression:
    assert isinstance(tree, exp.Literal)
    if tree.is_string:
        return nodes.Constant(tree.name, DataType.STRING)
    return _number(tree.name)


_MAX_DIGITS = 400


def _number(text: str) -> nodes.Constant:
    if len(text) > _MAX_DIGITS:
        raise TypeMismatchError("the number has too many digits")
    if text.isdecimal() and text.isascii():
        return _integer(int(text))
    try:
        value = float(text)
    except ValueError:
        raise ParseError(f"`{text}` is not a number") from None
    if not math.isfinite(value):
        raise TypeMismatchError(f"the number {text} does not fit a double")
    return nodes.Constant(value, DataType.DOUBLE)


def _negative(builder: Builder, tree: exp.Expr) -> Expression:
    literal = tree.this
    if isinstance(literal, exp.Literal) and not literal.is_string and literal.name.isdecimal():
        # At once, for the least number has no positive counterpart.
        return _integer(-int(literal.name[: _MAX_DIGITS + 1]))
    operand = builder.build(literal)
    if isinstance(operand, nodes.Constant) and isinstance(operand.value, float):
        return nodes.Constant(-operand.value, operand.type)
    return nodes.Negate(operand)


def _compare(sign: nodes.ComparisonSign) -> Callable[[Builder, exp.Expr], Expression]:
    return lambda builder, tree: builder.comparison(sign, builder.build(tree.this), builder.build(tree.expression))


def _arithmetic(sign: nodes.ArithmeticSign) -> Callable[[Builder, exp.Expr], Expression]:
    return lambda builder, tree: nodes.Arithmetic(sign, builder.build(tree.this), builder.build(tree.expression))


def _is(builder: Builder, tree: exp.Expr) -> Expression:
    if not isinstance(tree.expression, exp.Null):
        raise ParseError("IS is followed by something else than NULL", hint="write `x IS NULL` or `x = TRUE`")
    return nodes.IsNull(builder.build(tree.this))


def _in(builder: Builder, tree: exp.Expr) -> Expression:
    only(tree, "this", "expressions")
    operand = builder.build(tree.this)
    items = tuple(builder._as_like(builder.build(item), operand) for item in tree.expressions)
    if not items:
        raise ParseError("IN needs a list of values", hint="write `x IN (1, 2, 3)`")
    return nodes.In(operand, items)


def _between(builder: Builder, tree: exp.Expr) -> Expression:
    only(tree, "this", "low", "high")
    operand = builder.build(tree.this)
    low, high = builder.build(tree.args["low"]), builder.build(tree.args["high"])
    return nodes.And((builder.comparison(">=", operand, low), builder.comparison("<=", operand, high)))


def _like(builder: Builder, tree: exp.Expr) -> Expression:
    only(tree, "this", "expression", "negate")
    pattern = builder.build(tree.expression)
    if not isinstance(pattern, nodes.Constant) or not isinstance(pattern.value, str):
        raise ParseError("the pattern of LIKE is not a string", hint="write it in quotes")
    matched = nodes.Like(builder.build(tree.this), pattern.value)
    return nodes.Not(matched) if tree.args.get("negate") else matched


def _cast(builder: Builder, tree: exp.Expr) -> Expression:
    only(tree, "this", "to")
    kind = tree.args["to"]
    if not isinstance(kind, exp.DataType) or kind.expressions or not isinstance(kind.this, exp.DType):
        raise ParseError(f"`{kind.sql()[:80]}` is not a type to cast to", hint="write a plain type, such as `int`")
    target = parse_type(kind.this.value)
    operand = builder.build(tree.this)
    text = isinstance(operand, nodes.Constant) and operand.type is DataType.STRING
    if text and target in (DataType.TIMESTAMP, DataType.DATE):
        return text_as(cast(nodes.Constant, operand), target)
    return nodes.Cast(operand, target)


def _case(builder: Builder, tree: exp.Expr) -> Expression:
    only(tree, "this", "ifs", "default")
    subject = builder.build(tree.this) if tree.this else None
    branches = []
    for branch in tree.args["ifs"]:
        when = builder.build(branch.this)
        condition = when if subject is None else builder.comparison("=", subject, when)
        branches.append((condition, builder.build(branch.args["true"])))
    default = tree.args.get("default")
    return nodes.Case(tuple(branches), builder.build(default) if default else nodes.NULL)


def _anonymous(builder: Builder, tree: exp.Expr) -> Expression:
    assert isinstance(tree, exp.Anonymous)
    name = str(tree.this)
    if name not in (DURATION, TIME_OF_DAY, EVENT) or len(tree.expressions) != 1:
        return builder._function(tree)
    text = tree.expressions[0].name
    if name == DURATION:
        return nodes.Constant(parse_duration(text), DataType.DURATION)
    if name == TIME_OF_DAY:
        return nodes.Constant(parse_time_of_day(text), DataType.TIME_OF_DAY)
    part, _, event = text.partition(":")
    if not builder.scope.events or part not in get_args(nodes.EventPart):
        raise UnknownNameError(f"unknown function `{part}`", hint="named events can be used in policies only")
    return nodes.EventRef(cast(nodes.EventPart, part), event)


_BUILDERS: dict[type[exp.Expr], Callable[[Builder, exp.Expr], Expression]] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: lambda _, tree: nodes.Constant(bool(tree.this), DataType.BOOLEAN),
    exp.Null: lambda _, __: nodes.NULL,
    exp.Paren: lambda builder, tree: builder.build(tree.unnest()),
    exp.And: lambda builder, tree: nodes.And(flattened(nodes.And, builder.chain(tree, exp.And))),
    exp.Or: lambda builder, tree: nodes.Or(flattened(nodes.Or, builder.chain(tree, exp.Or))),
    exp.Not: lambda builder, tree: nodes.Not(builder.build(tree.this)),
    exp.EQ: _compare("="),
    exp.NEQ: _compare("<>"),
    exp.LT: _compare("<"),
    exp.LTE: _compare("<="),
    exp.GT: _compare(">"),
    exp.GTE: _compare(">="),
    exp.Add: _arithmetic("+"),
    exp.Sub: _arithmetic("-"),
    exp.Mul: _arithmetic("*"),
    exp.Div: _arithmetic("/"),
    exp.Mod: _arithmetic("%"),
    exp.Neg: _negative,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.Cast: _cast,
    exp.Case: _case,
    exp.Anonymous: _anonymous,
    exp.DPipe: lambda builder, tree: nodes.Call("concat", (builder.build(tree.this), builder.build(tree.expression))),
}
