"""What users ask, as a tree of immutable operators that are valid by construction.

    Query    =  Block | Union(Block, Block, ...)
    Block    =  Project(Region) | Project(Groups)
    Groups   =  Aggregate(Region) | Select(Aggregate(Region))          the Select is HAVING
    Region   =  Source | Select(Region) | Join(One, One, ...) | Select(Join)
    One      =  Source | Select(One)                                   a region of one source

An operator refuses inputs of another shape, columns its input does not have, and windows that mean nothing: whoever
holds an operator holds a query that makes sense.

Above a source, a join, an aggregate and below a projection, rewriting may put a secured operator (`secure.py`): it
changes no shape, only what is seen. No spelling can say one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from headgate.algebra.window import RangeWindow, RowsWindow, Window
from headgate.errors import InputError, TypeMismatchError, UnknownNameError, WindowError
from headgate.model.datatype import DataType
from headgate.model.duration import Duration
from headgate.model.expression.nodes import (
    AggregateCall,
    ColumnRef,
    Expression,
    columns_of,
    require_conditions,
    walk,
)
from headgate.model.expression.print import to_text
from headgate.model.expression.transform import with_operands
from headgate.model.schema import StreamSchema

RESULT_TIME = "_ts"
"""The key of the result time in delivered rows, so no output may be called that."""


@dataclass(frozen=True)
class Field:
    """A column of an operator's output."""

    source: str
    name: str
    type: DataType


class Operator:
    """The root of all operators."""

    if TYPE_CHECKING:  # declared for the type checker only: at run time a dataclass would take it for a default value

        @property
        def inputs(self) -> tuple[Operator, ...]:
            """The operators it reads."""

        @property
        def schema(self) -> tuple[Field, ...]:
            """The columns it gives."""

    def walk(self) -> Iterator[Operator]:
        """The operator and all below it, parents first."""
        yield self
        for operator in self.inputs:
            yield from operator.walk()

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """The sources below, left to right."""
        return tuple(operator for operator in self.walk() if isinstance(operator, Source))


@dataclass(frozen=True)
class Source(Operator):
    """A stream, under the alias by which the query speaks of it."""

    stream: StreamSchema
    alias: str

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return ()

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        return tuple(Field(self.alias, column.name, column.type) for column in self.stream.columns)


@dataclass(frozen=True)
class Select(Operator):
    """Those of its input for which the predicate is true; over an Aggregate, HAVING."""

    input: Operator
    predicate: Expression

    def __post_init__(self) -> None:
        if isinstance(self.input, Project | Union):
            raise InputError("a selection stands above a projection", hint="select first, project last")
        require_conditions((self.predicate,))
        _require_known(self.predicate, self.input)

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.input,)

    @property
    def schema(self) -> tuple[Field, ...]:
        return self.input.schema


@dataclass(frozen=True)
class Join(Operator):
    """Combinations of one tuple of each input, no two farther apart in time than the ranges allow.

    A combination with latest time `now` counts iff `now - time <= range` for each input; `now` is its time.
    """

    inputs: tuple[Operator, ...]
    ranges: tuple[Duration, ...]
    predicate: Expression | None = None

    def __post_init__(self) -> None:
        if len(self.inputs) < 2 or len(self.ranges) != len(self.inputs):
            raise InputError("a join needs two or more inputs, each with a range")
        for operator in self.inputs:
            if not isinstance(bare(operator), Source | Select) or len(operator.sources) != 1:
                raise InputError("an input of a join is not a single stream", hint="join all streams at once")
        if min(self.ranges) < 0:
            raise WindowError("the range of a join is negative")
        aliases = [source.alias.lower() for source in self.sources]
        if len(set(aliases)) < len(aliases):
            raise UnknownNameError("two streams of a join have the same name", hint="give each its own with AS")
        if self.predicate is not None:
            require_conditions((self.predicate,))
            _require_known(self.predicate, self)

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        return tuple(field for operator in self.inputs for field in operator.schema)


