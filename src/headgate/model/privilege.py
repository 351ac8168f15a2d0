"""What can be done with a cell: show it, assist with it (in a predicate, key or ordering), or aggregate it."""

from __future__ import annotations

from headgate.model.expression.nodes import AGGREGATES

READ = "read"
ASSIST = "assist"
COMPUTE = "compute"
"""In a policy: every aggregate function."""

PRIVILEGES = (READ, ASSIST, *AGGREGATES)


def implied_by(privilege: str) -> frozenset[str]:
    """What an `allow` of this privilege allows: `read` everything, an aggregate neither `read` nor `assist`.

    >>> sorted(implied_by("avg"))
    ['avg']
    """
    if privilege == READ:
        return frozenset(PRIVILEGES)
    return listed_by(privilege)


def listed_by(privilege: str) -> frozenset[str]:
    """What a `deny` of this privilege takes away: exactly it, or every aggregate for `compute`."""
    return frozenset(AGGREGATES) if privilege == COMPUTE else frozenset((privilege,))
