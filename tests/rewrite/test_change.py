"""A new version of the policies, and what becomes of the queries that run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.decision.decide import Decider
from headgate.errors import InputError
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.policy.model import PolicySet
from headgate.policy.yaml_file import parse_policies
from headgate.rewrite import change
from headgate.rewrite.change import Effect, LiveQueries, meaning, redecide_obligations
from headgate.rewrite.enforce.assert_guarded import UnguardedError
from headgate.rewrite.obligation.graph import authorised_graph
from headgate.rewrite.obligation.merge import merge_obligations
from headgate.rewrite.secure import secure_query
from headgate.testing.systems import GeneratedSystem, policies_over, systems

COLUMNS = (Column("ts", DataType.TIMESTAMP), Column("ward", DataType.INT), Column("rate", DataType.INT))
CATALOG = StreamCatalog([StreamSchema("Vitals", COLUMNS), StreamSchema("Moves", COLUMNS)])
DORA, IVAN = User("dora", frozenset(["Doctor"])), User("ivan", frozenset(["Insurer"]))
OWN = '  - {id: own, subject: {role: Doctor}, object: {streams: [Vitals], where: "ward = 7"}, allow: [read]}\n'
MOVES = "  - {id: moves, subject: {role: Doctor}, object: {streams: [Moves]}, allow: [read]}\n"
AVERAGES = (
    "  - {id: averages, subject: {role: Insurer}, object: {streams: [Vitals], attributes: [rate]}, allow: [avg]}\n"
)


def decider(*policies: str, head: str = "version: 1\n") -> Decider:
    body = "".join(policies)
    return Decider(parse_policies(f"{head}policies:{' []' if not body else ''}\n{body}", CATALOG), CATALOG)


def query(name: str, text: str) -> Query:
    return Query(name, "dora", ("dora", "ivan"), parse_cql(text, CATALOG))


RATES = query("rates", "SELECT ward, rate FROM Vitals")
MOVED = query("moved", "SELECT ward FROM Moves")
MEAN = query("mean", "SELECT avg(rate) FROM Vitals [ROWS 5]")


@pytest.fixture
def live() -> LiveQueries:
    running = LiveQueries(decider(OWN, MOVES, AVERAGES))
    running.register(RATES, [DORA])
    running.register(MOVED, [DORA])
    running.register(MEAN, [DORA, IVAN])
    return running


def effects(answers) -> dict[tuple[str, str], str]:
    return {(one.query, one.user): one.effect.value for one in answers}


def test_what_is_denied_never_lives() -> None:
    running = LiveQueries(decider(OWN))
    found = running.register(RATES, [DORA, IVAN])
    assert [found[name].verdict.denied for name in ("dora", "ivan")] == [False, True]
    assert len(running) == 1
    with pytest.raises(InputError):
        running.secured("rates", "ivan")


def test_a_narrower_policy_rewrites_what_it_touches_and_nothing_else(live: LiveQueries) -> None:
    narrower = OWN.replace("ward = 7", "ward = 7 AND rate < 100")
    before = live.secured("moved", "dora")
    answers = live.change(decider(narrower, MOVES, AVERAGES))
    assert effects(answers) == {("rates", "dora"): "rewritten", ("mean", "dora"): "rewritten"}
    assert live.secured("moved", "dora") is before
    assert "rate < 100" in " ".join(next(one for one in answers if one.query == "rates").reasons)


def test_a_policy_that_goes_withdraws_with_a_reason(live: LiveQueries) -> None:
    answers = live.change(decider(OWN, MOVES))
    (withdrawn,) = answers
    assert (withdrawn.query, withdrawn.user, withdrawn.effect) == ("mean", "ivan", Effect.WITHDRAWN)
    assert withdrawn.reasons == ("no use of `Vitals` is allowed",)
    with pytest.raises(InputError):
        live.secured("mean", "ivan")
    assert effects(live.change(decider(OWN, MOVES, AVERAGES))) == {}  # it does not come back by itself


def test_the_same_by_another_name_goes_on(live: LiveQueries) -> None:
    answers = live.change(decider(OWN.replace("id: own", "id: other").replace("ward = 7", "7 = ward"), MOVES, AVERAGES))
    assert effects(answers) == {("rates", "dora"): "same", ("mean", "dora"): "same"}


def test_a_deny_reaches_whom_it_concerns(live: LiveQueries) -> None:
    deny = (
        "  - {id: no, subject: {user: dora}, object: {streams: [Vitals], attributes: [rate]}, deny: [read, compute]}\n"
    )
    answers = live.change(decider(OWN, MOVES, AVERAGES, deny))
    assert effects(answers) == {("rates", "dora"): "rewritten", ("mean", "dora"): "withdrawn"}


def test_an_event_that_moves_changes_the_policies_that_speak_of_it() -> None:
    during = OWN.replace(", allow", ", during: {from: start(a), to: end(a)}, allow")
    head = "version: 1\nevents:\n  a: {start: 2026-01-01T08:00:00Z, end: %s}\n"
    running = LiveQueries(decider(during, MOVES, head=head % "2026-01-01T20:00:00Z"))
    running.register(RATES, [DORA])
    running.register(MOVED, [DORA])
    assert effects(running.change(decider(during, MOVES, head=head % "2026-01-01T21:00:00Z"))) == {
        ("rates", "dora"): "rewritten"
    }


def test_defaults_and_users_and_owners_count(live: LiveQueries) -> None:
    head = "version: 1\ndefaults: {on_assist_denied: remove}\n"
    assert set(effects(live.change(decider(OWN, MOVES, AVERAGES, head=head)))) == {
        ("rates", "dora"), ("moved", "dora"), ("mean", "dora"), ("mean", "ivan")
    }  # fmt: skip
    answers = live.change(live.decider, {"dora": replace(DORA, roles=frozenset())})
    assert effects(answers) == {
        ("rates", "dora"): "withdrawn",
        ("moved", "dora"): "withdrawn",
        ("mean", "dora"): "withdrawn",
    }
    owned = StreamCatalog([StreamSchema("Vitals", COLUMNS, owner="ivan"), StreamSchema("Moves", COLUMNS)])
    answers = live.change(Decider(live.decider.policies, owned))
    assert effects(answers) == {("mean", "ivan"): "rewritten"}


def test_what_cannot_be_decided_again_is_withdrawn(live: LiveQueries, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise UnguardedError("a source has no guard")

    monkeypatch.setattr(change, "secure_query", fail)
    answers = live.change(decider(OWN.replace("7", "8"), MOVES, AVERAGES))
    assert effects(answers) == {("rates", "dora"): "withdrawn", ("mean", "dora"): "withdrawn"}
    assert "could not be decided again" in answers[0].reasons[0]


def test_stopped_queries_are_not_decided_again(live: LiveQueries) -> None:
    live.stop("mean")
    assert effects(live.change(decider(MOVES))) == {("rates", "dora"): "withdrawn"}


def test_obligations_are_merged_again() -> None:
    stream, key = CATALOG.stream("Vitals"), ("q", "dora")
    asked = parse_cql("SELECT rate FROM Vitals WHERE rate > 50", CATALOG)
    before = merge_obligations(authorised_graph(stream, "p", "rate > 10"), asked)
    for condition, effect in (("rate > 20", "same"), ("rate > 60", "rewritten"), ("rate < 40", "withdrawn")):
        answer, _ = redecide_obligations(before, authorised_graph(stream, "p", condition), asked, key)
        assert answer.effect.value == effect
    assert redecide_obligations(before, None, asked, key)[0].effect is Effect.WITHDRAWN


@given(systems(with_policies=True), st.data())
def test_property_incremental_is_deciding_everything_again(generated: GeneratedSystem, data):
    system = generated.system
    streams = list(system.streams)
    old = system.policies
    kept = [one for one in old.policies if data.draw(st.integers(0, 3))]
    more = [data.draw(policies_over(streams, f"new{number}")) for number in range(data.draw(st.integers(0, 1)))]
    new = PolicySet((*kept, *more), old.events, old.defaults)
    running = LiveQueries(Decider(old, system.streams))
    for one in system.queries:
        running.register(one, [system.users[name] for name in one.subscribers])
    before = {key: one.secured for key, one in running._live.items()}
    after = Decider(new, system.streams)
    answers = {(one.query, one.user): one for one in running.change(after)}
    for (name, user), was in before.items():
        afresh = secure_query(after, next(one for one in system.queries if one.id == name), system.users[user])
        same = meaning(afresh.plan) == meaning(was.plan)
        if (name, user) not in answers:
            assert same
        elif afresh.query is None:
            assert answers[name, user].effect is Effect.WITHDRAWN
        else:
            assert answers[name, user].effect is (Effect.SAME if same else Effect.REWRITTEN)
