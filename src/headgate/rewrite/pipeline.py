"""The order in which a query is rewritten: one numbered list, read from top to bottom."""

from __future__ import annotations

from collections.abc import Callable

from headgate.algebra.operators import Operator
from headgate.rewrite.optimize.pushdown_predicates import pushdown_predicates
from headgate.rewrite.optimize.simplify_conditions import simplify_conditions

Rewrite = Callable[[Operator], Operator]

OPTIMIZATIONS: tuple[Rewrite, ...] = (
    # 1. Constants first, so that a condition that is always true is gone before it is moved anywhere.
    simplify_conditions,
    # 2. Then conditions go below joins.
    pushdown_predicates,
)
"""Rewrites that must not change results (property: optimised ≡ not)."""


def optimize(query: Operator) -> Operator:
    """Apply every optimisation once, in order; the same object comes back if nothing changed."""
    for step in OPTIMIZATIONS:
        query = step(query)
    return query
