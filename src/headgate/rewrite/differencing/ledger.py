"""All live aggregate handles, by user and stream: whether one more would let tuples be computed from the others.

Handles over the same tuples (equal conditions, equal keys) are compared exactly. Where conditions differ and can hold
together, what one handle has and the other has not may be a single tuple, whatever the windows: that is refused, as is
what cannot be decided. Conditions that exclude each other have nothing in common and pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from headgate.algebra.window import RowsWindow
from headgate.decision.solver import Answer
from headgate.model.duration import format_duration
from headgate.model.expression.canonical import canonical
from headgate.model.expression.nodes import Expression
from headgate.model.expression.print import to_text
from headgate.rewrite.differencing.combination import MANY_ENDS, UndecidedError, smallest_combination
from headgate.rewrite.differencing.pinned import pinned_together
from headgate.rewrite.differencing.release import Release
from headgate.rewrite.reasoning import Reasoning, all_of


@dataclass(frozen=True)
class Conflict:
    """Why a handle is not opened: the live handles it conflicts with, and what would be revealed."""

    handle: str
    others: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return self.text


class Ledger:
    """The handles that are open. One user's handles on one stream are compared with each other and with no others."""

    def __init__(self) -> None:
        self._live: dict[tuple[str, str], dict[str, Release]] = {}

    def handles(self, user: str, stream: str) -> tuple[Release, ...]:
        """What is open, in the order of opening."""
        return tuple(self._live.get((user, stream), {}).values())

    def open(self, release: Release) -> Conflict | None:
        """Take note of a handle, unless it conflicts with what is open."""
        conflict = self.check(release)
        if conflict is None:
            self._live.setdefault((release.user, release.stream), {})[release.handle] = release
        return conflict

    def close(self, handle: str) -> None:
        """The handle is closed: what it released is not counted any more."""
        for live in self._live.values():
            live.pop(handle, None)

    def check(self, release: Release) -> Conflict | None:
        """Why the handle may not be opened, or None."""
        live = [one for one in self.handles(release.user, release.stream) if one.handle != release.handle]
        return (
            _single(release, live)
            or _incomparable(release, live)
            or _differences(release, live)
            or _extremes(release, live)
        )


def _single(release: Release, live: Sequence[Release]) -> Conflict | None:
    """`windows: single`, as in the paper: one aggregate handle at a time."""
    if live and (release.single or any(one.single for one in live)):
        other = next((one for one in live if one.single), live[0])
        text = f"only one window at a time is allowed on `{release.stream}`: `{other.handle}` is open"
        return Conflict(release.handle, (other.handle,), text)
    return None


def _incomparable(release: Release, live: Sequence[Release]) -> Conflict | None:
    """A handle that looks at the same values in a way that cannot be compared."""
    for other in live:
        if not (release.summed & other.summed or release.extremes & other.extremes):
            continue
        if not _exclude_each_other(release.where, other.where):
            why = _why_incomparable(release, other)
            if why:
                text = f"`{release.handle}` cannot be open beside `{other.handle}` on `{release.stream}`: {why}"
                return Conflict(release.handle, (other.handle,), text)
    return None


def _why_incomparable(release: Release, other: Release) -> str | None:
    if _texts(release.where) != _texts(other.where):
        return "their conditions differ, and what one has and the other has not may be a single tuple"
    if _texts(release.keys) != _texts(other.keys):
        return "their groups differ, and what one leaves out of the other may be a single tuple"
    if isinstance(release.window, RowsWindow) is not isinstance(other.window, RowsWindow):
        return "windows of rows and windows of time cannot be compared"
    return None


@lru_cache(maxsize=1_000)
def _texts(conditions: tuple[Expression, ...]) -> tuple[str, ...]:
    return tuple(sorted(to_text(canonical(one)) for one in conditions))


@lru_cache(maxsize=1_000)
def _exclude_each_other(one: tuple[Expression, ...], other: tuple[Expression, ...]) -> bool:
    if not one or not other or one == other:
        return False
    return Reasoning().possible([all_of(one), all_of(other)]).answer is Answer.NO


def _comparable(release: Release, live: Iterable[Release]) -> list[Release]:
    return [one for one in live if not _exclude_each_other(release.where, one.where)]


def _differences(release: Release, live: Sequence[Release]) -> Conflict | None:
    """Sums, averages and counts: what their rational combinations come down to."""
    for column in sorted(release.summed):
        others = [one for one in _comparable(release, live) if column in one.summed]
        below = max(one.minimum.of(one.window) for one in (release, *others))
        try:
            found = smallest_combination([release.sliding, *(one.sliding for one in others)], below)
        except UndecidedError:
            return _undecided(release, others)
        if found is not None:
            guilty = _guilty(release, others, below)
            names = tuple(one.handle for one in guilty)
            what = column.removeprefix("count ")
            text = (
                f"the windows of `{release.handle}`{_with(names)} on `{release.stream}` "
                f"together reveal {_extent(found, release)} of `{what}`"
            )
            return Conflict(release.handle, names, text)
    return None


def _guilty(release: Release, others: Sequence[Release], below: int) -> list[Release]:
    """Handles that conflict with the newcomer: none if it does so alone, one if one will do, else as few as a short
    look finds."""

    def conflicts(chosen: Iterable[Release]) -> bool:
        try:
            windows = [release.sliding, *(one.sliding for one in chosen)]
            return smallest_combination(windows, below, MANY_ENDS) is not None
        except UndecidedError:
            return False

    if conflicts(()):
        return []
    distinct = list({one.sliding: one for one in reversed(others)}.values())
    pair = next((one for one in reversed(distinct) if conflicts([one])), None)
    if pair is not None:
        return [pair]
    kept = list(reversed(distinct))
    for one in kept if len(kept) <= _MOST_TRIED else ():
        fewer = [other for other in kept if other is not one]
        kept = fewer if conflicts(fewer) else kept
    return kept


_MOST_TRIED = 10
"""With more handles than that, all are named."""


def _extremes(release: Release, live: Sequence[Release]) -> Conflict | None:
    """Minima and maxima: whether they pin a value that no handle pins alone."""
    for function, column in sorted(release.extremes):
        for other in _comparable(release, live):
            if (function, column) not in other.extremes or other.sliding == release.sliding:
                continue
            below = max(one.minimum.of(one.window) for one in (release, other))
            try:
                found = pinned_together(other.sliding, release.sliding, below)
            except UndecidedError:
                return _undecided(release, [other])
            if found is not None:
                text = (
                    f"the windows of `{release.handle}` and `{other.handle}` on `{release.stream}` "
                    f"together pin the {function} of `{column}` to {_extent(found, release)}"
                )
                return Conflict(release.handle, (other.handle,), text)
    return None


def _undecided(release: Release, others: Sequence[Release]) -> Conflict:
    names = tuple(one.handle for one in others)
    text = f"it could not be decided what the windows of `{release.handle}`{_with(names)} reveal together"
    return Conflict(release.handle, names, text)


def _with(names: Sequence[str]) -> str:
    return f" and {', '.join(f'`{one}`' for one in names)}" if names else ""


def _extent(extent: int, release: Release) -> str:
    if isinstance(release.window, RowsWindow):
        return "single tuples" if extent == 1 else f"combinations of {extent} tuples"
    return f"stretches of {format_duration(extent)}"
