"""The last pass: nothing leaves rewriting without its guards."""

from __future__ import annotations

from headgate.algebra.operators import Aggregate, Join, Operator, Project, Source
from headgate.algebra.secure import Masked, SecureAggregate, SecureJoin, SecureRead, secured_block_of
from headgate.errors import HeadgateError
from headgate.rewrite.enforce.secure_view import Views

_GUARDS: dict[type[Operator], type[Operator]] = {
    Source: SecureRead,
    Join: SecureJoin,
    Aggregate: SecureAggregate,
}


class UnguardedError(HeadgateError):
    """A rewrite left something unguarded: a mistake of the program, which must not become a leak."""


def assert_guarded(operator: Operator, views: Views) -> Operator:
    """The same operator, or an error.

    What: every source, join and aggregate has its guard right above it, the masks stand below the projection, and every
    use the block makes of a cell is guarded by what its policies say.
    Why it is safe: an operator or a use that some rewrite forgot stops the query instead of opening it.
    """
    # INVARIANT: fail closed. This pass is last, and adds nothing.
    _check(operator, None)
    assert isinstance(operator, Project)
    if not isinstance(operator.input, Masked):
        raise UnguardedError("a projection has no masks below it")
    secured = secured_block_of(operator)
    for use in views.access.uses:
        wanted, found = views.access.guard(use), secured.guards.get(use)
        if found is None or set(found.denies) != set(wanted.denies) or set(found.allows) != set(wanted.allows):
            raise UnguardedError(f"{use.privilege} of `{use.source}.{use.column}` is not guarded as it was decided")
    return operator


def _check(operator: Operator, above: Operator | None) -> None:
    guard = _GUARDS.get(type(operator))
    if guard is not None and not isinstance(above, guard):
        raise UnguardedError(f"a {type(operator).__name__.lower()} of a rewritten query has no guard")
    for below in operator.inputs:
        _check(below, operator)
