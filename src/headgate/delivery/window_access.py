"""Several aggregate windows of one user over one stream can reveal single tuples (eXACML+, section 3.4).

Whether a newcomer may be opened beside those that are live is decided by `rewrite/differencing/`, exactly. What that
needs to know besides is where windows of rows begin to count: those that begin at different tuples are compared for
every way in which they can lie to each other, or not at all, and then refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headgate.algebra.operators import Project
from headgate.algebra.window import RowsWindow
from headgate.rewrite.differencing.ledger import Ledger
from headgate.rewrite.differencing.release import Release
from headgate.rewrite.differencing.releases import release_of_merged
from headgate.rewrite.obligation.graph import AuthorisedGraph

_MOST_OFFSETS = 64
"""Windows of rows that move on by more than that are not compared with others that began elsewhere."""


@dataclass(frozen=True)
class LiveWindow:
    """A query behind a handle: what runs, what authorises it, and where the engine was when it began."""

    handle: str
    user: str
    plan: Project
    graph: AuthorisedGraph
    position: int


class WindowAccess:
    """The windows that are open, of all users."""

    def __init__(self) -> None:
        self._ledger = Ledger()
        self._positions: dict[str, int] = {}

    def conflict(self, window: LiveWindow) -> str | None:
        """Why a query may not run beside those that run; one that its policy does not hold to windows may always."""
        release = _release(window)
        if release is None:
            return None
        offsets = self._offsets(release, window.position)
        if offsets is None:
            return "windows of rows that begin at different tuples cannot be compared: close the other handles first"
        found = (self._ledger.check(replace(release, offset=offset)) for offset in offsets)
        return next((one.text for one in found if one is not None), None)

    def open(self, window: LiveWindow) -> None:
        """It runs; it was asked before whether it may."""
        self.close(window.handle)
        release = _release(window)
        if release is not None:
            self._ledger.open(release)
            self._positions[window.handle] = window.position

    def close(self, handle: str) -> None:
        """It runs no more."""
        self._ledger.close(handle)
        self._positions.pop(handle, None)

    def _offsets(self, release: Release, position: int) -> range | None:
        """By how many tuples the newcomer can lie behind the others; None if that cannot be told."""
        others = self._ledger.handles(release.user, release.stream)
        counting = [one for one in others if one.handle != release.handle and isinstance(one.window, RowsWindow)]
        begun = {self._positions[one.handle] for one in counting}
        if not isinstance(release.window, RowsWindow) or begun <= {position}:
            return range(1)
        if len(begun) > 1 or release.window.slide > _MOST_OFFSETS:
            return None
        return range(release.window.slide)


def _release(window: LiveWindow) -> Release | None:
    return release_of_merged(window.handle, window.user, window.graph, window.plan)
