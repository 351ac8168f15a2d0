"""Groups that must have a least size: how they are checked, and what is told of them.

What each row needs travels from the leaf to the aggregate. What an aggregate tells is noted beside that, to be compared
with what its user was told before.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from headgate.guard.carriage import Carriage
from headgate.guard.compliance import Access
from headgate.guard.cover import Cover, any_cell, any_cover, rows_of_any, where_it_is
from headgate.guard.differencing import kinds_of
from headgate.guard.lower import Term
from headgate.guard.plan import Description
from headgate.guard.recipe import Recipe
from headgate.guard.use import Use
from headgate.model.privilege import READ


class GroupSizes:
    """Puts the sizes that policies ask for into a recipe."""

    def __init__(self, description: Description, recipe: Recipe, carriage: Carriage) -> None:
        self._nodes = description.nodes
        self._recipe = recipe
        self._carriage = carriage

    def of_values(self, access: Access, possible: Sequence[tuple[Use, Cover]], there: Term | None) -> None:
        """For aggregates of one column; `there` is the condition under which the cell is there."""
        for use, own in possible:
            if own.need is None or use.at < 0 or self._nodes[use.at].name != "Aggregate":
                continue  # a window is not a group: what it takes is read
            cover = where_it_is(own, there)
            read = access.cover(use.column, READ)
            if not use.direct and not read.always:
                self._not_direct(f"{use.privilege} of `{access.table}.{access.names[use.column]}`")
            else:
                self._groups(access, cover, there, {use.at}, access.names[use.column], use.privilege, read)

    def of_rows(self, access: Access, nodes: Sequence[int], covers: Sequence[Cover], *, filtered: bool) -> None:
        """For aggregates that count rows without naming a column; `filtered` if one of them takes some rows only."""
        cover = any_cell(covers)
        if cover.need is None:
            return
        read = any_cover([access.cover(column, READ) for column in access.names])
        if not read.always and filtered:
            self._not_direct(f"counting rows of `{access.table}`")
        self._groups(access, cover, rows_of_any(covers), set(nodes), "*", "count", read)

    def _not_direct(self, what: str) -> None:
        # INVARIANT: `sum(if(id = 30, x, 0))` is about one row, however many there are in its group.
        self._recipe.refusals.append(
            f"{what} has a minimum group size, so it takes the column itself of all rows; conditions go into WHERE"
        )

    def _groups(
        self,
        access: Access,
        cover: Cover,
        there: Term | None,
        nodes: Set[int],
        column: str,
        privilege: str,
        read: Cover,
    ) -> None:
        """Have groups checked for their size, and what is told of them noted, unless all of it may be seen anyway.

        `there` says which rows it is told of."""
        for node in nodes:
            key = self._carriage.group(access.leaf, self._nodes[node], cover)
            if key is None:
                through = self._carriage.obstacle(access.leaf, self._nodes[node])
                self._recipe.refusals.append(
                    f"the size of groups of `{access.table}` cannot be checked through `{through}`"
                )
                continue
            if not read.always:
                # Whatever it is counted by, what is counted are rows of the table.
                told = f"{access.table}.{'*' if privilege == 'count' else column}"
                release = {"leaf": access.leaf.id, "aggregate": node, "column": told, "key": key}
                release |= {"seen": read.where, "there": there}
                self._recipe.releases.append(release | {"least": cover.largest_need, "kinds": kinds_of(privilege)})
