"""Rebuilding expressions: substitution, conjunctions, and the binding of policies' variables to constants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any, cast

from headgate.model.expression import nodes
from headgate.model.expression.nodes import Expression


def rewrite(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Apply `change` to every node, the lowest first; the same object comes back if nothing changed."""
    rebuilt = with_operands(expression, lambda operand: rewrite(operand, change))
    return change(rebuilt)


def with_operands(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The node with each expression directly below it changed; the same object if none did."""
    if not expression.operands:
        return expression
    changed: dict[str, Any] = {}
    for name in _field_names(type(expression)):
        before = getattr(expression, name)
        after = _changed(before, change)
        if after is not before:
            changed[name] = after
    return replace(cast(Any, expression), **changed) if changed else expression


_known_fields: dict[type[Expression], tuple[str, ...]] = {}


def _field_names(kind: type[Expression]) -> tuple[str, ...]:
    names = _known_fields.get(kind)
    if names is None:
        names = _known_fields[kind] = tuple(field.name for field in fields(cast(Any, kind)))
    return names


def _changed(value: object, change: Callable[[Expression], Expression]) -> object:
    if isinstance(value, Expression):
        return change(value)
    if isinstance(value, tuple):
        after = tuple(_changed(item, change) for item in value)
        return after if any(new is not old for new, old in zip(after, value, strict=True)) else value
    return value


def flattened(kind: type[nodes.And | nodes.Or], operands: Iterable[Expression]) -> tuple[Expression, ...]:
    """The operands of a chain, those of its own kind taken apart: `a AND (b AND c)` has three."""
    return tuple(
        part for operand in operands for part in (operand.operands if isinstance(operand, kind) else (operand,))
    )


def conjuncts(condition: Expression | None) -> tuple[Expression, ...]:
    """The conditions that must all hold; none for no condition."""
    if condition is None:
        return ()
    if isinstance(condition, nodes.And):
        return tuple(part for operand in condition.operands for part in conjuncts(operand))
    return (condition,)


def conjunction(conditions: Iterable[Expression]) -> Expression | None:
    """One condition that holds iff all of these do; None for none."""
    parts = tuple(part for condition in conditions for part in conjuncts(condition))
    if len(parts) < 2:
        return parts[0] if parts else None
    return nodes.And(parts)


def rename_sources(expression: Expression, names: dict[str, str]) -> Expression:
    """The same expression over sources of other names."""

    def renamed(node: Expression) -> Expression:
        if isinstance(node, nodes.ColumnRef) and node.source in names:
            return replace(node, source=names[node.source])
        return node

    return rewrite(expression, renamed)
