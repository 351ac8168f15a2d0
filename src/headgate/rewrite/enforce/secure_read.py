"""Secure Read: guard every stream where it enters the query."""

from __future__ import annotations

from headgate.algebra.operators import Operator, Source
from headgate.algebra.secure import SecureRead
from headgate.algebra.transform import with_inputs
from headgate.rewrite.enforce.secure_view import Views


def secure_read(operator: Operator, views: Views) -> Operator:
    """Put a secure read above each source.

    What: `Source S` becomes `SecureRead read(x) where S.ward = 7 [own-ward] └─ Source S`.
    Why it helps: what nobody may see is NULL before any operator of the user sees it, and tuples of which nothing is
    left are dropped there.
    When it does not apply: to a source that has its guard already.
    Why it is safe: it changes nothing but which cells are seen; whatever stands above, the guard stands below it.
    """
    if isinstance(operator, SecureRead):
        return operator
    if isinstance(operator, Source):
        return SecureRead(operator, views.reading(operator.alias))
    return with_inputs(operator, lambda below: secure_read(below, views))
