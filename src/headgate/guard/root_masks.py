"""What stands at the root of a plan in place of what may be used and not seen: in all rows, or where a mark says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    """What is done to one column of the root: masked altogether, or where a mark says so."""

    term: Term | None = None
    marks: list[str] = field(default_factory=list)
    drop: bool = False


class RootMasks:
    """Masks by place in the output of the root."""

    def __init__(self, description: Description, root: Node, uses: Uses, carriage: Carriage) -> None:
        self._types = description.types
        self._root = root
        self._uses = uses
        self._carriage = carriage
        self._masked: dict[int, _Masked] = {}

    @property
    def hide_everything(self) -> bool:
        """Whether every column is masked in all rows."""
        out = self._root.out
        return bool(out) and all(place in self._masked and not self._masked[place].marks for place in range(len(out)))

    @property
    def dropped(self) -> list[int]:
        """Places whose mask is `drop`."""
        return [place for place, one in sorted(self._masked.items()) if one.drop and not one.marks]

    def cells(self) -> Iterator[dict[str, Any]]:
        """The masks as the hook takes them."""
        for place, one in sorted(self._masked.items()):
            yield self._cell(place, one)

    def everywhere(self, access: Access, use: Use) -> None:
        """Mask what is made of a use in all rows."""
        place = use.origin[2]
        mask = access.mask(use.column)
        plain = use.plain and use.privilege == READ and place not in self._masked
        term = self._term(access, mask, place, plain)
        self._masked[place] = _Masked(term, drop=mask.kind is MaskKind.DROP)

    def where_marked(
        self, access: Access, column: int, reads: Sequence[tuple[Use, Cover]], marked: list[dict[str, Any]]
    ) -> bool:
        """Have a mark that says "hidden" travel from the leaf to the root, where the value is masked by it; whether it
        can."""
        places = {use.origin[2] for use, _ in reads}
        where = reads[0][1].where
        if where is None or not all(use.plain for use, _ in reads) or any(place in self._masked for place in places):
            return False
        key = self._carriage.to_root(access.leaf, self._root)
        if key is None:
            return False
        marked.append(
            {"key": key, "value": call("if", where, {"type": "int", "value": 0}, {"type": "int", "value": 1})}
        )
        for place in places:
            mask = access.mask(column)
            shown = self._term(access, mask, place, plain=True)
            self._masked[place] = _Masked(shown, [key], mask.kind is MaskKind.DROP)
        return True

    def _term(self, access: Access, mask: Mask, place: int, plain: bool) -> Term:
        """The mask of a root column: of a value that is more than the column itself only zero can stand for it."""
        column = self._root.out[place]
        if not plain and mask.kind is not MaskKind.ZERO:
            return NULL

        def itself(reference: ColumnRef) -> Term:
            return {"column": column} if reference.name.lower() in _own_names(access, self._uses, place) else NULL

        return masked_term(mask, {"column": column}, self._types[column], itself)

    def _cell(self, place: int, shown: _Masked) -> dict[str, Any]:
        column: Term = {"column": self._root.out[place]}
        assert shown.term is not None
        if not shown.marks:
            return {"place": place, "value": call("fit", shown.term, column)}
        zero: Term = {"type": "int", "value": 0}
        clear = call("=", call("coalesce", {"column": -1}, zero), zero)
        return {"place": place, "value": call("masked", clear, column, shown.term), "carried": shown.marks}


def _own_names(access: Access, uses: Uses, place: int) -> set[str]:
    """The columns of a leaf that a column of the root is made of."""
    return {
        access.names[column].lower()
        for column, found in uses[access.leaf.id].items()
        if column in access.names and any(use.shown and use.origin[2] == place for use in found)
    }
