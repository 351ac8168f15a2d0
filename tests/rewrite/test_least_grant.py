"""The smallest grant that gives a full answer: it does, and less would not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.decision.decide import Decider
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.policy.model import PolicySet
from headgate.policy.statement import apply_statements, parse_statements
from headgate.policy.yaml_file import parse_policies
from headgate.rewrite.least_grant import least_grant
from headgate.rewrite.verdict import Outcome, decide_with
from headgate.testing.systems import GeneratedSystem, systems

COLUMNS = (Column("ts", DataType.TIMESTAMP), Column("ward", DataType.INT), Column("rate", DataType.INT))
CATALOG = StreamCatalog([StreamSchema("Vitals", COLUMNS), StreamSchema("Moves", COLUMNS)])
USER = User("u")
POLICIES = """
version: 1
policies:
  - {id: ward, subject: {user: u}, object: {streams: [Vitals], attributes: [ward]}, allow: [read]}
  - {id: some, subject: {user: u}, object: {streams: [Vitals], attributes: [rate], where: "rate > 50"}, allow: [read]}
"""
DENIES = POLICIES + "  - {id: no, subject: {user: u}, object: {streams: [Vitals], attributes: [rate]}, deny: [read]}\n"


def query(text: str) -> Query:
    return Query("q", "u", ("u",), parse_cql(text, CATALOG))


def found(text: str, policies: str = POLICIES):
    return least_grant(Decider(parse_policies(policies, CATALOG), CATALOG), query(text), USER)


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("SELECT rate FROM Vitals", ["GRANT READ (rate) ON STREAM Vitals TO USER u"]),
        (
            "SELECT rate FROM Vitals WHERE rate > 40 AND ward = 7",
            ["GRANT READ (rate) ON STREAM Vitals WHERE rate > 40 AND ward = 7 TO USER u"],
        ),
        ("SELECT ward FROM Vitals WHERE rate > 40", ["GRANT ASSIST (rate) ON STREAM Vitals WHERE rate > 40 TO USER u"]),
        (
            "SELECT avg(rate) FROM Vitals [RANGE 1 hour, SLIDE 30 min]",
            ["GRANT AVG (rate) ON STREAM Vitals TO USER u WINDOW (SIZE 1h, STEP 30min)"],
        ),
        (
            "SELECT ward, ts, max(rate) FROM Vitals [ROWS 5] GROUP BY ward, ts",
            [
                "GRANT READ (ts) ON STREAM Vitals TO USER u",
                "GRANT MAX (rate) ON STREAM Vitals TO USER u WINDOW (SIZE 5 rows, STEP 5 rows)",
            ],
        ),
        ("SELECT count(*) FROM Moves [ROWS 5]", ["GRANT ASSIST, COUNT (ts) ON STREAM Moves TO USER u"]),
        ("SELECT 1 AS one FROM Moves", ["GRANT READ (ts) ON STREAM Moves TO USER u"]),
        # NULL satisfies the condition, so hidden cells pass it: only a grant without a condition gives all of it.
        ("SELECT ward FROM Vitals WHERE rate IS NULL", ["GRANT ASSIST (rate) ON STREAM Vitals TO USER u"]),
    ],
)
def test_the_smallest_grant(text: str, statements: list[str]) -> None:
    assert list(found(text).statements) == statements


def test_a_full_answer_lacks_nothing() -> None:
    assert found("SELECT rate FROM Vitals WHERE rate > 60") is None
    assert least_grant(Decider(None, CATALOG), query("SELECT rate FROM Vitals"), USER) is None


def test_a_deny_is_named_as_no_grant_gets_around_it() -> None:
    least = found("SELECT rate FROM Vitals WHERE rate > 60", DENIES)
    assert (least.policies, least.denied_by) == ((), ("no",))
    least = found("SELECT rate FROM Vitals", DENIES)
    assert least.denied_by == ("no",)
    assert least.statements == ("GRANT READ (rate) ON STREAM Vitals TO USER u",)


JOINED = "SELECT Vitals.rate, Moves.ward FROM Vitals [NOW], Moves [NOW] WHERE Vitals.rate > 3 AND Moves.ward = 1"


def test_statements_are_grants_that_can_be_given() -> None:
    policies = parse_policies(POLICIES, CATALOG)
    least = found(JOINED)
    assert least.statements == (
        "GRANT READ (Vitals.rate, Moves.ward) ON STREAM Vitals, Moves "
        "WHERE Vitals.rate > 3 AND Moves.ward = 1 TO USER u",
    )
    text = ";\n".join(least.statements)
    wider = apply_statements(policies, parse_statements(text, CATALOG))
    asked = query(JOINED)
    assert decide_with(Decider(wider, CATALOG), asked, USER).outcome is Outcome.GRANTED


@given(systems(with_policies=True))
def test_property_the_smallest_grant_gives_all_and_less_does_not(generated: GeneratedSystem):
    system = generated.system
    decider = Decider(system.policies, system.streams)
    for one in system.queries:
        user = system.users[one.subscribers[0]]
        least = least_grant(decider, one, user)
        if least is None or least.denied_by:
            continue
        for left_out in (None, *least.policies):
            given_ = tuple(policy for policy in least.policies if policy is not left_out)
            policies = PolicySet((*system.policies.policies, *given_), system.policies.events, system.policies.defaults)
            outcome = decide_with(Decider(policies, system.streams), one, user).outcome
            assert (outcome is Outcome.GRANTED) is (left_out is None)


def test_the_policies_as_they_are_stay_as_they_are() -> None:
    policies = parse_policies(DENIES, CATALOG)
    before = replace(policies)
    least_grant(Decider(policies, CATALOG), query("SELECT rate FROM Vitals"), USER)
    assert policies == before
