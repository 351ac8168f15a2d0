"""Privileges as people read them."""

from __future__ import annotations

from collections.abc import Iterable

from headgate.model.expression.nodes import AGGREGATES
from headgate.model.privilege import COMPUTE, PRIVILEGES


def shortest(privileges: Iterable[str]) -> tuple[str, ...]:
    """The fewest words for a set of privileges: `compute` stands for every aggregate.

    >>> shortest(["assist", *AGGREGATES])
    ('assist', 'compute')
    """
    given = set(privileges)
    spelt = [one for one in PRIVILEGES if one in given]
    if set(AGGREGATES) <= given:
        return (*(one for one in spelt if one not in AGGREGATES), COMPUTE)
    return tuple(spelt)
