"""From a request to a handle: decision, obligations, the user's query merged in, duties, and who may read."""

from __future__ import annotations

import pytest
from delivery_samples import (
    LTA,
    PRESS,
    STREAMS,
    WEATHER,
    filtered,
    framework,
    mapped,
    names,
    obligation,
    policy,
    windowed,
)

from headgate.decision.exacml.vocabulary import ACTION_ID, SUBJECT_ID, SUBJECT_ROLE
from headgate.decision.xacml import build_request
from headgate.decision.xacml.identifiers import ACCESS_SUBJECT, ACTION, ENVIRONMENT, RESOURCE, RESOURCE_ID
from headgate.delivery import AccessRequest, Duties, Verdict
from headgate.errors import InputError, UnknownNameError
from headgate.model.subject import User

NOTIFY = obligation("exacml:obligation:notify-owner", ("text", "handed out"))
LOGGED = obligation("headgate:obligation:log", ("text", "noted"))


def test_a_permit_without_obligations_gives_the_stream() -> None:
    system = framework(policy())
    answer = system.ask()
    system.rain(1, 2)
    assert (answer.verdict, answer.warnings) == (Verdict.GRANTED, ())
    assert system.rows(answer) == [
        {"ts": 0, "rain": 1, "wind": 2, "station": "a"},
        {"ts": 1_000_000, "rain": 2, "wind": 4, "station": "a"},
    ]


@pytest.mark.parametrize("prefix", ["exacml", "pCloud"])
def test_obligations_are_the_query_that_runs(prefix: str) -> None:
    duties = (
        filtered("rain > 5", prefix=prefix),
        mapped("ts", "rain", prefix=prefix),
        windowed(3, 2, "rain:avg", "ts:lastval", prefix=prefix),
    )
    system = framework(policy("p", *duties))
    answer = system.ask()
    system.rain(6, 1, 9, 12, 3, 30, 60)
    assert system.rows(answer) == [
        {"last(ts)": 3_000_000, "avg(rain)": 9.0},
        {"last(ts)": 6_000_000, "avg(rain)": 34.0},
    ]


def test_the_users_query_runs_inside_what_is_authorised() -> None:
    system = framework(policy("p", filtered("rain > 5"), mapped("ts", "rain")))
    cql = system.ask("SELECT rain FROM weather WHERE rain > 10")
    xml = system.ask(
        "<UserQuery><Stream name='weather'/>"
        "<Filter><FilterCondition>rain &lt; 10</FilterCondition></Filter></UserQuery>"
    )
    system.rain(3, 7, 20)
    assert (cql.verdict, xml.verdict) == (Verdict.GRANTED, Verdict.PARTIAL)
    assert system.rows(cql) == [{"rain": 20}]
    assert system.rows(xml) == [{"ts": 1_000_000, "rain": 7}]
    assert any("`wind`" in one for one in xml.warnings)
    assert any("`weather.rain > 5` does not hold" in one for one in xml.warnings)


def test_the_answer_shows_the_merged_query_step_by_step() -> None:
    system = framework(policy("p", filtered("rain > 5"), mapped("rain"), windowed(5, 2, "rain:avg")))
    answer = system.ask("SELECT avg(rain) AS mean FROM weather [ROWS 10, SLIDE 2] WHERE rain > 50")
    assert answer.statements.splitlines() == [
        "CREATE INPUT STREAM weather (ts timestamp, rain int, wind int, station string);",
        "CREATE STREAM internal_0;",
        "SELECT * FROM weather WHERE rain > 50 INTO internal_0;",
        "CREATE STREAM internal_1;",
        "SELECT rain FROM internal_0 INTO internal_1;",
        "CREATE OUTPUT STREAM output;",
        "CREATE WINDOW _10tuple (SIZE 10 ADVANCE 2 TUPLES);",
        "SELECT avg(rain) AS mean FROM internal_1[_10tuple] INTO output;",
    ]


