"""Obligations merged with user queries: the examples, figures and tables of eXACML+, and each rule of section 7.

Before and after stand in `tests/golden/obligation.txt`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headgate.algebra.operators import Source
from headgate.algebra.scope import SourceScope
from headgate.algebra.spelling.cql import parse_cql, print_cql
from headgate.algebra.spelling.user_query_xml import parse_user_query_xml
from headgate.decision.solver import Answer
from headgate.errors import InputError
from headgate.model.datatype import DataType
from headgate.model.expression.parse import parse_condition
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.policy.model import Disclosure
from headgate.rewrite.notice import NoticeKind
from headgate.rewrite.obligation.graph import AuthorisedGraph, WindowsRule, authorised_graph, intersect_graphs
from headgate.rewrite.obligation.merge import MergeOutcome, merge_obligations
from headgate.rewrite.reasoning import Reasoning

T = DataType
GOLDEN = Path(__file__).parents[2] / "golden" / "obligation.txt"
WEATHER = StreamSchema(
    "weather",
    (
        Column("samplingtime", T.TIMESTAMP),
        Column("temperature", T.DOUBLE),
        Column("humidity", T.DOUBLE),
        Column("rainrate", T.DOUBLE),
        Column("windspeed", T.DOUBLE),
    ),
    time="samplingtime",
)
NUMBERS = StreamSchema("S", (Column("ts", T.TIMESTAMP), Column("a", T.INT), Column("b", T.INT), Column("c", T.STRING)))
CATALOG = StreamCatalog([WEATHER, NUMBERS])
FULL, PARTIAL, EMPTY, REFUSED = MergeOutcome


def over_a(policy: str, asked: str):
    """A filter of the policy `p` on the stream of example 3, merged with one of the user."""
    graph = authorised_graph(NUMBERS, "p", policy)
    return merge_obligations(graph, parse_cql(f"SELECT a FROM S WHERE {asked}", CATALOG))


def given(text: str) -> tuple[AuthorisedGraph, str]:
    """The graph and the query of a golden case."""
    parts = dict(line.split(": ", 1) for line in text.splitlines())
    graph = authorised_graph(
        WEATHER,
        "nea",
        parts.get("filter"),
        parts["map"].split(", ") if "map" in parts else None,
        tuple(parts["window"].split(", ")) if "window" in parts else None,
        parts["functions"].split(", ") if "functions" in parts else (),
        int(parts["minimum"]) if "minimum" in parts else None,
    )
    return graph, parts["asked"]


def outcome(text: str) -> str:
    graph, asked = given(text)
    merged = merge_obligations(graph, None if asked == "(nothing)" else parse_cql(asked, CATALOG))
    lines = [merged.outcome.value, print_cql(merged.plan) if merged.plan else "(nothing to run)", *merged.warnings()]
    return "\n".join(lines)


def test_golden_merges() -> None:
    stored = [tuple(case.split("\n----")) for case in GOLDEN.read_text(encoding="utf-8").strip("\n").split("\n\n")]
    merged = [(asked, "\n" + outcome(asked)) for asked, _ in stored]
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text("\n\n".join(f"{asked}\n----{lines}" for asked, lines in merged) + "\n", encoding="utf-8")
    else:
        assert merged == stored


FIGURE_4A = """<UserQuery>
  <Stream name="weather" />
  <Filter><FilterCondition>RainRate > 50</FilterCondition></Filter>
  <Map><Attribute>RainRate</Attribute></Map>
  <Aggregation>
    <WindowType>tuple</WindowType>
    <WindowSize>10</WindowSize>
    <WindowStep>2</WindowStep>
    <Attribute>avg(RainRate)</Attribute>
  </Aggregation>
