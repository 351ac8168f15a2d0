"""The interpreter live: watermarks, lateness, late elements, idle streams (semantics.md, section 1)."""

from __future__ import annotations

import ast
import json

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.model.datatype import DataType
from headgate.model.element import Element, Tuple
from headgate.model.instant import SECOND
from headgate.model.punctuation import Kind, Punctuation, SubjectModel
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.reference.interpreter import Interpreter
from headgate.scenario.system import System

COLUMNS = (Column("ts", DataType.TIMESTAMP), Column("x", DataType.INT))
SELECT, COUNT = "SELECT x FROM S", "SELECT count(*) AS x FROM S [RANGE 10 s]"


def tup(second: float, x: int = 0, stream: str = "S") -> tuple[str, Element]:
    time = int(second * SECOND)
    return stream, Tuple(time, (time, x))


def dsp(second: float, positive: bool, immediate: bool = False, roles=("r",)) -> tuple[str, Element]:
    return "S", Punctuation(Kind.DATA, tuple(roles), positive, int(second * SECOND), immediate=immediate)


def switch(second: float, positive: bool, user: str = "u") -> tuple[str, Element]:
    return "S", Punctuation(Kind.QUERY, (user,), positive, int(second * SECOND), SubjectModel.USERS, query="q")


class Live:
    """A query over the streams S and T, fed by the epoch."""

    def __init__(self, cql: str, punctuated: bool = False, **options) -> None:
        streams = {name: options.pop(name, {}) for name in ("S", "T")}
        catalog = StreamCatalog(StreamSchema(name, COLUMNS, **{**options, **own}) for name, own in streams.items())
        query = Query("q", "u", ("u",), parse_cql(cql, catalog), punctuated=punctuated)
        system = System(catalog, {"u": User("u", frozenset(["r"]))}, (query,))
        self.interpreter = Interpreter(system, live=True)

    def epoch(self, *elements: tuple[str, Element], at: int = 0) -> list[tuple[float, object]]:
        """Feed an epoch; all results so far, by second and value."""
        self.interpreter.epoch(elements, at * SECOND)
        return self.results

    def finish(self) -> list[tuple[float, object]]:
        self.interpreter.finish()
        return self.results

    @property
    def results(self) -> list[tuple[float, object]]:
        return [(one.time / SECOND, one.row["x"]) for one in self.interpreter.outcomes["q", "u"].results]

    @property
    def late(self) -> list[object]:
        """The values that went to the dead letters."""
        assert all(one.reason == "behind the watermark" for one in self.interpreter.rejected)
        return [ast.literal_eval(one.element)["x"] for one in self.interpreter.rejected]


# The watermark


def test_a_tuple_behind_the_watermark_goes_to_the_dead_letters() -> None:
    live = Live(SELECT)
    live.epoch(tup(10, 1))
    assert live.epoch(tup(9, 2), tup(10, 3), tup(11, 4)) == [(10, 1), (10, 3), (11, 4)]
    assert live.late == [2]
    assert live.interpreter.tuples["S"] == 3, "a late one is not counted as taken in"
    assert [one.stream for one in live.interpreter.rejected] == ["S"]


def test_the_watermark_is_that_of_the_end_of_the_previous_epoch() -> None:
    live = Live(SELECT)
    assert live.epoch(tup(10, 1), tup(2, 2)) == [(2, 2), (10, 1)], "in one epoch nothing is late"
    assert live.late == []
    live.epoch(tup(3, 3))
    assert live.late == [3]


def test_lateness_lets_a_tuple_be_late() -> None:
    live = Live(SELECT, lateness=5 * SECOND)
    live.epoch(tup(10, 1))
    live.epoch(tup(5, 2), tup(4.999, 3))
    assert live.late == [3]
    assert live.finish() == [(5, 2), (10, 1)]


def test_each_stream_has_its_own_watermark() -> None:
    live = Live("SELECT x FROM S UNION ALL SELECT x FROM T")
    live.epoch(tup(100, 1))
    assert (1, 2) in live.epoch(tup(1, 2, "T"))
    assert live.late == []


def test_a_late_tuple_does_not_move_the_watermark_back() -> None:
    live = Live(SELECT)
    live.epoch(tup(10))
    live.epoch(tup(5, 1))
    live.epoch(tup(9, 2))
    assert live.late == [1, 2]


# When results are released


def test_without_lateness_a_selection_gives_its_result_at_once() -> None:
    assert Live(SELECT).epoch(tup(10, 1)) == [(10, 1)]


def test_with_lateness_a_result_waits_until_the_watermark_reaches_its_time() -> None:
    live = Live(SELECT, lateness=5 * SECOND)
    assert live.epoch(tup(10, 1)) == []
    assert live.epoch(tup(14, 2)) == [], "the watermark is at 5"
    assert live.epoch(tup(15, 3)) == [], "the watermark is at 9 while this epoch works"
    assert live.epoch() == [(10, 1)], "now it is at 10, which reaches the first"
    assert live.epoch(tup(100)) == [(10, 1)]
    assert live.epoch() == [(10, 1), (14, 2), (15, 3)]


