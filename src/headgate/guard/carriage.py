"""Columns that travel with each row from a leaf to where a decision needs them: marks, group sizes, row numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Set
from typing import Any

from headgate.guard.cover import Cover
from headgate.guard.lower import Term
from headgate.guard.plan import Node
from headgate.guard.vocabulary import PASSING

_CARRYING = PASSING - {"Distinct", "Deduplicate", "DeduplicateWithinWatermark", "GuardBarrier"}
_REPEATING = frozenset(("Join", "Generate", "Sample"))
_BOTH_SIDES = frozenset(("INNER", "CROSS", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER"))


class Carriage:
    """Notes what each node on a way has to hand on."""

    def __init__(
        self, carry: dict[int, list[str]], groups: dict[int, list[dict[str, str]]], narrowing: Set[int]
    ) -> None:
        self._carry = carry
        self._groups = groups
        self._narrowing = narrowing
        self._leaves: dict[int, list[dict[str, Any]]] = {}
        self._known: dict[tuple[int, int, str], str] = {}
        self._count = 0

    def reaches(self, leaf: Node, root: Node) -> bool:
        """Whether rows keep what is put beside them from the leaf to the root."""
        return leaf is root or any(node is root for node in _way(leaf, root))

    def to_root(self, leaf: Node, root: Node) -> str | None:
        """The key of a column that gets from the leaf to the root; None where there is no way."""
        if not self.reaches(leaf, root):
            return None
        key = self._key()
        for node in () if leaf is root else _way(leaf, root):
            if node.name in ("Project", "Aggregate"):
                self._carry[node.id].append(key)
        return key

    def group(self, leaf: Node, aggregate: Node, cover: Cover) -> str | None:
        """Have the groups of an aggregate checked against what the policies ask for: the key of the column that
        carries what each row needs; None where there is no way."""
        # INVARIANT: covers for the same cells may ask for different sizes; each is checked.
        place = (leaf.id, aggregate.id, json.dumps(cover.need, sort_keys=True))
        known = self._known.get(place)
        if known is not None:
            return known
        way = self._way_to(leaf, aggregate)
        if way is None:
            return None
        need = self._known[place] = self._key()
        entry = {"need": need}
        self._leaves.setdefault(leaf.id, []).append({"key": need, "value": cover.need})
        keys = [need]
        if any(node.name in _REPEATING for node in way):
            # A joined row is not one more tuple: distinct rows of the table are counted, each as often as the others.
            entry["row"] = self._key()
            self._leaves[leaf.id].append({"key": entry["row"], "row": True})
            keys.append(entry["row"])
        for node in way[:-1]:
            if node.name == "Project":
                self._carry[node.id].extend(keys)
        self._groups[aggregate.id].append(entry)
        return need

    def to_aggregate(self, leaf: Node, aggregate: Node, value: Term, repeated: bool = True) -> str | None:
        """The key of a value that gets from the leaf to an aggregate; None where there is no way, or where rows may be
        `repeated` on it and must not be."""
        way = self._way_to(leaf, aggregate)
        if way is None or (not repeated and any(node.name in _REPEATING for node in way)):
            return None
        key = self._key()
        self._leaves.setdefault(leaf.id, []).append({"key": key, "value": value})
        for node in way[:-1]:
            if node.name == "Project":
                self._carry[node.id].append(key)
        return key

    def _way_to(self, leaf: Node, aggregate: Node) -> list[Node] | None:
        way = list(_way(leaf, aggregate))
        if not way or way[-1] is not aggregate:
            return None
        # INVARIANT: what a view's own policies take away is not carried past them.
        aside = any(node.name == "Aggregate" or node.id in self._narrowing for node in way[:-1])
        return None if aside else way

    def obstacle(self, leaf: Node, target: Node) -> str:
        """What stands between a leaf and the aggregate that something should be carried to."""
        last = leaf
        for node in _way(leaf, target):
            if node is not target and (node.name == "Aggregate" or node.id in self._narrowing):
                return node.name
            last = node
        return last.parent.name if last.parent is not None else target.name

    def finish(self, guards: dict[int, dict[str, Any]]) -> None:
        """Put what is carried for groups into the guards of the leaves."""
        for leaf, columns in self._leaves.items():
            guards.setdefault(leaf, {}).setdefault("carried", []).extend(columns)

    def _key(self) -> str:
        self._count += 1
        return f"headgate_{self._count}"


def _way(leaf: Node, target: Node) -> Iterator[Node]:
    """The nodes above the leaf up to the target, as far as rows keep the columns that are put beside them."""
    below, node = leaf, leaf.parent
    while node is not None:
        if node.name == "Join" and node.facts["type"] not in _BOTH_SIDES and node.children[0] is not below:
            return
        if node.name not in _CARRYING and node.name not in ("Project", "Aggregate", "Join"):
            return
        yield node
        if node is target:
            return
        below, node = node, node.parent
