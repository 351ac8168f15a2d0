"""A block of a query taken apart: the clauses that SELECT, FROM, WHERE, GROUP BY and HAVING spell.

Spellings build queries through it and print from it; the canonical form, the uses of columns and the reference
interpreter read it. A block and its operator tree say the same: `block_of(block.operator()) == block`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.algebra.operators import Aggregate, Join, Operator, Output, Project, Secured, Select, Source, bare
from headgate.algebra.transform import over_groups
from headgate.algebra.window import AnyWindow, NowWindow, RangeWindow, RowsWindow, Window
from headgate.errors import InputError, WindowError
from headgate.model.duration import Duration
from headgate.model.expression.nodes import AggregateCall, ColumnRef, Expression, walk
from headgate.model.expression.print import to_text
from headgate.model.expression.transform import conjunction, conjuncts


@dataclass(frozen=True)
class Block:
    """The clauses of one block: `window` is None where nothing is aggregated, `ranges` empty without a join."""

    sources: tuple[Source, ...]
    ranges: tuple[Duration, ...]
    where: tuple[Expression, ...]
    window: Window | None
    keys: tuple[Expression, ...]
    calls: tuple[AggregateCall, ...]
    having: tuple[Expression, ...]
    outputs: tuple[Output, ...]

    @property
    def joins(self) -> bool:
        return len(self.sources) > 1

    @property
    def where_condition(self) -> Expression | None:
        return conjunction(self.where)

    def operator(self) -> Project:
        """The operator tree of the block."""
        region: Operator = Join(self.sources, self.ranges) if self.joins else self.sources[0]
        region = _selected(region, self.where)
        if self.window is not None:
            region = _selected(Aggregate(region, self.window, self.keys, self.calls), self.having)
        return Project(region, self.outputs)


def _selected(operator: Operator, conditions: tuple[Expression, ...]) -> Operator:
    predicate = conjunction(conditions)
    return operator if predicate is None else Select(operator, predicate)


def block_of(project: Project) -> Block:
    """Take a block apart, wherever its predicates have been moved to."""
    # INVARIANT: nobody gets the clauses of a rewritten query without its guards by accident.
    if any(isinstance(operator, Secured) for operator in project.walk()):
        raise InputError("a rewritten query is taken apart without its guards", hint="use `secured_block_of`")
    return unguarded_block_of(project)


def unguarded_block_of(project: Project) -> Block:
    """The clauses of a block whose guards the caller enforces (`secure.py`)."""
    below = bare(project.input)
    having: list[Expression] = []
    while isinstance(below, Select) and over_groups(below):
        having[:0] = conjuncts(below.predicate)
        below = bare(below.input)
    aggregate = below if isinstance(below, Aggregate) else None
    region = aggregate.input if aggregate else below
    sources, ranges, where = region_of(region)
    return Block(
        sources=sources,
        ranges=ranges,
        where=where,
        window=aggregate.window if aggregate else None,
        keys=aggregate.keys if aggregate else (),
        calls=aggregate.calls if aggregate else (),
        having=tuple(having),
        outputs=project.outputs,
    )


def region_of(region: Operator) -> tuple[tuple[Source, ...], tuple[Duration, ...], tuple[Expression, ...]]:
    """Sources, ranges and conditions of everything below the groups or the projection."""
    joins = [operator for operator in region.walk() if isinstance(operator, Join)]
    return region.sources, joins[0].ranges if joins else (), tuple(_predicates(region))


def _predicates(region: Operator) -> list[Expression]:
    found: list[Expression] = []
    for operator in region.inputs:
        found.extend(_predicates(operator))
    if isinstance(region, Select | Join):
        found.extend(conjuncts(region.predicate))
    return found


def build_block(
    sources: Sequence[Source],
    windows: Sequence[AnyWindow | None],
    outputs: Sequence[Output],
    where: Expression | None = None,
    keys: Sequence[Expression] = (),
    having: Expression | None = None,
) -> Project:
    """The operator tree of a query as its clauses are written, each window understood by what it stands on."""
    calls = _calls([output.expression for output in outputs] + ([having] if having is not None else []))
    aggregated = bool(calls or keys)
    if having is not None and not aggregated:
        raise InputError("HAVING without groups", hint="put the condition in WHERE")
    return Block(
        sources=tuple(sources),
        ranges=tuple(_range_of(window) for window in windows) if len(sources) > 1 else (),
        where=conjuncts(where),
        window=_aggregate_window(windows) if aggregated else None,
        keys=tuple(dict.fromkeys(keys)),
        calls=calls,
        having=conjuncts(having),
        outputs=tuple(outputs),
    ).operator()


def _calls(expressions: list[Expression]) -> tuple[AggregateCall, ...]:
    found = (node for expression in expressions for node in walk(expression) if isinstance(node, AggregateCall))
    return tuple(dict.fromkeys(found))


def _range_of(window: AnyWindow | None) -> Duration:
    if isinstance(window, RowsWindow):
        raise WindowError("a window of rows in a join", hint="use RANGE")
    return window.size if isinstance(window, RangeWindow) else 0


def _aggregate_window(windows: Sequence[AnyWindow | None]) -> Window:
    first = windows[0]
    if any(window != first for window in windows):
        raise WindowError("the windows of an aggregated join differ", hint="write the same RANGE and SLIDE for each")
    if first is None or isinstance(first, NowWindow):
        raise WindowError(
            "an aggregate needs a window", hint="write one after the stream, such as `[RANGE 5 MIN, SLIDE 1 MIN]`"
        )
    return first


def default_name(expression: Expression) -> str:
    """What an output is called that was given no name: the column, or the text of the expression without qualifiers."""
    if isinstance(expression, ColumnRef):
        return expression.name
    return to_text(expression, qualified=False)
