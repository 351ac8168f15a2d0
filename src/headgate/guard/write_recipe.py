"""From what is covered to what is done: guards at leaves, changes at operators, masks at the root, or a refusal.

Where the same column is used in several ways that are covered for different cells, one column cannot serve them all.
What is only shown is then masked at the root, by a mark that travels up with each row; where no mark can travel, the
cell is there only if every use of it is covered. That withholds more than it would have to, and never less.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from headgate.guard.carriage import Carriage
from headgate.guard.compliance import Access, cover_of
from headgate.guard.copies import Copies
from headgate.guard.cover import Cover, any_cell, any_cover, both, rows_of_any
from headgate.guard.group_sizes import GroupSizes
from headgate.guard.lower import NULL, Term, call
from headgate.guard.plan import Description
from headgate.guard.purposes import Purposes
from headgate.guard.reading import not_chosen
from headgate.guard.reasons import Reasons, because, nowhere
from headgate.guard.recipe import Recipe
from headgate.guard.root_masks import RootMasks
from headgate.guard.taint import tainted
from headgate.guard.use import Origin, Use
from headgate.guard.views import looked_at
from headgate.model.privilege import ASSIST, READ
from headgate.policy.model import AssistDenied, Mask, MaskKind


def write_recipe(
    description: Description, purposes: Purposes, accesses: Mapping[int, Access], on_assist_denied: AssistDenied
) -> Recipe:
    """The recipe for a plan whose leaves have been judged."""
    writer = _Writer(description, purposes, accesses, on_assist_denied)
    for access in accesses.values():
        writer.leaf(access)
    return writer.finish()


class _Writer:
    def __init__(
        self,
        description: Description,
        purposes: Purposes,
        accesses: Mapping[int, Access],
        on_assist_denied: AssistDenied,
    ) -> None:
        self.description = description
        self.purposes = purposes
        self.accesses = accesses
        self.on_assist_denied = on_assist_denied
        self.recipe = Recipe()
        self.reasons = Reasons(description)
        self.hidden: set[int] = set()
        # INVARIANT: what a view's own policies take away, of any use, is still there below it, where rows are counted.
        views = (one for one in accesses.values() if one.leaf.name == "View")
        narrowing = {one.leaf.id for one in views if one.narrows}
        self.carriage = Carriage(self.recipe.carry, self.recipe.groups, narrowing)
        self.sizes = GroupSizes(description, self.recipe, self.carriage)
        self.copies = Copies(description, self.recipe, self.carriage)
        self.uses: dict[int, dict[int, list[Use]]] = defaultdict(lambda: defaultdict(list))
        removed = self._removed()
        for use in purposes.uses:
            if use.node in accesses and use.origin not in removed:
                self.uses[use.node][use.column].append(use)
        self.masks = RootMasks(description, purposes.root, self.uses, self.carriage)
        self.idle = {(use.node, use.column): None for use in purposes.idle}
        self.looked_at = list(looked_at(description, accesses))
        self.raw = {place for one in self.looked_at for place in one.below}
        """What policies on views look at, and so has to get as far as these."""
        self.counted = purposes.counted

    def _removed(self) -> set[Origin]:
        """Conjuncts that are removed: nothing that stands in them is used any more."""
        found: set[Origin] = set()
        if self.on_assist_denied is not AssistDenied.REMOVE:
            return found
        for use in self.purposes.uses:
            access = self.accesses.get(use.node)
            if access is None or access.problem or use.privilege != ASSIST or use.origin[0] != "where":
                continue
            if self._cover(access, use).never:
                name = self.reasons.called(access, use.column)
                self.recipe.warnings.append(f"a predicate on {name} was removed: its use is not allowed")
                found.add(use.origin)
        for _, node, place in sorted(found):
            self.recipe.removed[node].append(place)
        return found

    # One leaf.

    def leaf(self, access: Access) -> None:
        if access.problem:
            self.recipe.refusals.append(access.problem)
            return
        by_column = self.uses.get(access.leaf.id, {})
        covers = [self._cover(access, use) for uses in by_column.values() for use in uses]
        if not covers:
            covers = [access.cover(column, ASSIST) for column in access.names]
            covers += [
                access.cover(column, "count") for column in access.names if access.leaf.id in self.counted.leaves
            ]
        if all(one.never for one in covers):
            self.recipe.refusals.append(f"no use of `{access.table}` is allowed" + nowhere(access, by_column))
            return
        marked: list[dict[str, Any]] = []
        cells: list[list[Any]] = []
        rows = rows_of_any(covers)
        if rows is not None and not by_column:
            self.recipe.withheld.append(f"rows of `{access.table}` are withheld in part")
        rows = self._with_counted(access, rows, self._count_rows(access), named=bool(by_column))
        for column in access.chosen:
            rows = both(rows, self._chosen(access, column))
        for column, uses in by_column.items():
            cell = self._column(access, column, uses, marked)
            if cell is not None and (rows is None or cell[0] != rows):
                cells.append([column, cell[1]])
        cells += self._idle(access, by_column)
        cells += self._no_further(access, {*by_column, *(cell[0] for cell in cells)})
        self._unused(access, {*by_column, *(cell[0] for cell in cells)})
        if rows is not None or cells or marked:
            entry: dict[str, Any] = {} if rows is None else {"where": rows}
            if cells:
                entry["cells"] = cells
            if marked:
                entry["carried"] = marked
            self.recipe.guards[access.leaf.id] = entry

    def _with_counted(self, access: Access, rows: Term | None, counted: Term | None, *, named: bool) -> Term | None:
        """The rows that are used: all of which a named column may be, where each count can be told which of them it
        counts, else only those that may be counted."""
        if counted is None or counted == rows or not named:
            return both(rows, counted)
        told = {node: self.counted.columns[node] for node in self.counted.leaves[access.leaf.id]}
        given = {node: made for node, made in told.items() if not {*made} <= {*self.recipe.nulled.get(node, ())}}
        if all(self.copies.counted(access, node, made, counted) for node, made in given.items()):
            return rows
        self.recipe.withheld.append(f"`{access.table}` is used in rows only that may be counted")
        return both(rows, counted)

    def _idle(self, access: Access, by_column: Mapping[int, Sequence[Use]]) -> Iterator[list[Any]]:
        """Columns that Spark may compute with although nobody wants what becomes of them; others see to themselves."""
        for leaf, column in self.idle:
            idle = leaf == access.leaf.id and column not in by_column
            if idle and not access.cover(column, READ).always:
                yield [column, call("fit", NULL, {"column": column})]

    def _no_further(self, access: Access, used: Set[int]) -> Iterator[list[Any]]:
        """Columns of a view that nothing uses, where some got as far as that for its policies' sake."""
        for one in self.looked_at:
            if one.view is access and not all(column in self.accesses[leaf].open for leaf, column in one.below):
                yield from (
                    [column, call("fit", NULL, {"column": column})] for column in access.leaf.out if column not in used
                )

    def _undecidable(self) -> Iterator[str]:
        """INVARIANT: a policy on a view looks at raw values; where policies on its tables take these away, nobody knows
        what it would say."""
        for one in self.looked_at:
            for leaf, column in sorted(one.below):
                cells = self.recipe.guards.get(leaf, {}).get("cells", ())
                if any(cell == column for cell, _ in cells):
                    behind = self.reasons.called(self.accesses[leaf], column)
                    yield (
                        f"what may be seen of `{one.view.table}` cannot be decided: "
                        f"its policies look at {behind}, which is withheld"
                    )

    def _unused(self, access: Access, used: Set[int]) -> None:
        """INVARIANT: a use that was not found gets no value: what is not known to be used is not there."""
        spare = access.open | {column for leaf, column in self.raw if leaf == access.leaf.id}
        unused = [column for column in access.leaf.out if column not in used and column not in spare]
        if unused:
            self.recipe.unused[access.leaf.id] = unused

    def _chosen(self, access: Access, column: int) -> Term | None:
        """The rows that may be chosen by a column: a predicate that stands in no plan holds of no others."""
        cover = access.cover(column, ASSIST)
        if cover.never:
            name = access.names.get(column, "?")
            self.recipe.refusals.append(not_chosen(access.table, name))
        return cover.where

    def _cover(self, access: Access, use: Use) -> Cover:
        return cover_of(access, use, self.description)

    def _count_rows(self, access: Access) -> Term | None:
        """Rows are counted where at least one cell is covered for `count`."""
        nodes = self.counted.leaves.get(access.leaf.id)
        if nodes is None:
            return None
        covers = [access.cover(column, "count") for column in access.names]
        if all(one.never for one in covers):
            for node in nodes:
                self._null(node, self.counted.columns[node])
            self.recipe.withheld.append(f"rows of `{access.table}` may not be counted")
            return None
        self._count_in_groups(access, nodes, covers)
        rows = rows_of_any(covers)
        if rows is not None:
            self.recipe.withheld.append(f"count of rows of `{access.table}` is withheld in part")
        return rows

    def _null(self, node: int, columns: Sequence[int]) -> None:
        """Have columns that a node makes be NULL."""
        known = self.recipe.nulled.setdefault(node, [])
        known.extend(one for one in columns if one not in known)

    def _count_in_groups(self, access: Access, nodes: Sequence[int], covers: Sequence[Cover]) -> None:
        """A window is not a group: where a group size is asked for, it counts rows that may be seen, or none."""
        if any_cell(covers).need is None:
            return
        of_groups = [node for node in nodes if self.description.nodes[node].name == "Aggregate"]
        if of_groups:
            self.recipe.withheld.append(f"count of rows of `{access.table}` is given of groups that are large enough")
            self.sizes.of_rows(access, of_groups, covers, filtered=not self.counted.filtered.isdisjoint(of_groups))
        elsewhere = [node for node in nodes if node not in of_groups]
        if elsewhere and not any_cover([access.cover(column, READ) for column in access.names]).always:
            for node in elsewhere:
                self._null(node, self.counted.columns[node])
            self.recipe.withheld.append(f"rows of `{access.table}` may not be counted one by one")

    # One column.

    def _column(
        self, access: Access, column: int, uses: Sequence[Use], marked: list[dict[str, Any]]
    ) -> tuple[Term | None, Term] | None:
        """The condition under which the cell is there, and the cell; None where it is as it was."""
        self.recipe.withheld.extend(self.reasons.of_column(access, uses))
        if self._only_shown(access, uses) and not self._shown_as_is(access, uses):
            self.masks.at_leaf(access, column)
            value: Term = {"column": column}
            return _FALSE, call("fit", access.hidden(column, value), value)
        possible: list[tuple[Use, Cover]] = []
        never_used = True
        for use in uses:
            cover = self._cover(access, use)
            if not cover.never:
                possible.append((use, cover))
                never_used = False
            elif use.shown:
                self.masks.everywhere(access, use, marked)
            elif use.privilege == ASSIST:
                self._assist_denied(access, use, uses)
            else:
                self._hidden_compute(access, use, uses)
        if never_used:
            if any(not use.shown for use in uses):
                return None if self.recipe.refusals else (_FALSE, call("fit", NULL, {"column": column}))
            if not any(_tells_of_the_value(mask) for _, mask in access.masks_of(column)):
                return _FALSE, call("fit", NULL, {"column": column})
            self.hidden.add(column)
            return None
        staying, copied = self.copies.apart(access, column, possible)
        for use, cover in copied:
            self.sizes.of_values(access, [(use, cover)], cover.where)
        cell = self._cell(access, column, staying, marked)
        self.sizes.of_values(access, staying, None if cell is None else cell[0])
        return cell

    def _only_shown(self, access: Access, uses: Sequence[Use]) -> bool:
        """Whether a column that may not be seen is wanted for nothing but to be shown, as it is or as a row's field."""
        return all(
            use.shown and use.privilege == READ and use.packed and self._cover(access, use).never for use in uses
        )

    def _shown_as_is(self, access: Access, uses: Sequence[Use]) -> bool:
        """Whether the root can mask it: not the field of a row, and not what stands where other tables' columns do."""
        return all(use.plain for use in uses) and self.masks.direct(access)

    def _cell(
        self, access: Access, column: int, possible: Sequence[tuple[Use, Cover]], marked: list[dict[str, Any]]
    ) -> tuple[Term | None, Term] | None:
        value: Term = {"column": column}
        reads = [(use, cover) for use, cover in possible if use.shown and use.privilege == READ]
        others = [(use, cover) for use, cover in possible if not (use.shown and use.privilege == READ)]
        by_read, by_others = ({cover.key: cover for _, cover in group} for group in (reads, others))
        everything = by_read | by_others
        read = access.cover(column, READ)
        if len(everything) == 1:
            where = next(iter(everything.values())).where
            if read.key != next(iter(everything)):
                self.hidden.add(column)
            if where is None:
                return None
            plain = not others and all(use.plain for use, _ in reads)
            if not plain:
                self._mask_what_is_cut(access, column, reads, marked)
            return where, call("masked", where, value, access.hidden(column, value) if plain else NULL)
        if reads and len(by_others) == 1 and self.masks.where_marked(access, column, reads, marked):
            self.hidden.add(column)
            where = next(iter(by_others.values())).where
            return None if where is None else (where, call("masked", where, value, NULL))
        if read.key not in everything:
            self.hidden.add(column)
        terms = [cover.where for cover in everything.values() if cover.where is not None]
        together = terms[0] if len(terms) == 1 else call("and", *terms)
        for use, cover in possible:
            if cover.where != together:
                what = self.reasons.use(access, use)
                self.recipe.withheld.append(f"{what} is given only where its other uses are allowed, too")
        self._mask_what_is_cut(access, column, reads, marked)
        return together, call("masked", together, value, NULL)

    def _mask_what_is_cut(
        self, access: Access, column: int, reads: Sequence[tuple[Use, Cover]], marked: list[dict[str, Any]]
    ) -> None:
        """Where a cell is NULL because of what else it is used for, the root still shows its mask, if it is a constant.

        What would be made of the value is NULL there as well."""
        elsewhere = {use.origin[2] for use, _ in reads if not use.plain}
        plain = [one for one in reads if one[0].plain and one[0].origin[2] not in elsewhere]
        if any(mask.kind in _CONSTANT for _, mask in access.masks_of(column)):
            self.masks.where_marked(access, column, plain, marked)

    # What is withheld, and how.

    def _assist_denied(self, access: Access, use: Use, uses: Sequence[Use]) -> None:
        name = self.reasons.called(access, use.column)
        if self.on_assist_denied is AssistDenied.REFUSE:
            self.recipe.refusals.append(f"{name} may not be used in a predicate or key{because(access, use)}")
        elif all(self._cover(access, one).never for one in uses):
            self.recipe.warnings.append(f"the key {name} is not allowed: it counts as NULL")
        else:
            self.recipe.refusals.append(f"{name} may not be used in a key{because(access, use)}")

    def _hidden_compute(self, access: Access, use: Use, uses: Sequence[Use]) -> None:
        if use.privilege == READ:
            self._given_away(access, use, uses)
        elif use.origin[0] == "where" and use.into in self.description.nodes[use.at].makers:
            self._null(use.at, [use.into])
        elif any(one.shown or one.privilege != use.privilege for one in uses):
            name = self.reasons.called(access, use.column)
            self.recipe.refusals.append(
                f"{use.privilege} of {name} may not be used in a predicate{because(access, use)}"
            )

    def _given_away(self, access: Access, use: Use, uses: Sequence[Use]) -> None:
        """A user's own function gets no cell that may not be read, and then nothing else gets it."""
        if any(one.privilege != READ for one in uses):
            name = self.reasons.called(access, use.column)
            self.recipe.refusals.append(f"{name} may not be given to a user's own function{because(access, use)}")

    def finish(self) -> Recipe:
        recipe, root = self.recipe, self.purposes.root
        recipe.refusals.extend(self._undecidable())
        if self.masks.hide_everything:
            recipe.refusals.append(
                "no output column is allowed" + (f": {recipe.withheld[0]}" if recipe.withheld else "")
            )
        masks = list(self.masks.cells())
        if masks:
            recipe.masks[root.id] = masks
            recipe.dropped = self.masks.dropped
        self.carriage.finish(recipe.guards)
        recipe.quiet = tainted(self.description, self.hidden) if self.hidden else []
        return recipe


_FALSE: Term = call("isnull", {"type": "boolean", "value": True})


_CONSTANT = (MaskKind.ZERO, MaskKind.REDACT)


def _tells_of_the_value(mask: Mask) -> bool:
    """Whether a mask is made of what it stands for, which therefore has to get as far as that."""
    return mask.kind in (MaskKind.HASH, MaskKind.EXPRESSION)