</UserQuery>"""


def test_figure_1_is_the_graph_by_itself() -> None:
    graph, _ = given(GOLDEN.read_text(encoding="utf-8").split("\n----")[0])
    assert print_cql(graph.operator()) == (
        "SELECT last(samplingtime), avg(rainrate), max(windspeed) FROM weather [ROWS 5, SLIDE 2] WHERE rainrate > 5"
    )


def test_figure_4_gives_the_merged_statements_of_figure_4b() -> None:
    """One filter (the stricter), windows of ten by two. The figure also keeps `lastval(samplingtime)`, which nobody
    asked for: here maps and functions are intersected, and every result has its time anyway."""
    graph, _ = given(GOLDEN.read_text(encoding="utf-8").split("\n----")[0])
    merged = merge_obligations(graph, parse_user_query_xml(FIGURE_4A, CATALOG))
    assert print_cql(merged.plan) == "SELECT avg(rainrate) FROM weather [ROWS 10, SLIDE 2] WHERE rainrate > 50"
    assert (merged.outcome, merged.notices) == (FULL, ())


def test_example_3_partial_with_a_tuple_that_is_withheld() -> None:
    merged = over_a("a > 8", "a > 5")
    assert merged.outcome is PARTIAL
    (notice,) = merged.notices
    assert (notice.kind, notice.policies) == (NoticeKind.PARTIAL, ("p",))
    assert notice.example in ("a = 6", "a = 7", "a = 8")
    assert "S.a > 8" in notice.text


def test_example_3_empty() -> None:
    merged = over_a("a < 4", "a > 5")
    assert merged.outcome is EMPTY
    assert not merged.runs
    assert merged.warnings() == ("EMPTY: no tuple can satisfy both the query and `S.a < 4`",)


def test_example_4_is_empty_although_no_policy_condition_alone_is() -> None:
    merged = over_a("(a > 20 AND a < 30) OR NOT (a <> 40)", "NOT (a >= 10) AND b = 20")
    assert merged.outcome is EMPTY


def test_example_4_with_the_parts_changed_is_not() -> None:
    assert over_a("(a > 20 AND a < 30) OR NOT (a <> 40)", "NOT (a >= 41) AND b = 20").outcome is PARTIAL
    assert over_a("(a > 20 AND a < 30) OR NOT (a <> 40)", "a = 40 AND b = 20").outcome is FULL
    assert over_a("(a > 20 AND a < 30) OR NOT (a <> 40)", "a > 21 AND a <= 29").outcome is FULL


def test_contradictions_that_no_pair_shows() -> None:
    """The paper checks pair by pair; three conditions can contradict each other where no two do."""
    assert over_a("a < b AND b < 3", "a > 5").outcome is EMPTY
    assert over_a("a <> 1 AND a <> 2", "a >= 1 AND a <= 2").outcome is EMPTY


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(3, 5, PARTIAL), (5, 5, PARTIAL), (5, 3, EMPTY)],
)
def test_figure_5_at_least_one_bound_and_at_most_the_other(low: int, high: int, expected: MergeOutcome) -> None:
    assert over_a(f"a >= {low}", f"a <= {high}").outcome is expected


SIGNS = ("<", ">", "<=", ">=", "=", "<>")


@pytest.mark.parametrize("policy", SIGNS)
@pytest.mark.parametrize("asked", SIGNS)
@pytest.mark.parametrize("difference", [-1, 0, 1])
def test_every_pair_of_simple_expressions(policy: str, asked: str, difference: int) -> None:
    """The paper's function for two simple expressions, all 108 cases of it, against counting."""
    holds = {
        "<": int.__lt__, ">": int.__gt__, "<=": int.__le__, ">=": int.__ge__, "=": int.__eq__, "<>": int.__ne__
    }  # fmt: skip
    wanted = [a for a in range(-9, 10) if holds[asked](a, difference)]
    allowed = [a for a in wanted if holds[policy](a, 0)]
    expected = EMPTY if not allowed else PARTIAL if len(allowed) < len(wanted) else FULL
    assert over_a(f"a {policy} 0", f"a {asked} {difference}").outcome is expected


@pytest.mark.parametrize(
    ("negated", "plain"),
    [
        ("a > 5", "a <= 5"),
        ("a < 5", "a >= 5"),
        ("a >= 5", "a < 5"),
        ("a <= 5", "a > 5"),
        ("a = 5", "a <> 5"),
        ("a <> 5", "a = 5"),
    ],
)
def test_table_2_negations(negated: str, plain: str) -> None:
    scope = SourceScope([Source(NUMBERS, "S")])
    one, other = parse_condition(f"NOT ({negated})", scope), parse_condition(plain, scope)
    assert Reasoning().implied([one], other) is Answer.YES
    assert Reasoning().implied([other], one) is Answer.YES


@pytest.mark.parametrize(
    ("policy", "asked", "expected"),
    [
        ("c = 'x'", "c = 'y'", EMPTY),
        ("c IN ('x', 'y')", "c = 'y'", FULL),
        ("c LIKE 'ab%'", "c LIKE 'abc%'", FULL),
        ("c LIKE 'abc%'", "c LIKE 'ab%'", PARTIAL),
        ("c LIKE 'x%'", "c LIKE 'y%'", EMPTY),
        ("c IS NULL", "c = 'x'", EMPTY),
        ("c IS NOT NULL", "c = 'x'", FULL),
        ("a + b > 3", "a > 1 AND b > 1", PARTIAL),
        ("a + b > 3", "a = 2 AND b = 2", FULL),
        ("2 * a < 10", "a < 5 AND a > 0", FULL),
        ("ts >= TIMESTAMP '2026-01-01T00:00:00Z'", "ts < TIMESTAMP '2025-01-01T00:00:00Z'", EMPTY),
        ("NOT (a > 1 AND (b > 1 OR NOT c = 'x'))", "a = 2 AND b = 2", EMPTY),
    ],
)
def test_what_the_solver_reasons_about(policy: str, asked: str, expected: MergeOutcome) -> None:
    assert over_a(policy, asked).outcome is expected