def test_with_lateness_results_come_in_the_order_of_time() -> None:
    live = Live(SELECT, lateness=5 * SECOND)
    live.epoch(tup(12, 1))
    live.epoch(tup(8, 2), tup(10, 3))
    live.epoch(tup(30))
    assert live.epoch() == [(8, 2), (10, 3), (12, 1)]


def test_a_window_closes_when_the_watermark_reaches_its_end() -> None:
    live = Live(COUNT)
    live.epoch(tup(1), tup(9))
    assert live.epoch(tup(10)) == [], "the watermark is at 9"
    assert live.epoch() == [(10, 2)], "now it is at 10, which is the end"
    assert live.epoch(tup(19)) == [(10, 2)]
    assert live.finish() == [(10, 2), (20, 2)]


def test_a_window_takes_what_is_late_but_not_too_late() -> None:
    live = Live(COUNT, lateness=5 * SECOND)
    live.epoch(tup(9))
    live.epoch(tup(14))
    assert live.epoch(tup(9.5)) == [], "the watermark is at 9"
    live.epoch(tup(15))
    assert live.epoch() == [(10, 2)]
    live.epoch(tup(9.9, 7))
    assert live.late == [7]
    assert live.finish() == [(10, 2), (20, 2)]


def test_at_the_end_everything_is_released() -> None:
    live = Live(SELECT, lateness=3600 * SECOND)
    assert live.epoch(tup(10, 1), tup(20, 2)) == []
    assert live.finish() == [(10, 1), (20, 2)]


def test_a_join_pairs_across_epochs() -> None:
    live = Live("SELECT S.x + T.x AS x FROM S [RANGE 5 s], T [RANGE 5 s]")
    live.epoch(tup(10, 1))
    assert live.epoch(tup(12, 2, "T"), tup(16, 4, "T")) == [(12, 3)]
    assert live.epoch(tup(17, 8)) == [(12, 3), (17, 10), (17, 12)]


def test_a_window_over_two_streams_waits_for_both() -> None:
    live = Live("SELECT count(*) AS x FROM S [RANGE 10 s], T [RANGE 10 s]")
    live.epoch(tup(1), tup(2, stream="T"))
    assert live.epoch(tup(50)) == []
    assert live.epoch() == [], "T may still bring something"
    live.epoch(tup(50, stream="T"))
    assert live.epoch() == [(10, 1)]


# Idle streams


def test_an_idle_stream_holds_the_others_back_until_its_timeout() -> None:
    live = Live("SELECT count(*) AS x FROM S [RANGE 10 s], T [RANGE 10 s]", idle_timeout=60 * SECOND)
    live.epoch(tup(1), tup(2, stream="T"), at=1_000)
    live.epoch(tup(50), at=1_010)
    assert live.epoch(tup(51), at=1_059) == []
    assert live.epoch(tup(52), at=1_060) == [(10, 1)]


def test_an_idle_stream_that_speaks_again_is_waited_for_again() -> None:
    live = Live("SELECT count(*) AS x FROM S [RANGE 10 s], T [RANGE 10 s]", T={"idle_timeout": 60 * SECOND})
    live.epoch(tup(1), tup(2, stream="T"), at=1_000)
    live.epoch(tup(50), tup(3, stream="T"), at=1_050)
    assert live.epoch(tup(51), at=1_100) == [], "it was heard 50 seconds before"
    assert live.epoch(tup(52), at=1_110) == [(10, 2)]


def test_a_stream_that_never_sent_anything_stops_holding_the_others_back() -> None:
    live = Live("SELECT x FROM S UNION ALL SELECT x FROM T", T={"lateness": 5 * SECOND, "idle_timeout": 60 * SECOND})
    assert live.epoch(tup(1, 1), at=1_000) == []
    assert live.epoch(tup(2, 2), at=1_059) == []
    assert live.epoch(tup(3, 3), at=1_060) == [(1, 1), (2, 2), (3, 3)]
    assert live.epoch(tup(4, 4), tup(9, 5, "T"), at=1_061) == [(1, 1), (2, 2), (3, 3)], "it is waited for again"


def test_windows_over_a_stream_that_never_sent_anything_close_after_its_timeout() -> None:
    live = Live("SELECT count(*) AS x FROM S [RANGE 10 s] UNION ALL SELECT count(*) AS x FROM T [RANGE 10 s]")
    live.epoch(tup(1), at=0)
    live.epoch(tup(50), at=10)
    assert live.epoch(at=100) == [], "T has no timeout"
    live = Live(
        "SELECT count(*) AS x FROM S [RANGE 10 s] UNION ALL SELECT count(*) AS x FROM T [RANGE 10 s]",
        T={"idle_timeout": 60 * SECOND},
    )
    live.epoch(tup(1), at=0)
    live.epoch(tup(50), at=10)
    assert live.epoch(at=59) == []
    assert live.epoch(at=60) == [(10, 1)]


