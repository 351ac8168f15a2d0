"""Decisions: what a user may do with columns, under which conditions, and why."""

from __future__ import annotations

import pytest

from headgate.decision.decide import Decider, Effect, Request
from headgate.decision.guard import OPEN
from headgate.errors import InputError
from headgate.model.datatype import DataType
from headgate.model.duration import Extent
from headgate.model.expression.evaluate import is_true
from headgate.model.expression.print import to_text
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.policy.model import MaskKind
from headgate.policy.yaml_file import parse_policies

T = DataType
COLUMNS = (Column("ts", T.TIMESTAMP), Column("k", T.STRING), Column("x", T.INT))
CATALOG = StreamCatalog([StreamSchema("S", COLUMNS, owner="olga"), StreamSchema("U", COLUMNS)])
DORA = User("dora", frozenset(["doctor"]), {"ward": 7})
READ, SUM = ("x", "read"), ("x", "sum")


def decider(*policies: str, top: str = "") -> Decider:
    listed = "".join(f"  - {{subject: {{role: doctor}}, {one}}}\n" for one in policies)
    return Decider(parse_policies(f"version: 1\n{top}policies:\n{listed or '  []'}\n", CATALOG), CATALOG, version=4)


def decide(one: Decider, *uses: tuple[str, str], user: User = DORA, stream: str = "S", **options):
    return one.decide(Request.on(user, stream, *(uses or (READ,)), **options))


ALL = "id: all, object: {streams: [S]}, allow: [read]"


def test_without_any_policies_everything_is_open() -> None:
    decision = decide(Decider(None, CATALOG))
    assert (decision.effect, decision.guards[READ], decision.reasons) == (Effect.PERMIT, OPEN, ())


def test_a_stream_that_no_policy_names_is_closed_and_says_so() -> None:
    decision = decide(decider())
    assert (decision.effect, decision.missing) == (Effect.DENY, (READ,))
    assert [str(one) for one in decision.reasons] == ["no policy names `S`, so it is closed: read of `S.x`"]
    assert [one.version for one in decision.reasons] == [4]


def test_a_stream_that_others_may_use_is_not_for_everybody() -> None:
    decision = decide(decider(ALL), user=User("ivan"))
    assert decision.effect is Effect.DENY
    assert [str(one) for one in decision.reasons] == ["no policy allows read of `S.x`"]


def test_the_owner_may_do_everything_with_their_own() -> None:
    olga = User("olga")
    decision = decide(decider("id: no, object: {streams: [S, U]}, deny: [read]"), user=olga)
    assert decision.effect is Effect.PERMIT
    assert [str(one) for one in decision.reasons] == ["`olga` owns `S`"]
    assert decide(decider(ALL), user=olga, stream="U").effect is Effect.DENY


def test_an_unconditional_grant_permits_all_that_read_implies() -> None:
    decision = decide(decider(ALL), READ, ("x", "assist"), SUM, window=(Extent(5), Extent(5)))
    assert decision.effect is Effect.PERMIT
    assert decision.missing == ()
    assert str(decision.reasons[0]) == "`all` allows read of `S.x`"


def test_an_aggregate_privilege_implies_neither_read_nor_assist() -> None:
    one = decider("id: p, object: {streams: [S]}, allow: [sum]")
    decision = decide(one, READ, ("x", "assist"), SUM, window=(Extent(5), Extent(5)))
    assert (decision.effect, decision.missing) == (Effect.PARTIAL, (READ, ("x", "assist")))


def test_a_condition_makes_it_partial_with_the_users_own_values() -> None:
    decision = decide(decider("id: own, object: {streams: [S], where: 'x = self.ward'}, allow: [read]"))
    assert decision.effect is Effect.PARTIAL
    (clause,) = decision.guards[READ].allows
    assert (clause.policy, to_text(clause.condition)) == ("own", "S.x = 7")
    assert [str(one) for one in decision.reasons] == ["`own` allows read of `S.x` where S.x = 7"]
    predicate = decision.guards[READ].predicate
    assert [is_true(predicate, lambda _, x=x: x) for x in (7, 8, None)] == [True, False, False]


def test_a_deny_wins_and_takes_exactly_what_it_lists() -> None:
    one = decider(ALL, "id: no, object: {streams: [S], attributes: [x]}, deny: [read], mask: hash")
    decision = decide(one, READ, ("x", "assist"), ("k", "read"))
    assert decision.effect is Effect.PARTIAL
    assert decision.guards[READ].impossible
    assert decision.guards["x", "assist"].unconditional
    assert decision.guards["k", "read"].unconditional
    assert "`no` denies read of `S.x`" in [str(reason) for reason in decision.reasons]


def test_a_conditional_deny_is_part_of_the_predicate() -> None:
    one = decider(ALL, "id: no, object: {streams: [S], where: 'x > 5'}, deny: [read]")
    predicate = decide(one).guards[READ].predicate
    assert [is_true(predicate, lambda _, x=x: x) for x in (5, 6, None)] == [True, False, True]


