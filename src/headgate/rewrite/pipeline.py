"""The order in which a query is rewritten: two numbered lists, each read from top to bottom.

Rewrites that enforce may change results, and never run without the others; optimisations must not change results.
"""

from __future__ import annotations

from collections.abc import Callable

from headgate.algebra.block import block_of
from headgate.algebra.operators import Operator, Project
from headgate.decision.decide import Decider
from headgate.model.subject import User
from headgate.policy.bind import Environment
from headgate.rewrite.access import Access
from headgate.rewrite.enforce.assert_guarded import assert_guarded
from headgate.rewrite.enforce.mask_outputs import mask_outputs
from headgate.rewrite.enforce.secure_aggregate import secure_aggregate
from headgate.rewrite.enforce.secure_join import secure_join
from headgate.rewrite.enforce.secure_read import secure_read
from headgate.rewrite.enforce.secure_view import Views, secure_view
from headgate.rewrite.optimize.pushdown_predicates import pushdown_predicates
from headgate.rewrite.optimize.simplify_conditions import simplify_conditions

Rewrite = Callable[[Operator], Operator]
Enforcement = Callable[[Operator, Views], Operator]

ENFORCEMENTS: tuple[Enforcement, ...] = (
    # From the output to the sources, as a query is read. Predicates that may not be asked are gone before the first of
    # these (`enforce/remove_predicates.py`): a verdict comes with the block as it is to run.
    # 1. What is shown: masks stand above everything that computes.
    mask_outputs,
    # 2. What is computed: before the joins below it, so that no function is found unguarded by a later pass.
    secure_aggregate,
    # 3. What combinations cover.
    secure_join,
    # 4. What single streams cover: last of those that insert, right above the sources, below everything of the user's.
    secure_read,
    # 5. Nothing after this one: it asserts that the others have guarded everything.
    assert_guarded,
)
"""Rewrites that keep from a subscriber what is not covered (property: rewritten ≡ original under policies)."""

OPTIMIZATIONS: tuple[Rewrite, ...] = (
    # 1. Constants first, so that a condition that is always true is gone before it is moved anywhere.
    simplify_conditions,
    # 2. Then conditions go below joins.
    pushdown_predicates,
)
"""Rewrites that must not change results (property: optimised ≡ not)."""


def enforce(block: Project, decider: Decider, user: User, environment: Environment | None = None) -> Project:
    """One block with its guards in it, for one subscriber; it needs no policies to run."""
    views = secure_view(Access(block_of(block), decider, user, environment))
    return enforce_views(block, views)


def enforce_views(block: Project, views: Views) -> Project:
    """One block with these views enforced."""
    operator: Operator = block
    for step in ENFORCEMENTS:
        operator = step(operator, views)
    assert isinstance(operator, Project)
    return operator


def optimize(query: Operator) -> Operator:
    """Apply every optimisation once, in order; the same object comes back if nothing changed."""
    for step in OPTIMIZATIONS:
        query = step(query)
    return query
