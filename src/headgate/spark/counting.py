"""How far windows of rows have come: what is kept of them from one epoch to the next, and whose it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from headgate.model.instant import START_OF_TIME, Instant
from headgate.spark.layout import FREE
from headgate.spark.planning import Seat
from headgate.spark.tasks import holder_of

Place = tuple[int, int]
"""A class, by its bit, and which of its blocks."""


@dataclass(frozen=True)
class Counting:
    """One window of rows."""

    total: int = 0
    """So many rows were counted."""
    given: int = 0
    """So many windows were given."""
    path: str | None = None
    """Where its tuples are."""
    holder: int = FREE
    """The number by which they are known there."""
    first: Instant = START_OF_TIME
    """The time of the earliest of them."""


def counting_to_json(counted: Mapping[Place, Counting]) -> list[list[Any]]:
    return [[*place, *astuple(own)] for place, own in counted.items()]


def counting_from_json(body: Iterable[Sequence[Any]]) -> dict[Place, Counting]:
    """What was saved; before others could hold them, a class held its own tuples."""
    found = {}
    for bit, number, total, given, path, *rest in body:
        found[bit, number] = Counting(total, given, path, *(rest or (holder_of((bit, number)),)))
    return found


def counted_by(seats: Iterable[Seat], counted: Mapping[Place, Counting]) -> dict[Place, Counting]:
    """What the classes that are served have counted.

    One whose members were all in one class before counts on from there. INVARIANT: what a class that is gone has
    counted is gone with it, so that the next one that gets its bit begins anew.
    """
    counting = {bit for bit, _ in counted}
    found: dict[Place, Counting] = {}
    for seat in seats:
        (source,) = seat.parents if seat.bit not in counting and len(seat.parents) == 1 else (seat.bit,)
        found |= {(seat.bit, number): one for (bit, number), one in counted.items() if bit == source}
    return found
