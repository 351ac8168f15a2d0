"""An analysed Spark plan as the hook describes it: nodes and expressions, numbered, with nothing judged yet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, SupportsIndex

from headgate.errors import ParseError

LIBRARIES = ("org.apache.spark.ml.", "org.apache.spark.mllib.", "org.apache.spark.sql.ml.", "org.graphframes.")
"""Functions that Spark's own libraries put into plans; their classes are on the server, not the user's."""


class Columns(tuple[int, ...]):
    """Columns that are found by their number without looking at all of them, as wide plans ask for each of them."""

    @cached_property
    def _places(self) -> dict[int, int]:
        # The first of equal columns, as a tuple would find it.
        return {column: len(self) - back for back, column in enumerate(reversed(self), 1)}

    def __contains__(self, column: object) -> bool:
        return column in self._places

    def index(self, column: Any, /, *bounds: SupportsIndex) -> int:
        return super().index(column, *bounds) if bounds else self._places[column]


@dataclass(slots=True)
class Expression:
    """One expression. `kind` says what it is: column, outer, literal, alias, aggregate, over, subquery, function."""

    kind: str
    name: str = ""
    column: int = -1
    of: tuple[Expression, ...] = ()
    keys: tuple[Expression, ...] = ()
    where: tuple[Expression, ...] = ()
    whole: bool = False
    plan: Node | None = None
    label: str = ""
    by: str = ""
    widens: bool = False
    """A cast that keeps every value."""
    field: int = -1
    """Which field of a row is taken, if one is."""
    distinct: bool = False
    """An aggregate that takes equal values once."""

    @property
    def users_own(self) -> bool:
        """A function whose body the user has written."""
        return self.name == "PythonUDF" or (self.name == "ScalaUDF" and not self.by.startswith(LIBRARIES))

    def walk(self) -> Iterator[Expression]:
        """The expression and all below it, parents first; plans of subqueries are not entered."""
        stack = [self]
        while stack:
            one = stack.pop()
            yield one
            stack.extend((*one.of, *one.keys, *one.where))


@dataclass(slots=True)
class Node:
    """One operator of the plan. `host` is set for the root of a subquery: the node whose expression it stands in."""

    id: int
    name: str
    out: Columns
    children: tuple[Node, ...]
    facts: dict[str, Any]
    list: tuple[Expression, ...] = ()
    where: tuple[Expression, ...] = ()
    keys: tuple[Expression, ...] = ()
    lists: tuple[tuple[Expression, ...], ...] = ()
    rest: tuple[Expression, ...] = ()
    made: Columns = field(default_factory=Columns)
    streaming: bool = False
    parent: Node | None = field(default=None, repr=False)
    host: Node | None = field(default=None, repr=False)
    makers: dict[int, Expression] = field(init=False, repr=False)
    """What the list makes columns of, by their numbers."""

    def __post_init__(self) -> None:
        self.makers = {one.column: one.of[0] for one in reversed(self.list) if one.kind == "alias"}

    @property
    def expressions(self) -> Iterator[Expression]:
        """Every expression of the node itself."""
        yield from self.list
        yield from self.where
        yield from self.keys
        for one in self.lists:
            yield from one
        yield from self.rest


@dataclass(frozen=True, slots=True)
class Description:
    """A whole plan: its nodes by id, the names and types of its columns, and what the session has changed."""

    guard: str
    user: str
    root: Node
    nodes: tuple[Node, ...]
    names: dict[int, str]
    types: dict[int, str]
    settings: dict[str, str]
    padded: frozenset[int] = frozenset()
    """Columns that are CHARs, which may have blanks behind them."""
    kept: bool = False
    """Whether this is a batch of a stream whose state is in a folder that stays."""


def read_description(text: str) -> Description:
    """The plan that the hook describes; anything that is not as agreed is an error."""
    try:
        content = json.loads(text)
        reader = _Reader()
        root = reader.node(content["plan"])
        attributes = content["attributes"]
        return Description(
            content["guard"],
            content["user"],
            root,
            tuple(sorted(reader.nodes, key=lambda node: node.id)),
            {int(key): value[0] for key, value in attributes.items()},
            {int(key): value[1] for key, value in attributes.items()},
            content["settings"],
            frozenset(reader.padded | {int(key) for key, value in attributes.items() if "char" in value[2:]}),
            content.get("kept", False),
        )
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise ParseError(f"the description of the plan cannot be read: {error!r}") from error


class _Reader:
    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.padded: set[int] = set()

    def node(self, raw: dict[str, Any]) -> Node:
        found = Node(
            raw["id"],
            raw["node"],
            Columns(raw["out"]),
            tuple(self.node(child) for child in raw.get("children", ())),
            raw,
            self._all(raw.get("list", ())),
            self._all(raw.get("where", ())),
            self._all(raw.get("keys", ())),
            tuple(self._all(one) for one in raw.get("lists", ())),
            self._all(raw.get("expressions", ())) + self._all(raw.get("generator", ())),
            Columns(raw.get("made", ())),
            raw.get("streaming", False),
        )
        for child in found.children:
            child.parent = found
        for expression in found.expressions:
            for one in expression.walk():
                if one.plan is not None:
                    one.plan.host = found
        self.nodes.append(found)
        return found

    def _all(self, raw: Any) -> tuple[Expression, ...]:
        return tuple([self.expression(one) for one in raw])

    def expression(self, raw: dict[str, Any]) -> Expression:
        if "column" in raw:
            return Expression("column", column=raw["column"])
        if "literal" in raw:
            return _LITERAL
        of = self._all(raw.get("of", ()))
        if "alias" in raw:
            return Expression("alias", column=raw["alias"], of=of)
        if "outer" in raw:
            return Expression("outer", column=raw["outer"])
        if "aggregate" in raw:
            where = self._all(raw.get("where", ()))
            return Expression("aggregate", raw["aggregate"], of=of, where=where, distinct=raw.get("distinct", False))
        if "over" in raw:
            return Expression("over", of=of, keys=self._all(raw["keys"]), whole=raw["over"])
        if "subquery" in raw:
            return Expression("subquery", raw["subquery"], of=of, plan=self.node(raw["plan"]))
        if raw["function"] == "ReadSidePadding" and of[0].kind == "column":
            self.padded.add(of[0].column)
        return Expression(
            "function",
            raw["function"],
            of=of,
            label=raw.get("name", ""),
            by=raw.get("by", ""),
            widens=raw.get("widens", False),
            field=raw.get("field", -1),
        )


_LITERAL = Expression("literal")
