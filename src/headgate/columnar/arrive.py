"""What happens to tuples when they arrive: the shield decides what is kept of them and for whom.

Blocks that look at one tuple at a time give their rows at once. For all others the tuples that somebody may use are
kept: cells that nobody may see become NULL, each tuple carries the bitmap of the classes that may use it and the facts
that policies asked about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from headgate.columnar.column import Mask
from headgate.columnar.frame import Bits, Frame, Part
from headgate.columnar.plan import Entry, FrameKey, Plan
from headgate.columnar.project import derive, produced
from headgate.columnar.rejecting import rejects_null
from headgate.columnar.result import Produced
from headgate.columnar.strategy import Strategy, passing
from headgate.columnar.view import Sights, View
from headgate.decision.timeline.version import Version
from headgate.model.expression.nodes import columns_of
from headgate.model.privilege import READ


@dataclass
class Arrived:
    """What came of the tuples of one stream."""

    produced: list[Produced] = field(default_factory=list)
    kept: Part | None = None
    withheld: dict[int, int] = field(default_factory=dict)
    """For each class how many tuples were kept from it."""


@dataclass(frozen=True)
class Arrival:
    """The work on new tuples in one epoch. `at_once` are the frames of blocks that need not wait for anything."""

    plan: Plan
    version: Version
    strategy: Strategy = Strategy.SWITCHES
    at_once: frozenset[FrameKey] = frozenset()
    off: frozenset[int] = frozenset()
    """Classes whose query is off for all of this epoch: nothing is computed for them."""
    unsettled: frozenset[str] = frozenset()
    """Streams whose punctuations may come after the tuples they speak of: these are judged when they are released."""

    def take(self, part: Part) -> Arrived:
        """Take in fresh tuples of one stream."""
        arrived = Arrived()
        stream = part.stream.name
        for key in self.at_once:
            if key.streams == (stream,):
                arrived.produced.extend(self._rows(part, self._running(self.plan.frames[key])))
        waiting = [
            (entry, source.alias)
            for entries in self.plan.frames.values()
            for entry in entries
            for source in entry.plan.block.sources
            if source.stream.name == stream
        ]
        self._shield(part, waiting, arrived)
        return arrived

    def _running(self, entries: Iterable[Entry]) -> list[Entry]:
        return [entry for entry in entries if entry.owner.bit not in self.off]

    def _rows(self, part: Part, entries: Sequence[Entry]) -> Iterable[Produced]:
        if not entries:
            return
        frame = Frame({"s0": part})
        for view, mask in passing(self.strategy, frame, entries, self.version):
            rows = np.arange(frame.count) if mask is None else np.flatnonzero(mask)
            if len(rows):
                yield produced(view, rows, self.version)

    def _shield(self, part: Part, waiting: Sequence[tuple[Entry, str]], arrived: Arrived) -> None:
        """Who may use each tuple, and which cells nobody may see."""
        usable: dict[int, Mask | None] = {}
        seen: dict[str, Mask | None] = {name: np.zeros(len(part), bool) for name in part.stream.names}
        frames = {alias: Frame({alias: part}) for _, alias in waiting}
        sights = {
            alias: Sights(frame, self.version, [entry for entry, one in waiting if one == alias])
            for alias, frame in frames.items()
        }
        for entry, alias in waiting:
            view = View(frames[alias], entry, sights[alias])
            bit = entry.owner.bit
            kept = None if bit not in self.off else np.zeros(len(part), bool)
            if kept is None:
                kept = view.keeps_tuple(alias)
            arrived.withheld[bit] = arrived.withheld.get(bit, 0) + (0 if kept is None else int((~kept).sum()))
            if entry.key in self.at_once or bit in self.off:
                continue
            if part.stream.name in self.unsettled:
                kept = None
            elif part.stream.retroactive:
                kept = view.switched_on(alias)
            own = frames[alias].both(kept, _could_pass(view, alias))
            usable[bit] = own if bit not in usable else _either(usable[bit], own)
            if not self._kept_whole(part):
                _note_seen(view, alias, own, seen)
        if usable:
            cells = None if self._kept_whole(part) else seen
            arrived.kept = _kept(part, usable, cells, self.plan.width)

    def _kept_whole(self, part: Part) -> bool:
        """Whether a cell that nobody may see now may yet be seen."""
        return part.stream.retroactive or part.stream.name in self.unsettled


def _could_pass(view: View, alias: str) -> Mask | None:
    """Which tuples may satisfy the conditions on this source alone, now or later.

    Only conditions that NULL cannot pass are asked, and of every cell as it is: what can become visible later, through
    a joint view or in a retroactive stream, counts as visible.
    """
    mask: Mask | None = None
    for condition in view.plan.block.where:
        columns = columns_of(condition)
        if columns and all(column.source == alias for column in columns) and rejects_null(condition):
            mask = view.frame.both(mask, view.frame.holds(condition, dict.fromkeys(columns)))
    return mask


def _either(left: Mask | None, right: Mask | None) -> Mask | None:
    return None if left is None or right is None else left | right


def _note_seen(view: View, alias: str, used: Mask | None, seen: dict[str, Mask | None]) -> None:
    """Cells that the class sees for one of its uses, of the tuples it uses."""
    privileges = {privilege for one, _, privilege in view.plan.guards if one == alias} | {READ}
    for name in view.frame.parts[alias].stream.names:
        if seen[name] is None:
            continue
        for privilege in privileges:
            mask = view.frame.both(view.sees(alias, name, privilege), used)
            seen[name] = _either(seen[name], mask)
            if mask is None:
                break


def _kept(part: Part, usable: dict[int, Mask | None], seen: dict[str, Mask | None] | None, width: int) -> Part | None:
    bits = Bits.of(usable, width, len(part))
    rows = np.flatnonzero(bits.any())
    if not len(rows):
        return None
    columns = part.columns
    if seen is not None:
        columns = {name: column.where(seen[name]) for name, column in columns.items()}
    sealed = {name: part.raw[name] for name in part.plan.sealed}
    known = np.full(len(part), len(part.plan.facts), np.int64)
    whole = Part(part.plan, part.times, columns, sealed, bits, part.fact_bits(), known, derive(part), part.uids)
    return whole.take(rows)
