"""Where a column of an operator comes from, when no expression makes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from headgate.guard.plan import Description, Node

Definitions = Mapping[int, Sequence[Node]]
"""Common table expressions and recursive queries, by their number.

INVARIANT: a number may have several. A frame that is united with itself, or a view that is named twice, brings its
definitions along twice, and Spark runs one of them for both: what any reference wants is wanted of all.
"""


def definitions_of(description: Description) -> Definitions:
    """The definitions of a plan."""
    found: dict[int, list[Node]] = {}
    for node in description.nodes:
        if node.name in ("CTERelationDef", "UnionLoop"):
            found.setdefault(node.facts["cte"], []).append(node)
    return found


def sources(node: Node, column: int, definitions: Definitions) -> Iterator[tuple[Node, int]]:
    """The children's columns that a column of the node is, without any expression between."""
    if node.name in ("CTERelationRef", "UnionLoopRef"):
        place = node.out.index(column)
        for definition in definitions[node.facts["cte"]]:
            yield definition, definition.out[place]
    elif node.name in ("Union", "Except", "Intersect", "UnionLoop"):
        place = node.out.index(column)
        for child in node.children:
            yield child, child.out[place]
    elif node.name == "LateralJoin" and column not in node.children[0].out:
        for plan in beside(node):
            yield plan, column
    else:
        children = node.children[-1:] if node.name == "WithCTE" else node.children
        for child in children:
            if column in child.out:
                yield child, column


def leaves(node: Node, definitions: Definitions) -> Iterator[Node]:
    """The tables and the lasting views below an operator, each once."""
    stack, seen = [node], set[int]()
    while stack:
        one = stack.pop()
        if one.id in seen:
            continue
        seen.add(one.id)
        if one.name in ("CTERelationRef", "UnionLoopRef"):
            stack.extend(definitions[one.facts["cte"]])
        elif not one.children or (one.name == "View" and not one.facts["temporary"]):
            yield one
        stack.extend(one.children)
        stack.extend(beside(one))


def beside(node: Node) -> Iterator[Node]:
    """The plans of a LATERAL join: they are no children of it, but their columns stand beside those of the child."""
    if node.name == "LateralJoin":
        yield from (one.plan for one in node.rest if one.kind == "subquery" and one.plan is not None)


def packed_side(node: Node) -> tuple[int, ...]:
    """Columns of the other side of a join that Spark makes one value of, to take it apart when it has found a row."""
    return node.children[1].out if node.name == "AsOfJoin" else ()
