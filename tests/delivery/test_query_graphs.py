"""A policy that changes reaches the queries it spawned: same, rewritten or withdrawn; none outlives its policy."""

from __future__ import annotations

import pytest
from delivery_samples import LTA, PRESS, filtered, framework, mapped, names, obligation, policy, windowed
from hypothesis import given
from hypothesis import strategies as st

from headgate.delivery import AccessRequest, Duties, Verdict
from headgate.delivery.authorise import authorise
from headgate.errors import InputError
from headgate.rewrite.change import Effect
from headgate.rewrite.obligation.graph import WindowsRule

WINDOW = windowed(3, 2, "rain:sum", "wind:avg")
SUM = "SELECT sum(rain) FROM weather [ROWS {}, SLIDE 2]"


def test_a_change_that_makes_no_difference_lets_the_query_go_on() -> None:
    system = framework(policy("p", filtered("rain > 5")))
    answer = system.ask("SELECT rain FROM weather WHERE rain > 9")
    (found,) = system.point.change_policies([policy("p", filtered("rain > 7"))])
    assert (found.effect, found.uri) == (Effect.SAME, answer.uri)
    system.rain(8, 10)
    assert names(system.rows(answer), "rain") == [10]


def test_narrower_or_wider_is_rewritten_under_the_same_handle() -> None:
    system = framework(policy("p", filtered("rain > 5")))
    answer = system.ask()
    system.rain(4, 6, 9)
    assert names(system.rows(answer), "rain") == [6, 9]
    (narrower,) = system.point.change_policies([policy("p", filtered("rain > 8"), mapped("rain"))])
    system.rain(4, 6, 9, start=10)
    assert system.rows(answer)[2:] == [{"rain": 9}]
    (wider,) = system.point.change_policies([policy("p")])
    system.rain(4, start=20)
    assert system.rows(answer)[3:] == [{"ts": 20_000_000, "rain": 4, "wind": 8, "station": "a"}]
    assert (narrower.effect, wider.effect, answer.handle.closed) == (Effect.REWRITTEN, Effect.REWRITTEN, None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"remove": ["p"]}, "no policy permits"),
        ({"put": [policy("p", effect="Deny")]}, "`p` denies"),
        ({"put": [policy("another", effect="Deny")]}, "`another` denies"),
        ({"put": [policy("p", filtered("rain < 3"))]}, "EMPTY"),
        ({"put": [policy("p", mapped("wind"))]}, "does not authorise"),
        ({"put": [policy("p", filtered("nonsense"))]}, "cannot be met"),
        ({"put": [policy("p", obligation("urn:flowers"))]}, "nobody can carry out"),
    ],
    ids=["removed", "denied", "denied by another", "empty", "the map", "broken", "a duty"],
)
def test_denied_is_withdrawn_and_the_handle_closes_with_the_reason(change, said: str) -> None:
    system = framework(policy())
    answer = system.ask("SELECT rain FROM weather WHERE rain > 4")
    system.rain(5)
    (found,) = system.point.change_policies(**change)
    assert found.effect is Effect.WITHDRAWN
    assert said in answer.handle.closed
    system.rain(6, start=5)
    assert (system.engine.count, len(system.point.graphs)) == (0, 0)
    assert answer.handle.read().rows == (), "what was not read is not read any more"


def test_windows_begin_anew_after_a_rewrite() -> None:
    # What was withheld when it arrived is never revealed because a policy was widened.
    system = framework(policy("p", filtered("rain > 5"), windowed(2, 2, "rain:sum")))
    answer = system.ask()
    system.rain(1, 9)
    system.point.change_policies([policy("p", filtered("rain > 0"), windowed(2, 2, "rain:sum"))])
    system.rain(3, 4, start=10)
    assert names(system.rows(answer), "sum(rain)") == [7]


def test_only_queries_that_the_change_can_concern_are_decided_again() -> None:
    system = framework(policy("p"), policy("q", user="press"), policy("r", stream="traffic"))
    mine, theirs = system.ask(), system.ask(user=PRESS)
    other = system.ask(stream="traffic")
    found = system.point.change_policies([policy("q", mapped("rain"), user="press")])
    assert [one.uri for one in found] == [theirs.uri]
    found = system.point.change_policies([policy("everybody", mapped("rain"), user=None)])
    assert {one.uri for one in found} == {mine.uri, theirs.uri}
    assert system.point.change_policies(remove=["r"])[0].uri == other.uri


