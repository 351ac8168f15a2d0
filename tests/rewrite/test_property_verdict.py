"""Verdicts against brute force: every tuple of a small domain is run, so what a verdict promises can be counted."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.errors import InputError
from headgate.model.datatype import DataType
from headgate.model.element import Tuple
from headgate.model.instant import SECOND
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.policy.yaml_file import parse_policies
from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.rewrite.notice import NoticeKind
from headgate.rewrite.obligation.graph import authorised_graph
from headgate.rewrite.obligation.merge import MergeOutcome, merge_obligations
from headgate.rewrite.verdict import Outcome
from headgate.scenario.system import System
from headgate.testing.values import START

DOMAIN = (None, 0, 1, 2)
STREAM = StreamSchema(
    "S", (Column("ts", DataType.TIMESTAMP), Column("a", DataType.INT), Column("b", DataType.INT)), tid="ts"
)
CATALOG = StreamCatalog([STREAM])
EVERY_TUPLE = [
    Tuple(START + number * SECOND, (START + number * SECOND, a, b))
    for number, (a, b) in enumerate(product(DOMAIN, DOMAIN))
]
"""All there can be: each value and NULL, in each column."""

_COLUMNS = st.sampled_from(["a", "b"])
_ATOMS = st.one_of(
    st.tuples(_COLUMNS, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), st.integers(0, 2)).map(
        lambda part: f"{part[0]} {part[1]} {part[2]}"
    ),
    st.tuples(_COLUMNS, st.sampled_from(["IS NULL", "IS NOT NULL", "IN (0, 2)", "NOT IN (1)"])).map(" ".join),
    st.sampled_from(["a = b", "a < b", "a + b > 2", "coalesce(a, 1) = 1", "a * b = 2", "abs(a) = b"]),
)
CONDITIONS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda part: f"({part[0]}) {part[1]} ({part[2]})"),
        inner.map(lambda one: f"NOT ({one})"),
    ),
    max_leaves=3,
)
SHOWN = st.sampled_from(["a", "b", "a, b", "a + b AS c", "1 AS c", "coalesce(a, 7) AS c"])
AGGREGATES = st.sampled_from(["count(*) AS n", "sum(a) AS s", "min(b) AS m, a", "count(a) AS n, b", "max(a + b) AS m"])


@st.composite
def texts(draw):
    """A query, as text."""
    where = draw(st.none() | CONDITIONS)
    suffix = f" WHERE {where}" if where else ""
    if draw(st.integers(0, 2)):
        return f"SELECT {draw(SHOWN)} FROM S{suffix}"
    outputs = draw(AGGREGATES)
    keys = " GROUP BY a" if outputs.endswith(", a") else " GROUP BY b" if outputs.endswith(", b") else ""
    return f"SELECT {outputs} FROM S [RANGE 4 s]{suffix}{keys}"


@st.composite
def policy_texts(draw):
    """A policy file for the user u."""
    lines = [
        "version: 1",
        f"defaults: {{on_assist_denied: {draw(st.sampled_from(['refuse', 'remove']))}}}",
        "policies:",
    ]
    for number in range(draw(st.integers(1, 4))):
        attributes = draw(st.sampled_from(["[a]", "[b]", "[a, b]"]))
        where = draw(st.none() | CONDITIONS)
        effect = draw(st.sampled_from(["allow: [read]"] * 4 + ["allow: [assist]", "allow: [compute]", "deny: [read]"]))
        group = draw(st.sampled_from(["", "", ", min_group: 2"]))
        condition = f', where: "{where}"' if where else ""
        covered = f"{{streams: [S], attributes: {attributes}{condition}}}"
        lines.append(f"  - {{id: p{number}, subject: {{user: u}}, object: {covered}, {effect}{group}}}")
    return "\n".join(lines)


def run(system: System):
    interpreter = Interpreter(system)
    interpreter.epoch(in_replay_order(system, {"S": EVERY_TUPLE}))
    interpreter.finish()
    return interpreter.outcomes["q", "u"]


NULL_SATISFIES_IT = (
    "version: 1\npolicies:\n"
    '  - {id: p0, subject: {user: u}, object: {streams: [S], attributes: [a], where: "a IS NULL"}, allow: [read]}\n'
    "  - {id: p1, subject: {user: u}, object: {streams: [S], attributes: [b]}, allow: [read]}"
)
"""Whoever may see `a` only where it is NULL sees NULL everywhere: `a IS NULL` then holds for every tuple."""
HIDDEN_BY_ANOTHER = (
    "version: 1\npolicies:\n"
    '  - {id: p0, subject: {user: u}, object: {streams: [S], attributes: [b], where: "a = 1"}, allow: [read]}\n'
    '  - {id: p1, subject: {user: u}, object: {streams: [S], attributes: [a], where: "a = 2"}, allow: [assist]}'
)


MANY = settings(max_examples=400 if os.environ.get("HYPOTHESIS_PROFILE") == "ci" else 50)


@MANY
@example(NULL_SATISFIES_IT, "SELECT b FROM S WHERE a IS NULL")
@example(HIDDEN_BY_ANOTHER, "SELECT b FROM S WHERE a IS NULL")
@given(policy_texts(), texts())
def test_property_verdicts_promise_no_more_than_brute_force_finds(policies: str, text: str):
    query = Query("q", "u", ("u",), parse_cql(text, CATALOG))
    system = System(CATALOG, {"u": User("u")}, (query,), parse_policies(policies, CATALOG))
    outcome = run(system)
    verdict = outcome.verdict
    if verdict.outcome is Outcome.GRANTED:
        assert outcome.results == run(replace(system, policies=None)).results
        assert not verdict.reasons
    if any(one.kind is NoticeKind.EMPTY for one in verdict.notices):
        assert not outcome.results
    if verdict.outcome is Outcome.DENIED:
        assert verdict.reasons


@MANY
@given(CONDITIONS, CONDITIONS)
def test_property_merged_filters_are_those_that_brute_force_finds(policy: str, asked: str):
    query = parse_cql(f"SELECT a, b FROM S WHERE {asked}", CATALOG)
    merged = merge_obligations(authorised_graph(STREAM, "p", policy), query)
    wanted = rows(query)
    allowed = rows(parse_cql(f"SELECT a, b FROM S WHERE ({asked}) AND ({policy})", CATALOG))
    assert rows(merged.plan) == allowed
    if merged.outcome is MergeOutcome.EMPTY:
        assert allowed == []
    if merged.outcome is MergeOutcome.FULL:
        assert allowed == wanted


def rows(plan) -> list:
    return run(System(CATALOG, {"u": User("u")}, (Query("q", "u", ("u",), plan),))).results


@pytest.mark.parametrize("condition", ["(" * 1_000 + "a > 1" + ")" * 1_000, "NOT " * 1_000 + "a > 1"])
def test_a_condition_nested_too_deeply_is_refused_cleanly(condition: str) -> None:
    with pytest.raises(InputError, match="deep"):
        parse_cql(f"SELECT a FROM S WHERE {condition}", CATALOG)
    with pytest.raises(InputError, match="deep"):
        authorised_graph(STREAM, "p", condition)
    with pytest.raises(InputError, match="deep"):
        parse_policies(ONE_POLICY.replace("a > 1", condition), CATALOG)


ONE_POLICY = (
    'version: 1\npolicies:\n  - {id: p, subject: {user: u}, object: {streams: [S], where: "a > 1"}, allow: [read]}'
)
