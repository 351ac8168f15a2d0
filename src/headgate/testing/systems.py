"""Strategies for whole systems: streams, users, policies, queries, and what flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from headgate.algebra.query import Query
from headgate.model.datatype import DataType
from headgate.model.duration import Extent
from headgate.model.element import Element
from headgate.model.expression.nodes import (
    COMPARISON_SIGNS,
    And,
    ColumnRef,
    Comparison,
    Constant,
    Expression,
    Or,
    ProfileRef,
)
from headgate.model.instant import SECOND
from headgate.model.privilege import COMPUTE, PRIVILEGES
from headgate.model.schema import StreamCatalog, StreamSchema
from headgate.model.subject import ProfileValue, User
from headgate.policy.masking import fits_column
from headgate.policy.model import (
    AssistDenied,
    Defaults,
    Mask,
    MaskKind,
    Period,
    Policy,
    PolicySet,
    Subject,
    WindowCondition,
)
from headgate.scenario.system import System
from headgate.testing.expressions import conditions
from headgate.testing.queries import queries
from headgate.testing.streams import QUERIES, ROLES, USERS, elements, schemas, switched_on
from headgate.testing.values import START


@dataclass(frozen=True)
class GeneratedSystem:
    """A system and what flows in each of its streams."""

    system: System
    elements: dict[str, list[Element]]


_PLACES: tuple[ProfileValue, ...] = ("a", "b", 1, True)
"""Of more than one type, as nobody declares profiles."""


@st.composite
def users(draw: st.DrawFn) -> dict[str, User]:
    """The three users, with roles and a profile."""
    roles = st.lists(st.sampled_from(ROLES), min_size=1, max_size=2, unique=True).map(frozenset)
    profiles: SearchStrategy[Mapping[str, ProfileValue]] = st.fixed_dictionaries(
        {}, optional={"level": st.integers(0, 3), "place": st.sampled_from(_PLACES)}
    )
    return {name: User(name, draw(roles), draw(profiles)) for name in USERS}


@cache
def _privileges() -> SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from([*PRIVILEGES, COMPUTE, "read", "assist"]), max_size=3, unique=True).map(tuple)


@cache
def _subjects() -> SearchStrategy[tuple[Subject, ...]]:
    one = st.one_of(
        st.sampled_from(ROLES).map(lambda role: Subject(role=role)),
        st.sampled_from(USERS).map(lambda user: Subject(user=user)),
        st.integers(0, 3).map(lambda level: Subject(profile=(("level", level),))),
    )
    return st.lists(one, min_size=1, max_size=2).map(tuple)


def _columns(stream: StreamSchema) -> tuple[ColumnRef, ...]:
    return tuple(ColumnRef(stream.name, column.name, column.type) for column in stream.columns)


@st.composite
def policies_over(draw: st.DrawFn, streams: list[StreamSchema], identifier: str) -> Policy:
    """A policy over one of the streams, or a joint view over two."""
    count = draw(st.sampled_from([1, 1, 1, 2])) if len(streams) > 1 else 1
    chosen = draw(st.permutations(streams))[:count]
    names = dict.fromkeys(name for stream in chosen for name in stream.names)
    attributes = draw(
        st.none() | st.lists(st.sampled_from(list(names)), min_size=1, max_size=3, unique=True).map(tuple)
    )
    columns = tuple(column for stream in chosen for column in _columns(stream))
    allow = draw(_privileges())
    deny = draw(_privileges()) if not draw(st.integers(0, 3)) else ()
    return Policy(
        identifier,
        draw(_subjects()),
        tuple(stream.name for stream in chosen),
        frozenset(
            (stream.name, column)
            for stream in chosen
            for column in stream.names
            if not attributes or column in attributes
        ),
        attributes,
        where=draw(st.none() | conditions(columns, 1) | _personal(columns)),
        allow=allow if allow or deny else ("read",),
        deny=deny,
        during=draw(_periods()),
        window=draw(st.sampled_from(_WINDOWS)),
        min_group=draw(st.none() | st.integers(1, 3)),
        mask=draw(_masks(columns, attributes)),
    )


_WINDOWS = (
    WindowCondition(),
    WindowCondition(),
    WindowCondition(Extent(10 * SECOND), Extent(5 * SECOND)),
    WindowCondition(min_step=Extent(5 * SECOND)),
    WindowCondition(Extent(2, rows=True), Extent(2, rows=True)),
)


@cache
def _personal(columns: tuple[ColumnRef, ...]) -> SearchStrategy[Expression]:
    """A condition on the user's profile, which may not say, or something of another type."""
    told = st.sampled_from(["level", "place"]).map(ProfileRef)
    signs = st.sampled_from(COMPARISON_SIGNS)
    one = st.tuples(signs, st.sampled_from(columns), told).map(lambda parts: Comparison(*parts))
    return one | st.tuples(one, conditions(columns, 0)).map(And) | st.tuples(one, conditions(columns, 0)).map(Or)


