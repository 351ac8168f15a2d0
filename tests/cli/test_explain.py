"""`headgate explain`: each stage of a query's path, and why."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from headgate.algebra.spelling.cql import parse_cql
from headgate.scenario.load import load_scenario

SCENARIO = """\
version: 1
streams:
  Vitals:
    columns: {ts: timestamp, patient: string, rate: int}
  Moves:
    columns: {ts: timestamp, patient: string, speed: int}
users:
  dora: {roles: [Doctor]}
  ivan: {}
policies:
  - {id: doctors, subject: {role: Doctor}, object: {streams: [Vitals], where: "rate > 50"}, allow: [read]}
  - {id: no-names, subject: {role: Doctor}, object: {streams: [Vitals], attributes: [patient]}, deny: [read]}
queries:
  high: {by: dora, cql: "SELECT patient, rate FROM Vitals WHERE rate > 40 + 50"}
"""


@pytest.fixture
def headgate(headgate, tmp_path: Path):
    """Explain something of the scenario: exit code, standard output, standard error."""
    (tmp_path / "s.yaml").write_text(SCENARIO)
    return partial(headgate, "explain", "--scenario", "s.yaml")


def sections(text: str) -> dict[str, list[str]]:
    """The indented lines below each title."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("  "):
            found[next(reversed(found))].append(line[2:])
        else:
            found[line.removesuffix(":")] = []
    return found


def test_a_query_of_the_scenario_is_explained_for_who_registered_it(headgate) -> None:
    code, out, err = headgate("--query", "high")
    shown = sections(out)
    assert (code, err) == (0, "")
    assert shown["asked"] == ["SELECT patient, rate FROM Vitals WHERE rate > 40 + 50"]
    assert shown["plan"] == [
        "Project Vitals.patient, Vitals.rate",
        "└─ Select Vitals.rate > 40 + 50",
        "   └─ Source Vitals",
    ]
    assert shown["optimised"][1] == "└─ Select Vitals.rate > 90"
    decision = shown["decision for dora on Vitals: partial"]
    assert "`no-names` denies read of `Vitals.patient`" in decision
    assert "`doctors` allows assist of `Vitals.rate` where Vitals.rate > 50" in decision
    assert shown["verdict for dora: partial"] == ["read of `Vitals.patient` is withheld by `no-names`"]


def test_another_user_gets_the_verdict_of_their_own(headgate) -> None:
    shown = sections(headgate("--query", "high", "--user", "ivan")[1])
    assert shown["decision for ivan on Vitals: deny"]
    assert shown["verdict for ivan: denied"] == [
        "`Vitals.rate` may not be used in a predicate or key: no policy allows it"
    ]


def test_a_query_of_ones_own_needs_no_user(headgate) -> None:
    code, out, _ = headgate("--query", "SELECT rate FROM Vitals")
    assert code == 0
    assert list(sections(out)) == ["asked", "plan", "optimised", "hash"]


def test_json_for_machines_has_every_stage(headgate, tmp_path: Path) -> None:
    code, out, _ = headgate("--query", "high", "--json")
    stages = json.loads(out)
    assert code == 0
    assert set(stages) == {
        "asked", "plan", "optimised", "hash", "algebra", "user", "uses", "decision", "verdict", "reasons", "warnings",
        "rewritten", "missing"
    }  # fmt: skip
    assert (stages["user"], stages["verdict"], stages["algebra"]["operator"]) == ("dora", "partial", "project")
    catalog = load_scenario(tmp_path / "s.yaml").system.streams
    assert parse_cql(stages["asked"], catalog) == load_scenario(tmp_path / "s.yaml").system.queries[0].plan


