"""Rows that are counted without any column of theirs being named: `count(*)`, and constants under whatever names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.errors import InputError
from headgate.guard.lineage import Definitions, beside, leaves, sources
from headgate.guard.plan import Description, Expression, Node
from headgate.guard.vocabulary import OWN_DATA

MOST_STEPS = 1_000_000
"""How far leaves are looked for below what counts rows, about a second: a thousand aggregates in a plan of as many
operators."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What counts rows of tables and views. INVARIANT: leaves are not put beside columns: there may be thousands of
    both, and a plan of a few kilobytes would have a hundred million of such pairs."""

    leaves: Mapping[int, tuple[int, ...]]
    """By leaf, the aggregates that count its rows."""
    columns: Mapping[int, list[int]]
    """By aggregate, the columns that it makes by counting."""
    filtered: frozenset[int]
    """Aggregates that count some rows of their groups only."""


def counted_rows(description: Description, definitions: Definitions) -> Counted:
    """Every aggregate that counts rows of a leaf that is not the user's own."""
    return _Counting(description, definitions).found()


class _Counting:
    def __init__(self, description: Description, definitions: Definitions) -> None:
        self._description = description
        self._definitions = definitions
        self._known: dict[tuple[int, int], bool] = {}
        """Which columns of which nodes are made of no column of a table."""

    def found(self) -> Counted:
        below: dict[int, list[int]] = {}
        columns: dict[int, list[int]] = {}
        filtered: set[int] = set()
        for node in self._description.nodes:
            counting = self._counting(node)
            if counting:
                columns[node.id] = [one.column for one in counting]
                if any(part.where for one in counting for part in one.walk()):
                    filtered.add(node.id)
                for leaf in self._leaves(node, len(columns)):
                    below.setdefault(leaf, []).append(node.id)
        return Counted({leaf: tuple(found) for leaf, found in below.items()}, columns, frozenset(filtered))

    def _counting(self, node: Node) -> list[Expression]:
        """What a node makes by counting rows."""
        if node.name not in ("Aggregate", "Window"):
            return []
        made = (one for one in node.list if one.kind == "alias")
        return [one for one in made if any(self._counts_rows(part, node) for part in one.walk())]

    def _leaves(self, node: Node, looks: int) -> list[int]:
        """INVARIANT: deciding ends. Each look may go through the whole plan: definitions are looked through again."""
        if looks * len(self._description.nodes) > MOST_STEPS:
            raise InputError("rows are counted in too many places to follow; ask for fewer of them at once")
        return [leaf.id for leaf in leaves(node, self._definitions) if leaf.name not in OWN_DATA]

    def _counts_rows(self, one: Expression, node: Node) -> bool:
        """Whether an aggregate takes no column of a table, whatever its filter looks at."""
        return one.kind == "aggregate" and all(self._of_nothing(argument, node) for argument in one.of)

    def _of_nothing(self, expression: Expression, node: Node) -> bool:
        """Whether a value says nothing of a row but that it is there: constants, under whatever names they come up."""
        if expression.kind in ("aggregate", "outer"):
            return False
        if expression.kind == "column":
            below = (*node.children, *beside(node))
            return all(self._empty(child, expression.column) for child in below if expression.column in child.out)
        return all(self._of_nothing(one, node) for one in expression.of)

    def _empty(self, node: Node, column: int) -> bool:
        place = (node.id, column)
        if place not in self._known:
            self._known[place] = True  # a recursive query is what it begins with
            self._known[place] = self._made_of_nothing(node, column)
        return self._known[place]

    def _made_of_nothing(self, node: Node, column: int) -> bool:
        if column in node.makers:
            return self._of_nothing(node.makers[column], node)
        if column in node.made:
            return self._of_nothing(node.rest[0], node)
        if node.name == "Expand":
            place = node.out.index(column)
            return all(self._of_nothing(one[place], node) for one in node.lists)
        if not node.children and node.name not in ("CTERelationRef", "UnionLoopRef"):
            return node.name in OWN_DATA
        return all(self._empty(child, below) for child, below in sources(node, column, self._definitions))
