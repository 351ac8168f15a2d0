"""What a query does with each column: show it, assist with it, or feed it to an aggregate function.

A policy allows uses, not columns (semantics.md, section 6), so the same column can be covered in WHERE and withheld in
SELECT.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headgate.algebra.block import Block
from headgate.model.expression.nodes import AggregateCall, Expression, columns_of
from headgate.model.expression.transform import with_operands
from headgate.model.privilege import ASSIST, READ


@dataclass(frozen=True, slots=True)
class Use:
    """One column of one source, used in one way."""

    source: str
    column: str
    privilege: str


def uses_of(block: Block) -> tuple[Use, ...]:
    """Every use the block makes of a named column, each once."""
    return tuple(dict.fromkeys(_uses(block)))


def _uses(block: Block) -> Iterator[Use]:
    for condition in block.where:
        yield from _named(condition, ASSIST)
    for key in block.keys:
        yield from _named(key, ASSIST)
    for condition in block.having:
        yield from _outside_calls(condition, ASSIST)
    for output in block.outputs:
        yield from _outside_calls(output.expression, READ)
    for call in block.calls:
        if call.argument is not None:
            yield from _named(call.argument, call.function)


def _named(expression: Expression, privilege: str) -> Iterator[Use]:
    for column in columns_of(expression):
        yield Use(column.source, column.name, privilege)


def _outside_calls(expression: Expression, privilege: str) -> Iterator[Use]:
    yield from _named(without_calls(expression), privilege)


def without_calls(expression: Expression) -> Expression:
    """The expression with the arguments of aggregate functions left out."""
    if isinstance(expression, AggregateCall):
        return AggregateCall("count", None)
    return with_operands(expression, without_calls)


def counts_tuples(block: Block) -> bool:
    """Whether the block asks how many tuples there are, whatever is in them."""
    return any(call.argument is None or not columns_of(call.argument) for call in block.calls)
