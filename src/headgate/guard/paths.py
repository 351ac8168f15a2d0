"""Purposes shown as the paper draws them: the path of each object through the operators, and its purpose graph.

What is enforced comes from `purposes.py`, which follows wants downwards; this goes upwards from one column, step by
step, so that a person can see why a column has the purposes it has (GuardSpark++, figures 3 and 6).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headgate.guard.plan import Description, Expression, Node
from headgate.guard.purposes import shown_root
from headgate.guard.vocabulary import FUSING

RETRIEVE, COMPUTE, ASSIST, CARRY, OUTPUT = "retrieve", "compute", "assist", "carry", "output"
_PRIORITY = {COMPUTE: 2, ASSIST: 1, RETRIEVE: 1, CARRY: 0}
_LONGEST = 10_000
"""Steps after which drawing is given up; deciding does not depend on it."""


@dataclass(frozen=True)
class Step:
    """One operator on the way of a column, and what it does with it."""

    operator: str
    node: int
    purpose: str


@dataclass(frozen=True)
class Path:
    """One way from a leaf: a branch of the purpose graph, with its data processing purpose."""

    column: str
    steps: tuple[Step, ...]
    output: bool

    @property
    def purpose(self) -> tuple[str, str | None]:
        """The most significant operation, and whether the way ends at the user. Of equals the last one counts."""
        operations = [step.purpose for step in self.steps if step.purpose != CARRY]
        if not operations:
            return RETRIEVE, OUTPUT if self.output else None
        highest = max(_PRIORITY[one] for one in operations)
        last = [one for one in operations if _PRIORITY[one] == highest][-1]
        return last, OUTPUT if self.output else None

    def __str__(self) -> str:
        way = " -> ".join(f"{step.purpose} ({step.operator})" for step in self.steps)
        end = f" -> {OUTPUT}" if self.output else ""
        return f"{self.column}: {way}{end}"


def purpose_paths(description: Description, name: str) -> list[Path]:
    """All ways of the source columns of that name."""
    drawing = _Drawing(description)
    found: list[Path] = []
    for leaf in description.nodes:
        if not leaf.children and leaf.name not in ("CTERelationRef", "UnionLoopRef"):
            for column in leaf.out:
                if description.names[column].lower() == name.lower():
                    found.extend(drawing.ways(name, leaf, column))
    return list(dict.fromkeys(found))


def operator_paths(description: Description) -> dict[str, list[int]]:
    """For each object, raw or alias, the operators it passes: from the one that makes it to the last that uses it."""
    passed: dict[int, list[int]] = {}
    for node in reversed(description.nodes):
        if node.name == "SubqueryAlias":
            continue
        named = {one.column for expression in node.expressions for one in expression.walk() if one.kind == "column"}
        made = {one.column for one in node.list if one.kind == "alias"}
        present = set(node.out) if not node.children else named | made | (set(node.out) if not node.list else set())
        for column in present:
            passed.setdefault(column, []).append(node.id)
    return {description.names[column]: way for column, way in passed.items() if column in description.names}


class _Drawing:
    def __init__(self, description: Description) -> None:
        self.root = shown_root(description.root)
        self.references: dict[int, list[Node]] = {}
        for node in description.nodes:
            if node.name in ("CTERelationRef", "UnionLoopRef"):
                self.references.setdefault(node.facts["cte"], []).append(node)
        self.budget = _LONGEST

    def ways(self, name: str, leaf: Node, column: int) -> Iterator[Path]:
        for steps, output in self._from(leaf, column, first=True):
            yield Path(name, steps, output)

    def _from(self, node: Node, column: int, first: bool) -> Iterator[tuple[tuple[Step, ...], bool]]:
        """The ways of a column that leaves this node."""
        self.budget -= 1
        if self.budget < 0:
            return
        if node is self.root:
            yield (), True
            return
        if node.name in ("CTERelationDef", "UnionLoop") and node.facts["cte"] in self.references:
            place = node.out.index(column)
            for reference in self.references[node.facts["cte"]]:
                yield from self._from(reference, reference.out[place], first)
        above = node.parent if node.parent is not None else node.host
        if above is None or (above.name == "WithCTE" and node.name == "CTERelationDef"):
            return
        if above.name == "SubqueryAlias":
            yield from self._from(above, column, first)
            return
        for purpose, next_column in self._branches(above, node, column, first):
            step = Step(above.name, above.id, purpose)
            if next_column is None:
                yield (step,), False
                continue
            for steps, output in self._from(above, next_column, first=False):
                yield (step, *steps), output

    def _branches(self, node: Node, below: Node, column: int, first: bool) -> Iterator[tuple[str, int | None]]:
        """What an operator does with a column: one branch for each purpose it has for it."""
        if below.host is node:
            yield ASSIST, None
            return
        if any(_names(one, column) for one in (*node.where, *node.keys)):
            yield ASSIST, None
        if not node.list:
            yield from self._passed(node, below, column, first)
            return
        for made in node.list:
            if made.kind == "column" and made.column == column:
                yield RETRIEVE if first else CARRY, column
            elif made.kind == "alias" and _names(made, column):
                yield COMPUTE if _computes(made, column) else RETRIEVE, made.column
        if node.name == "Window" and column in node.out:
            yield CARRY, column

    def _passed(self, node: Node, below: Node, column: int, first: bool) -> Iterator[tuple[str, int | None]]:
        if node.name in ("Union", "Except", "Intersect", "UnionLoop", "Expand"):
            if column in below.out and node.name != "Expand":
                yield CARRY, node.out[below.out.index(column)]
            for one in node.lists:
                for place, expression in enumerate(one):
                    if _names(expression, column):
                        yield CARRY, node.out[place]
        elif column in node.out:
            yield RETRIEVE if node.name == "Filter" or first else CARRY, column
        if node.made and any(_names(one, column) for one in node.rest):
            for made in node.made:
                yield RETRIEVE, made


def _names(expression: Expression, column: int) -> bool:
    return any(one.kind == "column" and one.column == column for one in expression.walk())


def _computes(expression: Expression, column: int) -> bool:
    return any(one.kind == "aggregate" and one.name in FUSING and _names(one, column) for one in expression.walk())