@pytest.mark.parametrize(
    ("window", "allowed"),
    [
        (None, False),
        ((Extent(3_600_000_000), Extent(3_600_000_000)), True),
        ((Extent(3_599_999_999), Extent(3_600_000_000)), False),
        ((Extent(7_200_000_000), Extent(1)), False),
        ((Extent(10**12, rows=True), Extent(10**12, rows=True)), False),
    ],
    ids=["none", "just", "too small", "step too small", "rows"],
)
def test_a_window_condition_is_met_by_a_window_as_large_and_of_the_same_kind(window, allowed: bool) -> None:
    one = decider("id: p, object: {streams: [S]}, allow: [sum], window: {min_size: 1 hour, min_step: 1 hour}")
    assert decide(one, SUM, window=window).guards[SUM].unconditional is allowed


def test_a_minimum_group_is_a_condition() -> None:
    one = decider("id: p, object: {streams: [S]}, allow: [sum], min_group: 5")
    decision = decide(one, SUM, window=(Extent(5), Extent(5)))
    assert decision.effect is Effect.PARTIAL
    assert "in groups of at least 5" in str(decision.reasons[0])


def test_a_joint_view_counts_only_where_all_its_streams_are_read() -> None:
    one = decider("id: j, object: {streams: [S, U], where: 'S.k = U.k'}, allow: [read]")
    assert decide(one).effect is Effect.DENY
    decision = one.decide(Request(DORA, "a", (READ,), {"a": "S", "b": "U"}))
    assert [to_text(clause.condition) for clause in decision.guards[READ].allows] == ["a.k = b.k"]
    twice = one.decide(Request(DORA, "a", (READ,), {"a": "S", "b": "U", "c": "U", "d": "S"}))
    assert [to_text(clause.condition) for clause in twice.guards[READ].allows] == ["a.k = b.k", "a.k = c.k"]


def test_when_looks_at_the_environment() -> None:
    one = decider("id: p, object: {streams: [S]}, allow: [read], when: \"env.ip IN ('192.0.2.1')\"")
    assert decide(one, environment={"ip": "192.0.2.1"}).effect is Effect.PERMIT
    assert decide(one, environment={"ip": "192.0.2.2"}).effect is Effect.DENY
    assert decide(one).effect is Effect.DENY


def test_the_mask_is_of_the_first_policy_by_id() -> None:
    one = decider(
        "id: b, object: {streams: [S], attributes: [x], where: 'x = 1'}, allow: [read], mask: hash",
        "id: a, object: {streams: [S], attributes: [x], where: 'x = 2'}, allow: [read], mask: zero",
    )
    decision = decide(one, READ, ("k", "read"))
    assert {column: mask.kind for column, mask in decision.masks.items()} == {"x": MaskKind.ZERO, "k": MaskKind.NULL}


def test_a_policy_that_cannot_be_decided_opens_nothing_and_withholds_all_it_denies() -> None:
    odd = User("dora", frozenset(["doctor"]), {"ward": "seven"})
    where = "where: 'x = self.ward'"
    allowing = decide(decider(f"id: p, object: {{streams: [S], {where}}}, allow: [read]"), user=odd)
    assert allowing.effect is Effect.DENY
    denying = decide(decider(ALL, f"id: p, object: {{streams: [S], {where}}}, deny: [read]"), user=odd)
    assert denying.effect is Effect.DENY
    assert any("it cannot be decided: cannot compare int with string" in str(one) for one in denying.reasons)


@pytest.mark.parametrize(
    "request_",
    [
        Request.on(DORA, "Nowhere", READ),
        Request(DORA, "a", (READ,), {}),
        Request(None, "S", (READ,), {"S": "S"}),
        Request(DORA, "S", (READ,), {"S": "S"}, window=(5, 5)),
        Request(DORA, "S", (READ,), {"S": None}),
    ],
    ids=["unknown stream", "unknown alias", "no user", "odd window", "no stream"],
)
def test_a_failure_while_deciding_is_a_deny_with_a_reason(request_: Request) -> None:
    where = "id: p, object: {streams: [S], where: 'x = self.ward'}, allow: [sum], window: {min_size: 5 s}"
    decision = decider(where).decide(request_)
    assert decision.effect is Effect.DENY
    assert decision.missing == (READ,)
    assert decision.guards[READ].impossible
    assert str(decision.reasons[0])


def test_a_failure_inside_is_a_deny_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    one = decider(ALL)

    def broken(*_: object) -> None:
        raise InputError("the index is broken")

    monkeypatch.setattr(one._index, "policies_for", broken)
    decision = decide(one)
    assert (decision.effect, decision.missing) == (Effect.DENY, (READ,))
    assert [str(reason) for reason in decision.reasons] == ["the decision failed: the index is broken"]


def test_a_period_is_a_condition_on_the_time_of_the_tuple() -> None:
    top = "events: {a: {start: 2026-01-01T08:00:00Z, end: 2026-01-01T20:00:00Z}}\n"
    one = decider("id: p, object: {streams: [S]}, allow: [read], during: {from: start(a), to: end(a)}", top=top)
    (clause,) = decide(one).guards[READ].allows
    assert to_text(clause.condition) == (
        "S.ts >= TIMESTAMP '2026-01-01T08:00:00.000Z' AND S.ts < TIMESTAMP '2026-01-01T20:00:00.000Z'"
    )
