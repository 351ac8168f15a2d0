"""Policies as XML: written, they read back as the same."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xacml_documents import V1, V3

from headgate.decision.xacml import Effect, Policy, PolicySet, read_policy
from headgate.decision.xacml.datatypes import BOOLEAN, DATE_TIME, DAY_TIME_DURATION, DOUBLE, INTEGER, STRING
from headgate.decision.xacml.syntax import (
    Apply,
    AssignmentExpression,
    Designator,
    FunctionName,
    Literal,
    Match,
    ObligationExpression,
    Reference,
    Rule,
    Selector,
    Target,
    VariableReference,
)
from headgate.decision.xacml.write_policy import write_policy
from headgate.errors import InputError

SUITE = Path(__file__).resolve().parents[4] / "shared" / "xacml-conformance" / "v3.tar.xz"
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), min_size=1)
IDS = st.from_regex(r"urn:[a-z:]{1,8}", fullmatch=True)
LITERALS = st.one_of(
    TEXTS.map(lambda one: Literal(STRING, one)),
    st.integers().map(lambda one: Literal(INTEGER, one)),
    st.floats(allow_nan=False).map(lambda one: Literal(DOUBLE, one)),
    st.booleans().map(lambda one: Literal(BOOLEAN, one)),
    st.sampled_from(["P1D", "PT0.5S"]).map(lambda one: Literal(DAY_TIME_DURATION, DAY_TIME_DURATION.read(one))),
    st.just(Literal(DATE_TIME, DATE_TIME.read("2026-01-01T00:00:00Z"))),
)
DESIGNATORS = st.builds(Designator, IDS, IDS, st.sampled_from([STRING, INTEGER]), st.none() | TEXTS, st.booleans())
SELECTORS = st.builds(
    Selector, IDS, st.sampled_from(["/a/b", "//x[@y='<&>']"]), st.just(STRING), st.booleans(), st.none() | IDS
)
EXPRESSIONS = st.recursive(
    st.one_of(LITERALS, DESIGNATORS, SELECTORS, IDS.map(FunctionName), IDS.map(VariableReference)),
    lambda inner: st.builds(lambda name, own: Apply(name, tuple(own)), IDS, st.lists(inner, max_size=3)),
    max_leaves=5,
)
TARGETS = st.builds(
    lambda groups: Target(tuple(tuple(tuple(all_of) for all_of in any_of) for any_of in groups)),
    st.lists(
        st.lists(
            st.lists(st.builds(Match, IDS, LITERALS, DESIGNATORS), min_size=1, max_size=2), min_size=1, max_size=2
        ),
        max_size=2,
    ),
)
ASSIGNMENTS = st.builds(AssignmentExpression, IDS, EXPRESSIONS, st.none() | IDS, st.none() | TEXTS)
DUTIES = st.builds(
    lambda duties, advice: (*duties, *advice),
    st.lists(
        st.builds(ObligationExpression, IDS, st.sampled_from(Effect), st.lists(ASSIGNMENTS, max_size=2).map(tuple))
    ),
    st.lists(st.builds(ObligationExpression, IDS, st.sampled_from(Effect), st.just(()), st.just(True)), max_size=1),
)
RULES = st.builds(Rule, TEXTS, st.sampled_from(Effect), TARGETS, st.none() | EXPRESSIONS, DUTIES)
POLICIES = st.builds(
    Policy,
    TEXTS,
    st.sampled_from(["1.0", "2.3.4"]),
    IDS,
    TARGETS,
    st.lists(RULES, max_size=2).map(tuple),
    st.dictionaries(IDS, EXPRESSIONS, max_size=2),
    DUTIES,
)
REFERENCES = st.builds(Reference, IDS, st.booleans(), st.none() | st.just("1.*"), st.none(), st.none() | st.just("3.+"))


@given(POLICIES, st.lists(REFERENCES, max_size=2))
def test_property_written_policies_read_back_as_the_same(policy: Policy, references: list[Reference]) -> None:
    assert _plain(read_policy(write_policy(policy))) == _plain(policy)
    whole = PolicySet("set", "1.0", V3 + "policy-combining-algorithm:deny-overrides", Target(), (policy, *references))
    assert _plain(read_policy(write_policy(whole))) == _plain(whole)


def _plain(policy: object) -> object:
    """The policy as nested tuples, without places and prefixes."""
    if isinstance(policy, tuple):
        return tuple(_plain(one) for one in policy)
    if isinstance(policy, dict):
        return {key: _plain(value) for key, value in policy.items()}
    if isinstance(policy, float):
        return repr(policy)  # NaN is not equal to itself
    fields = getattr(policy, "__dataclass_fields__", None)
    if fields is None or "uri" in fields:
        return policy
    names = [name for name in fields if name not in ("place", "namespaces")]
    return (type(policy).__name__, *(_plain(getattr(policy, name)) for name in names))


@pytest.mark.skipif(not SUITE.exists(), reason="the conformance tests are not beside the checkout")
def test_the_policies_of_the_conformance_tests_read_back_as_the_same() -> None:
    count = 0
    with tarfile.open(SUITE) as archive:
        for member in archive:
            name = Path(member.name).name.lower()
            if not member.isfile() or not name.endswith(".xml") or "policy" not in name:
                continue
            source = archive.extractfile(member)
            assert source is not None
            try:
                policy = read_policy(source.read())
            except InputError:
                continue  # some are there to be refused
            assert _plain(read_policy(write_policy(policy))) == _plain(policy), member.name
            count += 1
    assert count > 300


def test_a_2_0_policy_is_written_in_the_words_of_3_0() -> None:
    path = Path(__file__).parents[3] / "examples" / "weather" / "nea-policy.xml"
    policy = read_policy(path.read_bytes())
    assert isinstance(policy, Policy)
    again = read_policy(write_policy(policy))
    assert isinstance(again, Policy)
    assert (again.target, again.rules, again.obligations) == (policy.target, policy.rules, policy.obligations)


def test_what_3_0_cannot_say_is_refused() -> None:
    rule = Rule("r", Effect.PERMIT, Target(), Apply(V1 + "function:not", (Selector(None, "//x", BOOLEAN),)))
    policy = Policy("p", "1.0", "urn:x", Target(), (rule,))
    with pytest.raises(InputError, match=r"looks into a 2\.0 request"):
        write_policy(policy)
    with pytest.raises(InputError, match="a character that XML cannot carry"):
        write_policy(Policy("p\x00", "1.0", "urn:x", Target()))
