"""The state of privacy switches: algorithm 1 of the Privacy Switches paper, with two corrections.

All switches of a query look at one set, `U_q` (semantics.md, section 3): initial and in-network ones let results pass
iff it is not empty, terminal ones deliver to its members. It starts empty.

1. The paper counts users up and down. A `+` repeated for one user would count twice, and the query would stay on
   after that user's `-`. Here the counter is the size of a set.
2. The paper discards a punctuation older than what has been seen, and with it a late `-`. Here a stale punctuation
   may still take away, never give: a stale `-` counts at once, as of the latest time seen.

At one timestamp `-` wins over `+`. A punctuation governs strictly later tuples. Questions are answered for any time
from the latest one seen on; there is no clock and no input or output in here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headgate.errors import ConflictError, InputError, UnknownNameError
from headgate.model.closest import closest
from headgate.model.instant import START_OF_TIME, Instant


class SwitchPunctuation(NamedTuple):
    """A user gains (`positive`) or loses the output of a query, for tuples later than `at`."""

    query: str
    user: str
    positive: bool
    at: Instant


class Right(NamedTuple):
    """What one user's punctuations for one query have come to."""

    at: Instant
    """When the last one counted."""
    after: bool
    """Whether the user has access after that time."""
    until: bool
    """Whether the user had access up to and including that time."""

    def holds(self, at: Instant) -> bool:
        return self.after if at > self.at else self.until


_NOTHING = Right(START_OF_TIME, after=False, until=False)


class SwitchState:
    """Who may see the output of which query, as far as the punctuations have come.

    Queries in `always_on` are not governed by punctuations: all their subscribers have access at all times.

    >>> state = SwitchState({"q1": ["ann", "bob"]})
    >>> state.apply([SwitchPunctuation("q1", "ann", True, 10)])
    frozenset({'q1'})
    >>> sorted(state.users("q1", 10)), sorted(state.users("q1", 11))
    ([], ['ann'])
    """

    __slots__ = ("_always_on", "_rights", "_seen_at", "_subscribers")

    def __init__(self, subscribers: Mapping[str, Iterable[str]], always_on: Iterable[str] = ()) -> None:
        self._subscribers = {query: frozenset(users) for query, users in subscribers.items()}
        self._rights: dict[str, dict[str, Right]] = {query: {} for query in self._subscribers}
        self._always_on = frozenset(always_on)
        self._seen_at: Instant = START_OF_TIME
        for query in self._always_on:
            self._known(query)

    @classmethod
    def resume(
        cls,
        subscribers: Mapping[str, Iterable[str]],
        always_on: Iterable[str],
        seen_at: Instant,
        rights: Mapping[str, Mapping[str, Right]],
    ) -> SwitchState:
        """The state that had come this far; `restore_switches` reads it from a snapshot."""
        state = cls(subscribers, always_on)
        state._seen_at = seen_at
        state._rights = {query: dict(rights.get(query, {})) for query in state._subscribers}
        return state

    @property
    def seen_at(self) -> Instant:
        """The latest time seen, of tuples and punctuations."""
        return self._seen_at

    @property
    def queries(self) -> tuple[str, ...]:
        return tuple(self._subscribers)

    def add_query(self, query: str, subscribers: Iterable[str], *, always_on: bool = False) -> None:
        """A new query; unless `always_on`, it is off until a punctuation gives somebody access."""
        if query in self._subscribers:
            raise ConflictError(f"query `{query}` already has switches")
        self._subscribers[query] = frozenset(subscribers)
        self._rights[query] = {}
        if always_on:
            self._always_on |= {query}

    def remove_query(self, query: str) -> None:
        """Forget a query and all rights to it: a later query of that name starts with none."""
        self._known(query)
        del self._subscribers[query], self._rights[query]
        self._always_on -= {query}

    def set_subscribers(self, query: str, subscribers: Iterable[str]) -> None:
        """Replace a query's subscribers. Rights outlast it: who subscribes again has what the punctuations gave."""
        self._known(query)
        self._subscribers[query] = frozenset(subscribers)

    def advance(self, to: Instant) -> None:
        """Tuples up to this time have been decided: what is older is stale from now on."""
        self._seen_at = max(self._seen_at, to)

    def apply(self, batch: Iterable[SwitchPunctuation]) -> frozenset[str]:
        """Take in punctuations that arrived together, in any order; returns the queries they turned on or off.

        A punctuation for a query without switches here has no effect.
        """
        mine = sorted((item for item in batch if item.query in self._rights), key=lambda item: item.at)
        touched = {item.query for item in mine}
        before = {query: bool(self._access(query, self._seen_at + 1)) for query in touched}
        for item in mine:
            self._take_in(item)
        return frozenset(query for query in touched if bool(self._access(query, self._seen_at + 1)) != before[query])

    def users(self, query: str, at: Instant) -> frozenset[str]:
        """`U_q(at)`: the subscribers that a result of that time is delivered to."""
        self._known(query)
        if at < self._seen_at:
            raise InputError(
                f"the switches have come to time `{self._seen_at}` and cannot tell who had access at `{at}`",
                hint="ask for times from the latest one seen on, in the order of the stream",
            )
        return self._access(query, at)

    def is_on(self, query: str, at: Instant) -> bool:
        """Whether tuples of that time flow for the query: it is always on, or somebody may see its output."""
        return bool(self.users(query, at)) or query in self._always_on

    def on(self, at: Instant) -> frozenset[str]:
        """The queries that are on."""
        return frozenset(query for query in self._subscribers if self.is_on(query, at))

    def snapshot(self) -> dict[str, object]:
        """Everything, as values that JSON can hold."""
        return {
            "seen_at": self._seen_at,
            "subscribers": {query: sorted(users) for query, users in self._subscribers.items()},
            "always_on": sorted(self._always_on),
            "rights": {
                query: {user: list(right) for user, right in rights.items()} for query, rights in self._rights.items()
            },
        }

    def _take_in(self, item: SwitchPunctuation) -> None:
        rights = self._rights[item.query]
        old = rights.get(item.user, _NOTHING)
        if item.at < self._seen_at:  # INVARIANT: what is stale never gives
            if not item.positive:
                rights[item.user] = Right(self._seen_at, after=False, until=False)
            return
        self._seen_at = item.at
        if old.at == item.at:
            rights[item.user] = old._replace(after=old.after and item.positive)
        else:
            rights[item.user] = Right(item.at, after=item.positive, until=old.after)

    def _access(self, query: str, at: Instant) -> frozenset[str]:
        subscribers = self._subscribers[query]
        if query in self._always_on:
            return subscribers
        return frozenset(user for user, right in self._rights[query].items() if user in subscribers and right.holds(at))

    def _known(self, query: str) -> None:
        if query not in self._subscribers:
            raise UnknownNameError(f"no switches for query `{query}`", hint=closest(query, sorted(self._subscribers)))
