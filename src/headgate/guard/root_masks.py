"""What stands at the root of a plan in place of what may be used and not seen: in all rows, or where a mark says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headgate.guard.carriage import Carriage
from headgate.guard.compliance import Access
from headgate.guard.cover import Cover
from headgate.guard.lower import NULL, Term, call, masked_term
from headgate.guard.plan import Description, Node
from headgate.guard.use import Use
from headgate.model.expression.nodes import ColumnRef
from headgate.model.privilege import READ
from headgate.policy.model import Mask, MaskKind

Uses = Mapping[int, Mapping[int, Sequence[Use]]]
"""By leaf and column."""


@dataclass
class _Masked:
    """What is done to one column of the root: its masks, of which a mark that is carried says which one stands."""

    terms: Sequence[Term]
    key: str | None = None
    clear: bool = False
    """Whether the mark also says where the column is shown as it is."""
    drop: bool = False


class RootMasks:
    """Masks by place in the output of the root."""

    def __init__(self, description: Description, root: Node, uses: Uses, carriage: Carriage) -> None:
        self._types = description.types
        self._root = root
        self._uses = uses
        self._carriage = carriage
        self._masked: dict[int, _Masked] = {}
        self._at_leaves: set[tuple[int, int]] = set()

    @property
    def hide_everything(self) -> bool:
        """Whether every column is masked in all rows."""
        out = self._root.out
        return bool(out) and all(self._hidden(place) for place in range(len(out)))

    @property
    def dropped(self) -> list[int]:
        """Places whose mask is `drop`."""
        return [place for place, one in sorted(self._masked.items()) if one.drop and not one.clear]

    def cells(self) -> Iterator[dict[str, Any]]:
        """The masks as the hook takes them."""
        for place, one in sorted(self._masked.items()):
            yield self._cell(place, one)

    def at_leaf(self, access: Access, column: int) -> None:
        """Know of a column that is masked in all rows where it comes from."""
        self._at_leaves.add((access.leaf.id, column))

    def direct(self, access: Access) -> bool:
        """Whether what is in a row of a leaf gets to the root together."""
        return self._carriage.reaches(access.leaf, self._root)

    def everywhere(self, access: Access, use: Use, marked: list[dict[str, Any]]) -> None:
        """Mask what is made of a use in all rows."""
        place = use.origin[2]
        choices = access.masks_of(use.column, use.privilege)
        plain = use.plain and use.privilege == READ
        terms = [self._term(access, mask, place, plain) for _, mask in choices]
        drop = all(mask.kind is MaskKind.DROP for _, mask in choices)
        if all(one == terms[0] for one in terms):
            made = _Masked(terms[:1], drop=drop)
        elif plain and place not in self._masked and (key := self._carriage.to_root(access.leaf, self._root)):
            marked.append({"key": key, "value": _which(choices)})
            made = _Masked(terms, key, drop=drop)
        else:
            made = _Masked([NULL])
        # Where two tables come together, they may have the same mask; where not, neither stands for both.
        self._masked[place] = made if self._masked.get(place, made) == made else _Masked([NULL])

    def where_marked(
        self, access: Access, column: int, reads: Sequence[tuple[Use, Cover]], marked: list[dict[str, Any]]
    ) -> bool:
        """Have a mark that says "hidden" travel from the leaf to the root, where the value is masked by it; whether it
        can."""
        places = {use.origin[2] for use, _ in reads}
        where = reads[0][1].where if reads else None
        if where is None or not all(use.plain for use, _ in reads) or any(place in self._masked for place in places):
            return False
        key = self._carriage.to_root(access.leaf, self._root)
        if key is None:
            return False
        choices = access.masks_of(column)
        marked.append({"key": key, "value": call("if", where, _number(0), _which(choices))})
        drop = all(mask.kind is MaskKind.DROP for _, mask in choices)
        for place in places:
            terms = [self._term(access, mask, place, plain=True) for _, mask in choices]
            self._masked[place] = _Masked(terms, key, clear=True, drop=drop)
        return True

    def _hidden(self, place: int) -> bool:
        if place in self._masked:
            return not self._masked[place].clear
        behind = {
            (leaf, column)
            for leaf, columns in self._uses.items()
            for column, uses in columns.items()
            if any(use.shown and use.origin[2] == place for use in uses)
        }
        return bool(behind) and behind <= self._at_leaves

    def _term(self, access: Access, mask: Mask, place: int, plain: bool) -> Term:
        """The mask of a root column: of a value that is more than the column itself only zero can stand for it."""
        column = self._root.out[place]
        if not plain and mask.kind is not MaskKind.ZERO:
            return NULL

        def itself(reference: ColumnRef, /, presence: bool = False) -> Term:  # noqa: ARG001 - it is there or it is not
            return {"column": column} if reference.name.lower() in _own_names(access, self._uses, place) else NULL

        return masked_term(mask, {"column": column}, self._types[column], itself)

    def _cell(self, place: int, shown: _Masked) -> dict[str, Any]:
        column: Term = {"column": self._root.out[place]}
        mark: Term = call("coalesce", {"column": -1}, _number(0))
        # What has no mark, since an outer join has found no row, is NULL, and the last mask stands for it.
        value = call("fit", shown.terms[-1], column)
        for number, term in reversed(list(enumerate(shown.terms[:-1], 1))):
            value = call("masked", call("=", mark, _number(number)), call("fit", term, column), value)
        if shown.key is None:
            return {"place": place, "value": value}
        if shown.clear:
            value = call("masked", call("=", mark, _number(0)), column, value)
        return {"place": place, "value": value, "carried": [shown.key]}


def _which(choices: Sequence[tuple[Term, Mask]]) -> Term:
    """The number of the mask that stands in a row, from 1 on; the last one where no other does."""
    found = _number(len(choices))
    for number, (holds, _) in reversed(list(enumerate(choices[:-1], 1))):
        found = call("if", holds, _number(number), found)
    return found


def _number(value: int) -> Term:
    return {"type": "int", "value": value}


def _own_names(access: Access, uses: Uses, place: int) -> set[str]:
    """The columns of a leaf that a column of the root is made of."""
    return {
        access.names[column].lower()
        for column, found in uses[access.leaf.id].items()
        if column in access.names and any(use.shown and use.origin[2] == place for use in found)
    }
