"""What policies on views look at in the tables behind them.

A policy speaks of raw values, and a view's columns are raw only as far as the policies on its tables leave them there.
Where these take away what a policy on the view looks at, `dept = 'B'` is never true, and who is denied the names of
department B need only name one more column to have them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headgate.guard.compliance import Access
from headgate.guard.plan import Description
from headgate.guard.purposes import Analysis

Place = tuple[int, int]
"""A column of a table or of a view: the leaf and the column's number."""


@dataclass(frozen=True)
class LookedAt:
    """What the conditions of the policies on one view look at."""

    view: Access
    below: frozenset[Place]
    """Columns of what the view is made of."""


def looked_at(description: Description, accesses: Mapping[int, Access]) -> Iterator[LookedAt]:
    """For each view whose policies have conditions."""
    for access in accesses.values():
        if access.leaf.name == "View":
            columns = frozenset(_columns([one.where, one.need] for one in access.covers.values()))
            if columns:
                below = Analysis(description).origins(access.leaf, columns)
                yield LookedAt(access, frozenset(one for one in below if one[0] in accesses))


def _columns(term: Any) -> Iterator[int]:
    """The numbers of the columns in conditions."""
    if isinstance(term, Mapping):
        if "column" in term:
            yield term["column"]
        yield from _columns(term.get("of", ()))
    elif isinstance(term, Iterable) and not isinstance(term, str):
        for one in term:
            yield from _columns(one)
