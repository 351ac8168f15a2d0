"""Work on tuples that are held in the log: joins, windows of time, windows of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.algebra.window import RangeWindow, RowsWindow
from headgate.columnar.aggregate import aggregated, in_order
from headgate.columnar.frame import Frame, Part, Times, glued_parts
from headgate.columnar.plan import Entry
from headgate.columnar.project import produced
from headgate.columnar.result import Produced
from headgate.columnar.strategy import Strategy, passing
from headgate.decision.timeline.version import Version
from headgate.model.instant import Instant


def rows_of_frame(
    frame: Frame, entries: Sequence[Entry], version: Version, strategy: Strategy = Strategy.SWITCHES
) -> Iterator[Produced]:
    """The rows of combinations that are complete, for every class."""
    if not frame.count:
        return
    for view, mask in passing(strategy, frame, entries, version):
        rows = np.arange(frame.count) if mask is None else np.flatnonzero(mask)
        if len(rows):
            yield produced(view, rows, version)


def groups_of_frame(
    frame: Frame, entries: Sequence[Entry], version: Version, strategy: Strategy = Strategy.SWITCHES
) -> Iterator[Produced]:
    """The rows of all windows in the frame, each of whose combinations is judged when its window ends."""
    if not frame.count:
        return
    for view, mask in passing(strategy, frame, entries, version):
        yield aggregated(view, mask, version)


def window_ends(
    times: Times, window: RangeWindow, after: Instant, until: Instant
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which rows fall into which of the windows that end in (after, until]: row numbers and ends."""
    last = times - times % window.slide + window.size
    rows, ends = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for back in _steps_back(last, window, after, until):
        end = last - back * window.slide
        # A window begins its size before it ends, and does not include its end.
        here = np.flatnonzero((end > times) & (end - window.size <= times) & (end > after) & (end <= until))
        rows.append(here)
        ends.append(end[here])
    return np.concatenate(rows), np.concatenate(ends)


def _steps_back(last: Times, window: RangeWindow, after: Instant, until: Instant) -> range:
    """How many windows before its last one a row may be asked about."""
    if not len(last):
        return range(0)
    fewest = max(0, -((until - int(last.min())) // window.slide))
    most = -((after - int(last.max())) // window.slide)
    return range(fewest, min(most, -(-window.size // window.slide)))


@dataclass
class Counted:
    """What a class has of a window of rows: the tuples that may still be in one, how many there were, and windows
    given."""

    held: Part | None = None
    total: int = 0
    given: int = 0


def count_rows(
    entry: Entry, state: Counted, fresh: Part | None, version: Version, strategy: Strategy = Strategy.SWITCHES
) -> tuple[list[Produced], Counted]:
    """Count the tuples that pass WHERE as judged at their own time; every full window gives its results."""
    window = entry.key.window
    assert isinstance(window, RowsWindow)
    passed = _passed(entry, fresh, version, strategy)
    parts = [one for one in (state.held, passed) if one is not None and len(one)]
    total = state.total + (0 if passed is None else len(passed))
    if not parts:
        return [], Counted(None, total, state.given)
    held = glued_parts(parts)
    begin = total - len(held)
    full = max(0, (total - window.size) // window.slide + 1) if total >= window.size else 0
    results = []
    if full > state.given:
        starts = np.arange(state.given, full) * window.slide - begin
        rows = (starts[:, None] + np.arange(window.size)[None, :]).ravel()
        numbers = np.repeat(np.arange(state.given, full), window.size)
        now = np.repeat(held.times[starts + window.size - 1], window.size)
        frame = Frame({"s0": held.take(rows)}, now, numbers)
        results = list(groups_of_frame(frame, [entry], version, strategy))
    keep = max(0, full * window.slide - begin)
    left = held.take(np.arange(min(keep, len(held)), len(held)))
    return results, Counted(left if len(left) else None, total, full)


def _passed(entry: Entry, fresh: Part | None, version: Version, strategy: Strategy) -> Part | None:
    if fresh is None or not len(fresh):
        return None
    frame = Frame({"s0": fresh})
    view, mask = next(iter(passing(strategy, frame, [entry], version)))
    rows = np.arange(frame.count) if mask is None else np.flatnonzero(mask)
    return fresh.take(in_order(view, rows))
