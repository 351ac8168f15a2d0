"""Section 3: what punctuations say about a cell, folded in order, straight from the page.

Nothing is indexed or compacted: for every question all punctuations are asked, in time order. `decision/timeline/` is
the one that must be quick; this one must be right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from headgate.model.datatype import Value
from headgate.model.instant import Instant
from headgate.model.punctuation import Kind, Punctuation, SubjectModel
from headgate.model.schema import StreamSchema

Roles = frozenset[str]


@dataclass(frozen=True)
class Cell:
    """One attribute of one tuple, as punctuations address it."""

    stream: StreamSchema
    tid: Value
    attribute: str
    time: Instant


class Timeline:
    """All punctuations seen so far, each with the stream that carried it."""

    def __init__(self) -> None:
        self._data: dict[str, list[Punctuation]] = {}
        self._roles: dict[str, list[Punctuation]] = {}
        self._users: dict[str, list[Punctuation]] = {}

    def add(self, stream: StreamSchema, punctuation: Punctuation) -> None:
        """Take note of a punctuation that this stream carried."""
        if punctuation.kind is Kind.DATA:
            kept = self._data.setdefault(stream.name, [])
        elif punctuation.model is SubjectModel.ROLES:
            kept = self._roles.setdefault(punctuation.query or "", [])
        else:
            kept = self._users.setdefault(punctuation.query or "", [])
        kept.append(punctuation)
        kept.sort(key=lambda one: one.at)

    def data_roles(self, cell: Cell, now: Instant) -> Roles:
        """The roles that may see the cell at `now`: none to begin with (deny by default)."""
        return _folded(self._data.get(cell.stream.name, ()), cell, now, frozenset(), _replace)

    def query_roles(self, query: str, declared: Roles, cell: Cell, now: Instant) -> Roles:
        """The roles in which the query acts on the cell at `now`: the subscriber's own to begin with."""
        return _folded(self._roles.get(query, ()), cell, now, declared, _acquire)

    def users(self, query: str, subscribers: Iterable[str], at: Instant) -> frozenset[str]:
        """`U_q(at)`: the subscribers whose last punctuation before `at` is a `+`; at one time `-` wins."""
        last: dict[str, tuple[Instant, bool]] = {}
        for punctuation in self._users.get(query, ()):
            if punctuation.at < at:
                for user in punctuation.subjects:
                    before = last.get(user, (punctuation.at, True))
                    tied = before[0] == punctuation.at
                    last[user] = (punctuation.at, punctuation.positive and (before[1] or not tied))
        return frozenset(user for user in subscribers if user in last and last[user][1])


def _folded(
    punctuations: Iterable[Punctuation],
    cell: Cell,
    now: Instant,
    start: Roles,
    apply: Callable[[Roles, list[Punctuation]], Roles],
) -> Roles:
    """Every matching batch before the tuple, in order; then every immediate one before `now`, which only takes away."""
    roles = start
    matching = [one for one in punctuations if one.at < max(cell.time, now) and _matches(one, cell)]
    for at, same_time in groupby(matching, key=lambda one: one.at):
        batch = list(same_time)
        if at < cell.time:
            roles = apply(roles, batch)
            continue
        immediate = [one for one in batch if one.immediate]
        if immediate:
            changed = apply(roles, immediate)
            roles = changed if cell.stream.retroactive else roles & changed
    return roles


def _matches(punctuation: Punctuation, cell: Cell) -> bool:
    objects = punctuation.objects
    return (
        objects.streams.matches(cell.stream.name)
        and objects.tuples.matches(cell.tid)
        and objects.attributes.matches(cell.attribute)
    )


def _subjects(batch: list[Punctuation], positive: bool) -> Roles:
    return frozenset(role for one in batch if one.positive is positive for role in one.subjects)


def _replace(roles: Roles, batch: list[Punctuation]) -> Roles:
    """A dsp: a `+` states who may, and replaces; only `-` takes away from what was there."""
    if any(one.positive for one in batch):
        return _subjects(batch, positive=True) - _subjects(batch, positive=False)
    return roles - _subjects(batch, positive=False)


def _acquire(roles: Roles, batch: list[Punctuation]) -> Roles:
    """A qsp: roles are gained, then lost."""
    return (roles | _subjects(batch, positive=True)) - _subjects(batch, positive=False)
