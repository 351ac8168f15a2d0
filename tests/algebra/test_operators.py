"""Operators are valid by construction: each refuses what makes no sense."""

from __future__ import annotations

import pytest

from headgate.algebra.block import Block, block_of, build_block, default_name
from headgate.algebra.operators import Aggregate, Field, Join, Output, Project, Select, Source, Union, blocks_of
from headgate.algebra.query import Query
from headgate.algebra.scope import SourceScope
from headgate.algebra.spelling.cql import parse_cql
from headgate.algebra.transform import over_groups, with_inputs
from headgate.algebra.window import NowWindow, RangeWindow, RowsWindow
from headgate.errors import InputError, TypeMismatchError, UnknownNameError, WindowError
from headgate.model.datatype import DataType
from headgate.model.expression.nodes import AggregateCall, ColumnRef, Constant
from headgate.model.expression.parse import parse_expression
from headgate.model.schema import Column, StreamCatalog, StreamSchema

T = DataType
S = Source(StreamSchema("S", (Column("ts", T.TIMESTAMP), Column("x", T.INT), Column("ok", T.BOOLEAN))), "s")
U = Source(StreamSchema("U", (Column("ts", T.TIMESTAMP), Column("x", T.INT))), "u")
CATALOG = StreamCatalog([S.stream, U.stream])
X, UX = ColumnRef("s", "x", T.INT), ColumnRef("u", "x", T.INT)
WINDOW = RangeWindow(10, 5)
COUNT = AggregateCall("count", None)
PROJECT = Project(S, (Output("x", X),))
GROUPS = Aggregate(S, WINDOW, (X,), (COUNT,))


def condition(text: str, *sources: Source):
    return parse_expression(text, SourceScope(sources or (S,), aggregates=True))


def test_schemas_follow_the_tree() -> None:
    assert S.schema == (Field("s", "ts", T.TIMESTAMP), Field("s", "x", T.INT), Field("s", "ok", T.BOOLEAN))
    assert Select(S, condition("ok")).schema == S.schema
    assert Join((S, U), (0, 5)).schema == S.schema + U.schema
    assert GROUPS.schema == (Field("", "s.x", T.INT), Field("", "count(*)", T.BIGINT))
    assert Project(GROUPS, (Output("n", COUNT),)).schema == (Field("", "n", T.BIGINT),)
    assert Union((PROJECT, PROJECT)).schema == PROJECT.schema


def test_sources_are_listed_left_to_right() -> None:
    join = Join((Select(S, condition("ok")), U), (0, 5))
    assert join.sources == (S, U)
    assert [type(one).__name__ for one in Project(join, (Output("x", X),)).walk()] == [
        "Project",
        "Join",
        "Select",
        "Source",
        "Source",
    ]


