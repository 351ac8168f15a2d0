"""What a permit's obligations authorise on one stream: filter, then map, then window (eXACML+, section 2.2).

The graph is what the policy would run by itself. A user's own query is applied inside it (`merge.py`); it never widens
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from headgate.algebra.block import build_block, default_name
from headgate.algebra.operators import Output, Project, Source
from headgate.algebra.scope import SourceScope
from headgate.algebra.window import RangeWindow, RowsWindow, Window
from headgate.errors import InputError, WindowError
from headgate.model.duration import Extent
from headgate.model.expression.nodes import AGGREGATES, AggregateCall, ColumnRef, Expression
from headgate.model.expression.parse import parse_condition
from headgate.model.expression.transform import conjunction, conjuncts
from headgate.model.schema import StreamSchema

EVERY_TUPLE = "*"
"""The attribute of `count(*)`."""

_ALIASES = {"lastval": "last", "lastvalue": "last", "firstval": "first", "firstvalue": "first", "average": "avg"}
"""Other spellings of functions, beside those of the query language."""


class WindowsRule(StrEnum):
    """How many aggregate handles one user may hold on the stream at a time."""

    CHECKED = "checked"
    """As many as together reveal no tuple (`rewrite/differencing/`)."""
    SINGLE = "single"
    """One, as in the paper."""


@dataclass(frozen=True)
class Filter:
    """A condition that tuples must meet, and the policy that says so."""

    policy: str
    condition: Expression


@dataclass(frozen=True)
class AuthorisedWindow:
    """The smallest window in which tuples may be aggregated, and the functions authorised, by attribute."""

    size: Extent
    step: Extent
    functions: frozenset[tuple[str, str]]
    policy: str

    def __post_init__(self) -> None:
        if self.size.rows is not self.step.rows:
            raise WindowError(
                "the size and the step of a window are of different kinds", hint="both rows, or both time"
            )
        if min(self.size.amount, self.step.amount) <= 0:
            raise WindowError("a window is empty", hint="write a size and a step longer than nothing")
        if not self.functions:
            raise InputError("a window authorises no function", hint="name at least one, such as `rainrate:avg`")

    @property
    def window(self) -> Window:
        """The window itself; one of time that would leave gaps is as long as its step."""
        if self.size.rows:
            return RowsWindow(self.size.amount, self.step.amount)
        return RangeWindow(max(self.size.amount, self.step.amount), self.step.amount)

    def met_by(self, window: Window) -> bool:
        """Whether a window is of the same kind, and no smaller in size and step."""
        size, step = window.extents
        return size.rows is self.size.rows and size.amount >= self.size.amount and step.amount >= self.step.amount

    def __str__(self) -> str:
        return f"windows of at least {self.size} that move on by at least {self.step}"


@dataclass(frozen=True)
class AuthorisedGraph:
    """Filter → map → window over one stream. `attributes` is None where all are authorised, `window` where none is
    asked for; `minimum` is the number of tuples that no combination of windows may go below."""

    stream: StreamSchema
    policy: str
    filters: tuple[Filter, ...] = ()
    attributes: tuple[str, ...] | None = None
    window: AuthorisedWindow | None = None
    minimum: int | None = None
    windows: WindowsRule = WindowsRule.CHECKED

    @property
    def condition(self) -> tuple[Expression, ...]:
        """The conditions of all filters, taken apart."""
        return tuple(dict.fromkeys(part for one in self.filters for part in conjuncts(one.condition)))

    @property
    def source(self) -> Source:
        return Source(self.stream, self.stream.name)

    def authorises(self, attribute: str) -> bool:
        """Whether the map lets the attribute through."""
        return self.attributes is None or attribute in self.attributes

    def policy_of(self, condition: Expression) -> str:
        """The policy that asks for a condition of the filter."""
        return next((one.policy for one in self.filters if condition in conjuncts(one.condition)), self.policy)

    def operator(self) -> Project:
        """The graph by itself, as a query."""
        outputs = [Output(default_name(one), one) for one in self.calls()] if self.window else self._columns()
        return build_block(
            [self.source], [self.window.window if self.window else None], outputs, conjunction(self.condition)
        )

    def calls(self, only: Iterable[str] | None = None) -> tuple[AggregateCall, ...]:
        """The authorised functions, in the order of the stream's columns; `only` these attributes."""
        if self.window is None:
            return ()
        names = [one for one in (*self.stream.names, EVERY_TUPLE) if only is None or one in only]
        ordered = sorted(self.window.functions, key=lambda pair: AGGREGATES.index(pair[1]))
        return tuple(
            AggregateCall(function, None if attribute == EVERY_TUPLE else self.column(attribute))
            for name in names
            for attribute, function in ordered
            if attribute == name and (attribute == EVERY_TUPLE or self.authorises(attribute))
        )

    def column(self, name: str) -> ColumnRef:
        column = self.stream.column(name)
        return ColumnRef(self.stream.name, column.name, column.type)

    def _columns(self) -> list[Output]:
        return [Output(name, self.column(name)) for name in self.stream.names if self.authorises(name)]


