"""Switch state: algorithm 1 as corrected, and theorem 1 against a model that remembers everything."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from network_strategies import UNHURRIED

from headgate.errors import ConflictError, InputError, StoreError, UnknownNameError
from headgate.network import SwitchPunctuation, SwitchState, restore_switches
from headgate.network.switch import Right

USERS = ("ann", "bob", "cy")
QUERIES = ("q1", "q2")


def plus(query: str, user: str, at: int) -> SwitchPunctuation:
    return SwitchPunctuation(query, user, True, at)


def minus(query: str, user: str, at: int) -> SwitchPunctuation:
    return SwitchPunctuation(query, user, False, at)


def state_of(*batches: Sequence[SwitchPunctuation]) -> SwitchState:
    state = SwitchState(dict.fromkeys(QUERIES, USERS))
    for batch in batches:
        state.apply(batch)
    return state


def test_everything_starts_closed() -> None:
    assert state_of().on(0) == frozenset()


def test_a_punctuation_governs_strictly_later_tuples() -> None:
    state = state_of([plus("q1", "ann", 10)])
    assert not state.is_on("q1", 10)
    assert state.users("q1", 11) == {"ann"}
    state.apply([minus("q1", "ann", 20)])
    assert state.users("q1", 20) == {"ann"}
    assert state.users("q1", 21) == frozenset()


def test_a_repeated_plus_does_not_count_twice() -> None:
    state = state_of([plus("q1", "ann", 1)], [plus("q1", "ann", 2)], [minus("q1", "ann", 3)])
    assert not state.is_on("q1", 4)


def test_a_stale_minus_takes_away_at_once() -> None:
    state = state_of([plus("q1", "ann", 10)], [minus("q1", "ann", 5)])
    assert state.users("q1", 10) == state.users("q1", 11) == frozenset()


def test_a_stale_plus_gives_nothing() -> None:
    state = state_of([plus("q1", "ann", 10)], [plus("q1", "bob", 5)])
    assert state.users("q1", 11) == {"ann"}


def test_what_is_older_than_a_decided_tuple_is_stale() -> None:
    state = state_of()
    state.advance(10)
    state.apply([plus("q1", "ann", 9), plus("q1", "bob", 10)])
    assert state.users("q1", 11) == {"bob"}


def test_after_a_stale_minus_only_a_later_plus_gives_again() -> None:
    state = state_of([plus("q1", "ann", 10)], [minus("q1", "ann", 5)], [plus("q1", "ann", 10)])
    assert not state.is_on("q1", 11)
    state.apply([plus("q1", "ann", 12)])
    assert state.is_on("q1", 13)


@pytest.mark.parametrize("first", [True, False])
def test_minus_wins_at_one_time_in_either_order(first: bool) -> None:
    state = state_of([SwitchPunctuation("q1", "ann", first, 5)], [SwitchPunctuation("q1", "ann", not first, 5)])
    assert not state.is_on("q1", 6)


def test_punctuations_of_other_queries_have_no_effect() -> None:
    assert state_of([plus("q9", "ann", 1)]).on(2) == frozenset()


def test_only_subscribers_keep_a_query_on() -> None:
    state = SwitchState({"q1": ["ann"]})
    assert state.apply([plus("q1", "zoe", 1)]) == frozenset()
    assert not state.is_on("q1", 2)
    state.set_subscribers("q1", ["ann", "zoe"])
    assert state.users("q1", 2) == {"zoe"}


def test_a_query_that_is_always_on_needs_no_punctuation() -> None:
    state = SwitchState({"q1": ["ann"], "q2": []}, always_on=["q1", "q2"])
    assert state.users("q1", 0) == {"ann"}
    assert state.on(0) == {"q1", "q2"}


def test_apply_names_the_queries_it_turned_on_or_off() -> None:
    state = state_of()
    assert state.apply([plus("q1", "ann", 1), plus("q2", "ann", 1)]) == {"q1", "q2"}
    assert state.apply([plus("q1", "bob", 2), minus("q2", "ann", 2)]) == {"q2"}


def test_a_removed_query_is_forgotten() -> None:
    state = state_of([plus("q1", "ann", 1)])
    state.remove_query("q1")
    assert state.apply([plus("q1", "bob", 1)]) == frozenset()
    with pytest.raises(UnknownNameError, match="no switches for query `q1`"):
        state.set_subscribers("q1", ["ann"])
    state.add_query("q1", USERS)
    assert not state.is_on("q1", 2)
    with pytest.raises(ConflictError, match="query `q1` already has switches"):
        state.add_query("q1", USERS)


def test_a_removed_query_is_not_on_when_its_name_comes_back() -> None:
    state = SwitchState({"q1": ["ann"]}, always_on=["q1"])
    state.remove_query("q1")
    state.add_query("q1", ["ann"])
    assert not state.is_on("q1", 0)
    state.add_query("q2", ["ann"], always_on=True)
    assert state.on(0) == {"q2"}


def test_a_resumed_state_does_not_share_what_it_was_resumed_from() -> None:
    rights = {"q1": {"ann": Right(1, after=True, until=False)}}
    state = SwitchState.resume({"q1": USERS}, (), 1, rights)
    state.apply([minus("q1", "ann", 2)])
    assert rights == {"q1": {"ann": Right(1, after=True, until=False)}}


def test_the_past_cannot_be_asked_for() -> None:
    with pytest.raises(InputError, match="come to time `10` and cannot tell who had access at `9`"):
        state_of([plus("q1", "ann", 10)]).users("q1", 9)


@pytest.mark.parametrize(
    "damage",
    [
        {"seen_at": "10"},
        {"seen_at": True},
        {"rights": {"q9": {}}},
        {"rights": {"q1": {"ann": [1, 1, False]}, "q2": {}}},
        {"rights": {"q1": {"ann": [1, True]}, "q2": {}}},
        {"subscribers": []},
        {"subscribers": {"q1": "ann", "q2": []}},
        {"always_on": ["q9"]},
        {"more": 1},
    ],
)
def test_a_damaged_snapshot_is_refused(damage: dict[str, object]) -> None:
    with pytest.raises(StoreError, match="a snapshot of switches has"):
        restore_switches(state_of([plus("q1", "ann", 1)]).snapshot() | damage)


punctuations = st.builds(
    SwitchPunctuation, st.sampled_from(QUERIES), st.sampled_from(USERS), st.booleans(), st.integers(0, 8)
)
steps = st.lists(st.one_of(st.integers(0, 8), st.lists(punctuations, max_size=4)), max_size=12)
"""What a state lives through: a time that tuples have come to, or a batch of punctuations."""


def live(state: SwitchState, history: Sequence[int | list[SwitchPunctuation]]) -> None:
    for step in history:
        if isinstance(step, int):
            state.advance(step)
        else:
            state.apply(step)


class Model:
    """Remembers every punctuation that counted, and looks through all of them for each question."""

    def __init__(self, history: Sequence[int | list[SwitchPunctuation]]) -> None:
        self.seen = -1
        self.gave: list[SwitchPunctuation] = []
        self.took: list[tuple[SwitchPunctuation, int, bool]] = []  # with the time it counts at, and if it was stale
        for step in history:
            if isinstance(step, int):
                self.seen = max(self.seen, step)
                continue
            for item in step:
                stale = item.at < self.seen
                if not item.positive:
                    self.took.append((item, self.seen if stale else item.at, stale))
                elif not stale:
                    self.gave.append(item)
            self.seen = max([self.seen, *(item.at for item in step)])

    def allows(self, query: str, user: str, at: int) -> bool:
        gave = [it.at for it in self.gave if (it.query, it.user) == (query, user) and it.at < at]
        took = [when for it, when, stale in self.took if (it.query, it.user) == (query, user) and (stale or when < at)]
        return bool(gave) and not any(when >= max(gave) for when in took)


@UNHURRIED
@given(steps, st.integers(0, 3))
def test_property_a_tuple_flows_only_if_its_latest_punctuation_allows(
    history: list[int | list[SwitchPunctuation]], later: int
) -> None:
    """Theorem 1, and its converse: who is allowed does get the tuple."""
    state, model = SwitchState(dict.fromkeys(QUERIES, USERS)), Model(history)
    live(state, history)
    at = max(model.seen, 0) + later
    for query in QUERIES:
        allowed = {user for user in USERS if model.allows(query, user, at)}
        assert state.users(query, at) == allowed
        assert state.is_on(query, at) == bool(allowed)


@UNHURRIED
@given(st.lists(punctuations, max_size=12), st.integers(0, 10))
def test_property_in_order_the_last_punctuation_before_a_time_decides(items: list[SwitchPunctuation], at: int) -> None:
    """The definition of `U_q` in semantics.md: nothing is late when streams are replayed in order."""
    past = sorted((it for it in items if it.at <= at), key=lambda it: it.at)
    state = SwitchState(dict.fromkeys(QUERIES, USERS))
    for item in past:
        state.apply([item])
    for query in QUERIES:
        expected = set()
        for user in USERS:
            mine = [it for it in past if (it.query, it.user) == (query, user) and it.at < at]
            last = [it for it in mine if it.at == max(other.at for other in mine)]
            if last and all(it.positive for it in last):
                expected.add(user)
        assert state.users(query, at) == expected


@UNHURRIED
@given(steps, st.lists(punctuations, max_size=6), st.data())
def test_property_order_and_repetition_within_a_batch_do_not_matter(
    history: list[int | list[SwitchPunctuation]], batch: list[SwitchPunctuation], data: st.DataObject
) -> None:
    one, other = (SwitchState(dict.fromkeys(QUERIES, USERS)) for _ in range(2))
    live(one, [*history, batch])
    repeated = batch + data.draw(st.lists(st.sampled_from(batch), max_size=3)) if batch else batch
    live(other, [*history, data.draw(st.permutations(repeated))])
    assert one.snapshot() == other.snapshot()


@UNHURRIED
@given(steps, st.data())
def test_property_a_restored_snapshot_decides_alike(
    history: list[int | list[SwitchPunctuation]], data: st.DataObject
) -> None:
    """Taken anywhere, sent through JSON, and lived on with."""
    cut = data.draw(st.integers(0, len(history)))
    whole = SwitchState(dict.fromkeys(QUERIES, USERS), always_on=["q2"])
    live(whole, history[:cut])
    restored = restore_switches(json.loads(json.dumps(whole.snapshot())))
    live(whole, history[cut:])
    live(restored, history[cut:])
    assert restored.snapshot() == whole.snapshot()
    for at in (max(whole.seen_at, 0), max(whole.seen_at, 0) + 1):
        assert [restored.users(query, at) for query in QUERIES] == [whole.users(query, at) for query in QUERIES]


@UNHURRIED
@given(steps, st.data())
def test_property_a_snapshot_is_not_changed_by_what_comes_later(
    history: list[int | list[SwitchPunctuation]], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(history)))
    state = SwitchState(dict.fromkeys(QUERIES, USERS))
    live(state, history[:cut])
    snapshot = state.snapshot()
    kept = json.dumps(snapshot)
    restored = restore_switches(snapshot)
    live(state, history[cut:])
    live(restored, history[cut:])
    assert json.dumps(snapshot) == kept
