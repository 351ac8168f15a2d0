"""Verdicts: what is said, with which clause and example, how much of it is told, and what happens without an answer."""

from __future__ import annotations

import pytest

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.decision import solver
from headgate.decision.decide import Decider
from headgate.decision.solver import Answer, Finding
from headgate.errors import InputError
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.policy.model import Disclosure
from headgate.policy.yaml_file import parse_policies
from headgate.rewrite.notice import NoticeKind
from headgate.rewrite.verdict import Outcome, Verdict, decide_with

COLUMNS = (
    Column("ts", DataType.TIMESTAMP),
    Column("ward", DataType.INT),
    Column("rate", DataType.INT),
    Column("name", DataType.STRING),
)
CATALOG = StreamCatalog([StreamSchema("Vitals", COLUMNS), StreamSchema("Moves", COLUMNS)])
HEAD = "version: 1\ndefaults: {disclosure: %s, on_assist_denied: %s}\npolicies:\n"


def policy(identifier: str, attributes: str, where: str | None = None, effect: str = "allow: [read]") -> str:
    condition = f', where: "{where}"' if where else ""
    return (
        f"  - {{id: {identifier}, subject: {{user: u}}, "
        f"object: {{streams: [Vitals], attributes: {attributes}{condition}}}, {effect}}}\n"
    )


def verdict(text: str, *policies: str, disclosure: str = "clause", denied: str = "refuse") -> Verdict:
    given = parse_policies(HEAD % (disclosure, denied) + "".join(policies), CATALOG)
    return decide_with(Decider(given, CATALOG), Query("q", "u", ("u",), parse_cql(text, CATALOG)), User("u"))


OWN = policy("own", "[ward, rate]", "ward = 7")


def test_the_clause_the_policy_and_an_example() -> None:
    found = verdict("SELECT rate FROM Vitals WHERE ward > 5", OWN)
    assert found.outcome is Outcome.PARTIAL
    assert found.reasons == (
        "assist of `Vitals.ward` is withheld in part: `own` allows it where Vitals.ward = 7; such as ward = 6",
        "read of `Vitals.rate` is withheld in part: `own` allows it where Vitals.ward = 7; such as ward = 6",
    )
    assert {one.policies for one in found.notices} == {("own",)}


def test_times_in_examples_are_written_as_times() -> None:
    during = policy("day", "[rate]", "ts >= TIMESTAMP '2026-01-02T00:00:00Z'")
    (reason,) = verdict("SELECT rate FROM Vitals", during).reasons
    assert "; such as ts = '20" in reason or "; such as ts = '19" in reason


@pytest.mark.parametrize(
    ("disclosure", "reasons"),
    [
        ("clause", "`Vitals.name` may not be used in a predicate or key: denied by `no`"),
        ("name", "`Vitals.name` in a predicate or key: not allowed (`no`)"),
        ("nothing", "the query is not authorised"),
    ],
)
def test_what_is_told_of_a_refusal(disclosure: str, reasons: str) -> None:
    deny = policy("no", "[name]", effect="deny: [assist]")
    found = verdict("SELECT rate FROM Vitals WHERE name = 'x'", OWN, deny, disclosure=disclosure)
    assert (found.outcome, found.reasons) == (Outcome.DENIED, (reasons,))
    assert found.told(Disclosure.CLAUSE).reasons == (
        "`Vitals.name` may not be used in a predicate or key: denied by `no`",
    )


@pytest.mark.parametrize(
    ("disclosure", "reason", "warning"),
    [
        (
            "name",
            "read of `Vitals.rate`: not all of it is allowed (`own`)",
            "the predicate `Vitals.name = 'x'`: removed",
        ),
        ("nothing", "a part of what is asked for can be withheld", "a part of the query was removed"),
    ],
)
def test_what_is_told_of_a_part(disclosure: str, reason: str, warning: str) -> None:
    found = verdict("SELECT rate FROM Vitals WHERE name = 'x'", OWN, disclosure=disclosure, denied="remove")
    assert (found.reasons, found.warnings) == ((reason,), (warning,))
    told = " ".join((*found.reasons, *found.warnings))
    assert "ward" not in told


def test_nothing_of_a_policy_is_told_where_nothing_may_be() -> None:
    secret = policy("secret-list", "[rate]", "name IN ('ann', 'bob')")
    for text in (
        "SELECT rate FROM Vitals",
        "SELECT rate FROM Vitals WHERE name = 'cy'",
        "SELECT rate, name FROM Vitals",
    ):
        found = verdict(text, secret, policy("n", "[name]", "ward = 3"), disclosure="nothing")
        said = " ".join((*found.reasons, *found.warnings))
        assert said
        for word in ("secret", "ann", "bob", "ward", "name", "`n`"):
            assert word not in said