def authorised_graph(
    stream: StreamSchema,
    policy: str,
    condition: str | None = None,
    attributes: Sequence[str] | None = None,
    window: tuple[str, str] | None = None,
    functions: Sequence[str] = (),
    minimum: int | None = None,
    windows: WindowsRule = WindowsRule.CHECKED,
) -> AuthorisedGraph:
    """A graph from texts, as obligations hold them; names are looked up, the condition is parsed and typed.

    `window` is size and step, each `5 rows` or `1 hour`; `functions` are written `attribute:function`.

    >>> from headgate.model.schema import Column
    >>> from headgate.model.datatype import DataType
    >>> weather = StreamSchema("weather", (Column("ts", DataType.TIMESTAMP), Column("rainrate", DataType.DOUBLE)))
    >>> graph = authorised_graph(weather, "nea", "RainRate > 5", ["rainrate"], ("5 rows", "2 rows"), ["rainrate:avg"])
    >>> from headgate.algebra.spelling.cql import print_cql
    >>> print_cql(graph.operator())
    'SELECT avg(rainrate) FROM weather [ROWS 5, SLIDE 2] WHERE rainrate > 5'
    """
    filters: tuple[Filter, ...] = ()
    if condition is not None:
        filters = (Filter(policy, parse_condition(condition, SourceScope([Source(stream, stream.name)]))),)
    if window is None and functions:
        raise InputError("functions are authorised without a window", hint="give the window a size and a step")
    if minimum is not None and minimum < 1:
        raise InputError(f"the minimum number of tuples is {minimum}", hint="write 1 or more")
    graph = AuthorisedGraph(
        stream,
        policy,
        filters,
        None if attributes is None else tuple(dict.fromkeys(stream.column(name).name for name in attributes)),
        None if window is None else _window(window, functions, stream, policy),
        minimum,
        windows,
    )
    if graph.attributes == ():
        raise InputError("the map authorises no attribute", hint="name at least one, or leave the map out")
    if graph.window is not None and not graph.calls():
        raise InputError("the window aggregates nothing that the map lets through", hint="add the attribute to the map")
    return graph


def _window(window: tuple[str, str], functions: Sequence[str], stream: StreamSchema, policy: str) -> AuthorisedWindow:
    size, step = (Extent.parse(text) for text in window)
    return AuthorisedWindow(size, step, frozenset(_function(text, stream) for text in functions), policy)


def _function(text: str, stream: StreamSchema) -> tuple[str, str]:
    attribute, colon, name = (part.strip() for part in text.rpartition(":"))
    function = _ALIASES.get(name.lower(), name.lower())
    if not colon or function not in AGGREGATES:
        raise InputError(
            f"`{text}` is not an attribute and its function",
            hint=f"write `attribute:function`, one of {', '.join(AGGREGATES)}",
        )
    if attribute == EVERY_TUPLE:
        AggregateCall(function, None)
        return EVERY_TUPLE, function
    column = stream.column(attribute)
    AggregateCall(function, ColumnRef(stream.name, column.name, column.type))
    return column.name, function


def intersect_graphs(first: AuthorisedGraph, second: AuthorisedGraph) -> AuthorisedGraph:
    """What both authorise, where several permits speak of one stream: nothing that either withholds.

    Windows of different kinds, maps without a common attribute, and windows without a common function have nothing in
    common: an input error says so.
    """
    if first.stream.name != second.stream.name:
        raise InputError(f"`{first.stream.name}` and `{second.stream.name}` are different streams")
    attributes = first.attributes
    if second.attributes is not None:
        attributes = tuple(name for name in first.attributes or first.stream.names if name in second.attributes)
    if attributes == ():
        raise InputError(f"`{first.policy}` and `{second.policy}` authorise no common attribute")
    minima = [one.minimum for one in (first, second) if one.minimum is not None]
    single = WindowsRule.SINGLE in (first.windows, second.windows)
    return replace(
        first,
        policy=first.policy if first.policy == second.policy else f"{first.policy}, {second.policy}",
        filters=tuple(dict.fromkeys((*first.filters, *second.filters))),
        attributes=attributes,
        window=_narrower(first.window, second.window),
        minimum=max(minima, default=None),
        windows=WindowsRule.SINGLE if single else WindowsRule.CHECKED,
    )


def _narrower(first: AuthorisedWindow | None, second: AuthorisedWindow | None) -> AuthorisedWindow | None:
    if first is None or second is None:
        return first or second
    if first.size.rows is not second.size.rows:
        raise WindowError(f"the windows of `{first.policy}` and `{second.policy}` are of different kinds")
    functions = first.functions & second.functions
    if not functions:
        raise InputError(f"the windows of `{first.policy}` and `{second.policy}` have no function in common")
    size = max(first.size.amount, second.size.amount)
    step = max(first.step.amount, second.step.amount)
    rows = first.size.rows
    policy = first.policy if first.policy == second.policy else f"{first.policy}, {second.policy}"
    return AuthorisedWindow(Extent(size, rows), Extent(step, rows), functions, policy)
