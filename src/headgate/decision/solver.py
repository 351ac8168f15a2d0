"""Can a condition ever hold, and does one imply another? z3 decides, over all tuples there could be.

Every value is encoded with whether it is NULL, as SQL's three-valued logic needs it. What the solver is not taught
(most functions, arithmetic on doubles, patterns beyond prefixes) becomes an unknown of its own, equal for equal texts.
That keeps both answers sound: "it can never hold" and "it always follows" are said only if they are so whatever the
unknowns are. A time-out is an answer of its own, UNKNOWN, and callers must take it for the cautious one.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast

import z3  # type: ignore[import-untyped]  # the package ships no types

from headgate.model.datatype import DataType, Value
from headgate.model.expression import nodes
from headgate.model.expression.canonical import canonical
from headgate.model.expression.nodes import Expression
from headgate.model.expression.print import to_text
from headgate.model.instant import DAY

TIMEOUT_MILLISECONDS = 500

_INTEGERS = (DataType.INT, DataType.BIGINT, DataType.TIMESTAMP, DataType.DATE, DataType.DURATION, DataType.TIME_OF_DAY)
_BOUNDS = {
    DataType.INT: (-(1 << 31), (1 << 31) - 1),
    DataType.BIGINT: (-(1 << 63), (1 << 63) - 1),
    DataType.TIMESTAMP: (-62_135_596_800_000_000, 253_402_300_799_999_999),
    DataType.DATE: (-719_162, 2_932_896),
    DataType.TIME_OF_DAY: (0, DAY - 1),
}

# z3's default context is not safe for threads: one question at a time.
_lock = threading.Lock()


class Answer(StrEnum):
    """What the solver says."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Finding:
    """An answer and, for YES, an example: values of columns, by source and name, built from the conditions alone."""

    answer: Answer
    example: Mapping[tuple[str, str], Value] = field(default_factory=dict)


def can_hold(
    true: Iterable[Expression], not_true: Iterable[Expression] = (), timeout: int = TIMEOUT_MILLISECONDS
) -> Finding:
    """Is there a tuple for which all of `true` are true and none of `not_true` is?"""
    question = (tuple(true), tuple(not_true))
    with _lock:
        known = _answered.get(question)
        if known is None:
            known = _asked(question, timeout)
    return known


_Question = tuple[tuple[Expression, ...], tuple[Expression, ...]]
_answered: dict[_Question, Finding] = {}
"""The same few conditions are asked about again for every query and every version of the policies."""

_MAX_ANSWERED = 10_000


def _asked(question: _Question, timeout: int) -> Finding:
    try:
        finding = _solve(*question, timeout)
    except (z3.Z3Exception, RecursionError):
        return Finding(Answer.UNKNOWN)
    if finding.answer is not Answer.UNKNOWN:  # a time-out may be the machine's fault: it is not remembered
        if len(_answered) >= _MAX_ANSWERED:
            _answered.clear()
        _answered[question] = finding
    return finding


def implies(premises: Iterable[Expression], conclusion: Expression, timeout: int = TIMEOUT_MILLISECONDS) -> Answer:
    """Whether the conclusion is true wherever all the premises are."""
    finding = can_hold(premises, [conclusion], timeout)
    opposite = {Answer.YES: Answer.NO, Answer.NO: Answer.YES, Answer.UNKNOWN: Answer.UNKNOWN}
    return opposite[finding.answer]


def _solve(wanted: Iterable[Expression], unwanted: Iterable[Expression], timeout: int) -> Finding:
    encoder = _Encoder()
    solver = z3.SimpleSolver()
    solver.set("timeout", timeout)
    for condition in wanted:
        solver.add(encoder.truth(condition))
    for condition in unwanted:
        solver.add(z3.Not(encoder.truth(condition)))
    solver.add(*encoder.side_conditions)
    outcome = solver.check()
    if outcome == z3.unsat:
        return Finding(Answer.NO)
    if outcome == z3.unknown:
        return Finding(Answer.UNKNOWN)
    return Finding(Answer.YES, encoder.example(solver.model()))


@dataclass(frozen=True)
class _Term:
    """A value and whether it is NULL."""

    value: Any
    null: Any