def _masks(columns: Sequence[ColumnRef], named: Sequence[str] | None) -> SearchStrategy[Mask | None]:
    """Every kind of mask. An expression often becomes another type in the columns that it stands in, and is one that a
    policy file may have: it fits all columns that are named, or one of all."""
    kinds = [Mask(kind) for kind in MaskKind if kind is not MaskKind.EXPRESSION]
    constants = [Constant(7, DataType.INT), Constant(2.5, DataType.DOUBLE), Constant("m", DataType.STRING)]
    about = [one.type for one in columns if not named or one.name in named]
    enough = all if named else any
    fitting = [one for one in (*constants, *columns) if enough(fits_column(one, kind) for kind in about)]
    expressions = [Mask(MaskKind.EXPRESSION, one) for one in fitting]
    return st.none() | st.sampled_from(kinds) | (st.sampled_from(expressions) if expressions else st.none())


@cache
def _periods() -> SearchStrategy[Period]:
    bounds = st.tuples(st.integers(0, 20), st.integers(21, 40)).map(lambda pair: tuple(map(_moment, pair)))
    return st.one_of(
        st.just(Period()),
        bounds.map(lambda pair: Period(*pair)),
        bounds.map(lambda pair: Period(start=pair[0])),
        bounds.map(lambda pair: Period(end=pair[1])),
    )


def _moment(second: int) -> Expression:
    return Constant(START + second * SECOND, DataType.TIMESTAMP)


def _part_of(stream: StreamSchema) -> SearchStrategy[Expression]:
    """The tuples before a moment, or those from it on."""
    time = next(column for column in _columns(stream) if column.name == stream.time)
    moments = st.integers(0, 60).map(_moment)
    return moments.map(lambda moment: Comparison("<", time, moment)) | moments.map(
        lambda moment: Comparison(">=", time, moment)
    )


@st.composite
def _withholding(draw: st.DrawFn, stream: StreamSchema) -> Policy:
    """A deny that bites: against everybody or one user, often of a part of the tuples, sometimes with a mask.

    Policies drawn part by part hardly ever withhold a cell that another allows and a query asks for.
    """
    attributes = draw(st.none() | st.lists(st.sampled_from(stream.names), min_size=1, max_size=2, unique=True))
    everybody = tuple(Subject(role=role) for role in ROLES)
    return Policy(
        f"not-{stream.name}",
        draw(st.sampled_from([everybody, everybody, (Subject(user=USERS[0]),)])),
        (stream.name,),
        frozenset((stream.name, column) for column in attributes or stream.names),
        tuple(attributes) if attributes else None,
        where=draw(_part_of(stream) | conditions(_columns(stream), 1) | st.none()),
        deny=draw(st.sampled_from([("read",), ("read", COMPUTE), ("assist",), ("read", "assist", COMPUTE)])),
        mask=draw(_masks(_columns(stream), attributes)),
    )


@st.composite
def policy_sets(draw: st.DrawFn, streams: list[StreamSchema], most: int = 4) -> PolicySet:
    """A few policies over the streams; generous more often than not, so that something comes through."""
    own = [draw(policies_over(streams, f"p{position}")) for position in range(draw(st.integers(0, most)))]
    from_some = [stream for stream in streams if draw(st.booleans())]
    generous = [
        Policy(
            f"all-{stream.name}",
            tuple(Subject(role=role) for role in ROLES[: draw(st.integers(1, len(ROLES)))]),
            (stream.name,),
            frozenset((stream.name, column) for column in stream.names),
            where=draw(conditions(_columns(stream), 1)) if not draw(st.integers(0, 2)) else None,
            allow=("read",),
        )
        for stream in streams
        if stream in from_some or draw(st.integers(0, 3))
    ]
    withheld = [draw(_withholding(stream)) for stream in from_some]
    denied = draw(st.sampled_from(AssistDenied))
    return PolicySet((*own, *generous, *withheld), defaults=Defaults(on_assist_denied=denied))


@st.composite
def systems(
    draw: st.DrawFn, with_policies: bool | None = None, max_queries: int = 2, max_streams: int = 2
) -> GeneratedSystem:
    """A system with everything in it."""
    names = ["S", "T", "V"][: draw(st.integers(1, max_streams))]
    streams = [draw(schemas(name)) for name in names]
    catalog = StreamCatalog(streams)
    policed = draw(st.booleans()) if with_policies is None else with_policies
    subscribers = st.lists(st.sampled_from(USERS), min_size=1, max_size=2, unique=True).map(tuple)
    registered = tuple(
        Query(name, "u1", draw(subscribers), draw(queries(streams)), punctuated=not draw(st.integers(0, 2)))
        for name in QUERIES[: draw(st.integers(1, max_queries))]
    )
    system = System(catalog, draw(users()), registered, draw(policy_sets(streams)) if policed else None)
    flowing = {stream.name: draw(elements(stream)) for stream in streams}
    for query in registered:
        if query.punctuated and draw(st.integers(0, 3)):
            flowing[names[0]] = [*flowing[names[0]], switched_on(query.id, query.subscribers)]
    return GeneratedSystem(system, flowing)
