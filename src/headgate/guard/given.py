"""What became of each use of a governed column: what the recipe leaves of it, for the record and for owners.

INVARIANT: it is never less than was given. What is not known before the query runs, such as which groups are large
enough, counts as given in part; whether a value that is there was of any use to the user is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headgate.guard.compliance import Access, cover_of
from headgate.guard.cover import any_cell
from headgate.guard.outcome import ALL_ROWS, Given, Used
from headgate.guard.plan import Description
from headgate.guard.purposes import Purposes
from headgate.guard.recipe import Recipe
from headgate.guard.use import Use
from headgate.model.privilege import ASSIST

_ORDER = (Given.NOTHING, Given.PART, Given.ALL)


def uses_given(
    description: Description, purposes: Purposes, accesses: Mapping[int, Access], recipe: Recipe
) -> tuple[Used, ...]:
    """Every purpose of every governed column, each once: of uses for the same purpose the one that got most counts."""
    judging = _Judging(description, purposes, accesses, recipe)
    found: dict[tuple[str, str, str, bool], Given] = {}
    for key, given in (*judging.columns(), *judging.rows()):
        found[key] = max(given, found.get(key, Given.NOTHING), key=_ORDER.index)
    return tuple(Used(*key, given) for key, given in sorted(found.items()))


def fully_covered(access: Access, use: Use, description: Description) -> bool:
    """Whether the policies allow a use of every cell, and of groups of any size."""
    cover = cover_of(access, use, description)
    return cover.always and (cover.need is None or use.at < 0 or access.of_any_group(use))


def rows_covered(access: Access, counted: bool) -> bool:
    """Whether the policies allow that all rows of a table are counted, or are known to be there."""
    covers = [access.cover(column, "count" if counted else ASSIST) for column in access.names]
    return any(one.always for one in covers) and not (counted and any_cell(covers).need is not None)


class _Judging:
    def __init__(
        self, description: Description, purposes: Purposes, accesses: Mapping[int, Access], recipe: Recipe
    ) -> None:
        self.description = description
        self.purposes = purposes
        self.accesses = accesses
        self.recipe = recipe
        self.masked = {one["place"]: "carried" in one for one in recipe.masks.get(purposes.root.id, ())}
        """Columns of the answer that are masked: in some rows, where a mark is carried, or in all."""

    def columns(self) -> Iterator[tuple[tuple[str, str, str, bool], Given]]:
        for use in self.purposes.uses:
            access = self.accesses.get(use.node)
            if access is not None:
                name = access.names.get(use.column, self.description.names[use.column])
                yield (access.table, name, use.privilege, use.shown), self._of(access, use)

    def rows(self) -> Iterator[tuple[tuple[str, str, str, bool], Given]]:
        """Tables whose rows are counted, or of which no column is named."""
        counted = self.purposes.counted.leaves
        named = {use.node for use in self.purposes.uses}
        for leaf, access in self.accesses.items():
            if leaf in counted:
                made = self.purposes.counted.columns
                nothing = any(set(made[node]) <= {*self.recipe.nulled.get(node, ())} for node in counted[leaf])
                yield (access.table, ALL_ROWS, "count", True), self._of_rows(access, counted=True, nothing=nothing)
            elif leaf not in named:
                yield (access.table, ALL_ROWS, ASSIST, False), self._of_rows(access, counted=False)

    def _of(self, access: Access, use: Use) -> Given:
        cover = cover_of(access, use, self.description)
        if self.recipe.refusals or cover.never or self._withheld(use):
            return Given.NOTHING
        part = use.shown and use.origin[2] in self.masked
        whole = not part and not self._cut(access, use) and fully_covered(access, use, self.description)
        return Given.ALL if whole else Given.PART

    def _of_rows(self, access: Access, counted: bool, nothing: bool = False) -> Given:
        if self.recipe.refusals or nothing:
            return Given.NOTHING
        cut = "where" in self.recipe.guards.get(access.leaf.id, {})
        return Given.PART if cut or not rows_covered(access, counted) else Given.ALL

    def _withheld(self, use: Use) -> bool:
        """Whether all that was to be made of it is masked at the root, or the predicate that it stands in removed."""
        kind, node, place = use.origin
        if use.shown:
            return self.masked.get(place) is False
        return kind == "where" and place in self.recipe.removed.get(node, ())

    def _cut(self, access: Access, use: Use) -> bool:
        """Whether rows are left out, or cells of the column: also because of what else the query does."""
        entry = self.recipe.guards.get(access.leaf.id, {})
        copied = any(one["into"] == use.into for one in self.recipe.copies.get(use.at, ()))
        return "where" in entry or (not copied and any(cell == use.column for cell, _ in entry.get("cells", ())))