def test_empty_gives_no_handle_and_runs_nothing() -> None:
    system = framework(policy("p", filtered("rain > 5"), NOTIFY))
    answer = system.ask("SELECT rain FROM weather WHERE rain < 3")
    assert (answer.verdict, answer.uri, system.engine.count) == (Verdict.EMPTY, None, 0)
    assert "EMPTY" in answer.warnings[0]
    assert not system.point.duties.notices, "nothing was handed out"


@pytest.mark.parametrize(
    ("policies", "said"),
    [
        ([], "no policy permits `read` of `weather` to `lta`"),
        ([policy(user="other")], "no policy permits"),
        ([policy(), policy("no", effect="Deny")], "`no` denies `read` of `weather` to `lta`"),
        ([policy("p", filtered("nothing > 5"))], "unknown column `nothing`"),
        ([policy("p", filtered("rain >"))], "obligation that cannot be met"),
        ([policy("p", filtered("ts > start(x)"))], "unknown event `x`"),
        ([policy("p", mapped("snow"))], "has no column `snow`"),
        ([policy("p", mapped("rain"), mapped("wind"))], "no common attribute"),
        ([policy("p", windowed(5, 2, "rain:median"))], "is not an attribute and its function"),
        ([policy("p", windowed(5, 2, "rain:avg", kind="day"))], "the window type"),
        ([policy("p", windowed(0, 2, "rain:avg"))], "`0` is not a length"),
        ([policy("p", mapped("wind"), windowed(5, 2, "rain:avg"))], "nothing that the map lets through"),
        ([policy("p", obligation("exacml:obligation:stream-map", ("exacml:colour", "x")))], "unknown attribute"),
        ([policy("p", obligation("exacml:obligation:stream-filter"))], "has no"),
        ([policy("p", obligation("urn:send-flowers"))], "nobody can carry out the obligation `urn:send-flowers`"),
    ],
)
def test_what_is_not_permitted_or_not_understood_is_denied(policies, said: str) -> None:
    system = framework(*policies)
    answer = system.ask()
    assert (answer.verdict, answer.handle, system.engine.count) == (Verdict.DENIED, None, 0)
    assert said in answer.reasons[0]


def test_self_in_an_obligation_is_the_users_profile() -> None:
    system = framework(policy("p", filtered("rain = self.district"), user=None))
    mine, nobodys = system.ask(), system.ask(user=PRESS)
    system.rain(6, 7, 8)
    assert names(system.rows(mine), "rain") == [7]
    assert nobodys.handle is None or system.rows(nobodys) == [], "a profile that says nothing matches nothing"


def test_a_profile_that_does_not_fit_the_condition_is_denied() -> None:
    answer = framework(policy("p", filtered("rain = self.district"))).ask(user=User("lta", profile={"district": "x"}))
    assert answer.verdict is Verdict.DENIED


def test_several_permits_all_bind() -> None:
    system = framework(
        policy("a", filtered("rain > 2"), mapped("rain", "wind")), policy("b", filtered("rain < 9"), mapped("rain"))
    )
    answer = system.ask()
    system.rain(1, 5, 12)
    assert system.rows(answer) == [{"rain": 5}]


def test_a_mistake_in_the_users_own_query_is_the_users() -> None:
    system = framework(policy())
    with pytest.raises(InputError, match="unknown column `snow`"):
        system.ask("SELECT snow FROM weather")
    with pytest.raises(InputError, match="not over `weather` alone"):
        system.ask("SELECT cars FROM traffic")
    with pytest.raises(UnknownNameError, match="unknown stream"):
        system.ask(stream="wether")
    assert system.engine.count == 0


# Duties


def test_other_obligations_are_carried_out_and_recorded() -> None:
    system = framework(policy("p", NOTIFY, LOGGED))
    system.ask()
    (notice,) = system.point.duties.notices
    assert (notice.owner, notice.stream, notice.user, notice.text) == ("nea", "weather", "lta", "handed out")
    records = system.point.duties.records
    assert [(one.id, one.problem) for one in records] == [
        ("exacml:obligation:notify-owner", None),
        ("headgate:obligation:log", None),
    ]
    assert records[1].values == {"text": ["noted"]}