def test_queries_of_equal_meaning_have_one_hash(headgate) -> None:
    first = sections(headgate("--query", "SELECT rate FROM Vitals AS v WHERE v.rate > 1 AND patient = 'a'")[1])
    second = sections(headgate("--query", "SELECT w.rate FROM Vitals AS w WHERE 'a' = patient AND 1 < rate")[1])
    third = sections(headgate("--query", "SELECT rate FROM Vitals WHERE rate > 1")[1])
    assert first["hash"] == second["hash"] != third["hash"]


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (("--query", "high", "--user", "doro"), "unknown user `doro`", "did you mean `dora`?"),
        (("--query", "SELECT rate FROM Vital"), "1:18: unknown stream `Vital`", "did you mean `Vitals`?"),
        (("--query", "SELECT x\nFROM Vitals"), "1:8: unknown column `x`", "known: `ts`"),
        (("--query", "higher"), "1:1: this is not a SELECT", "a continuous query starts with SELECT"),
        (("--query", ""), "1:1: the text is empty", None),
        (("--sql", "SELECT rate FROM Vitals"), "what is given depends on who asks", "give --user"),
        (("--sql", "SELECT rate FROM Vitals", "--user", "doro"), "unknown user `doro`", "did you mean `dora`?"),
    ],
)
def test_a_mistake_is_told_with_its_place(headgate, arguments, said, hint) -> None:
    code, out, err = headgate(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {said}")
    assert hint is None or f"hint: {hint}" in err


@pytest.mark.parametrize("given", [(), ("--query", "high", "--sql", "SELECT 1")])
def test_one_query_is_explained(headgate, given) -> None:
    code, out, err = headgate("--user", "dora", *given)
    assert (code, out) == (2, "")
    assert err.startswith("error: there must be one query to explain")
    assert "hint: give either --query or --sql" in err


@pytest.mark.parametrize(
    "literal",
    [
        "[red]",
        "it''s",
        "日本",
        "50%",
        ":cat:",
    ],
)
def test_what_was_asked_is_shown_as_written(headgate, literal: str) -> None:
    asked = f"SELECT rate FROM Vitals WHERE patient = '{literal}'"
    assert sections(headgate("--query", asked)[1])["asked"] == [asked]


def test_a_long_line_is_not_broken_when_piped(headgate) -> None:
    condition = " AND ".join(f"rate <> {number}" for number in range(60))
    shown = sections(headgate("--query", f"SELECT rate FROM Vitals WHERE {condition}")[1])
    assert shown["asked"] == [f"SELECT rate FROM Vitals WHERE {condition}"]


def test_the_rewritten_query_names_the_policy_of_every_guard(headgate) -> None:
    shown = sections(headgate("--query", "high")[1])
    assert shown["uses"] == ["assist of `Vitals.rate`", "read of `Vitals.patient`", "read of `Vitals.rate`"]
    assert shown["rewritten"] == [
        "Project Vitals.patient, Vitals.rate",
        "└─ Masked Vitals.patient as null [doctors], Vitals.rate as null [doctors]",
        "   └─ Select Vitals.rate > 40 + 50",
        "      └─ SecureRead assist(rate) read(rate) where Vitals.rate > 50 [doctors]; "
        "read(patient) where Vitals.rate > 50 [doctors] but not ever [no-names]",
        "         └─ Source Vitals",
    ]


def test_a_refusal_comes_with_the_smallest_grant_that_would_change_it(headgate) -> None:
    shown = sections(headgate("--query", "high", "--user", "ivan")[1])
    assert shown["rewritten"] == ["(nothing)"]
    assert shown["the smallest grant that would give all of it"] == [
        "GRANT READ (rate, patient) ON STREAM Vitals WHERE rate > 40 + 50 TO USER ivan"
    ]


def test_a_deny_is_named_as_no_grant_gets_around_it(headgate) -> None:
    shown = sections(headgate("--query", "high")[1])
    assert shown["the smallest grant that would give all of it"] == ["and without what `no-names` denies"]


def test_a_full_answer_lacks_nothing(headgate) -> None:
    code, out, _ = headgate("--query", "SELECT rate FROM Vitals WHERE rate > 60", "--user", "dora")
    assert code == 0
    shown = sections(out)
    assert shown["verdict for dora: granted"] == ["(nothing)"]
    assert "the smallest grant that would give all of it" not in shown


@pytest.mark.parametrize(
    ("disclosure", "told"),
    [
        ("name", "read of `Vitals.patient`: not all of it is allowed (`no-names`)"),
        ("nothing", "a part of what is asked for can be withheld"),
    ],
)
def test_what_the_user_is_told_stands_beside_the_whole_verdict(headgate, tmp_path, disclosure: str, told: str) -> None:
    policies = f"policies:\n  version: 1\n  defaults: {{disclosure: {disclosure}}}\n  policies:\n"
    text = SCENARIO.replace("policies:\n", policies, 1).replace("\n  - {id", "\n    - {id")
    (tmp_path / "s.yaml").write_text(text)
    shown = sections(headgate("--query", "high")[1])
    assert shown["verdict for dora: partial"] == ["read of `Vitals.patient` is withheld by `no-names`"]
    assert shown["what dora is told"] == [told]