class _Encoder:
    def __init__(self) -> None:
        self.side_conditions: list[Any] = []
        self._unknowns: dict[tuple[str, DataType], _Term] = {}
        self._columns: dict[tuple[str, str], tuple[nodes.ColumnRef, _Term]] = {}

    def truth(self, condition: Expression) -> Any:
        """The condition is true: neither false nor NULL."""
        term = _as_condition(self.term(condition))
        return z3.And(term.value, z3.Not(term.null))

    def term(self, node: Expression) -> _Term:
        encode = _ENCODERS.get(type(node))
        term = encode(self, node) if encode else None
        return term if term is not None else self.unknown(node)

    def unknown(self, node: Expression) -> _Term:
        """A value of which nothing is known but its type."""
        key = (to_text(canonical(node)), node.type)
        if key not in self._unknowns:
            self._unknowns[key] = self._variable(f"?{len(self._unknowns)}", node.type)
        return self._unknowns[key]

    def column(self, node: nodes.ColumnRef) -> _Term:
        key = (node.source, node.name)
        if key not in self._columns:
            self._columns[key] = (node, self._variable(f"{node.source}.{node.name}", node.type))
        return self._columns[key][1]

    def _variable(self, name: str, kind: DataType) -> _Term:
        null = z3.Bool(f"{name} is null")
        if kind in _INTEGERS:
            value = z3.Int(name)
            self._bound(value, kind)
        elif kind is DataType.DOUBLE:
            value = z3.Real(name)
        elif kind is DataType.BOOLEAN:
            value = z3.Bool(name)
        else:
            value = z3.String(name)
        return _Term(value, null)

    def _bound(self, value: Any, kind: DataType) -> None:
        if kind in _BOUNDS:
            low, high = _BOUNDS[kind]
            self.side_conditions.append(z3.And(value >= low, value <= high))

    def example(self, model: Any) -> dict[tuple[str, str], Value]:
        """The values of the columns in a model; those the model leaves open are left out."""
        found: dict[tuple[str, str], Value] = {}
        for key, (column, term) in self._columns.items():
            if z3.is_true(model.eval(term.null, model_completion=True)):
                found[key] = None
            else:
                found[key] = _plain(model.eval(term.value, model_completion=True), column.type)
        return found


def _plain(value: Any, kind: DataType) -> Value:
    if kind in _INTEGERS:
        return int(value.as_long())
    if kind is DataType.DOUBLE:
        return float(value.as_fraction())
    if kind is DataType.BOOLEAN:
        return bool(z3.is_true(value))
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), str(value.as_string()))


_ESCAPE = re.compile(r"\\u\{([0-9a-fA-F]+)\}")


def _text(value: str) -> Any:
    # z3 reads escapes in string literals: everything but plain letters is written as one, so that none is read by
    # chance.
    return z3.StringVal("".join(c if c.isascii() and c.isalnum() else f"\\u{{{ord(c):x}}}" for c in value))


def _writable(value: str) -> bool:
    """Whether z3 can hold the text. It has no character above U+2FFFF and would read the escape of one as text.

    U+2FFFF itself is left out too: to z3 nothing but its own continuations comes after it, to us other texts do.
    """
    return max(value, default="") < "\U0002ffff"


def _constant(_: _Encoder, node: nodes.Constant) -> _Term | None:
    if node.value is None:
        return _Term(_zero(node.type), z3.BoolVal(True))
    if isinstance(node.value, str) and not _writable(node.value):
        return None
    literals: dict[bool, Callable[[Any], Any]] = {True: z3.IntVal}
    make = literals.get(node.type in _INTEGERS)
    if make is None:
        make = {DataType.DOUBLE: _real, DataType.BOOLEAN: z3.BoolVal, DataType.STRING: _text}[node.type]
    return _Term(make(node.value), z3.BoolVal(False))


def _real(value: float) -> Any:
    numerator, denominator = value.as_integer_ratio()
    return z3.Q(numerator, denominator)


def _zero(kind: DataType) -> Any:
    if kind in _INTEGERS:
        return z3.IntVal(0)
    return {DataType.DOUBLE: z3.RealVal(0), DataType.BOOLEAN: z3.BoolVal(False)}.get(kind, z3.StringVal(""))


def _compare(sign: str, left: _Term, right: _Term) -> _Term | None:
    a, b = left.value, right.value
    if a.sort() != b.sort():
        if not (z3.is_arith(a) and z3.is_arith(b)):
            # One side is NULL of no type of its own, so the comparison is NULL whatever the other is.
            return _Term(z3.BoolVal(False), z3.Or(left.null, right.null))
        a, b = (z3.ToReal(one) if z3.is_int(one) else one for one in (a, b))
    if z3.is_bool(a) and sign not in ("=", "<>"):
        a, b = z3.If(a, 1, 0), z3.If(b, 1, 0)
    value = {
        "=": lambda: a == b,
        "<>": lambda: a != b,
        "<": lambda: a < b,
        "<=": lambda: a <= b,
        ">": lambda: b < a,
        ">=": lambda: b <= a,
    }[sign]()
    return _Term(value, z3.Or(left.null, right.null))


def _comparison(encoder: _Encoder, node: nodes.Comparison) -> _Term | None:
    return _compare(node.sign, encoder.term(node.left), encoder.term(node.right))


