"""From a system to what the tasks need: classes with bits that keep their meaning, the plan, the slots of results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headgate.algebra.canonical import stable_hash
from headgate.algebra.query import Query
from headgate.algebra.secure import shape_of
from headgate.columnar.plan import FrameKey, Line, Numbering, Plan, Planner
from headgate.columnar.result import all_slots
from headgate.decision.decide import Decider
from headgate.model.datatype import DataType
from headgate.network.classes import AuthorisationClass, classes_of
from headgate.network.merge import MergedNetwork, merge
from headgate.scenario.system import System
from headgate.spark.tasks import Shared

MEMBERS = 62
"""So many subscribers of one class fit the word that says who of them has access."""


@dataclass(frozen=True)
class Seat:
    """A class's bit; once its query or its subscribers are gone it stays taken as long as tuples carry it."""

    bit: int
    query: str
    members: tuple[str, ...]
    fields: tuple[tuple[str, str], ...] = ()
    parents: tuple[int, ...] = ()
    left_at: int | None = None
    """The epoch from which on nobody sits here."""
    plan: str = ""
    """The hash of the query's plan; empty if that was not written down yet."""

    def to_json(self) -> dict[str, Any]:
        return {
            "bit": self.bit,
            "query": self.query,
            "members": list(self.members),
            "fields": [list(one) for one in self.fields],
            "parents": list(self.parents),
            "left_at": self.left_at,
            "plan": self.plan,
        }

    @staticmethod
    def from_json(body: Mapping[str, Any]) -> Seat:
        return Seat(
            body["bit"],
            body["query"],
            tuple(body["members"]),
            tuple((name, kind) for name, kind in body["fields"]),
            tuple(body["parents"]),
            body["left_at"],
            body.get("plan", ""),
        )

    @property
    def types(self) -> tuple[tuple[str, DataType], ...]:
        return tuple((name, DataType(kind)) for name, kind in self.fields)


@dataclass(frozen=True)
class Planned:
    """One version of what runs."""

    number: int
    system: System
    classes: tuple[AuthorisationClass, ...]
    seats: tuple[Seat, ...]
    shared: Shared
    network: MergedNetwork
    at_once: frozenset[FrameKey] = field(repr=False, default=frozenset())

    @property
    def plan(self) -> Plan:
        return self.shared.plan

    def seated(self) -> list[Seat]:
        """The classes that are served now."""
        return [one for one in self.seats if one.left_at is None]


class Plans:
    """Makes one version after the other, for the same streams."""

    def __init__(self, system: System, facts: Numbering | None = None, masks: Numbering | None = None) -> None:
        self._planner = Planner(system.streams, facts, masks)
        self.streams = tuple(system.streams.names)

    @property
    def facts(self) -> dict[str, list[str]]:
        return self._planner.facts.to_json()

    @property
    def masks(self) -> dict[str, list[str]]:
        return self._planner.masks.to_json()

    def number_anew(self) -> None:
        """No tuple is held, so none carries a fact or a mask: what has a number may get another. Numbers only grow
        otherwise, with every condition that a policy has ever had."""
        self._planner.facts, self._planner.masks = Numbering(), Numbering()

    def plan(self, system: System, number: int, seats: Sequence[Seat], epoch: int, live: bool) -> Planned:
        """The plan of a system from this epoch on."""
        decider = Decider(system.policies, system.streams)
        queries = {query.id: query for query in system.queries}
        classes = [part for one in classes_of(system.queries, system.users, decider) for part in _split(one)]
        seated, seats_after = _seat(classes, queries, seats, epoch)
        plan = self._planner.plan(seated, queries, system.users, decider, _lines(seats_after))
        waits = {stream.name for stream in system.streams if live and stream.lateness > 0}
        at_once = frozenset(key for key in plan.frames if key.one_by_one and not waits & set(key.waits_for))
        shared = Shared(plan, self.streams, all_slots(plan))
        network = merge(map(shape_of, system.queries))
        return Planned(number, system, tuple(seated), tuple(seats_after), shared, network, at_once)


def _lines(seats: Iterable[Seat]) -> dict[int, tuple[Line, ...]]:
    """Where the members of each class come from, by its bit."""
    by_bit = {one.bit: one for one in seats}

    def line(bit: int) -> Line:
        parents = by_bit[bit].parents
        return Line(bit, tuple(map(line, parents)) if by_bit.keys() >= set(parents) else ())

    return {one.bit: line(one.bit).parents for one in by_bit.values() if one.left_at is None}


def _split(one: AuthorisationClass) -> Iterable[AuthorisationClass]:
    for begin in range(0, len(one.members), MEMBERS):
        yield replace(one, members=one.members[begin : begin + MEMBERS])


def _seat(
    classes: Sequence[AuthorisationClass], queries: Mapping[str, Query], seats: Sequence[Seat], epoch: int
) -> tuple[list[AuthorisationClass], list[Seat]]:
    """Give each class the bit it had, or one that is free."""
    standing = {(one.query, one.members, one.fields): one for one in seats if one.left_at is None}
    taken = {one.bit for one in seats}
    seated: list[AuthorisationClass] = []
    after: list[Seat] = []
    for one in classes:
        # INVARIANT: a class that gets a bit takes over what is held and counted for it, so it must be of the same plan:
        # the same id may stand for another query by now.
        plan = stable_hash(queries[one.query].plan)
        fields = tuple((field.name, field.type.value) for field in queries[one.query].plan.schema)
        seat = standing.get((one.query, one.members, fields))
        if seat is not None and seat.plan in (plan, ""):
            del standing[one.query, one.members, fields]
            seat = replace(seat, plan=plan)
        else:
            bit = next(number for number in range(len(taken) + 1) if number not in taken)
            taken.add(bit)
            parents = _parents(one, fields, plan, seats)
            seat = Seat(bit, one.query, one.members, fields, parents, plan=plan)
        after.append(seat)
        seated.append(replace(one, bit=seat.bit))
    after.extend(replace(one, left_at=epoch) for one in standing.values())
    after.extend(one for one in seats if one.left_at is not None)
    return seated, after


def _parents(
    one: AuthorisationClass, fields: tuple[tuple[str, str], ...], plan: str, seats: Sequence[Seat]
) -> tuple[int, ...]:
    """The classes all members were in until now; none if one of them is new to the query."""
    found = {
        member: seat.bit
        for seat in seats
        if seat.left_at is None and seat.query == one.query and seat.fields == fields and seat.plan in (plan, "")
        for member in seat.members
    }
    if not all(member in found for member in one.members):
        return ()
    return tuple(sorted({found[member] for member in one.members}))


def without_forgotten(
    seats: Sequence[Seat], oldest: int | None, holding: frozenset[int] = frozenset()
) -> tuple[Seat, ...]:
    """Without the bits that no tuple carries any more: the oldest of the log is of that epoch (None: there is none),
    and the classes of the bits that are `holding` have some in windows of rows, let to them or to their parents."""
    lines = _lines(seats)
    named = {bit for one in lines if one in holding for line in lines[one] for bit in line.bits}
    kept = [
        one for one in seats if one.left_at is None or (oldest is not None and oldest < one.left_at) or one.bit in named
    ]
    # INVARIANT: a bit that is free will be another's, whose tuples are nobody else's to see. What all parents were let
    # have is not what some of them were: if one is gone, so are all.
    bits = {one.bit for one in kept}
    return tuple(one if bits.issuperset(one.parents) else replace(one, parents=()) for one in kept)
