"""What a folder lets go of, and when: results that are older than they are kept for, plans that no results need any
more, and segments that have aged.

INVARIANT: nothing is removed before the manifest that does without it is there, and each manifest says what goes with
it. A driver that went down before all of that was gone removes it when it starts again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from headgate.model.duration import Duration
from headgate.model.instant import Instant
from headgate.spark.storage import Storage, delete_out_of, numbered

AT_ONCE = 100
"""So many epochs, and so many plans, are let go of with one commit at most: what falls due together, or after a long
stop, is not to hold up one epoch."""

PARTS = 64
"""How finely age is known: results are kept for up to one part in so many longer than was asked."""


@dataclass(frozen=True)
class Kept:
    """Which results are there after an epoch, and what goes now."""

    first: int = 0
    """The first epoch whose results are kept."""
    plan: int = 0
    """The first plan that their classes may be of: plans and epochs count up together."""
    marks: tuple[tuple[int, Instant, int], ...] = ()
    """Some epochs, when they were committed, and by which plan."""
    swept: int = 0
    """The results of earlier epochs are removed, or go now."""
    swept_plans: int = 0
    newest: int | None = -1
    """The plan of this epoch; None if it was written when plans were not let go of yet."""
    used: bool = True
    """Whether there are results by it."""
    paths: tuple[str, ...] = ()
    """Segments that nothing needs any more."""
    since: tuple[int, int] = (0, 0)
    """From which epoch and which plan on there is something to remove now."""
    idle: tuple[int, ...] = ()
    """Plans that were followed by others before there were results by them."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(body: Mapping[str, Any]) -> Kept:
        if not body:
            return Kept(newest=None)
        tuples = {name: tuple(body[name]) for name in ("paths", "since", "idle")}
        return Kept(**{**body, **tuples, "marks": tuple(map(tuple, body["marks"]))})

    def used_by(self, plan: int) -> bool:
        """Whether there are known to be results by a plan."""
        return plan == self.newest and self.used

    def after(
        self, epoch: int, plan: int, used: bool, paths: Iterable[str], now: Instant, keep: Duration | None
    ) -> Kept:
        """What is kept once an epoch has been committed that was run by this plan."""
        marks = self.marks if keep is not None else ()
        if keep is not None and (not marks or now - marks[-1][1] > keep // PARTS):
            marks = (*marks, (epoch, now, plan))
        first, first_plan = self.first, self.plan
        # An epoch is at least as old as the next mark is; that of this epoch is not old.
        while keep is not None and marks[0][1] < now - keep:
            first, first_plan = marks[0][0] + 1, marks[0][2]
            marks = marks[1:]
        return Kept(
            first,
            first_plan,
            marks,
            min(first, self.swept + AT_ONCE),
            min(first_plan, self.swept_plans + AT_ONCE),
            plan,
            used,
            tuple(paths),
            (self.swept, self.swept_plans),
            self._idle_before(plan),
        )

    def _idle_before(self, plan: int) -> tuple[int, ...]:
        if self.newest is None or plan == self.newest:
            return ()
        return tuple(range(self.newest + self.used, plan))


def next_plan(storage: Storage, kept: Kept) -> int:
    """A number that no plan has had of which there may be results."""
    return max([*numbered(storage, "plans"), -1 if kept.newest is None else kept.newest]) + 1


def has_results(storage: Storage, folders: Iterable[str]) -> bool:
    """Whether an epoch has written rows into one of these."""
    return any("part=result" in storage.names(folder) for folder in folders)


def sweep(storage: Storage, kept: Kept, live: Collection[str]) -> None:
    """Remove what goes with a manifest, but for the segments that are `live`. To do it again does no harm."""
    for path in kept.paths:
        delete_out_of(storage, path)
    for epoch in range(kept.since[0], kept.swept):
        _remove_results(storage, f"data/epoch={epoch}", live)
    for plan in (*range(kept.since[1], kept.swept_plans), *kept.idle):
        storage.delete(f"plans/{plan}.json")


def sweep_anew(storage: Storage, kept: Kept, live: Collection[str], plan: int) -> None:
    """The same for a driver that starts, with this plan, and what an epoch that was not committed has left behind."""
    sweep(storage, kept, live)
    known = {path.split("/")[1] for path in live if path.startswith("compact/")}
    for name in storage.names("compact"):
        if name not in known:
            storage.delete(f"compact/{name}")
    if kept.newest is not None:
        for number in numbered(storage, "plans"):
            if kept.newest < number < plan or (number == kept.newest and not kept.used):
                storage.delete(f"plans/{number}.json")


def _remove_results(storage: Storage, folder: str, live: Collection[str]) -> None:
    needed = {path for path in live if path.startswith(f"{folder}/")}
    if not needed:
        storage.delete(folder)
        return
    for name in storage.names(folder):
        for part in storage.names(f"{folder}/{name}"):
            if f"{folder}/{name}/{part}" not in needed:
                delete_out_of(storage, f"{folder}/{name}/{part}")
