"""Aggregates that are given a column of their own, where the policies allow each of them other cells of one column.

An aggregate is computed of exactly the cells that are covered for its function. One column serves all uses that are
covered alike; for an aggregate that is not among them a copy travels from the table to it, with the cells that it may
take and no others. Rows that are counted get a mark in the same way, where what else is asked of them is covered in
others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from headgate.guard.carriage import Carriage
from headgate.guard.compliance import Access
from headgate.guard.cover import Cover
from headgate.guard.lower import NULL, Term, call
from headgate.guard.plan import Description, Expression
from headgate.guard.recipe import Recipe
from headgate.guard.use import Use

Covered = tuple[Use, Cover]
_Place = tuple[int, int]
"""An aggregate's node, and the column that it makes."""


class Copies:
    """Puts copies into a recipe."""

    def __init__(self, description: Description, recipe: Recipe, carriage: Carriage) -> None:
        self._nodes = description.nodes
        self._types = description.types
        self._recipe = recipe
        self._carriage = carriage

    def apart(self, access: Access, column: int, uses: Sequence[Covered]) -> tuple[list[Covered], list[Covered]]:
        """The uses that the column itself serves, and those that are given copies."""
        if len({cover.key for _, cover in uses}) < 2:
            return list(uses), []
        places: dict[_Place, list[Covered]] = defaultdict(list)
        for use, cover in uses:
            places[use.at, use.into].append((use, cover))
        able = [place for place, found in places.items() if self._alone(access, found)]
        staying = [one for place, found in places.items() if place not in able for one in found]
        # Where nothing has to stay, the column serves the first of the aggregates.
        served = {cover.key for _, cover in staying or uses[:1]}
        given: list[Covered] = []
        for place in able:
            use, cover = places[place][0]
            if len(served) == 1 and cover.key in served:
                staying.extend(places[place])
            elif self._copy(access, use, _cells(column, cover)):
                given.extend(places[place])
            else:
                staying.extend(places[place])
        return staying, given

    def counted(self, access: Access, node: int, columns: Sequence[int], rows: Term) -> bool:
        """Have rows counted where the condition holds, whatever rows there are; whether that can be."""
        if not all(self._counts(node, one) for one in columns):
            return False
        key = self._carriage.to_aggregate(access.leaf, self._nodes[node], _mark(rows), repeated=False)
        if key is None:
            return False
        self._recipe.copies[node].extend({"into": one, "key": key} for one in columns)
        return True

    def _copy(self, access: Access, use: Use, cells: Term) -> bool:
        key = self._carriage.to_aggregate(access.leaf, self._nodes[use.at], cells)
        if key is not None:
            self._recipe.copies[use.at].append({"into": use.into, "key": key})
        return key is not None

    def _alone(self, access: Access, found: Sequence[Covered]) -> bool:
        """Whether uses are those of one aggregate, which takes the column as it comes from the table."""
        use = found[0][0]
        if use.at < 0 or self._nodes[use.at].name != "Aggregate" or len({cover.key for _, cover in found}) > 1:
            return False
        taken = self._only(use.at, use.into)
        named = [one for one in taken.walk() if one.kind == "column"] if taken is not None else []
        if len(named) != 1 or use.column in access.padded:
            return False
        same = self._types[named[0].column] == access.types[use.column]
        return same and all(one.direct and not one.given and not one.idle for one, _ in found)

    def _counts(self, node: int, column: int) -> bool:
        counting = self._only(node, column)
        return counting is not None and counting.name == "Count" and all(one.kind == "literal" for one in counting.of)

    def _only(self, node: int, column: int) -> Expression | None:
        """The aggregate that a column is made of, if it is the only one and takes all rows."""
        made = self._nodes[node].makers.get(column)
        found = [one for one in made.walk() if one.kind == "aggregate"] if made is not None else []
        return found[0] if len(found) == 1 and not found[0].where and not found[0].distinct else None


def _cells(column: int, cover: Cover) -> Term:
    value: Term = {"column": column}
    return value if cover.where is None else call("masked", cover.where, value, NULL)


def _mark(rows: Term) -> Term:
    return call("if", rows, {"type": "int", "value": 1}, {"type": "int", "value": None})