@pytest.mark.parametrize(
    ("policy", "asked"), [("a * b = 12", "a * b > 4"), ("length(c) > 3", "c = 'ab'"), ("c LIKE '%x%'", "c = 'axb'")]
)
def test_what_cannot_be_decided_is_said_and_never_full(policy: str, asked: str) -> None:
    merged = over_a(policy, asked)
    assert merged.outcome is PARTIAL
    assert {one.kind for one in merged.notices} <= {NoticeKind.UNDECIDED, NoticeKind.PARTIAL}


def test_who_asks_for_less_than_is_allowed_gets_no_warning() -> None:
    graph = authorised_graph(WEATHER, "nea", "rainrate > 5", ["rainrate", "windspeed"])
    merged = merge_obligations(graph, parse_cql("SELECT rainrate FROM weather WHERE rainrate > 6", CATALOG))
    assert (merged.outcome, merged.notices) == (FULL, ())


def test_disclosure_cuts_down_what_is_told() -> None:
    merged = over_a("a > 8", "a > 5")
    clause, name, nothing = (merged.warnings(one)[0] for one in Disclosure)
    assert "S.a > 8" in clause and "such as a = " in clause  # noqa: PT018 - one text
    assert name == "the filter: not all of it is allowed (`p`)"
    assert nothing == "a part of what is asked for can be withheld"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT S.a FROM S [NOW], weather [NOW]",
        "SELECT rainrate FROM weather",
        "SELECT a FROM S UNION ALL SELECT a FROM S",
    ],
)
def test_a_query_that_is_not_over_the_stream_alone_is_a_mistake(text: str) -> None:
    with pytest.raises(InputError):
        merge_obligations(authorised_graph(NUMBERS, "p", "a > 1"), parse_cql(text, CATALOG))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"condition": "a >"}, None),
        ({"condition": "nosuch > 1"}, "unknown column"),
        ({"condition": "f(a) > 1"}, None),
        ({"attributes": ["nosuch"]}, "has no column `nosuch`"),
        ({"attributes": []}, "authorises no attribute"),
        ({"window": ("5 rows", "1 hour"), "functions": ["a:avg"]}, "different kinds"),
        ({"window": ("0 rows", "2 rows"), "functions": ["a:avg"]}, None),
        ({"window": ("5 rows", "2 rows"), "functions": []}, "authorises no function"),
        ({"window": ("5 rows", "2 rows"), "functions": ["a"]}, "is not an attribute and its function"),
        ({"window": ("5 rows", "2 rows"), "functions": ["a:median"]}, "is not an attribute and its function"),
        ({"window": ("5 rows", "2 rows"), "functions": ["c:avg"]}, "needs a number"),
        ({"window": ("5 rows", "2 rows"), "functions": ["a:avg"], "attributes": ["b"]}, "aggregates nothing"),
        ({"functions": ["a:avg"]}, "without a window"),
        ({"minimum": 0}, "minimum number of tuples"),
    ],
)
def test_a_graph_that_means_nothing_is_a_mistake(arguments: dict, message: str | None) -> None:
    with pytest.raises(InputError) as caught:
        authorised_graph(NUMBERS, "p", **arguments)
    assert message is None or message in caught.value.message


def test_two_permits_authorise_what_both_do() -> None:
    one = authorised_graph(NUMBERS, "p", "a > 1", ["a", "b"], ("5 rows", "2 rows"), ["a:avg", "b:max"], minimum=2)
    other = authorised_graph(
        NUMBERS, "q", "b > 1", ["a", "c"], ("4 rows", "4 rows"), ["a:avg", "a:max"], windows=WindowsRule.SINGLE
    )
    both = intersect_graphs(one, other)
    assert print_cql(both.operator()) == "SELECT avg(a) FROM S [ROWS 5, SLIDE 4] WHERE a > 1 AND b > 1"
    assert (both.attributes, both.minimum, both.windows) == (("a",), 2, WindowsRule.SINGLE)
    assert [one.policy for one in both.filters] == ["p", "q"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"attributes": ["c"]},
        {"window": ("1 hour", "1 hour"), "functions": ["a:avg"]},
        {"window": ("5 rows", "2 rows"), "functions": ["b:avg"]},
    ],
)
def test_permits_that_have_nothing_in_common_are_told_apart(arguments: dict) -> None:
    one = authorised_graph(NUMBERS, "p", None, ["a", "b"], ("5 rows", "2 rows"), ["a:avg"])
    with pytest.raises(InputError):
        intersect_graphs(one, authorised_graph(NUMBERS, "q", **arguments))
