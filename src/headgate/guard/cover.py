"""For which cells a use is covered, and how such conditions are put together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from headgate.guard.lower import Term, call


@dataclass(frozen=True)
class Cover:
    """For which cells a use is covered: everywhere where `where` is None, nowhere where `never` is set."""

    where: Term | None = None
    never: bool = False
    need: Term | None = None
    """The least group size among the grants that cover a cell, NULL where none does; None if no size is asked for."""
    largest_need: int = 1
    """The largest of these sizes, whatever the cell."""

    @property
    def always(self) -> bool:
        return not self.never and self.where is None

    @property
    def key(self) -> str:
        """Equal for equal conditions."""
        return "never" if self.never else json.dumps(self.where, sort_keys=True)


NEVER = Cover(never=True)


def any_term(terms: Sequence[Term]) -> Term:
    """Whether one of these conditions holds."""
    return terms[0] if len(terms) == 1 else call("or", *terms)


def both(left: Term | None, right: Term | None) -> Term | None:
    """The rows in which both conditions hold; None for all."""
    if left is None or right is None or left == right:
        return left if right is None else right
    return call("and", left, right)


def rows_of_any(covers: Sequence[Cover]) -> Term | None:
    """The rows in which at least one use is covered; None for all."""
    possible = {one.key: one for one in covers if not one.never}
    if not possible or any(one.where is None for one in possible.values()):
        return None
    return any_term([one.where for one in possible.values() if one.where is not None])


def any_cover(covers: Sequence[Cover]) -> Cover:
    """Where at least one of these uses is covered, whatever sizes they ask for."""
    return Cover(never=True) if all(one.never for one in covers) else Cover(rows_of_any(covers))


def any_cell(covers: Sequence[Cover]) -> Cover:
    """The cover of rows of which any covered cell will do: the most lenient of the grants on its cells decides.

    INVARIANT: what one cell needs says nothing about rows in which another one is covered.
    """
    possible = [one for one in covers if not one.never]
    if all(one.need is None for one in possible) or any(one.always and one.need is None for one in possible):
        return Cover()
    needs = {json.dumps(one, sort_keys=True): one for one in map(_need_of, possible)}
    terms = list(needs.values())
    least = terms[0] if len(terms) == 1 else call("least", *terms)
    return Cover(need=least, largest_need=max(one.largest_need for one in possible))


def _need_of(cover: Cover) -> Term:
    if cover.need is not None:
        return cover.need
    assert cover.where is not None
    return call("if", cover.where, {"type": "int", "value": 1}, {"type": "int", "value": None})


def all_covers(covers: Sequence[Cover]) -> Cover:
    """Where all of these uses are covered, in groups large enough for each.

    INVARIANT: a row in which one of them is not covered has no need, and so does not count towards the size of a group.
    """
    if any(one.never for one in covers):
        return NEVER
    conditions = {one.key: one.where for one in covers if one.where is not None}
    terms = list(conditions.values())
    needs = [one.need for one in covers if one.need is not None]
    where = None if not terms else terms[0] if len(terms) == 1 else call("and", *terms)
    need = call("greatest", *needs) if len(needs) > 1 else needs[0] if needs else None
    if need is not None and where is not None:
        need = call("if", where, need, {"type": "int", "value": None})
    return Cover(where, need=need, largest_need=max(one.largest_need for one in covers))


def where_it_is(cover: Cover, there: Term | None) -> Cover:
    """A cover of cells that are there on a condition only.

    INVARIANT: a row whose cell another use takes away does not count towards the size of a group.
    """
    if cover.need is None or there is None or there == cover.where:
        return cover
    return replace(cover, need=call("if", there, cover.need, {"type": "int", "value": None}))
