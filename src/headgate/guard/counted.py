"""Rows that are counted without any column of theirs being named: `count(*)`, and constants under whatever names."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.guard.lineage import Definitions, beside, leaves, sources
from headgate.guard.plan import Description, Expression, Node
from headgate.guard.vocabulary import OWN_DATA


def counted_rows(description: Description, definitions: Definitions) -> Iterator[tuple[int, int, int]]:
    """(leaf, aggregate node, output column) of every aggregate that counts rows of a leaf."""
    return _Counting(description, definitions).found()


class _Counting:
    def __init__(self, description: Description, definitions: Definitions) -> None:
        self._description = description
        self._definitions = definitions
        self._known: dict[tuple[int, int], bool] = {}
        """Which columns of which nodes are made of no column of a table."""

    def found(self) -> Iterator[tuple[int, int, int]]:
        for node in self._description.nodes:
            if node.name not in ("Aggregate", "Window"):
                continue
            for made in node.list:
                if made.kind == "alias" and any(self._counts_rows(one, node) for one in made.walk()):
                    for leaf in leaves(node, self._definitions):
                        yield leaf.id, node.id, made.column

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
        for made in node.list:
            if made.column == column and made.kind == "alias":
                return self._of_nothing(made.of[0], node)
        if column in node.made:
            return self._of_nothing(node.rest[0], node)
        if node.name == "Expand":
            place = node.out.index(column)
            return all(self._of_nothing(one[place], node) for one in node.lists)
        if not node.children and node.name not in ("CTERelationRef", "UnionLoopRef"):
            return node.name in OWN_DATA
        return all(self._empty(child, below) for child, below in sources(node, column, self._definitions))
