"""Which columns of a plan hold values that the user may use and may not see: an error about them would tell."""

from __future__ import annotations

from collections.abc import Iterator, Set

from headgate.guard.lineage import Definitions, definitions_of
from headgate.guard.plan import Description, Expression, Node
from headgate.guard.vocabulary import SHOWING


def tainted(description: Description, hidden: Set[int]) -> list[int]:
    """The hidden columns and everything that is derived from them row by row; an aggregate ends it, unless it gives out
    single values."""
    found = set(hidden)
    definitions = definitions_of(description)
    before = -1
    while len(found) != before:
        before = len(found)
        for node in reversed(description.nodes):
            found.update(_derived(node, found, definitions))
    return sorted(found)


def _derived(node: Node, found: Set[int], definitions: Definitions) -> Iterator[int]:
    for made in node.list:
        if made.kind == "alias" and _names(made.of[0], found):
            yield made.column
    if node.made and any(_names(one, found) for one in node.rest):
        yield from node.made
    if node.name in ("Union", "Except", "Intersect", "UnionLoop"):
        for child in node.children:
            yield from (out for out, column in zip(node.out, child.out, strict=False) if column in found)
    if node.name in ("CTERelationRef", "UnionLoopRef"):
        for definition in definitions.get(node.facts["cte"], ()):
            yield from (out for out, column in zip(node.out, definition.out, strict=False) if column in found)
    for one in node.lists:
        yield from (out for out, expression in zip(node.out, one, strict=False) if _names(expression, found))


def _names(expression: Expression, found: Set[int]) -> bool:
    if expression.kind == "aggregate" and expression.name not in SHOWING:
        return False
    if expression.kind in ("column", "outer"):
        return expression.column in found
    if expression.kind == "over" and not expression.whole:
        # A running function tells of single rows, whatever it is called.
        return any(_names(inner, found) for one in expression.of for inner in (one.of or (one,)))
    if expression.plan is not None and any(column in found for column in expression.plan.out):
        return True
    return any(_names(one, found) for one in expression.of)
