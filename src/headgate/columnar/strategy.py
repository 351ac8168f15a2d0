"""The five ways to enforce the same policies. The rows that come out are the same; what it costs is not.

- `switches`: conditions are shared between classes that see the same, classes whose query is off are left out.
- `shield`: FENCE's SS+: each class for itself, the shield before or after its selection, whichever drops more.
- `rewrite`: FENCE's query rewriting: each class for itself, with a new condition after every punctuation.
- `prefilter`: each class is given a copy of what it may see, and runs over that.
- `postfilter`: each class runs over everything, and what rests on withheld cells is taken away at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

import numpy as np

from headgate.columnar.column import Mask, Rows
from headgate.columnar.frame import Frame
from headgate.columnar.plan import Entry
from headgate.columnar.rejecting import rejects_null
from headgate.columnar.view import Sights, View
from headgate.decision.timeline.version import Version
from headgate.model.expression.nodes import columns_of
from headgate.network.cost import shield_first
from headgate.network.selectivity import combined


class Strategy(StrEnum):
    """How policies are enforced."""

    SWITCHES = "switches"
    SHIELD = "shield"
    REWRITE = "rewrite"
    PREFILTER = "prefilter"
    POSTFILTER = "postfilter"


def passing(
    strategy: Strategy, frame: Frame, entries: Sequence[Entry], version: Version
) -> Iterator[tuple[View, Mask | None]]:
    """For each class what it sees of the frame, and which combinations count for it."""
    if strategy is Strategy.SWITCHES:
        sights = Sights(frame, version, entries)
        for entry in entries:
            view = View(frame, entry, sights)
            yield view, frame.both(view.usable(), view.passing())
        return
    one_by_one = _ALONE[strategy]
    for entry in entries:
        # Nothing is shared: a frame of its own remembers nothing of the others.
        own = frame.take(np.arange(frame.count))
        view = View(own, entry, Sights(own, version, (entry,)))
        yield view, one_by_one(view, version)


def _shield(view: View, _: Version) -> Mask | None:
    frame = view.frame
    kept = view.usable()
    monotone = all(rejects_null(condition) for condition in view.plan.block.where)
    share = 1.0 if kept is None or not frame.count else float(kept.mean())
    if not monotone or shield_first(share, combined(view.plan.block.where)):
        return frame.both(kept, view.passing())
    return _selected_first(view, kept)


def _selected_first(view: View, kept: Mask | None) -> Mask | None:
    """The selection on everything, the shield on what is left. Only where NULL passes no condition."""
    frame = view.frame
    for condition in view.plan.block.where:
        kept = frame.both(kept, frame.holds(condition, dict.fromkeys(columns_of(condition))))
    if kept is None:
        return view.passing()
    return _passing_among(view, np.flatnonzero(kept))


def _passing_among(view: View, rows: Rows) -> Mask:
    """Which of these rows count, judged over a copy of them alone."""
    copy = view.frame.take(rows)
    passed = View(copy, view.entry, view.sights_over(copy)).passing()
    mask = np.zeros(view.frame.count, bool)
    mask[rows if passed is None else rows[passed]] = True
    return mask


def _rewrite(view: View, version: Version) -> Mask | None:
    """One plan per segment between punctuations: within it what is seen does not depend on time."""
    frame = view.frame
    kept = view.usable()
    mask = np.zeros(frame.count, bool)
    for rows in _segments(frame, version):
        # Not `_passing_among`, which would touch every row for each segment.
        piece = frame.take(rows)
        passed = View(piece, view.entry, view.sights_over(piece)).passing()
        mask[rows if passed is None else rows[passed]] = True
    return frame.both(kept, mask)


def _segments(frame: Frame, version: Version) -> Iterator[Rows]:
    boundaries = [
        one.entries.ats
        for part in frame.parts.values()
        if part.stream.governed and (one := version.of_data.get(part.stream.name)) is not None
    ]
    if not boundaries:
        yield np.arange(frame.count)
        return
    numbers = np.unique(np.concatenate(boundaries)).searchsorted(frame.times)
    order = numbers.argsort(kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)


def _prefilter(view: View, _: Version) -> Mask | None:
    """A copy of each source with only what the class may see; the query runs over the copies."""
    frame = view.frame
    kept: Mask | None = view.usable()
    for alias in frame.parts:
        kept = frame.both(kept, view.keeps_tuple(alias))
    return _passing_among(view, np.arange(frame.count) if kept is None else np.flatnonzero(kept))


def _postfilter(view: View, _: Version) -> Mask | None:
    if not all(rejects_null(condition) for condition in view.plan.block.where):
        # A condition that NULL can pass has to be asked of what is seen, not of what there is.
        return view.frame.both(view.usable(), view.passing())
    return _selected_first(view, view.usable())


_ALONE = {
    Strategy.SHIELD: _shield,
    Strategy.REWRITE: _rewrite,
    Strategy.PREFILTER: _prefilter,
    Strategy.POSTFILTER: _postfilter,
}