def test_empty_is_a_warning_with_its_policies() -> None:
    found = verdict("SELECT rate FROM Vitals WHERE ward = 8", OWN)
    assert found.warnings == (
        "EMPTY: no tuple can satisfy both the query and the policies: `own` allows where Vitals.ward = 7",
    )
    (empty,) = [one for one in found.notices if one.kind is NoticeKind.EMPTY]
    assert empty.policies == ("own",)


@pytest.fixture
def slow_solver(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A solver that never has an answer in time."""
    asked: list[object] = []

    def out_of_time(*question: object) -> Finding:
        asked.append(question)
        return Finding(Answer.UNKNOWN)

    monkeypatch.setattr(solver, "_solve", out_of_time)
    monkeypatch.setattr(solver, "_answered", {})
    return asked


def test_a_time_out_is_said_and_never_granted(slow_solver: list[object]) -> None:
    hard = policy("hard", "[ward, rate]", "ward * rate > 12 OR name LIKE '%x%y'")
    found = verdict("SELECT rate FROM Vitals WHERE ward * rate > 14", hard)
    assert slow_solver
    assert found.outcome is Outcome.PARTIAL
    assert any(one.kind is NoticeKind.UNDECIDED for one in found.notices)
    assert any(reason.startswith("it could not be decided whether") for reason in found.reasons)


def test_a_time_out_never_refuses_what_might_be_covered(slow_solver: list[object]) -> None:
    never = policy("never", "[ward, rate]", "ward > rate AND ward < rate")
    found = verdict("SELECT rate FROM Vitals WHERE ward > 1", never)
    assert slow_solver
    assert found.outcome is Outcome.PARTIAL


@pytest.mark.parametrize(
    ("policies", "outcome", "reason"),
    [
        ((OWN, policy("no", "[ward, rate]", effect="deny: [read, assist, compute]")), "denied", "denied by `no`"),
        ((OWN, policy("no", "[rate]", "ward = 7", "deny: [read]")), "denied", "is allowed: denied by `no`"),
        ((policy("empty", "[rate]", "ward > 1 AND ward < 1"),), "denied", "no use of `Vitals` is allowed"),
        ((policy("both", "[rate]", None, "allow: [read], deny: [read]"),), "denied", "denied by `both`"),
        ((OWN, policy("no", "[rate]", "ward = 8", "deny: [read]")), "partial", "`own` allows it where Vitals.ward = 7"),
    ],
)  # fmt: skip
def test_policies_that_contradict_each_other_have_a_clear_verdict(policies, outcome: str, reason: str) -> None:
    found = verdict("SELECT rate FROM Vitals", *policies)
    assert found.outcome.value == outcome
    assert reason in found.reasons[0]


@pytest.mark.parametrize(
    "where",
    [
        "rate * ward = 12",
        "rate * rate < 0",
        "name LIKE '%a_b%'",
        "upper(name) = 'X'",
        "rate % ward = 1",
        "rate / ward > 2",
    ],
)
def test_what_the_solver_is_not_taught_is_never_granted_by_mistake(where: str) -> None:
    found = verdict("SELECT rate FROM Vitals WHERE ward > 1", policy("hard", "[ward, rate]", where))
    assert found.outcome is Outcome.PARTIAL
    same = verdict(f"SELECT rate FROM Vitals WHERE {where}", policy("hard", "[ward, rate, name]", where))
    assert same.outcome is Outcome.GRANTED  # what is asked is word for word what is allowed


@pytest.mark.parametrize("where", ["frobnicate(rate) > 1", "name RLIKE 'a.*'", "regexp_like(name, 'a')", "name ~ 'a'"])
def test_unknown_functions_and_patterns_are_refused_where_they_are_read(where: str) -> None:
    with pytest.raises(InputError):
        parse_cql(f"SELECT rate FROM Vitals WHERE {where}", CATALOG)
    with pytest.raises(InputError):
        verdict("SELECT rate FROM Vitals", policy("odd", "[rate]", where))


def test_long_disjunctions_are_decided() -> None:
    wards = " OR ".join(f"ward = {number}" for number in range(120))
    found = verdict(
        f"SELECT rate FROM Vitals WHERE {wards}", policy("wards", "[ward, rate]", f"({wards}) OR ward = 500")
    )
    assert found.outcome is Outcome.GRANTED


def test_the_worst_block_of_a_union_decides() -> None:
    text = "SELECT rate FROM Vitals WHERE ward = 7 UNION ALL SELECT %s FROM Vitals WHERE ward = 7"
    assert verdict(text % "rate", OWN).outcome is Outcome.GRANTED
    assert verdict(text % "ward AS rate", OWN).outcome is Outcome.GRANTED
    found = verdict("SELECT rate FROM Vitals WHERE ward = 7 UNION ALL SELECT rate FROM Vitals", OWN)
    assert found.outcome is Outcome.PARTIAL
    assert verdict("SELECT rate FROM Vitals WHERE ward = 7 UNION ALL SELECT rate FROM Moves", OWN).denied