def test_the_obligations_of_a_denial_are_carried_out_too() -> None:
    duty = obligation("headgate:obligation:log", ("text", "tried"), on="Deny")
    system = framework(policy("no", duty, effect="Deny"))
    assert system.ask().verdict is Verdict.DENIED
    assert [(one.fulfill_on, one.values) for one in system.point.duties.records] == [("Deny", {"text": ["tried"]})]


def test_an_obligation_that_fails_is_a_refusal() -> None:
    def fail(_) -> None:
        raise OSError("secret path")

    system = framework(policy("p", NOTIFY), duties=Duties({"exacml:obligation:notify-owner": fail}))
    answer = system.ask()
    assert (answer.verdict, system.engine.count) == (Verdict.DENIED, 0)
    assert "could not be carried out: OSError" in answer.reasons[0]
    assert "secret" not in answer.reasons[0]
    assert system.point.duties.records[0].problem


def test_a_handler_of_ones_own() -> None:
    called = []
    system = framework(policy("p", obligation("urn:mail", ("to", "x"))), duties=Duties({"urn:mail": called.append}))
    assert system.ask().verdict is Verdict.GRANTED
    assert called[0].values == {"to": ["x"]}


# Who asks, and who reads


def test_a_handle_is_good_for_its_user_only() -> None:
    system = framework(policy(user=None))
    answer = system.ask()
    system.rain(1)
    system.engine.epoch([])
    assert len(system.point.read(answer.uri, "lta").rows) == 1
    for work in (system.point.read, system.point.close):
        with pytest.raises(UnknownNameError, match="no such handle"):
            work(answer.uri, "press")
    assert answer.handle.closed is None


def test_two_requests_get_two_handles_that_nobody_can_guess() -> None:
    system = framework(policy())
    first, second = system.ask(), system.ask()
    assert first.uri != second.uri
    assert first.uri.startswith("headgate://weather/")
    assert len(first.uri.rpartition("/")[2]) >= 32


def test_a_user_may_close_a_handle() -> None:
    system = framework(policy())
    answer = system.ask()
    system.point.close(answer.uri, "lta")
    assert answer.handle.closed == "closed by its user"
    assert system.engine.count == 0


def document(subject=None, **environment):
    return build_request(
        {
            ACCESS_SUBJECT: subject or {},
            RESOURCE: {RESOURCE_ID: "weather"},
            ACTION: {ACTION_ID: "read"},
            ENVIRONMENT: environment,
        }
    )


def test_a_xacml_request_is_taken_for_the_user_of_the_session() -> None:
    access = AccessRequest.from_document(
        LTA, document({SUBJECT_ID: "lta", SUBJECT_ROLE: ["agency"]}), "SELECT rain FROM weather"
    )
    assert (access.user, access.stream, access.action) == (LTA, "weather", "read")
    assert AccessRequest.from_document(LTA, document()).user is LTA


@pytest.mark.parametrize(
    "request_",
    [
        document({SUBJECT_ID: "press"}),
        document({SUBJECT_ID: ["lta", "press"]}),
        document({SUBJECT_ROLE: ["agency", "admin"]}),
        document({"headgate:subject:district": 8}),
        document(**{"headgate:environment:ip": "192.0.2.1"}),
        build_request({RESOURCE: {RESOURCE_ID: ["weather", "traffic"]}}),
        build_request({}),
    ],
    ids=["another", "two", "roles", "profile", "environment", "two streams", "no stream"],
)
def test_a_xacml_request_that_claims_more_than_the_session_is_refused(request_) -> None:
    with pytest.raises(InputError) as raised:
        AccessRequest.from_document(LTA, request_)
    assert raised.value.hint


def test_the_request_says_numbers_in_both_types() -> None:
    found = AccessRequest(LTA, "weather").document(WEATHER.name).attributes[0].attributes
    by_name = {
        one.attribute_id: [(value.data_type.rpartition("#")[2], value.text) for value in one.values] for one in found
    }
    assert by_name["headgate:subject:district"] == [("integer", "7"), ("double", "7.0")]
    assert STREAMS.stream("WEATHER").name == "weather"
