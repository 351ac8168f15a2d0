"""The result log: rows of all queries by epoch, and how a subscriber's own are found in it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa

from headgate.columnar.result import by_class, rows_of
from headgate.errors import GoneError
from headgate.model.datatype import Value
from headgate.model.instant import Instant
from headgate.spark.packing import read_bodies, unpack
from headgate.spark.planning import Seat
from headgate.spark.storage import Storage

KNOWN = 16
"""So many plans are remembered: who reads along needs the last one, and plans keep coming."""

Delivered = tuple[str, str, Instant, dict[str, Value]]
"""Query, subscriber, result time and row."""


class ResultLog:
    """Reads what epochs have written. Only ask for epochs that are committed, and kept."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._plans: dict[int, dict[int, Seat]] = {}

    def rows(self, epoch: int, query: str | None = None) -> Iterator[Delivered]:
        """The rows of an epoch, of one query or of all, for each subscriber that has access."""
        for folder, plan in self.folders(epoch):
            for body in read_bodies(self._storage, f"{folder}/part=result"):
                seats = self.seats(plan)
                for bit, own in by_class(unpack(body)).items():
                    if query is None or seats[bit].query == query:
                        yield from _delivered(own, seats[bit])

    def folders(self, epoch: int) -> list[tuple[str, int]]:
        """Where an epoch's rows are, and the plan by which they are read."""
        base = f"data/epoch={epoch}"
        return [(f"{base}/{name}", int(name.rsplit("-", 1)[1])) for name in self._storage.names(base)]

    def seats(self, plan: int) -> dict[int, Seat]:
        """The classes of a plan by their bits."""
        if plan not in self._plans:
            content = self._storage.read(f"plans/{plan}.json")
            if content is None:
                raise GoneError(f"plan {plan} is not kept any more")
            body = json.loads(content)
            if len(self._plans) >= KNOWN:
                self._plans.pop(next(iter(self._plans)))
            self._plans[plan] = {one["bit"]: Seat.from_json(one) for one in body["classes"]}
        return self._plans[plan]


def _delivered(table: pa.Table, seat: Seat) -> Iterator[Delivered]:
    for time, members, row in rows_of(table, seat.types):
        for place, member in enumerate(seat.members):
            if members >> place & 1:
                yield seat.query, member, time, row
