"""Purposes shown as the paper draws them: the path of each object through the operators, and its purpose graph.

What is enforced is found by `purposes.py`, which follows wants downwards. The same analysis is done here with the ways
noted that wants take, and they are drawn upwards from the source column, operator by operator, so that a person can see
why a column has the purposes it has (GuardSpark++, figures 3 and 6). So nothing is drawn that is not enforced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headgate.guard.plan import Description, Node
from headgate.guard.purposes import Analysis
from headgate.guard.use import Use
from headgate.model.privilege import ASSIST as ASSISTING
from headgate.model.privilege import READ

RETRIEVE, COMPUTE, ASSIST, CARRY, OUTPUT = "retrieve", "compute", "assist", "carry", "output"
_PRIORITY = {COMPUTE: 2, ASSIST: 1, RETRIEVE: 1, CARRY: 0}
_MOST_STEPS = 2_000
"""How far the ways of one use are followed: a use is drawn at least once, but not in all of thousands of ways."""

_NAMING = frozenset(("SubqueryAlias", "CTERelationDef", "CTERelationRef", "UnionLoopRef", "WithCTE"))
"""Operators that only give names to what others do; the paper draws none of them."""

_SIDE_BY_SIDE = frozenset(("Union", "Except", "Intersect", "UnionLoop", "Expand"))
"""Operators whose columns have other ids than those they are made of, and are nevertheless these."""

Purpose = tuple[str, str | None]
"""{DPP, DOP-O | NULL}: what a way of a column is for, and `output` if it ends at the user."""


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
    def purpose(self) -> Purpose:
        """The most significant operation, and whether the way ends at the user. Of equals the last one counts."""
        operations = [step.purpose for step in self.steps if step.purpose != CARRY]
        if not operations:
            return RETRIEVE, OUTPUT if self.output else None
        highest = max(_PRIORITY[one] for one in operations)
        last = [one for one in operations if _PRIORITY[one] == highest][-1]
        return last, OUTPUT if self.output else None

    @property
    def way(self) -> str:
        """The operators and what each does, from the table on."""
        steps = [f"{step.purpose} ({step.operator})" for step in self.steps]
        return " -> ".join([*steps, OUTPUT] if self.output else steps)

    def __str__(self) -> str:
        return f"{self.column}: {self.way}"


def purpose_paths(description: Description, name: str) -> list[Path]:
    """All ways of the source columns of that name."""
    named = {column for column, known in description.names.items() if known.lower() == name.lower()}
    ways = paths_by_column(description)
    return list(dict.fromkeys(path for (_, column), paths in ways.items() if column in named for path in paths))


def paths_by_column(description: Description) -> dict[tuple[int, int], list[Path]]:
    """The ways of every source column that the plan uses, by its leaf and its number."""
    drawing = _Drawing(description)
    drawing.run()
    found: dict[tuple[int, int], dict[Path, None]] = {}
    for use in drawing.arrived:
        name = description.names[use.column]
        for steps, output in drawing.ways(use):
            found.setdefault((use.node, use.column), {})[Path(name, steps, output)] = None
    return {column: list(paths) for column, paths in sorted(found.items())}


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


Above = Use | int | None
"""What a want came from: another want, the operator that wants something for itself, or nothing, for the root's own."""


class _Drawing(Analysis):
    """The analysis, with what each want came from."""

    def __init__(self, description: Description) -> None:
        super().__init__(description)
        self.arrived: list[Use] = []
        """Wants that reached a source column, one for each use."""
        self._above: dict[Use, dict[Above, None]] = {}
        self._from: Above = None

    def _intrinsic(self, node: Node) -> None:
        self._from = node.id
        super()._intrinsic(node)

    def _follow(self, want: Use) -> None:
        self._from = want
        before = len(self.uses)
        super()._follow(want)
        if len(self.uses) > before and not want.idle and not self.nodes[want.node].children:
            self.arrived.append(want)

    def _push(self, want: Use) -> None:
        self._above.setdefault(want, {})[self._from] = None
        super()._push(want)

    def ways(self, leaf: Use) -> Iterator[tuple[tuple[Step, ...], bool]]:
        """The ways from a source column up to where it is wanted, each with whether that is the user."""
        stack: list[tuple[Use, tuple[Step, ...], frozenset[Use]]] = [(leaf, (), frozenset((leaf,)))]
        for _ in range(_MOST_STEPS):
            if not stack:
                return
            want, steps, passed = stack.pop()
            for above in self._above[want]:
                if above is None:
                    yield steps, True
                elif isinstance(above, int) or _ends(above, want):
                    node = self.nodes[above if isinstance(above, int) else above.node]
                    yield _appended(steps, node, self._last(node, want, leaf)), False
                elif above not in passed:  # a recursive query goes round
                    node = self.nodes[above.node]
                    step = self._between(node, above, want, leaf, first=not steps)
                    stack.append((above, _appended(steps, node, step), passed | {above}))

    def _last(self, node: Node, want: Use, leaf: Use) -> str:
        """What an operator does with a column that goes no further: it is compared, or given to a function."""
        if _computes(node, want, leaf):
            return COMPUTE
        return RETRIEVE if leaf.privilege == READ else ASSIST

    def _between(self, node: Node, above: Use, want: Use, leaf: Use, first: bool) -> str:
        """What an operator does with a column that is a part of what it hands on."""
        if _computes(node, want, leaf):
            return COMPUTE
        if node.name in _SIDE_BY_SIDE:
            return CARRY
        if above.column == want.column:
            return RETRIEVE if first or node.name == "Filter" else CARRY
        return RETRIEVE


def _computes(node: Node, want: Use, leaf: Use) -> bool:
    """Whether an operator fuses the values of a column.

    INVARIANT: what hands out single values below it decides, as in `purposes.py`: the largest of collected values is
    one of them, whatever the paper's priorities say.
    """
    return want.at == node.id and leaf.privilege not in (READ, ASSISTING)


def _ends(above: Use, want: Use) -> bool:
    """Whether a way ends between two wants: the column is compared with a subquery, or given to a user's own function,
    or stands in a field that nobody takes out."""
    return (above.shown and not want.shown) or (want.given and not above.given) or (want.idle and not above.idle)


def _appended(steps: tuple[Step, ...], node: Node, purpose: str) -> tuple[Step, ...]:
    """The way with one more step. Nothing is appended to a branch that has the highest priority (section 4.2)."""
    if node.name in _NAMING or (steps and steps[-1].purpose == COMPUTE):
        return steps
    return (*steps, Step(node.name, node.id, purpose))
