"""A query in the making, as the two XML spellings put it together.

First what both need of XML: checked elements, and errors that say on which line of the document they stand. Then what a
stream between two boxes carries: a `Draft`, over whose columns the next box speaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from lxml import etree
from sqlglot import exp

from headgate.algebra.block import build_block, default_name
from headgate.algebra.operators import Aggregate, Join, Operator, Output, Project, Select, Source
from headgate.algebra.scope import SourceScope
from headgate.algebra.spelling.cql import _written_name
from headgate.algebra.window import AnyWindow, RangeWindow, Window
from headgate.errors import InputError, ParseError, UnknownNameError
from headgate.model.closest import closest
from headgate.model.duration import Duration
from headgate.model.expression.nodes import AggregateCall, ColumnRef, Expression, walk
from headgate.model.expression.parse import Builder, Scope, parse_tokens
from headgate.model.expression.tokens import tokenize
from headgate.model.expression.transform import conjunction, conjuncts, rename_sources
from headgate.model.safe_xml import parse_xml, place_of
from headgate.model.schema import Column

MAX_BYTES = 1 << 20
"""Of the XML of one query. It bounds the number of boxes too."""

MAX_NODES = 500_000
"""Of all expressions of a query once the maps are written out: ten maps that each double a column make a thousand."""


def root_of(text: str | bytes) -> etree._Element:
    """The root element of a query's XML."""
    if len(text) > MAX_BYTES:
        raise ParseError(f"the query is larger than {MAX_BYTES >> 20} MiB", hint="split it")
    return parse_xml(text)


def children_of(element: etree._Element, *names: str) -> list[etree._Element]:
    """The elements inside, all of these names, with nothing but white space between them."""
    children = list(element)
    for text in (element.text, *(child.tail for child in children)):
        if text and text.strip():
            raise ParseError(
                f"<{element.tag}> holds the text `{text.strip()[:40]}`",
                place=place_of(element),
                hint="remove it, or put it in an element" if names else f"<{element.tag}> is empty: remove it",
            )
    for child in children:
        if child.tag not in names:
            raise ParseError(
                f"<{child.tag}> is not known in <{element.tag}>",
                place=place_of(child),
                hint=closest(str(child.tag), names) if names else f"<{element.tag}> holds no elements",
            )
    return children


def attributes_of(element: etree._Element, *names: str) -> dict[str, str]:
    """The attributes, exactly these."""
    found = {str(name): str(value) for name, value in element.attrib.items()}
    for name in found:
        if name not in names:
            hint = closest(name, names) if names else f"<{element.tag}> has no attributes"
            raise ParseError(f"<{element.tag}> has the unknown attribute `{name}`", place=place_of(element), hint=hint)
    for name in names:
        if not found.get(name):
            raise ParseError(
                f"<{element.tag}> has no `{name}`", place=place_of(element), hint=f'add {name}="..." to the element'
            )
    return found


@contextmanager
def placed_at(element: etree._Element) -> Iterator[None]:
    """Errors raised inside get the line of the element, unless they know a better one."""
    try:
        yield
    except InputError as error:
        raise error.at(place_of(element)) from error.__cause__


def output_of(text: str, scope: Scope, name: str | None = None) -> Output:
    """An expression and its name, by default the one it has in CQL."""
    tree = parse_tokens(tokenize(text), text, into=exp.Condition)
    expression = Builder(text, scope).build(tree)
    return Output(_written_name(tree, expression) if name is None else name, expression)


def read_output(element: etree._Element, text: str, scope: Scope, name: str | None = None) -> Output:
    """The same, its errors placed: where they stand within the expression means nothing in the document."""
    try:
        return output_of(text, scope, name)
    except InputError as error:
        error.place = place_of(element)
        raise


@contextmanager
def writing_xml() -> Iterator[None]:
    """Names and constants may hold characters that XML has no way to write."""
    try:
        yield
    except ValueError:
        raise InputError(
            "the query has a character that XML cannot carry", hint="control characters go through CQL or JSON only"
        ) from None


class Budget:
    """Counts what a document is written out to. Without it, a page of maps or unions could fill the memory."""

    def __init__(self) -> None:
        self._left = MAX_NODES

    def charge(self, expressions: Iterable[Expression]) -> None:
        """Count the nodes of these, each at least one, or refuse the document."""
        for expression in expressions:
            self._left -= sum(1 for _ in islice(walk(expression), self._left + 1))
            if self._left < 0:
                raise ParseError("the query is too large once its maps are written out", hint="split it")


@dataclass(frozen=True)
class Given:
    """A column of a stream between boxes; `source` is the alias it may be qualified with, if any."""

    source: str
    name: str
    expression: Expression


