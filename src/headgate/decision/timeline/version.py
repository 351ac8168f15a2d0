"""A timeline at some moment: every answer the punctuations so far give, one by one and by the column. Never changes.

An epoch takes one version and asks nothing else, so that all its tuples are judged by the same punctuations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from headgate.decision.timeline.audience import Audience, Audiences, Sight, Update, swept
from headgate.decision.timeline.effect import NOTHING, UNCHANGED, Effect, Rule
from headgate.decision.timeline.history import History, empty_history
from headgate.decision.timeline.interning import Interner, Names
from headgate.decision.timeline.parts import Asked, Now, Part, answered
from headgate.decision.timeline.steps import Numbers, Steps
from headgate.decision.timeline.tuples import Span, Tuples
from headgate.model.datatype import Value
from headgate.model.instant import END_OF_TIME, START_OF_TIME, Instant
from headgate.model.punctuation import ALL_OBJECTS
from headgate.model.schema import StreamSchema

Roles = frozenset[str]

_NO_DATA = empty_history(Rule.REPLACE, NOTHING)
_NO_ROLES = empty_history(Rule.ACQUIRE, UNCHANGED)
_NO_USERS = empty_history(Rule.ACQUIRE, NOTHING)


@dataclass(frozen=True, slots=True)
class Cell:
    """One attribute of one tuple, as punctuations address it."""

    stream: StreamSchema
    tid: Value
    attribute: str
    time: Instant


@dataclass(frozen=True, eq=False, slots=True)
class RoleColumn:
    """For each tuple the number of a set of roles, and the sets; not every set need occur."""

    numbers: Numbers
    sets: tuple[Roles, ...]

    def __getitem__(self, row: int) -> Roles:
        return self.sets[int(self.numbers[row])]


@dataclass(frozen=True, eq=False, slots=True)
class Version:
    """Answers by the punctuations of one moment. What was said of a query before `horizon`, and by a stream before its
    own of `horizons`, is forgotten: as far as that could matter nobody sees anything from before then."""

    roles: Names
    people: Names
    of_data: Mapping[str, History]
    of_roles: Mapping[str, History]
    of_users: Mapping[str, History]
    horizon: Instant
    horizons: Mapping[str, Instant]

    # One by one -------------------------------------------------------------------------------------------------------

    def data_roles(self, cell: Cell, now: Instant) -> Roles:
        """The roles that may see the cell at `now`: none to begin with (deny by default)."""
        horizon = self.horizons.get(cell.stream.name, START_OF_TIME)
        effect = _effect(self.of_data.get(cell.stream.name), cell, now, NOTHING, horizon)
        return self.roles.names(effect.give)

    def query_roles(self, query: str, declared: Roles, cell: Cell, now: Instant) -> Roles:
        """The roles in which the query acts on the cell at `now`: the subscriber's own to begin with."""
        return self._acting(declared, _effect(self.of_roles.get(query), cell, now, UNCHANGED, self.horizon))

    def users(self, query: str, subscribers: Iterable[str], at: Instant) -> frozenset[str]:
        """`U_q(at)`: the subscribers whose last punctuation before `at` is a `+`."""
        history = self.of_users.get(query)
        if history is None or at < self.horizon:
            return frozenset()
        present = history.words.states.values[self._users_table(history).at(at)].give
        return self.people.names(self.people.known_bits(subscribers) & present)

    def off_since(self, query: str, subscribers: Iterable[str], time: Instant) -> bool:
        """Whether none of the subscribers has access to the query's output at `time` or later, as far as is known."""
        history = self.of_users.get(query)
        if history is None:
            return True
        ours = self.people.known_bits(subscribers)
        values = history.words.states.values
        steps = self._users_table(history).between(time, END_OF_TIME)
        return not any(values[number].give & ours for number in steps.numbers.tolist())

    def on_throughout(self, query: str, subscribers: Collection[str], span: Span, every: bool = False) -> bool:
        """Whether one of the subscribers, or every one, has access to the query's output at all times of a span.

        It is asked before tuples are looked at: where it is so, there is nothing to be found out about them.
        """
        history = self.of_users.get(query)
        if history is None or span[0] < self.horizon:
            return False
        ours = self.people.known_bits(subscribers)
        if every and ours.bit_count() < len(subscribers):
            return False
        values = history.words.states.values
        near = [values[number].give & ours for number in self._users_table(history).between(*span).numbers.tolist()]
        return all(near) if not every else all(present == ours for present in near)

    def _acting(self, declared: Roles, effect: Effect) -> Roles:
        acting = self.roles.names(effect.applied_to(self.roles.known_bits(declared)))
        # Roles that no punctuation has named have no bit: they stay unless everything went.
        others = frozenset(one for one in declared if self.roles.find(one) is None) if effect.keep < 0 else frozenset()
        return acting | others

    # By the column ----------------------------------------------------------------------------------------------------

    def data_table(self, stream: StreamSchema, attribute: str) -> tuple[Steps, tuple[Roles, ...]]:
        """The segment table of tuples that no tuple pattern matches, each judged at its own time; and its role sets."""
        history = self.of_data.get(stream.name, _NO_DATA)
        horizon = self.horizons.get(stream.name, START_OF_TIME)
        steps = _closed(history.table(history.matching(stream, attribute).common), history, START_OF_TIME, horizon)
        return steps, tuple(self.roles.names(one.give) for one in history.words.states.values)

    def data_roles_of(self, stream: StreamSchema, attribute: str, tuples: Tuples, now: Now = None) -> RoleColumn:
        """The roles that may see the attribute, for each tuple."""
        history = self.of_data.get(stream.name, _NO_DATA)
        horizon = self.horizons.get(stream.name, START_OF_TIME)
        numbers = _states_of(history, stream, attribute, tuples, now, horizon)
        return RoleColumn(numbers, tuple(self.roles.names(one.give) for one in history.words.states.values))

    def query_roles_of(
        self, query: str, declared: Roles, stream: StreamSchema, attribute: str, tuples: Tuples, now: Now = None
    ) -> RoleColumn:
        """The roles in which the query acts on the attribute, for each tuple."""
        history = self.of_roles.get(query, _NO_ROLES)
        horizon = self.horizon if query in self.of_roles else START_OF_TIME
        numbers = _states_of(history, stream, attribute, tuples, now, horizon)
        return RoleColumn(numbers, tuple(self._acting(declared, one) for one in history.words.states.values))

    def visible(
        self,
        stream: StreamSchema,
        attributes: Sequence[str],
        audiences: Sequence[Audience],
        tuples: Tuples,
        now: Now = None,
    ) -> dict[str, Sight]:
        """Which audiences see each attribute of each tuple: conditions 1 and 2 of section 4."""
        queries = tuple(dict.fromkeys(one.query for one in audiences if one.query in self.of_roles))
        histories = (self.of_data.get(stream.name, _NO_DATA), *(self.of_roles[query] for query in queries))
        same: dict[object, Sight] = {}
        for attribute in dict.fromkeys(attributes):
            asked = Asked.of(stream, attribute, histories)
            if asked.matching not in same:
                same[asked.matching] = self._sight(asked, queries, audiences, tuples, now)
        # Attributes of which the same punctuations speak share one answer.
        return {name: same[Asked.of(stream, name, histories).matching] for name in attributes}

    def _sight(
        self, asked: Asked, queries: Sequence[str], audiences: Sequence[Audience], tuples: Tuples, now: Now
    ) -> Sight:
        bitmaps: Interner[int] = Interner((0,))
        values, governed = asked.histories[0].words.states.values, asked.stream.governed
        state = Audiences(self.roles.known_bits(one.roles) for one in audiences)

        def seen(number: int) -> int:
            return state.meeting(values[number].give) if governed else state.on

        seen_by_all_parts = cache(seen)

        def table(part: Part) -> Steps:
            turns = self._turns(asked, queries, audiences, part, state)
            data = Steps.constant(0)
            if governed:
                horizon = self.horizons.get(asked.stream.name, START_OF_TIME)
                data = _closed(asked.steps(0, part), asked.histories[0], part.tuples.span[0], horizon)
            return swept(data, turns, seen if turns else seen_by_all_parts, bitmaps)

        return Sight(answered(asked, tuples, now, table), tuple(bitmaps.values))

    def _turns(
        self, asked: Asked, queries: Sequence[str], audiences: Sequence[Audience], part: Part, state: Audiences
    ) -> list[tuple[Steps, Update]]:
        """The tables by which the audiences change: the roles of their queries, and who may see these.

        Each says how things are at the beginning, so that one state serves part after part.
        """
        turns: list[tuple[Steps, Update]] = []
        first = part.tuples.span[0]
        tables = {
            query: _closed(asked.steps(place, part), asked.histories[place], first, self.horizon)
            for place, query in enumerate(queries, start=1)
        }
        for number, audience in enumerate(audiences):
            if audience.query in tables:
                turns.append((tables[audience.query], self._holding(state, number, audience)))
            if audience.subscribers is not None:
                turns.append(self._switching(state, number, audience, part))
        return turns

    def _holding(self, state: Audiences, number: int, audience: Audience) -> Update:
        values, declared = self.of_roles[audience.query].words.states.values, self.roles.known_bits(audience.roles)
        return lambda turned: state.hold(number, values[turned].applied_to(declared))

    def _switching(self, state: Audiences, number: int, audience: Audience, part: Part) -> tuple[Steps, Update]:
        history = self.of_users.get(audience.query, _NO_USERS)
        values = history.words.states.values
        ours = self.people.known_bits(audience.subscribers or ())
        first, last = part.tuples.span
        near = _closed(self._users_table(history).between(first, last), history, first, self.horizon)
        return near, lambda turned: state.switch(number, bool(values[turned].give & ours))

    def _users_table(self, history: History) -> Steps:
        number = history.words.objects.find(ALL_OBJECTS)
        return history.table(frozenset(() if number is None else (number,)))


def _effect(history: History | None, cell: Cell, now: Instant, start: Effect, horizon: Instant) -> Effect:
    if history is None:
        return start
    if cell.time < horizon:
        return NOTHING
    return history.effect(cell.stream, cell.attribute, cell.tid, cell.time, now)


def _states_of(
    history: History, stream: StreamSchema, attribute: str, tuples: Tuples, now: Now, horizon: Instant
) -> Numbers:
    asked = Asked.of(stream, attribute, (history,))

    def table(part: Part) -> Steps:
        return _closed(asked.steps(0, part), history, part.tuples.span[0], horizon)

    return answered(asked, tuples, now, table).dense()


def _closed(steps: Steps, history: History, first: Instant, horizon: Instant) -> Steps:
    """Before the horizon nobody sees anything: a rule that took something away may have been forgotten. That makes no
    difference where the first that is asked about is later."""
    return steps if first >= horizon else steps.closed_before(horizon, history.words.states.number(NOTHING))