def test_a_duty_is_done_once_for_each_handle_unless_it_is_another() -> None:
    first, second = (obligation("headgate:obligation:log", ("text", text)) for text in ("a", "b"))
    system = framework(policy("p", first))
    system.ask()
    system.point.change_policies([policy("p", first, mapped("rain"))])
    assert [one.values["text"] for one in system.point.duties.records] == [["a"]]
    system.point.change_policies([policy("p", first, second)])
    assert [one.values["text"] for one in system.point.duties.records] == [["a"], ["b"]]


def test_a_broken_change_leaves_everything_as_it_was() -> None:
    system = framework(policy("p"))
    answer = system.ask()
    for change in ({"put": [policy("q"), policy("q")]}, {"remove": ["nobody"]}):
        with pytest.raises(InputError):
            system.point.change_policies(**change)
    assert (system.point.version, answer.handle.closed, system.engine.count) == (0, None, 1)


def test_an_engine_that_fails_withdraws() -> None:
    system = framework(policy("p"))
    answer = system.ask()
    live = system.point.graphs.find(answer.uri)

    def fail(_) -> None:
        raise RuntimeError("a value of the data")

    live.running.replace = fail
    (found,) = system.point.change_policies([policy("p", mapped("rain"))])
    assert (found.effect, answer.handle.closed) == (Effect.WITHDRAWN, "the engine failed: RuntimeError")