@dataclass(frozen=True)
class Draft:
    """What a stream between boxes carries: a block whose last clauses are still to come.

    `beneath` is what stands under the groups of an aggregate, for the boxes that read the aggregate itself: they may
    call a key by its own name, and write out a call again. Conditions go to `having` once there are groups.
    """

    sources: tuple[Source, ...]
    ranges: tuple[Duration, ...]
    given: tuple[Given, ...]
    where: tuple[Expression, ...] = ()
    groups: Aggregate | None = None
    beneath: tuple[Given, ...] = ()
    having: tuple[Expression, ...] = ()

    @classmethod
    def of_source(cls, source: Source) -> Draft:
        columns = source.stream.columns
        given = tuple(Given(source.alias, one.name, ColumnRef(source.alias, one.name, one.type)) for one in columns)
        return cls((source,), (), given)

    @cached_property
    def base(self) -> Operator:
        """What conditions and outputs are checked against."""
        if self.groups is not None:
            return self.groups
        return Join(self.sources, self.ranges) if len(self.sources) > 1 else self.sources[0]

    def renamed(self, alias: str, budget: Budget) -> Draft:
        """The same over a source of another alias."""
        names = {self.sources[0].alias: alias}
        budget.charge((*self.where, *(one.expression for one in self.given)))
        return replace(
            self,
            sources=(replace(self.sources[0], alias=alias),),
            given=tuple(Given(alias, one.name, rename_sources(one.expression, names)) for one in self.given),
            where=tuple(rename_sources(condition, names) for condition in self.where),
        )

    def filtered(self, condition: Expression) -> Draft:
        """Those for which the condition holds."""
        Select(self.base, condition)  # built for its checks: an error belongs to the box that is read now
        if self.groups is None:
            return replace(self, where=(*self.where, *conjuncts(condition)))
        return replace(self, having=(*self.having, *conjuncts(condition)))

    def mapped(self, outputs: tuple[Output, ...]) -> Draft:
        """The same giving these columns only."""
        Project(self.base, outputs)
        alias = self.sources[0].alias if len(self.sources) == 1 and self.groups is None else ""
        return replace(self, given=tuple(Given(alias, one.name, one.expression) for one in outputs), beneath=())

    def grouped(self, window: Window, keys: tuple[Expression, ...], outputs: Sequence[Output]) -> Draft:
        """Groups of these keys, for these outputs to be computed; until they are mapped it gives the keys."""
        nodes = (node for output in outputs for node in walk(output.expression))
        calls = tuple(dict.fromkeys(node for node in nodes if isinstance(node, AggregateCall)))
        given = tuple(Given("", default_name(key), key) for key in keys)
        return replace(self, groups=Aggregate(self.base, window, keys, calls), given=given)

    def build(self, budget: Budget) -> Project:
        """The query that ends here."""
        upper = (*self.having, *(one.expression for one in self.given))
        budget.charge((*self.where, *upper))
        if self.groups is not None and not self.groups.keys and not any(map(_calls, upper)):
            # INVARIANT: windows never fall away. A block without calls and keys would give a result for every tuple.
            raise InputError("nothing that the aggregate computes is used", hint="use one of its expressions")
        windows: list[AnyWindow | None]
        if self.groups is not None:
            windows = [self.groups.window for _ in self.sources]
        else:
            windows = [RangeWindow(size, size) if size else None for size in self.ranges] or [None]
        joined = len(self.sources) > 1
        return build_block(
            self.sources,
            windows,
            [Output(f"{g.source}.{g.name}" if joined and g.source else g.name, g.expression) for g in self.given],
            where=conjunction(self.where),
            keys=self.groups.keys if self.groups is not None else (),
            having=conjunction(self.having),
        )


def joined(drafts: Sequence[Draft], ranges: tuple[Duration, ...]) -> Draft:
    """All combinations, each column under the alias of its source."""
    for draft in drafts:
        if len(draft.sources) > 1 or draft.groups is not None:
            what = "a join" if draft.groups is None else "an aggregate"
            raise InputError(f"a join reads the output of {what}", hint="join all streams at once, then aggregate")
    together = Draft(
        sources=tuple(draft.sources[0] for draft in drafts),
        ranges=ranges,
        given=tuple(one for draft in drafts for one in draft.given),
        where=tuple(condition for draft in drafts for condition in draft.where),
    )
    assert isinstance(together.base, Join)  # which refuses equal aliases
    return together


class DraftScope:
    """What names mean in a box: the columns of the stream it reads, written out as expressions over the sources.

    `writes_out` tells whether a name met so far stood for more than a column.
    """

    events = False

    def __init__(self, draft: Draft, budget: Budget, aggregates: bool = False) -> None:
        self.aggregates = aggregates
        self.writes_out = False
        self._draft = draft
        self._budget = budget

    def special(self, source: str | None, name: str) -> Expression:
        """The expression behind a name. It never gives None, so `column` sees only names of the sources."""
        alias = None if source is None else SourceScope(self._draft.sources).source(source).alias
        found = _matching(self._draft.given, alias, name) or _matching(self._draft.beneath, alias, name)
        written = name if source is None else f"{source}.{name}"
        if not found:
            known = dict.fromkeys(one.name for one in (*self._draft.given, *self._draft.beneath))
            raise UnknownNameError(f"unknown column `{written}`", hint=closest(name, known))
        if len(found) > 1:
            choices = " or ".join(f"`{one.source}.{one.name}`" for one in found)
            raise UnknownNameError(f"column `{written}` is ambiguous", hint=f"write {choices}")
        expression = found[0].expression
        self._budget.charge((expression,))
        self.writes_out = self.writes_out or not isinstance(expression, ColumnRef)
        return expression

    def column(self, source: str | None, name: str) -> tuple[ColumnRef, Column, str]:
        return SourceScope(self._draft.sources).column(source, name)


def _calls(expression: Expression) -> bool:
    return any(isinstance(node, AggregateCall) for node in walk(expression))


def depth_of(expression: Expression) -> int:
    """How many levels an expression has."""
    depth, level = 0, [expression]
    while level:
        depth, level = depth + 1, [operand for node in level for operand in node.operands]
    return depth


def _matching(given: tuple[Given, ...], alias: str | None, name: str) -> list[Given]:
    return [one for one in given if one.name.lower() == name.lower() and alias in (None, one.source)]
