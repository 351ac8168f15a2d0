"""Find the few policies of many that a request could concern.

Most targets demand that an attribute equals one of a few values. Such children are filed under these values; for a
request only the files of its own values are opened, so the cost follows the answer and not the number of policies.

A child is left out only if its target certainly does not match: of one of its `AnyOf`, every alternative demands a
value that the request does not have. If the attribute itself cannot be read (malformed, or missing though it must be
present), nothing is certain and all children filed under it are candidates. Everything that is not a plain equality
is always a candidate. Candidates keep their order, so every algorithm sees what it would have seen.

Files that stay large are filed again by another attribute, so that `subject and resource and action` narrows three
times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headgate.decision.xacml.child import Child
from headgate.decision.xacml.compile_expression import attribute_key, compile_designator
from headgate.decision.xacml.compile_target import PLAIN_EQUALITIES
from headgate.decision.xacml.context import Context
from headgate.decision.xacml.expression import Run
from headgate.decision.xacml.outcome import EvaluationError
from headgate.decision.xacml.syntax import AnyOf, Designator, Match

Select = Callable[[Context], Sequence[Child]]

# A file of this size or less is cheaper to walk through than to file again.
_SMALL = 4
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class _Demand:
    """One `AnyOf` seen as: this attribute must hold one of these values."""

    designator: Designator
    values: frozenset[Any]


@dataclass(frozen=True, slots=True)
class _Entry:
    position: int
    demands: tuple[_Demand, ...]


@dataclass(frozen=True, slots=True)
class _File:
    """The entries that one attribute sorts: by value, and all of them for when the attribute cannot be read."""

    find: Run
    by_value: dict[Any, _Drawer]
    everything: _Drawer


@dataclass(frozen=True, slots=True)
class _Drawer:
    """Children that are always candidates, with their positions, and files for the others."""

    always: tuple[Child, ...]
    positions: tuple[int, ...]
    files: tuple[_File, ...] = ()

    def collect(self, context: Context, opened: list[_Drawer]) -> None:
        if self.always:
            opened.append(self)
        for file in self.files:
            try:
                values = file.find(context)
            except EvaluationError:
                opened.append(file.everything)
                continue
            by_value = file.by_value
            for value in values:
                drawer = by_value.get(value)
                if drawer is not None:
                    drawer.collect(context, opened)


def build_index(ordered: Sequence[Child]) -> Select | None:
    """A function from a request to the children that may have something to say about it, in order; None if that
    would always be all of them."""
    if len(ordered) <= _SMALL:
        return None
    entries = [_Entry(position, tuple(_demands(child.target.any_ofs))) for position, child in enumerate(ordered)]
    root = _Filing(ordered).drawer(entries, _DEEPEST)
    if not root.files:
        return None

    def select(context: Context) -> Sequence[Child]:
        opened: list[_Drawer] = []
        root.collect(context, opened)
        if len(opened) == 1:
            return opened[0].always
        # Drawers keep their order each; an attribute with several values may lead to the same child twice.
        return [ordered[position] for position in sorted({at for drawer in opened for at in drawer.positions})]

    return select


def _demands(any_ofs: Iterable[AnyOf]) -> Iterable[_Demand]:
    for any_of in any_ofs:
        demand = _demand(any_of)
        if demand is not None:
            yield demand


def _demand(any_of: AnyOf) -> _Demand | None:
    """The attribute that every alternative compares with a value, if there is one."""
    first = [match.attribute for match in any_of[0] if _is_plain(match)]
    for designator in first:
        values = set()
        for all_of in any_of:
            wanted = [match for match in all_of if _is_plain(match) and match.attribute == designator]
            if not wanted:
                break
            values.add(wanted[0].literal.value)
        else:
            assert isinstance(designator, Designator)
            return _Demand(designator, frozenset(values))
    return None


def _is_plain(match: Match) -> bool:
    return match.function_id in PLAIN_EQUALITIES and isinstance(match.attribute, Designator)


@dataclass(frozen=True, slots=True)
class _Filing:
    """Puts children into drawers."""

    ordered: Sequence[Child]

    def drawer(self, entries: Sequence[_Entry], depth: int) -> _Drawer:
        if len(entries) <= _SMALL or depth == 0:
            return self._plain(entries)
        crowds, shares = _crowds(entries), _shares(entries)
        always: list[_Entry] = []
        filed: dict[Designator, list[tuple[_Entry, _Demand]]] = {}
        for entry in entries:
            # What a request pays: the children found with this entry, and its share in reading the attribute.
            best = min(
                entry.demands, key=lambda demand: _crowd(crowds, demand) + shares[demand.designator], default=None
            )
            # Filing by what everybody demands would only copy the drawer.
            if best is None or _crowd(crowds, best) >= len(entries):
                always.append(entry)
            else:
                filed.setdefault(best.designator, []).append((entry, best))
        files = tuple(self._file(designator, members, depth) for designator, members in filed.items())
        return self._plain(always, files)

    def _file(self, designator: Designator, members: Sequence[tuple[_Entry, _Demand]], depth: int) -> _File:
        by_value: dict[Any, list[_Entry]] = {}
        for entry, used in members:
            rest = _Entry(entry.position, tuple(demand for demand in entry.demands if demand is not used))
            for value in used.values:
                by_value.setdefault(value, []).append(rest)
        return _File(
            compile_designator(designator),
            {value: self.drawer(entries, depth - 1) for value, entries in by_value.items()},
            self._plain([entry for entry, _ in members]),
        )

    def _plain(self, entries: Sequence[_Entry], files: tuple[_File, ...] = ()) -> _Drawer:
        positions = tuple(entry.position for entry in entries)
        return _Drawer(tuple(self.ordered[position] for position in positions), positions, files)


def _crowds(entries: Sequence[_Entry]) -> dict[tuple[Any, Any], int]:
    """How many entries demand each value of each attribute."""
    crowds: dict[tuple[Any, Any], int] = {}
    for entry in entries:
        for demand in entry.demands:
            for value in demand.values:
                key = (attribute_key(demand.designator), value)
                crowds[key] = crowds.get(key, 0) + 1
    return crowds


def _shares(entries: Sequence[_Entry]) -> dict[Designator, float]:
    """The smaller, the more entries an attribute sorts: a file of its own for each entry would make no index."""
    used: dict[Designator, int] = {}
    for entry in entries:
        for demand in entry.demands:
            used[demand.designator] = used.get(demand.designator, 0) + 1
    return {designator: len(entries) / count for designator, count in used.items()}


def _crowd(crowds: dict[tuple[Any, Any], int], demand: _Demand) -> int:
    return max(crowds[(attribute_key(demand.designator), value)] for value in demand.values)
