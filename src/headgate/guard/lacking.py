"""The smallest grants that would give a full answer to a Spark query, and the denies that would have to go.

For each use that is not covered in full: exactly that privilege on exactly that column. Whether it does is tried, never
assumed; where it does not, as for a first value of a group that must have a minimum size, `read` is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from headgate.guard.compliance import Access
from headgate.guard.given import fully_covered, rows_covered
from headgate.guard.guard import Guard, Judged
from headgate.guard.outcome import Given, Outcome
from headgate.model.privilege import ASSIST, READ
from headgate.policy.model import Policy, Subject
from headgate.rewrite.least_grant import LeastGrant, changed_policies, smallest

Cell = tuple[str, str, str]
"""A privilege that is missing: table, column, privilege."""


def in_full(outcome: Outcome) -> bool:
    """Whether a query gets all that it asks for."""
    told = outcome.reasons or outcome.warnings
    return outcome.permitted and not told and all(one.given is Given.ALL for one in outcome.uses)


def missing_for(guard: Guard, described: str, judged: Judged) -> LeastGrant | None:
    """What is missing for a full answer; None where nothing is, or where nothing that could be granted would do."""
    if guard.policies is None or in_full(guard.decide(described)):
        return None
    enough = partial(_enough, guard, described, judged.description.user)
    for wide in (False, True):
        lacking = list(_lacking(judged, wide))
        cells = tuple(sorted({(access.table, access.names[column], one) for access, column, one in lacking}))
        denied = tuple(sorted({name for one in lacking for name in _denials(*one)}))
        if enough(cells, denied):
            return _least(cells, denied, enough, judged.description.user)
    return None


def _least(
    cells: tuple[Cell, ...],
    denied: tuple[str, ...],
    enough: Callable[[tuple[Cell, ...], tuple[str, ...]], bool],
    user: str,
) -> LeastGrant:
    fewest = smallest(denied, lambda some: enough(cells, some))
    needed = smallest(cells, lambda some: enough(some, fewest))
    return LeastGrant(_grants(needed, user), fewest)


def _enough(guard: Guard, described: str, user: str, cells: tuple[Cell, ...], denied: tuple[str, ...]) -> bool:
    assert guard.policies is not None
    return in_full(guard.decide(described, changed_policies(guard.policies, denied, _grants(cells, user))))


def _lacking(judged: Judged, wide: bool) -> Iterator[tuple[Access, int, str]]:
    for use in judged.purposes.uses:
        access = judged.accesses.get(use.node)
        known = access is not None and use.column in access.names
        if access is not None and known and not fully_covered(access, use, judged.description):
            yield access, use.column, READ if wide else use.privilege
    counted = judged.purposes.counted.leaves
    named = {use.node for use in judged.purposes.uses}
    for leaf, access in judged.accesses.items():
        presence = leaf in counted or leaf not in named
        if presence and access.names and not rows_covered(access, leaf in counted):
            # One column will do, whichever it is: what is asked for are the rows.
            yield access, next(iter(access.names)), READ if wide else "count" if leaf in counted else ASSIST


def _denials(access: Access, column: int, privilege: str) -> Iterator[str]:
    yield from (clause.policy for clause in access.denies(column, privilege))


def _grants(cells: Iterable[Cell], user: str) -> tuple[Policy, ...]:
    """One grant for each table and each set of privileges that some of its columns lack."""
    privileges: dict[tuple[str, str], list[str]] = {}
    for table, column, privilege in cells:
        privileges.setdefault((table, column), []).append(privilege)
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (table, column), found in privileges.items():
        # `read` gives all the rest.
        alike.setdefault((table, (READ,) if READ in found else tuple(sorted(found))), []).append(column)
    return tuple(
        Policy(
            f"missing grant {number}",
            (Subject(user=user),),
            (table,),
            frozenset((table, column) for column in columns),
            tuple(columns),
            allow=allowed,
        )
        for number, ((table, allowed), columns) in enumerate(alike.items())
    )