@pytest.mark.parametrize(
    ("make", "kind", "said"),
    [
        (lambda: Select(S, X), TypeMismatchError, "a value of type int is not a condition"),
        (lambda: Select(S, condition("u.x = 1", U)), UnknownNameError, "unknown column `u.x`"),
        (lambda: Select(PROJECT, condition("ok")), InputError, "a selection stands above a projection"),
        (lambda: Select(Union((PROJECT, PROJECT)), condition("ok")), InputError, "a selection stands above"),
        (lambda: Select(S, condition("count(*) > 1")), InputError, "where there are no groups"),
        (lambda: Select(GROUPS, condition("ok")), UnknownNameError, "`s.ok` is neither grouped by nor aggregated"),
        (lambda: Select(GROUPS, condition("sum(x) > 1")), InputError, "is not computed by the aggregate below"),
        (lambda: Join((S,), (0,)), InputError, "two or more inputs"),
        (lambda: Join((S, U), (0,)), InputError, "each with a range"),
        (lambda: Join((S, S), (0, 0)), UnknownNameError, "have the same name"),
        (lambda: Join((S, Source(U.stream, "S")), (0, 0)), UnknownNameError, "have the same name"),
        (lambda: Join((S, U), (0, -1)), WindowError, "the range of a join is negative"),
        (lambda: Join((Join((S, U), (0, 0)), S), (0, 0)), InputError, "is not a single stream"),
        (lambda: Join((PROJECT, U), (0, 0)), InputError, "is not a single stream"),
        (lambda: Join((S, U), (0, 0), X), TypeMismatchError, "is not a condition"),
        (lambda: Join((S, U), (0, 0), Constant(1, T.INT)), TypeMismatchError, "is not a condition"),
        (lambda: Aggregate(PROJECT, WINDOW, (), (COUNT,)), InputError, "above a projection or another aggregate"),
        (lambda: Aggregate(GROUPS, WINDOW, (), (COUNT,)), InputError, "above a projection or another aggregate"),
        (lambda: Aggregate(S, WINDOW, (UX,), (COUNT,)), UnknownNameError, "unknown column `u.x`"),
        (lambda: Aggregate(S, WINDOW, (COUNT,), ()),
            InputError,
            "where there are no groups"),
        (lambda: Aggregate(S, RangeWindow(5, 10), (), (COUNT,)), WindowError, "leaves gaps"),
        (lambda: Aggregate(Join((S, U), (10, 10)), RowsWindow(5, 5), (), (COUNT,)), WindowError, "rows over a join"),
        (lambda: Aggregate(Join((S, U), (10, 9)), WINDOW, (), (COUNT,)), WindowError, "aggregated join differ"),
        (lambda: Project(PROJECT, (Output("x", X),)), InputError, "a projection stands above another"),
        (lambda: Project(S, ()), InputError, "the result has no column"),
        (lambda: Project(S, (Output("_ts", X),)), InputError, "may not be called `_ts`"),
        (lambda: Project(S, (Output("", X),)), InputError, "may not be called ``"),
        (lambda: Project(S, (Output("a", X), Output("A", X))), InputError, "two outputs are called `A`"),
        (lambda: Project(S, (Output("a", UX),)), UnknownNameError, "unknown column `u.x`"),
        (lambda: Project(S, (Output("n", COUNT),)), InputError, "where there are no groups"),
        (lambda: Project(S, (Output("a", Constant(5, T.DURATION)),)), TypeMismatchError, "cannot be an output"),
        (lambda: Project(GROUPS, (Output("a", condition("ok")),)), UnknownNameError, "neither grouped by"),
        (lambda: Union((PROJECT,)), InputError, "two or more queries"),
        (lambda: Union((PROJECT, S)), InputError, "two or more queries"),
        (lambda: Union((PROJECT, Project(S, (Output("y", X),)))), TypeMismatchError, "different columns"),
        (lambda: Union((PROJECT, Project(S, (Output("x", condition("ok")),)))), TypeMismatchError, "different columns"),
        (lambda: blocks_of(S), InputError, "a query ends in a projection"),
        (lambda: Query("", "u", (), PROJECT), InputError, "a query has an empty id"),
        (lambda: Query("q", "u", ("a", "a"), PROJECT), InputError, "lists a subscriber twice"),
        (lambda: build_block([S], [None], [Output("x", X)], having=condition("ok")), InputError, "HAVING without"),
        (lambda: build_block([S], [None], [Output("n", COUNT)]), WindowError, "an aggregate needs a window"),
        (lambda: build_block([S], [NowWindow()], [Output("n", COUNT)]), WindowError, "an aggregate needs a window"),
        (lambda: build_block([S, U], [WINDOW, RowsWindow(1, 1)], [Output("x", X)]), WindowError, "rows in a join"),
        (lambda: build_block([S, U], [WINDOW, None], [Output("n", COUNT)]), WindowError, "aggregated join differ"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_cannot_be_made(make, kind: type, said: str) -> None:
    with pytest.raises(kind) as raised:
        make()
    assert said in raised.value.message


def test_operators_are_values() -> None:
    again = Aggregate(Source(S.stream, "s"), RangeWindow(10, 5), (X,), (COUNT,))
    assert again == GROUPS
    assert hash(again) == hash(GROUPS)
    assert again != Aggregate(S, RangeWindow(10, 10), (X,), (COUNT,))
    with pytest.raises(AttributeError):
        again.keys = ()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT x FROM S",
        "SELECT x + 1 AS y FROM S AS a WHERE x > 1 AND ok",
        "SELECT s.x FROM S AS s [RANGE 5 s], U [NOW] WHERE s.x = U.x",
        "SELECT x, count(*) AS n FROM S [ROWS 5] WHERE ok GROUP BY x HAVING count(*) > 1 AND x > 0",
    ],
)
def test_a_block_and_its_tree_say_the_same(text: str) -> None:
    plan = parse_cql(text, CATALOG)
    assert isinstance(plan, Project)
    assert isinstance(block_of(plan), Block)
    assert block_of(plan).operator() == plan


def test_a_key_is_kept_once_and_so_is_a_call() -> None:
    outputs = [Output("a", COUNT), Output("b", COUNT)]
    block = block_of(build_block([S], [WINDOW], outputs, keys=[X, X], having=condition("count(*) > 1")))
    assert (block.keys, block.calls) == ((X,), (COUNT,))


def test_rebuilding_with_the_same_inputs_gives_the_same_object() -> None:
    plan = parse_cql("SELECT x, count(*) AS n FROM S [ROWS 5] WHERE ok GROUP BY x", CATALOG)
    assert with_inputs(plan, lambda one: one) is plan
    moved = with_inputs(PROJECT, lambda one: Select(one, condition("ok")))
    assert moved == Project(Select(S, condition("ok")), PROJECT.outputs)


def test_having_is_a_selection_over_groups() -> None:
    assert over_groups(Select(GROUPS, condition("count(*) > 1")))
    assert over_groups(GROUPS)
    assert not over_groups(Select(S, condition("ok")))
    assert not over_groups(S)


def test_default_names() -> None:
    assert [default_name(condition(text)) for text in ("s.x", "s.x + 1", "avg(s.x)")] == ["x", "x + 1", "avg(x)"]


def test_a_query_knows_its_blocks_and_streams() -> None:
    query = Query(
        "q", "u", ("u",), parse_cql("SELECT x FROM S UNION ALL SELECT x FROM U UNION ALL SELECT x FROM S", CATALOG)
    )
    assert len(query.blocks) == 3
    assert query.streams == ("S", "U")
