"""Rebuilding query trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from headgate.algebra.operators import Aggregate, Join, Operator, Project, Secured, Select, Union


def with_inputs(operator: Operator, change: Callable[[Operator], Operator]) -> Operator:
    """The operator with each of its inputs changed; the same object comes back if none did."""
    inputs = tuple(change(one) for one in operator.inputs)
    if all(new is old for new, old in zip(inputs, operator.inputs, strict=True)):
        return operator
    if isinstance(operator, Join | Union):
        return replace(operator, inputs=inputs)
    assert isinstance(operator, Select | Aggregate | Project | Secured)
    return cast(Operator, replace(cast(Any, operator), input=inputs[0]))


def over_groups(operator: Operator) -> bool:
    """Whether the operator is an aggregate, or selections and guards above one: HAVING."""
    while isinstance(operator, Select | Secured):
        operator = operator.input
    return isinstance(operator, Aggregate)