@pytest.mark.parametrize("mistake", [AttributeError, AssertionError, RuntimeError, OSError, InputError])
def test_a_query_that_cannot_be_decided_again_is_withdrawn_and_the_others_follow(
    mistake: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    system = framework(policy("p", user=None))
    mine, theirs = system.ask(), system.ask(user=PRESS)

    def failing_for_lta(access, *others):
        if access.user == LTA:
            raise mistake("a value of the data")
        return authorise(access, *others)

    monkeypatch.setattr("headgate.delivery.enforcement_point.authorise", failing_for_lta)
    system.point.change_policies([policy("p", mapped("rain"), user=None)])
    assert mine.handle.closed == f"it could not be decided again: {mistake.__name__}"
    system.rain(4)
    assert mine.handle.read().rows == ()
    assert system.rows(theirs) == [{"rain": 4}]


def test_a_closed_handle_takes_nothing_whatever_the_engine_sends() -> None:
    system = framework(policy("p"))
    answer = system.ask()
    system.point.graphs.find(answer.uri).running.stop = lambda: None
    system.point.change_policies(remove=["p"])
    system.rain(1)
    assert answer.handle.read().rows == ()


# Several windows of one user


@pytest.mark.parametrize("single", ["by the policy", "by the platform"])
def test_one_window_at_a_time(single: str) -> None:
    duties = [WINDOW, obligation("headgate:obligation:single-window")] if single == "by the policy" else [WINDOW]
    rule = WindowsRule.SINGLE if single == "by the platform" else WindowsRule.CHECKED
    system = framework(policy("p", *duties), policy("q", *duties, user="press"), windows=rule)
    first = system.ask(SUM.format(3))
    second = system.ask(SUM.format(3))
    assert second.verdict is Verdict.DENIED
    assert first.uri in second.reasons[0]
    assert system.ask(SUM.format(4), user=PRESS).handle, "another user's windows are another user's"
    system.point.close(first.uri, "lta")
    assert system.ask(SUM.format(4)).handle


def test_windows_that_together_reveal_a_tuple_are_refused() -> None:
    # Sizes 3, 4 and 5 by a step of 2: section 3.4 of the paper.
    system = framework(policy("p", WINDOW))
    first = system.ask(SUM.format(3))
    for size in (4, 5):
        refused = system.ask(SUM.format(size))
        assert refused.verdict is Verdict.DENIED
        assert "reveal" in refused.reasons[0]
        assert first.uri in refused.reasons[0]
    assert system.ask("SELECT avg(wind) FROM weather [ROWS 4, SLIDE 2]").handle, "another column is another matter"


def test_windows_that_reveal_nothing_may_be_open_together() -> None:
    system = framework(policy("p", windowed(4, 4, "rain:sum")))
    queries = [f"SELECT sum(rain) FROM weather [ROWS {size}, SLIDE {size}]" for size in (4, 8, 4)]
    assert [system.ask(query).verdict for query in queries] == [Verdict.GRANTED] * 3


def test_windows_of_rows_that_begin_elsewhere_are_compared_in_every_way() -> None:
    least = obligation("headgate:obligation:min-group", ("headgate:obligation:min-group-count", 3))
    system = framework(policy("p", windowed(4, 2, "rain:sum"), least))
    assert system.ask(SUM.format(4)).handle
    assert system.ask(SUM.format(4)).handle, "the same tuples, the same windows"
    system.rain(1)
    refused = system.ask(SUM.format(4))
    assert refused.verdict is Verdict.DENIED, "one tuple later the difference of two windows is of two tuples"
    assert "combinations of 2 tuples" in refused.reasons[0]


def test_windows_of_rows_that_begin_at_many_places_are_not_compared_but_refused() -> None:
    system = framework(policy("p", windowed(4, 4, "rain:sum")))
    four = "SELECT sum(rain) FROM weather [ROWS 4, SLIDE 4]"
    assert system.ask(four).handle
    system.rain(1)
    assert system.ask(four).handle, "a difference of two tuples is allowed here"
    system.rain(2, start=10)
    assert "begin at different tuples" in system.ask(four).reasons[0]


def test_windows_of_time_begin_alike_whenever_they_are_asked_for() -> None:
    system = framework(policy("p", windowed(10, 10, "rain:sum", kind="time")))
    ten = "SELECT sum(rain) FROM weather [RANGE 10 s]"
    assert system.ask(ten).handle
    system.rain(1)
    assert system.ask(ten).handle


def test_windows_over_tuples_that_may_be_read_anyway_are_not_compared() -> None:
    system = framework(policy("p"))
    assert [system.ask(SUM.format(size)).verdict for size in (3, 4, 5)] == [Verdict.GRANTED] * 3


def test_a_change_that_brings_windows_into_conflict_withdraws_one() -> None:
    system = framework(policy("p"))
    answers = [system.ask(SUM.format(size)) for size in (3, 4)]
    found = system.point.change_policies([policy("p", windowed(3, 2, "rain:sum"))])
    assert {one.effect for one in found} == {Effect.SAME, Effect.WITHDRAWN}
    assert sum(one.handle.closed is None for one in answers) == 1


# Handles are always as if they had been asked for just now

CONDITIONS = ["rain > 5", "rain < 3", "wind = 4", "rain = self.district", "broken >"]
OBLIGATIONS = st.one_of(
    st.sampled_from(CONDITIONS).map(filtered),
    st.sets(st.sampled_from(["ts", "rain", "wind"]), min_size=1).map(lambda one: mapped(*sorted(one))),
    st.sampled_from([WINDOW, windowed(2, 1, "rain:max"), windowed(5, 5, "rain:avg", kind="time")]),
    st.sampled_from([obligation("headgate:obligation:log"), obligation("urn:unknown")]),
)
POLICIES = st.builds(
    lambda name, duties, user, stream, effect: policy(name, *duties, user=user, stream=stream, effect=effect),
    st.sampled_from("abc"),
    st.lists(OBLIGATIONS, max_size=3),
    st.sampled_from(["lta", "press", None]),
    st.sampled_from(["weather", "traffic", None]),
    st.sampled_from(["Permit", "Permit", "Permit", "Deny"]),
)
QUERIES = st.sampled_from(
    [
        None,
        "SELECT rain FROM weather",
        "SELECT rain, wind FROM weather WHERE rain > 6",
        "SELECT wind FROM weather WHERE rain > 1 AND rain < 9",
        SUM.format(3),
        "SELECT max(rain), sum(rain) FROM weather [ROWS 6, SLIDE 3]",
        "SELECT avg(rain) FROM weather [RANGE 5 s]",
    ]
)


@given(
    st.lists(st.tuples(QUERIES, st.sampled_from([LTA, PRESS])), max_size=4),
    st.lists(st.one_of(POLICIES, st.sampled_from("abc")), max_size=6),
)
def test_property_handles_are_what_a_fresh_request_would_get(requests, changes) -> None:
    system = framework(policy("a"), policy("b", user="press"), duties=Duties())
    answers = [(query, user, system.ask(query, user=user)) for query, user in requests]
    for change in changes:
        if not isinstance(change, str):
            system.point.change_policies([change])
        elif change in system.point.policies.current.policies:
            system.point.change_policies(remove=[change])
        for query, user, answer in answers:
            if answer.handle is None:
                continue
            fresh = authorise(
                AccessRequest(user, "weather", query), system.point.policies.current, system.point.streams
            )
            may = fresh.plan is not None and not system.point.duties.missing(fresh.duties)
            if answer.handle.closed is None:
                assert may
                assert system.point.graphs.find(answer.uri).query.plan == fresh.plan
            elif may:
                # Once withdrawn it stays so: the user asks again, and gets a handle.
                assert system.point.graphs.find(answer.uri) is None
    assert system.engine.count == len(system.point.graphs)
