"""Secure Join: policies over several streams cover combinations, and nothing on any of the streams alone."""

from __future__ import annotations

from headgate.algebra.operators import Join, Operator
from headgate.algebra.secure import SecureJoin
from headgate.algebra.transform import with_inputs
from headgate.rewrite.enforce.secure_view import Views


def secure_join(operator: Operator, views: Views) -> Operator:
    """Put a secure join above each join.

    What: `Join a, b` becomes `SecureJoin read(a.x) where a.k = b.k [both] └─ Join a, b`.
    When it does not apply: to a join that has its guard already, and to queries without a join: a joint view gives
    nothing there.
    Why it is safe: a joint view is judged on the whole combination, raw, and only ever adds views to those of the
    streams; a joint deny takes away from both.
    """
    if isinstance(operator, SecureJoin):
        return operator
    if isinstance(operator, Join):
        return SecureJoin(operator, views.joint)
    return with_inputs(operator, lambda below: secure_join(below, views))
