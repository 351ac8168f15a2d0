"""The index never changes a decision: whatever the policies and the request, with and without it are the same."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from xacml_documents import SUBJECT, all_of, any_of, match, obligations, policy, policy_set, rule, target

from headgate.decision.xacml import Attribute, Attributes, Pdp, RawValue, Request, read_policy
from headgate.decision.xacml.combining import POLICY_ALGORITHMS, RULE_ALGORITHMS
from headgate.decision.xacml.datatypes import INTEGER, STRING

ATTRIBUTES = ("a", "b", "c")
VALUES = ("1", "2", "3")

matches = st.builds(
    lambda name, value, must, function: match(name, value, must=must, name=function),
    st.sampled_from(ATTRIBUTES),
    st.sampled_from(VALUES),
    st.booleans(),
    st.sampled_from(["string-equal"] * 6 + ["string-regexp-match"]),
)
integer_matches = st.builds(
    lambda name, value: match(name, value).replace("#string", "#integer").replace("string-equal", "integer-equal"),
    st.sampled_from(ATTRIBUTES),
    st.sampled_from(VALUES),
)
conjunctions = st.lists(matches | integer_matches, min_size=1, max_size=2).map(lambda found: all_of(*found))
disjunctions = st.lists(conjunctions, min_size=1, max_size=3).map(lambda found: any_of(*found))
targets = st.lists(disjunctions, max_size=3).map(lambda found: target(*found))
rules = st.builds(lambda effect, shape: rule(effect, target=shape), st.sampled_from(["Permit", "Deny"]), targets)


@st.composite
def policies(draw: st.DrawFn) -> str:
    number = draw(st.integers(0, 10**6))
    duties = obligations((f"o{number}", "Permit", ""), (f"o{number}", "Deny", ""))
    return policy(
        *draw(st.lists(rules, max_size=6)),
        target=draw(targets),
        algorithm=draw(st.sampled_from(sorted(RULE_ALGORITHMS))),
        name=f"p{number}",
        extra=duties,
    )


policy_sets = st.builds(
    lambda members, shape, algorithm: policy_set(*members, target=shape, algorithm=algorithm),
    st.lists(policies(), max_size=5),
    targets,
    st.sampled_from(sorted(POLICY_ALGORITHMS)),
)
# "x" is no integer: looking at it as one is an error.
raw_values = st.builds(RawValue, st.sampled_from([STRING.uri, INTEGER.uri]), st.sampled_from([*VALUES, "x"]))
requests = st.lists(
    st.builds(Attribute, st.sampled_from(ATTRIBUTES), st.lists(raw_values, min_size=1, max_size=2).map(tuple)),
    max_size=4,
).map(lambda found: Request((Attributes(SUBJECT, tuple(found)),), return_policy_ids=True))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(policies() | policy_sets, max_size=9),
    st.sampled_from(sorted(POLICY_ALGORITHMS)),
    st.lists(requests, min_size=1, max_size=6),
)
def test_property_the_index_changes_nothing(documents: list[str], combining: str, asked: list[Request]) -> None:
    roots = [read_policy(document) for document in documents]
    indexed = Pdp(roots, combining=combining)
    complete = Pdp(roots, combining=combining, indexed=False)
    for request in asked:
        assert indexed.decide(request) == complete.decide(request)


def one_value(name: str, value: str) -> str:
    return any_of(all_of(match(name, value)))


def count_lookups(size: int) -> int:
    """How many attributes are looked up for one decision among that many policies."""
    asked = []

    def finder(category: str, attribute: str, data_type: str, issuer: str | None) -> list[str]:
        asked.append(attribute)
        return []

    documents = [
        policy(rule(), target=target(one_value(f"only-{number}", "x"), one_value("stream", str(number))))
        for number in range(size)
    ]
    pdp = Pdp([read_policy(document) for document in documents], finder=finder)
    request = Request((Attributes(SUBJECT, (Attribute("stream", (RawValue(STRING.uri, "3"),)),)),))
    pdp.decide(request)
    return len(asked)


def test_only_the_policies_of_the_requests_values_are_looked_at() -> None:
    # Each target asks for an attribute of its own first, so lookups count the policies evaluated.
    assert count_lookups(10) == count_lookups(300) == 1


def test_policies_filed_under_an_attribute_that_must_be_there_are_not_lost_without_it() -> None:
    """An error in a target hides whether it matches: leaving the policies out would turn that into no decision."""
    demands = [target(any_of(all_of(match("a", str(number), must=True)))) for number in range(8)]
    found = [read_policy(policy(rule("Deny"), target=one, name=f"p{number}")) for number, one in enumerate(demands)]
    combining = next(uri for uri in POLICY_ALGORITHMS if uri.endswith("3.0:policy-combining-algorithm:deny-overrides"))
    for indexed in (True, False):
        decision = Pdp(found, combining=combining, indexed=indexed).decide(Request(())).results[0].decision
        assert decision.name.startswith("INDETERMINATE"), indexed