@dataclass(frozen=True)
class Aggregate(Operator):
    """Per window and group of equal keys, the values of aggregate functions."""

    input: Operator
    window: Window
    keys: tuple[Expression, ...]
    calls: tuple[AggregateCall, ...]

    def __post_init__(self) -> None:
        if not isinstance(bare(self.input), Source | Select | Join):
            raise InputError("an aggregate stands above a projection or another aggregate", hint="aggregate once")
        for key in self.keys:
            _require_known(key, self.input)
        for call in self.calls:
            _require_known(call, self.input, aggregates=True)
        self._check_window()

    def _check_window(self) -> None:
        if isinstance(self.window, RangeWindow):
            self.window.check_for_aggregate()
        for join in self.walk():
            if isinstance(join, Join):
                if isinstance(self.window, RowsWindow):
                    raise WindowError("a window of rows over a join", hint="use RANGE")
                if any(size != self.window.size for size in join.ranges):
                    raise WindowError(
                        "the windows of an aggregated join differ", hint="write the same RANGE and SLIDE for each"
                    )

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.input,)

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        return tuple(Field("", to_text(one), one.type) for one in (*self.keys, *self.calls))

    def of_group(self, expression: Expression) -> Expression:
        """An expression over the input, turned into one over this operator's own columns."""
        for one in (*self.keys, *self.calls):
            if expression == one:
                return ColumnRef("", to_text(one), one.type)
        return with_operands(expression, self.of_group)


@dataclass(frozen=True)
class Output:
    """A named column of the result."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class Project(Operator):
    """The result: named expressions over its input."""

    input: Operator
    outputs: tuple[Output, ...]

    def __post_init__(self) -> None:
        if isinstance(self.input, Project | Union):
            raise InputError("a projection stands above another", hint="project once, at the end")
        if not self.outputs:
            raise InputError("the result has no column", hint="name at least one after SELECT")
        names: set[str] = set()
        for output in self.outputs:
            if output.name == RESULT_TIME or not output.name:
                raise InputError(f"an output may not be called `{output.name}`", hint="rename it with AS")
            if output.name.lower() in names:
                raise InputError(f"two outputs are called `{output.name}`", hint="rename one with AS")
            names.add(output.name.lower())
            if output.expression.type in (DataType.DURATION, DataType.TIME_OF_DAY):
                raise TypeMismatchError(f"a {output.expression.type} cannot be an output")
            _require_known(output.expression, self.input)

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.input,)

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        return tuple(Field("", output.name, output.expression.type) for output in self.outputs)


@dataclass(frozen=True)
class Union(Operator):
    """All results of two or more blocks with the same columns."""

    inputs: tuple[Operator, ...]

    def __post_init__(self) -> None:
        if len(self.inputs) < 2 or not all(isinstance(operator, Project) for operator in self.inputs):
            raise InputError("a union needs two or more queries")
        first = self.inputs[0].schema
        for operator in self.inputs[1:]:
            if [(field.name, field.type) for field in operator.schema] != [(field.name, field.type) for field in first]:
                raise TypeMismatchError(
                    "the queries of a union have different columns", hint="give them the same names, types and order"
                )

    @property
    def schema(self) -> tuple[Field, ...]:
        return self.inputs[0].schema


class Secured(Operator):
    """An operator that rewriting puts above another: the same shape, and no cell that a policy withholds."""

    if TYPE_CHECKING:

        @property
        def input(self) -> Operator:
            """What it guards."""

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.input,)

    @property
    def schema(self) -> tuple[Field, ...]:
        return self.input.schema


OPERATORS = (Source, Select, Join, Aggregate, Project, Union)


def bare(operator: Operator) -> Operator:
    """The operator below what guards it."""
    while isinstance(operator, Secured):
        operator = operator.input
    return operator


def blocks_of(query: Operator) -> tuple[Project, ...]:
    """The blocks of a query."""
    if isinstance(query, Union):
        return tuple(block for operator in query.inputs for block in blocks_of(operator))
    if not isinstance(query, Project):
        raise InputError("a query ends in a projection")
    return (query,)


def _require_known(expression: Expression, below: Operator, aggregates: bool = False) -> None:
    groups = next((one for one in _upper(below) if isinstance(one, Aggregate)), None)
    if groups is not None:
        grouped = groups.of_group(expression)
        if any(isinstance(node, AggregateCall) for node in walk(grouped)):
            raise InputError(f"`{to_text(expression)}` is not computed by the aggregate below")
        left = [column for column in columns_of(grouped) if column.source]
        if left:
            raise UnknownNameError(
                f"`{left[0]}` is neither grouped by nor aggregated", hint=f"add it to GROUP BY, or write max({left[0]})"
            )
        return
    if not aggregates and any(isinstance(node, AggregateCall) for node in walk(expression)):
        raise InputError("an aggregate function stands where there are no groups", hint="use it in SELECT or HAVING")
    known = {(field.source, field.name) for field in below.schema}
    for column in columns_of(expression):
        if (column.source, column.name) not in known:
            raise UnknownNameError(f"unknown column `{column}`")


def _upper(operator: Operator) -> Iterator[Operator]:
    """The operator and, through selections and guards, the one it selects from."""
    yield operator
    while isinstance(operator, Select | Secured):
        operator = operator.input
        yield operator
