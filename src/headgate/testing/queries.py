"""Strategies for queries: every operator, every kind of window."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from headgate.algebra.block import build_block, default_name
from headgate.algebra.operators import Operator, Output, Project, Source, Union
from headgate.algebra.window import AnyWindow, NowWindow, RangeWindow, RowsWindow
from headgate.model.datatype import DataType
from headgate.model.expression.nodes import AggregateCall, ColumnRef, Comparison, Expression
from headgate.model.expression.transform import conjunction
from headgate.model.instant import SECOND
from headgate.model.schema import StreamSchema
from headgate.testing.expressions import conditions, constants, scalars


def columns_of_sources(sources: Sequence[Source]) -> tuple[ColumnRef, ...]:
    """All columns that a query over these sources can name."""
    return tuple(
        ColumnRef(source.alias, column.name, column.type) for source in sources for column in source.stream.columns
    )


@st.composite
def _sources(draw: st.DrawFn, streams: Sequence[StreamSchema], most: int) -> list[Source]:
    chosen = draw(st.lists(st.sampled_from(list(streams)), min_size=1, max_size=most))
    aliases = draw(st.sampled_from([("a", "b", "c"), ("s1", "s2", "s3"), ("odd alias", "Y", "z")]))
    if len(chosen) == 1 and draw(st.booleans()):
        return [Source(chosen[0], chosen[0].name)]
    return [Source(stream, alias) for stream, alias in zip(chosen, aliases, strict=False)]


@cache
def _range_windows() -> SearchStrategy[AnyWindow]:
    sizes = st.sampled_from([(10, 10), (10, 5), (20, 5), (7, 3), (60, 60)])
    return sizes.map(lambda pair: RangeWindow(pair[0] * SECOND, pair[1] * SECOND))


@cache
def _rows_windows() -> SearchStrategy[AnyWindow]:
    return st.tuples(st.integers(1, 4), st.integers(1, 5)).map(lambda pair: RowsWindow(*pair))


@st.composite
def _join_windows(draw: st.DrawFn, count: int) -> list[AnyWindow | None]:
    one: SearchStrategy[AnyWindow | None] = st.none() | st.just(NowWindow()) | _range_windows()
    return [draw(one) for _ in range(count)]


@cache
def _aggregate_calls(columns: tuple[ColumnRef, ...]) -> SearchStrategy[AggregateCall]:
    numbers = [column.type for column in columns if column.type.numeric]
    choices: list[SearchStrategy[AggregateCall]] = [
        st.just(AggregateCall("count", None)),
        st.tuples(st.sampled_from(["count", "min", "max", "first", "last"]), st.sampled_from(list(columns))).map(
            lambda pair: AggregateCall(*pair)
        ),
    ]
    if numbers:
        arguments = st.sampled_from(numbers).flatmap(lambda kind: scalars(columns, kind, 1))
        choices.append(
            st.tuples(st.sampled_from(["sum", "avg", "min", "max"]), arguments).map(lambda pair: AggregateCall(*pair))
        )
    return st.one_of(choices)


def _named(expressions: list[Expression]) -> list[Output]:
    outputs: dict[str, Output] = {}
    for position, expression in enumerate(expressions):
        name = default_name(expression)
        if name.lower() in outputs:
            name = f"out {position}"
        outputs[name.lower()] = Output(name, expression)
    return list(outputs.values())


@st.composite
def plain_blocks(draw: st.DrawFn, streams: Sequence[StreamSchema], joins: int = 2) -> Project:
    """A selection, projection or window join."""
    sources = draw(_sources(streams, joins))
    columns = columns_of_sources(sources)
    kind = draw(st.sampled_from([column.type for column in columns]))
    shown = draw(st.lists(st.sampled_from(columns) | scalars(columns, kind), min_size=1, max_size=3))
    return build_block(
        sources,
        draw(_join_windows(len(sources))) if len(sources) > 1 else [None],
        _named(list(shown)),
        where=_where(draw, sources, columns),
    )


def _where(draw: st.DrawFn, sources: list[Source], columns: tuple[ColumnRef, ...]) -> Expression | None:
    parts = draw(st.lists(conditions(columns, 1), max_size=1))
    if len(sources) > 1 and draw(st.booleans()):
        keys = [ColumnRef(one.alias, "k", one.stream.column("k").type) for one in sources[:2]]
        if keys[0].type is keys[1].type:
            parts.append(Comparison("=", keys[0], keys[1]))
    return conjunction(parts)


@st.composite
def aggregate_blocks(draw: st.DrawFn, streams: Sequence[StreamSchema], joins: int = 2) -> Project:
    """An aggregate over a stream, or over a window join."""
    sources = draw(_sources(streams, joins))
    columns = columns_of_sources(sources)
    window = draw(_range_windows() if len(sources) > 1 else _range_windows() | _rows_windows())
    calls = draw(st.lists(_aggregate_calls(columns), min_size=1, max_size=2))
    keys = draw(st.lists(st.sampled_from(columns), max_size=2, unique=True))
    shown: list[Expression] = [*calls, *(key for key in keys if draw(st.booleans()))]
    return build_block(
        sources,
        [window] * len(sources),
        _named(shown),
        where=_where(draw, sources, columns),
        keys=keys,
        having=draw(st.none() | _having(draw, calls, keys)),
    )


def _having(draw: st.DrawFn, calls: list[AggregateCall], keys: list[ColumnRef]) -> SearchStrategy[Expression | None]:
    subject = draw(st.sampled_from([*calls, *keys]))
    if subject.type is DataType.NULL:
        return st.none()
    signs = st.sampled_from(["=", "<>", "<", ">="])
    return st.tuples(signs, constants(subject.type)).map(lambda pair: Comparison(pair[0], subject, pair[1]))  # type: ignore[arg-type]


@st.composite
def unions(draw: st.DrawFn, streams: Sequence[StreamSchema]) -> Operator:
    """Two blocks with the same columns."""
    first = draw(plain_blocks(streams, joins=1) | aggregate_blocks(streams, joins=1))
    second = draw(plain_blocks(streams, joins=1))
    same = [(field.name, field.type) for field in first.schema] == [(field.name, field.type) for field in second.schema]
    return Union((first, second if same else first))


def queries(streams: Sequence[StreamSchema]) -> SearchStrategy[Operator]:
    """Any query over these streams."""
    assume(streams)
    return st.one_of(plain_blocks(streams), aggregate_blocks(streams), unions(streams))
