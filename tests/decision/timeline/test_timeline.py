"""Timelines by example: the punctuations of the FENCE paper, and what compaction, late ones and snapshots must keep."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pytest
from timeline_cases import stream

from headgate.decision.timeline import Audience, Cell, Timeline, Tuples, from_json, to_json
from headgate.errors import StoreError
from headgate.model.instant import END_OF_TIME, SECOND, parse_timestamp
from headgate.model.pattern import EVERYTHING, Ids, Names, Range
from headgate.model.punctuation import Kind, Objects, Punctuation, SubjectModel
from headgate.policy.punctuation_pipe import parse_pipe

NOON = parse_timestamp("2026-01-01T12:00:00Z")
S1, S2 = stream("S1"), stream("S2")


def fence(text: str, query: str | None = None) -> Punctuation:
    return parse_pipe(text, date=date(2026, 1, 1), query=query)


def dsp(at: int, *roles: str, positive: bool = True, immediate: bool = False, tuples=EVERYTHING) -> Punctuation:
    return Punctuation(Kind.DATA, roles, positive, at, objects=Objects(tuples=tuples), immediate=immediate)


def roles(timeline: Timeline, time: int, now: int | None = None, tid=None, of=S1) -> set[str]:
    cell = Cell(of, tid, "x", time)
    return set(timeline.version.data_roles(cell, time if now is None else now))


def test_dsp1_opens_a_stream_to_cardiologists_strictly_after_it():
    timeline = Timeline()
    timeline.add(S1, fence("<dsp|S1, *, *|D2|+|12:00:00PM|D>"))
    assert [roles(timeline, NOON + one) for one in (-1, 0, 1)] == [set(), set(), {"D2"}]
    assert roles(timeline, NOON + 1, of=S2) == set()


def test_dsp2_opens_a_range_of_tuples_to_general_physicians():
    timeline = Timeline()
    timeline.add(S1, fence("<dsp|S1, *, *|D2|+|12:00:00PM|D>"))
    timeline.add(S1, fence("<dsp|*, [30, 210], *|D4|+|12:00:01PM|D>"))
    later = NOON + 2 * SECOND
    assert [roles(timeline, later, tid=tid) for tid in (29, 30, 210, 211)] == [{"D2"}, {"D4"}, {"D4"}, {"D2"}]
    # A later `+` for everybody replaces, and the overlay ends there.
    timeline.add(S1, fence("<dsp|S1, *, *|D1|+|12:00:03PM|D>"))
    assert roles(timeline, NOON + 4 * SECOND, tid=30) == {"D1"}
    assert roles(timeline, later, tid=30) == {"D4"}


def test_a_provider_cannot_open_the_stream_of_another():
    timeline = Timeline()
    timeline.add(S2, fence("<dsp|S1, *, *|D2|+|12:00:00PM|D>"))
    assert len(timeline) == 0


def test_qsp1_and_qsp2_give_a_query_roles_on_all_data_and_on_one_stream():
    timeline = Timeline()
    timeline.add(S1, fence("<qsp|null|D1|+|12:00:00PM|D>", "q1"))
    timeline.add(S2, fence("<qsp|S1, *, *|D4|+|12:00:00PM|D>", "q1"))
    nurse = frozenset({"D5"})

    def acting(query, of, time):
        return set(timeline.version.query_roles(query, nurse, Cell(of, None, "x", time), time))

    assert acting("q1", S1, NOON) == {"D5"}
    assert acting("q1", S1, NOON + 1) == {"D1", "D4", "D5"}
    assert acting("q1", S2, NOON + 1) == {"D1", "D5"}
    assert acting("q2", S1, NOON + 1) == {"D5"}


def test_the_roles_of_data_and_query_must_meet():
    timeline = Timeline()
    timeline.add(S1, fence("<dsp|S1, *, *|D4|+|12:00:00PM|D>"))
    timeline.add(S1, fence("<qsp|S1, *, *|D4|+|12:00:05PM|D>", "ward"))
    audiences = [
        Audience("ward", frozenset({"D5"})),
        Audience("other", frozenset({"D5"})),
        Audience("h", frozenset({"D4"})),
    ]
    tuples = Tuples.of([NOON, NOON + SECOND, NOON + 9 * SECOND])
    seen = timeline.version.visible(S1, ["x"], audiences, tuples)["x"]
    assert [bin(seen.bitmaps[number]) for number in seen.numbers] == ["0b0", "0b100", "0b101"]


def test_an_immediate_one_takes_back_what_is_held_and_gives_only_where_declared():
    for retroactive, gained in ((False, set()), (True, {"D1"})):
        timeline, one = Timeline(), stream("S1", retroactive)
        timeline.add(one, dsp(1, "D2"))
        timeline.add(one, dsp(10, "D1", immediate=True))
        assert roles(timeline, 5, now=10, of=one) == {"D2"}
        assert roles(timeline, 5, now=11, of=one) == gained
        assert roles(timeline, 11, of=one) == {"D1"}


def test_a_deferred_one_leaves_what_is_held():
    timeline = Timeline()
    timeline.add(S1, dsp(1, "D2"))
    timeline.add(S1, dsp(10, "D2", positive=False))
    assert roles(timeline, 10, now=99) == {"D2"}
    assert roles(timeline, 11, now=99) == set()


def test_switches_start_off_and_a_minus_wins_a_tie():
    timeline = Timeline()
    for at, user, positive in ((1, "u1", True), (3, "u1", True), (3, "u1", False), (5, "u2", True)):
        timeline.add(S1, Punctuation(Kind.QUERY, (user,), positive, at, SubjectModel.USERS, "q1"))
    found = [sorted(timeline.version.users("q1", ["u1", "u2"], at)) for at in (1, 2, 4, 6)]
    assert found == [[], ["u1"], [], ["u2"]]
    assert timeline.version.users("q1", ["u1"], 6) == frozenset()


def test_late_ones_count_at_the_watermark():
    timeline = Timeline()
    timeline.add(S1, dsp(1, "D1", "D2"))
    timeline.add(S1, dsp(2, "D1", positive=False), watermark=10)
    timeline.add(S1, dsp(3, "D3", immediate=True), watermark=10)
    assert roles(timeline, 5, now=10) == {"D1", "D2"}
    assert roles(timeline, 5, now=11) == {"D2"}
    assert roles(timeline, 11) == {"D3"}


def test_what_changes_nothing_adds_no_segment_and_equal_sets_are_one():
    timeline = Timeline()
    for at in range(1_000):
        timeline.add(S1, dsp(at, "D2"))
        timeline.add(S1, dsp(at, "D7", positive=False))
    table, _ = timeline.version.data_table(S1, "x")
    assert len(table.boundaries) == 1  # the first punctuation
    for at in range(1_000, 2_000):
        timeline.add(S1, dsp(at, "D1" if at % 2 else "D2"))
    table, sets = timeline.version.data_table(S1, "x")
    assert len(table) == 1_001
    assert set(sets) == {frozenset(), frozenset({"D1"}), frozenset({"D2"})}


def test_forgetting_keeps_the_last_word_for_each_pattern():
    timeline = Timeline()
    for at in range(0, 10_000, 10):
        timeline.add(S1, dsp(at, f"D{at % 7}"))
        timeline.add(S1, dsp(at + 1, "D9", tuples=Ids((at % 50,))))
        timeline.add(S1, dsp(at + 2, "D9", positive=False, tuples=Range(0, 1)))
        timeline.forget_before(at - 100)
    assert len(timeline) < 150
    assert len(timeline.roles) < 10
    timeline.forget_before(END_OF_TIME)
    # Everything after the last `+` for all tuples: that, one id, one range.
    assert len(timeline) <= 3


def test_names_of_roles_are_forgotten_with_the_punctuations_that_used_them():
    timeline = Timeline()
    for at in range(2_000):
        timeline.add(S1, dsp(at, f"role{at}"))
        timeline.forget_before(at)
    assert len(timeline.roles) < 10
    assert roles(timeline, 2_000) == {"role1999"}


def test_a_punctuation_behind_the_horizon_is_late():
    timeline = Timeline()
    timeline.add(S1, dsp(1, "D1", "D2"))
    timeline.forget_before(10)
    timeline.add(S1, dsp(5, "D1", positive=False))
    assert [roles(timeline, 9), roles(timeline, 10), roles(timeline, 11)] == [set(), {"D1", "D2"}, {"D2"}]
    assert roles(timeline, 10, now=11) == {"D2"}


def test_a_punctuation_at_the_end_of_time_is_kept():
    timeline = Timeline()
    timeline.add(S1, dsp(1, "D1"))
    assert roles(timeline, 2) == {"D1"}
    timeline.add(S1, dsp(2, "D1", positive=False), watermark=END_OF_TIME)
    assert roles(from_json(json.loads(json.dumps(to_json(timeline)))), 2, now=END_OF_TIME + 1) == set()
    assert roles(timeline, 2, now=END_OF_TIME + 1) == set()


def test_a_million_tuples_in_one_call():
    timeline = Timeline()
    for at in range(0, 1_000_000, 10_000):
        timeline.add(S1, dsp(at, "D1" if at % 20_000 else "D2"))
    column = timeline.version.data_roles_of(S1, "x", Tuples.of(np.arange(1_000_000)))
    assert [set(column[row]) for row in (0, 1, 10_000, 10_001)] == [set(), {"D2"}, {"D2"}, {"D1"}]


def test_patterns_read_back_from_a_snapshot_as_they_were():
    timeline = Timeline()
    patterns = (Ids((1, 1.5, "1", float("inf"))), Range(float("-inf"), 2))
    for at, tuples in enumerate(patterns):
        timeline.add(S1, dsp(at, "D1", tuples=tuples))
    names = Objects(attributes=Names(("/x/",)))
    timeline.add(S1, Punctuation(Kind.DATA, ("D1",), True, 9, objects=names))
    body = json.loads(json.dumps(to_json(timeline), allow_nan=False))
    again = from_json(body)
    assert [repr(one) for one in again.data_logs["S1"].words.objects.values] == [
        repr(one) for one in timeline.data_logs["S1"].words.objects.values
    ]


STATEMENT = {"objects": 0, "sign": "+", "et": "D", "subjects": ["D1"]}


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"horizon": None},
        {"data": {"S1": {}}},
        {"data": {"S1": {"objects": [["*", "?", "*"]], "statements": [], "entries": []}}},
        {"data": {"S1": {"objects": [["*", {"regex": "("}, "*"]], "statements": [], "entries": []}}},
        {"data": {"S1": {"objects": [], "statements": [], "entries": [[1, 0]]}}},
        {"data": {"S1": {"objects": [], "statements": [], "entries": [[1 << 70, -1]]}}},
        {"data": {"S1": {"objects": [["*", "*", "*"]], "statements": [STATEMENT], "entries": [[1, -1]]}}},
        {"data": {"S1": {"objects": [["*", "*", "*"]], "statements": [STATEMENT | {"objects": -1}], "entries": []}}},
        {"data": {"S1": {"objects": [["*", "*", "*"]], "statements": [STATEMENT | {"subjects": "D1"}], "entries": []}}},
        {"users": []},
    ],
)
def test_a_broken_snapshot_is_refused(change):
    with pytest.raises(StoreError, match="snapshot"):
        from_json(to_json(Timeline()) | change)


def test_no_snapshot_at_all_is_refused():
    with pytest.raises(StoreError):
        from_json([])
