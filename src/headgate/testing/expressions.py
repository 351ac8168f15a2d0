"""Strategies for typed expressions over given columns: every kind of node, small constants that often coincide."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from headgate.model.datatype import DataType, Value
from headgate.model.expression import nodes
from headgate.model.expression.nodes import ColumnRef, Expression
from headgate.model.expression.transform import flattened
from headgate.testing.values import values_of

# Building a strategy costs more than drawing from it, so each is built once for its columns (hence the tuples).


@cache
def constants(kind: DataType) -> SearchStrategy[Expression]:
    """Constants of a type, as they are parsed: a whole number has the narrowest type that holds it."""
    return values_of(kind).filter(lambda value: value is not None).map(lambda value: _constant(value, kind))


def _constant(value: Value, kind: DataType) -> Expression:
    if kind is DataType.BIGINT and isinstance(value, int) and -(1 << 31) <= value < 1 << 31:
        kind = DataType.INT
    return nodes.Constant(value, kind)


@cache
def _columns_of_type(columns: tuple[ColumnRef, ...], kind: DataType) -> SearchStrategy[Expression]:
    matching: list[Expression] = [column for column in columns if column.type is kind]
    return st.sampled_from(matching) if matching else st.nothing()


@cache
def scalars(columns: tuple[ColumnRef, ...], kind: DataType, depth: int = 1) -> SearchStrategy[Expression]:
    """Expressions of a type; a column where there is one, else something computed or a constant."""
    simple = _columns_of_type(columns, kind) | constants(kind)
    if depth == 0:
        return simple
    return simple | _computed(columns, kind, depth - 1)


def _computed(columns: tuple[ColumnRef, ...], kind: DataType, depth: int) -> SearchStrategy[Expression]:
    same = scalars(columns, kind, depth)
    anything = [
        st.tuples(conditions(columns, depth), same, same).map(
            lambda parts: nodes.Case(((parts[0], parts[1]),), parts[2])
        ),
        st.tuples(same, same).map(lambda parts: nodes.Call("coalesce", parts)),
    ]
    if kind.numeric:
        numbers = st.tuples(st.sampled_from(nodes.ARITHMETIC_SIGNS), same, same)
        anything.append(numbers.map(lambda parts: nodes.Arithmetic(*parts)).filter(lambda node: node.type is kind))
        anything.append(_columns_of_type(columns, kind).map(nodes.Negate))
        anything.append(same.map(lambda one: nodes.Call("abs", (one,))))
    if kind is DataType.STRING:
        for function in ("upper", "lower", "trim"):
            anything.append(same.map(lambda one, name=function: nodes.Call(name, (one,))))  # type: ignore[misc]
        anything.append(st.tuples(same, same).map(lambda parts: nodes.Call("concat", parts)))
    if kind is DataType.INT:
        texts = scalars(columns, DataType.STRING, 0)
        anything.append(texts.map(lambda one: nodes.Call("length", (one,))))
        anything.append(texts.map(lambda one: nodes.Cast(one, DataType.INT)))
    return st.one_of(anything)


@cache
def conditions(columns: tuple[ColumnRef, ...], depth: int = 2) -> SearchStrategy[Expression]:
    """Conditions over the columns."""
    atoms = _atoms(columns, max(depth - 1, 0))
    if depth == 0:
        return atoms
    below = conditions(columns, depth - 1)
    several = st.lists(below, min_size=2, max_size=3)
    return st.one_of(
        atoms,
        several.map(_chained(nodes.And)),
        several.map(_chained(nodes.Or)),
        below.map(nodes.Not),
    )


def _chained(kind: type[nodes.And | nodes.Or]) -> Callable[[list[Expression]], Expression]:
    return lambda operands: kind(flattened(kind, operands))


def _atoms(columns: tuple[ColumnRef, ...], depth: int) -> SearchStrategy[Expression]:
    kinds = sorted({column.type for column in columns}) or [DataType.INT]
    return st.sampled_from(kinds).flatmap(lambda kind: _atoms_of(columns, kind, depth))


@cache
def _atoms_of(columns: tuple[ColumnRef, ...], kind: DataType, depth: int) -> SearchStrategy[Expression]:
    some = scalars(columns, kind, min(depth, 1))
    column = _columns_of_type(columns, kind)
    signs = st.sampled_from(nodes.COMPARISON_SIGNS)
    choices: list[SearchStrategy[Expression]] = [
        st.tuples(signs, column | some, some).map(lambda parts: nodes.Comparison(*parts)),
        some.map(nodes.IsNull),
        st.tuples(some, st.lists(constants(kind), min_size=1, max_size=3).map(tuple)).map(lambda p: nodes.In(*p)),
    ]
    if kind is DataType.STRING:
        patterns = st.sampled_from(["a%", "%", "a_", "b", "%a%", "_"])
        choices.append(st.tuples(some, patterns).map(lambda parts: nodes.Like(*parts)))
    if kind is DataType.BOOLEAN:
        choices.append(some)
    if kind is DataType.TIMESTAMP:
        choices.append(st.tuples(signs, column, _TIMES_OF_DAY).map(_by_the_clock))
    return st.one_of(choices)


_EIGHT = 8 * 3_600_000_000
_TIMES_OF_DAY = st.sampled_from([0, _EIGHT + 10_000_000, _EIGHT + 30_000_000, _EIGHT + 60_000_000]).map(
    lambda at: nodes.Constant(at, DataType.TIME_OF_DAY)
)


def _by_the_clock(parts: tuple[nodes.ComparisonSign, Expression, nodes.Constant]) -> Expression:
    sign, column, clock = parts
    return nodes.Comparison(sign, nodes.LocalTime(column, "UTC"), clock)
