"""Secure View: what the policies let a subscriber see of the cells that a block uses.

A view is what one policy gives (`decision/guard.py` calls it a clause): where it holds, of which sources together, and
in groups of how many. The other secure operators are made of views; this is where they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from headgate.algebra.secure import Guards
from headgate.algebra.uses import Use
from headgate.decision.guard import Clause, Guard
from headgate.model.privilege import ASSIST, READ
from headgate.rewrite.access import Access


@dataclass(frozen=True)
class Views:
    """The guards of a block, by which operator holds them."""

    access: Access
    single: Guards
    """By policies on one stream alone."""
    joint: Guards
    """By joint views: they hold of combinations."""

    def reading(self, source: str) -> Guards:
        """Guards on showing the cells of a source, and on assisting with them."""
        return tuple((use, guard) for use, guard in self.single if use.source == source and not _computes(use))

    @property
    def computing(self) -> Guards:
        """Guards on computing functions from cells."""
        return tuple((use, guard) for use, guard in self.single if _computes(use))


def _computes(use: Use) -> bool:
    return use.privilege not in (READ, ASSIST)


def secure_view(access: Access) -> Views:
    """The views that policies give of everything the block looks at.

    What: for each use of a cell its guard, split into the views of single streams and joint views.
    Why it is safe: a use that is left out is not covered. The block looks at more than it names: at every column where
    tuples are ordered or merely counted, so those are guarded too.
    """
    uses = tuple(dict.fromkeys(_looked_at(access)))
    guards = [(use, access.guard(use)) for use in uses]
    return Views(
        access,
        tuple((use, _part(guard, lambda one: len(one.aliases) < 2)) for use, guard in guards),
        tuple(
            (use, _part(guard, lambda one: len(one.aliases) > 1))
            for use, guard in guards
            if any(len(one.aliases) > 1 for one in (*guard.allows, *guard.denies))
        ),
    )


def _looked_at(access: Access) -> Iterator[Use]:
    yield from access.uses
    for source in access.block.sources:
        if access.block.window is not None or not access.named(source):
            yield from access.counted(source)


def _part(guard: Guard, belongs: Callable[[Clause], bool]) -> Guard:
    return replace(
        guard,
        allows=tuple(one for one in guard.allows if belongs(one)),
        denies=tuple(one for one in guard.denies if belongs(one)),
    )
