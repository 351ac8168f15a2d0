"""Secure Aggregate: each function is computed from the cells covered for it, in groups that are large enough."""

from __future__ import annotations

from headgate.algebra.operators import Aggregate, Operator
from headgate.algebra.secure import SecureAggregate
from headgate.algebra.transform import with_inputs
from headgate.rewrite.enforce.secure_view import Views


def secure_aggregate(operator: Operator, views: Views) -> Operator:
    """Put a secure aggregate above each aggregate.

    What: `Aggregate avg(x)` becomes `SecureAggregate avg(x) where S.ward <> 7 in groups of 5 [averages] └─ Aggregate`.
    When it does not apply: to an aggregate that has its guard already. Views whose window the query does not meet are
    not among the views at all (`decision/decide.py`).
    Why it is safe: `read` of a cell implies every function, a function implies nothing else, so the two kinds of guard
    are kept apart; the least group size of a tuple's views, the greatest of a group's tuples decides.
    """
    if isinstance(operator, SecureAggregate):
        return operator
    if isinstance(operator, Aggregate):
        return SecureAggregate(operator, views.computing)
    return with_inputs(operator, lambda below: secure_aggregate(below, views))
