"""The timeline decides as the reference does: in any order of arrival, wherever it is cut, and after forgetting."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from timeline_cases import POOL, QUERIES, TIMES, USERS, Both, answers, carried, cells, seeds, stream

from headgate.decision.timeline import Cell, Timeline, from_json, to_json
from headgate.model.punctuation import Kind, Punctuation, SubjectModel

when = st.sampled_from(TIMES)


@given(carried, seeds, st.booleans())
def test_property_equals_the_reference_in_any_order_of_arrival(said, seed, retroactive):
    both = Both(retroactive)
    for place, one in enumerate(said):
        both.add(*one)
        if place % 4 == 0:
            # Tables are made now, and must be made anew where later ones fall before what they cover.
            both.check(seed + place, count=2)
    both.check(seed)


@given(carried, seeds, st.booleans(), st.integers(0, 14), st.integers(0, 14), when)
def test_property_a_snapshot_restored_anywhere_decides_alike(said, seed, retroactive, cut, forgetting, horizon):
    both = Both(retroactive)
    for place, (name, one) in enumerate(said):
        if place == forgetting:
            both.timeline.forget_before(horizon)
        if place == cut:
            both.timeline = from_json(json.loads(json.dumps(to_json(both.timeline), allow_nan=False)))
        both.add(name, one, watermark=horizon if place >= forgetting else None)
    restored = from_json(json.loads(json.dumps(to_json(both.timeline), allow_nan=False)))
    assert restored.horizon == both.timeline.horizon
    assert to_json(restored) == to_json(both.timeline)
    both.timeline = restored
    both.check(seed, since=horizon)


@given(st.lists(carried, max_size=3), seeds, st.booleans(), st.lists(when, min_size=3, max_size=3))
def test_property_forgetting_changes_nothing_from_the_horizon_on(epochs, seed, retroactive, horizons):
    both = Both(retroactive)
    horizon = -1
    for said, next_horizon in zip(epochs, sorted(horizons), strict=False):
        for name, one in said:
            both.add(name, one, watermark=horizon)
        before = len(both.timeline)
        both.timeline.forget_before(horizon := next_horizon)
        assert len(both.timeline) <= before
        both.check(seed, since=horizon, count=4)
        for cell, now in cells(seed, both.streams["S1"], 4):
            if cell.time < horizon:
                assert_nothing_more(both, cell, now)
        assert not both.timeline.version.users("q1", USERS, horizon - 1)


@given(st.lists(carried, max_size=3), seeds, st.booleans(), st.lists(st.tuples(when, when), min_size=3, max_size=3))
def test_property_streams_forget_each_for_itself(epochs, seed, retroactive, steps):
    """A stream that lags behind is judged by all that was said in it, though another has forgotten."""
    both = Both(retroactive)
    horizons = {"S1": -1, "S2": -1}
    for said, step in zip(epochs, steps, strict=False):
        for name, one in said:
            both.add(name, one, watermark=horizons[name])
        horizons = {name: max(horizons[name], at) for name, at in zip(horizons, step, strict=True)}
        both.timeline.forget_before(min(horizons.values()), horizons)
        both.timeline = from_json(json.loads(json.dumps(to_json(both.timeline), allow_nan=False)))
        for name, horizon in horizons.items():
            for cell, now in cells(seed, both.streams[name], 6):
                if cell.time >= horizon:
                    assert answers(both.timeline.version, cell, now) == both.answers(cell, now)
                else:
                    assert_nothing_more(both, cell, now)


def assert_nothing_more(both: Both, cell: Cell, now: int) -> None:
    """What lies before the horizon is withheld where anything was said of it; never is more given than was."""
    found, wanted = answers(both.timeline.version, cell, now), both.answers(cell, now)
    assert all(mine <= theirs for mine, theirs in zip(found, wanted, strict=True))
    assert not found[0]


@given(carried, st.lists(carried, min_size=1, max_size=2), seeds, st.booleans(), when)
def test_property_versions_never_change(said, later, seed, retroactive, horizon):
    both = Both(retroactive)
    for one in said:
        both.add(*one)
    version = both.timeline.version
    asked = [(cell, now) for one in both.streams.values() for cell, now in cells(seed, one, 6)]
    # Half of the answers are asked for the first time only after the timeline has gone on.
    early = [answers(version, *one) for one in asked[::2]]
    for more in later:
        for one in more:
            both.add(*one)
        both.timeline.forget_before(horizon)
    assert [answers(version, *one) for one in asked[::2]] == early
    fresh = Both(retroactive)
    for one in said:
        fresh.add(*one)
    for one in asked:
        assert answers(version, *one) == fresh.answers(*one)


@given(carried, st.lists(when, max_size=14), seeds, st.booleans())
def test_property_late_ones_count_at_the_watermark(said, marks, seed, retroactive):
    both = Both(retroactive)
    for place, (name, one) in enumerate(said):
        both.add(name, one, watermark=marks[place] if place < len(marks) else None)
    both.check(seed)


@given(carried, st.sampled_from(POOL), seeds, st.booleans(), when)
def test_property_late_ones_only_take_away(said, late, seed, retroactive, ahead):
    both = Both(retroactive)
    for one in said:
        both.add(*one)
    before = both.timeline.version
    punctuation = replace(late, at=ahead - 1)
    both.add("S1", punctuation, watermark=ahead)
    after = both.timeline.version
    for one in both.streams.values():
        for cell, now in cells(seed, one):
            # From the watermark on a late `+` gives, as any other; to what came before it never does.
            if cell.time <= ahead or not punctuation.positive:
                for old, new in zip(answers(before, cell, now), answers(after, cell, now), strict=True):
                    assert new <= old
    for query in QUERIES:
        for at in range(ahead + 1):
            assert after.users(query, USERS, at) <= before.users(query, USERS, at)


switched = st.lists(st.tuples(when, st.sampled_from(USERS[:2]), st.sampled_from([True, True, False])), max_size=6)


@given(switched, when, when, st.sampled_from([USERS[:1], USERS[:2], USERS]), when)
def test_property_on_throughout_a_span_is_on_at_each_of_its_times(said, one, other, subscribers, horizon):
    timeline = Timeline()
    for at, user, positive in said:
        timeline.add(stream("S1"), Punctuation(Kind.QUERY, (user,), positive, at, SubjectModel.USERS, "q1"))
    timeline.forget_before(horizon)
    version, span = timeline.version, (min(one, other), max(one, other))
    present = [version.users("q1", subscribers, at) for at in range(span[0], span[1] + 1)]
    assert version.on_throughout("q1", subscribers, span) == all(present)
    assert version.on_throughout("q1", subscribers, span, every=True) == all(
        here == frozenset(subscribers) for here in present
    )
