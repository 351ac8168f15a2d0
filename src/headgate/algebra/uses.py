"""What a query does with each column: show it, assist with it, or feed it to an aggregate function.

A policy allows uses, not columns (semantics.md, section 6), so the same column can be covered in WHERE and withheld in
SELECT.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headgate.algebra.block import Block
from headgate.model.expression.nodes import AggregateCall, ColumnRef, Expression, columns_of
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
    for column in columns_outside_calls(expression):
        yield Use(column.source, column.name, privilege)


def columns_outside_calls(expression: Expression) -> tuple[ColumnRef, ...]:
    """The columns an expression over groups names as keys, not as arguments of aggregate functions."""
    if isinstance(expression, AggregateCall):
        return ()
    if isinstance(expression, ColumnRef):
        return (expression,)
    return tuple(dict.fromkeys(column for operand in expression.operands for column in columns_outside_calls(operand)))