def test_without_a_timeout_a_silent_stream_is_waited_for_for_ever() -> None:
    live = Live("SELECT count(*) AS x FROM S [RANGE 10 s], T [RANGE 10 s]")
    live.epoch(tup(1), tup(2, stream="T"), at=0)
    live.epoch(tup(50), at=10)
    assert live.epoch(tup(51), at=10**9) == []
    assert live.finish() == [(10, 1)]


def test_an_idle_stream_with_lateness_does_not_hold_results_back() -> None:
    live = Live("SELECT x FROM S UNION ALL SELECT x FROM T", T={"lateness": 5 * SECOND, "idle_timeout": 60 * SECOND})
    live.epoch(tup(1, 1, "T"), at=0)
    assert live.epoch(tup(30, 2), at=10) == []
    assert live.epoch(at=60) == [(1, 1), (30, 2)]


# Late punctuations only take away


def test_a_punctuation_in_time_gives() -> None:
    live = Live(SELECT, governed=True)
    live.epoch(tup(5, 1), dsp(10, positive=True))
    assert live.epoch(tup(10, 2), tup(11, 3)) == [(11, 3)]


def test_a_late_grant_counts_from_the_watermark_on() -> None:
    live = Live(SELECT, governed=True)
    live.epoch(tup(10, 1))
    assert live.epoch(dsp(5, positive=True), tup(10, 2), tup(11, 3)) == [(11, 3)]
    assert live.late == [], "a punctuation is never a dead letter for being late"
    assert live.interpreter.punctuations["S"] == 1


def test_a_late_immediate_grant_is_deferred() -> None:
    live = Live(COUNT, governed=True, retroactive=True)
    live.epoch(tup(1), tup(4))
    live.epoch(dsp(2, positive=True, immediate=True), tup(5))
    assert live.finish() == [(10, 1)], "held tuples are not given away by it"


def test_a_late_denial_takes_away_from_the_watermark_on_also_what_is_held() -> None:
    live = Live(COUNT, governed=True)
    live.epoch(dsp(0, positive=True), tup(1), tup(5))
    live.epoch(dsp(2, positive=False), tup(6))
    assert live.finish() == [], "all three are held, and what is held is taken away"


def test_a_denial_in_time_is_deferred_unless_it_says_immediate() -> None:
    deferred = Live(COUNT, governed=True)
    deferred.epoch(dsp(0, positive=True), tup(1), tup(5), dsp(5, positive=False), tup(6))
    assert deferred.finish() == [(10, 2)]
    immediate = Live(COUNT, governed=True)
    immediate.epoch(dsp(0, positive=True), tup(1), tup(5), dsp(5, positive=False, immediate=True), tup(6))
    assert immediate.finish() == []


def test_a_late_denial_does_not_recall_what_was_delivered() -> None:
    live = Live(SELECT, governed=True)
    live.epoch(dsp(0, positive=True), tup(10, 1))
    assert live.epoch(dsp(5, positive=False), tup(11, 2)) == [(10, 1)]


def test_a_late_grant_to_others_takes_nothing_from_what_is_held() -> None:
    live = Live(COUNT, governed=True)
    live.epoch(dsp(0, positive=True), tup(1), tup(5))
    live.epoch(dsp(2, positive=True, roles=("other",)), tup(6))
    assert live.finish() == [(10, 2)], "it is deferred: the tuples before the watermark stay as they were"


def test_a_late_switch_counts_from_the_watermark_on() -> None:
    live = Live(SELECT, punctuated=True)
    live.epoch(switch(0, positive=True), tup(10, 1))
    assert live.epoch(switch(3, positive=False), tup(10, 2), tup(11, 3)) == [(10, 1), (10, 2)]
    live = Live(SELECT, punctuated=True)
    live.epoch(tup(10, 1))
    assert live.epoch(switch(3, positive=True), tup(10, 2), tup(11, 3)) == [(11, 3)]


# Live and replay


def test_without_anything_late_live_gives_what_replay_gives() -> None:
    elements = [dsp(0, positive=True), *(tup(second, second) for second in range(1, 30)), dsp(31, positive=False)]
    for cql in (SELECT, COUNT, "SELECT sum(x) AS x FROM S [ROWS 4, SLIDE 3]"):
        live = Live(cql, governed=True)
        for begin in range(0, len(elements), 7):
            live.epoch(*elements[begin : begin + 7])
        replayed = Interpreter(live.interpreter.system)
        replayed.epoch(elements)
        replayed.finish()
        expected = [(one.time / SECOND, one.row["x"]) for one in replayed.outcomes["q", "u"].results]
        assert live.finish() == expected
        assert expected


def test_a_late_tuple_is_kept_as_the_json_it_came_as() -> None:
    live = Live(SELECT)
    live.epoch(tup(10, 1))
    live.epoch(tup(9, 2))
    assert json.loads(live.interpreter.rejected[0].element) == {"ts": "1970-01-01T00:00:09.000Z", "x": 2}