def _and(encoder: _Encoder, node: nodes.And) -> _Term:
    terms = [_as_condition(encoder.term(operand)) for operand in node.operands]
    false = z3.Or(*(z3.And(z3.Not(one.value), z3.Not(one.null)) for one in terms))
    return _Term(z3.Not(false), z3.And(z3.Not(false), z3.Or(*(one.null for one in terms))))


def _or(encoder: _Encoder, node: nodes.Or) -> _Term:
    terms = [_as_condition(encoder.term(operand)) for operand in node.operands]
    true = z3.Or(*(z3.And(one.value, z3.Not(one.null)) for one in terms))
    return _Term(true, z3.And(z3.Not(true), z3.Or(*(one.null for one in terms))))


def _not(encoder: _Encoder, node: nodes.Not) -> _Term:
    inner = _as_condition(encoder.term(node.operand))
    return _Term(z3.Not(inner.value), inner.null)


def _as_condition(term: _Term) -> _Term:
    # A bare NULL has no type: as a condition it is NULL.
    return term if z3.is_bool(term.value) else _Term(z3.BoolVal(False), z3.BoolVal(True))


def _is_null(encoder: _Encoder, node: nodes.IsNull) -> _Term:
    return _Term(encoder.term(node.operand).null, z3.BoolVal(False))


def _in(encoder: _Encoder, node: nodes.In) -> _Term:
    return _or(
        encoder, nodes.Or(tuple(nodes.Comparison("=", node.operand, item) for item in (*node.items, node.items[0])))
    )


def _like(encoder: _Encoder, node: nodes.Like) -> _Term | None:
    operand = encoder.term(node.operand)
    body = node.pattern.rstrip("%")
    if "\\" in node.pattern or "_" in body or "%" in body or not z3.is_string(operand.value):
        return None
    if not _writable(body):
        return None
    value = operand.value == _text(body) if body == node.pattern else z3.PrefixOf(_text(body), operand.value)
    return _Term(value, operand.null)


def _arithmetic(encoder: _Encoder, node: nodes.Arithmetic) -> _Term | None:
    if node.type not in _INTEGERS or node.sign in ("/", "%"):
        return None  # doubles round, and a remainder by zero is NULL: left unknown
    left, right = encoder.term(node.left), encoder.term(node.right)
    if not (z3.is_int(left.value) and z3.is_int(right.value)):
        return None
    if node.sign == "*" and not any(isinstance(one, nodes.Constant) for one in node.operands):
        return None
    value = {"+": left.value + right.value, "-": left.value - right.value, "*": left.value * right.value}[node.sign]
    return _Term(value, z3.Or(left.null, right.null, _overflow(value, node.type)))


def _overflow(value: Any, kind: DataType) -> Any:
    if kind not in _BOUNDS:
        return z3.BoolVal(False)
    low, high = _BOUNDS[kind]
    return z3.Or(value < low, value > high)


def _negate(encoder: _Encoder, node: nodes.Negate) -> _Term | None:
    operand = encoder.term(node.operand)
    if not z3.is_arith(operand.value):
        return None
    value = -operand.value
    overflow = _overflow(value, node.type) if z3.is_int(value) else z3.BoolVal(False)
    return _Term(value, z3.Or(operand.null, overflow))


def _call(encoder: _Encoder, node: nodes.Call) -> _Term | None:
    if node.function != "coalesce" or len({operand.type for operand in node.operands}) > 1:
        return None
    result = encoder.term(node.operands[-1])
    for operand in reversed(node.operands[:-1]):
        term = encoder.term(operand)
        result = _Term(z3.If(term.null, result.value, term.value), z3.And(term.null, result.null))
    return result


def _case(encoder: _Encoder, node: nodes.Case) -> _Term | None:
    result = encoder.term(node.otherwise)
    for condition, then in reversed(node.branches):
        term = encoder.term(then)
        if term.value.sort() != result.value.sort():
            return None  # numbers of several types are widened: left unknown
        holds = encoder.truth(condition)
        result = _Term(z3.If(holds, term.value, result.value), z3.If(holds, term.null, result.null))
    return result


_ENCODERS: dict[type[Expression], Callable[[_Encoder, Any], _Term | None]] = {
    nodes.Constant: _constant,
    nodes.ColumnRef: lambda encoder, node: encoder.column(cast(nodes.ColumnRef, node)),
    nodes.Comparison: _comparison,
    nodes.And: _and,
    nodes.Or: _or,
    nodes.Not: _not,
    nodes.IsNull: _is_null,
    nodes.In: _in,
    nodes.Like: _like,
    nodes.Arithmetic: _arithmetic,
    nodes.Negate: _negate,
    nodes.Call: _call,
    nodes.Case: _case,
}
"""Kinds that are not here are unknowns."""
