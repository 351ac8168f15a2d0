"""Combining algorithms against a model written as tables of what was seen, not as loops."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xacml_documents import EMPTY, V1, V3, V11

from headgate.decision.xacml import Decision, Effect, Obligation
from headgate.decision.xacml.child import Child, Closures
from headgate.decision.xacml.combining import POLICY_ALGORITHMS, RULE_ALGORITHMS, Combine
from headgate.decision.xacml.context import Context
from headgate.decision.xacml.outcome import Outcome, Status
from headgate.decision.xacml.syntax import Target

P, D, NA = Decision.PERMIT, Decision.DENY, Decision.NOT_APPLICABLE
ID, IP, IDP = Decision.INDETERMINATE_D, Decision.INDETERMINATE_P, Decision.INDETERMINATE_DP
ERRORS = {ID, IP, IDP}
SWAP = {P: D, D: P, NA: NA, ID: IP, IP: ID, IDP: IDP}


def model_deny_overrides(seen: list[Decision]) -> Decision:
    """XACML 3.0, C.2, as what the extended Indeterminate means: which worlds are possible?"""
    kinds = set(seen)
    if D in kinds:
        return D
    could_deny = bool(kinds & {ID, IDP})
    could_be_permit = bool(kinds & {P, IP, IDP})
    if could_deny:
        return IDP if could_be_permit else ID
    if P in kinds:
        return P
    return IP if IP in kinds else NA


def model_permit_overrides(seen: list[Decision]) -> Decision:
    return SWAP[model_deny_overrides([SWAP[each] for each in seen])]


def model_deny_unless_permit(seen: list[Decision]) -> Decision:
    return P if P in seen else D


def model_permit_unless_deny(seen: list[Decision]) -> Decision:
    return D if D in seen else P


def model_first_applicable(seen: list[Decision]) -> Decision:
    return next((each for each in seen if each is not NA), NA)


def model_legacy_policy_deny_overrides(seen: list[Decision]) -> Decision:
    kinds = set(seen)
    return D if kinds & (ERRORS | {D}) else P if P in kinds else NA


def model_legacy_policy_permit_overrides(seen: list[Decision]) -> Decision:
    kinds = set(seen)
    return P if P in kinds else D if D in kinds else IDP if kinds & ERRORS else NA


def model_legacy_rule_deny_overrides(seen: list[Decision]) -> Decision:
    """A rule's error carries its own effect, so ID comes from a Deny rule and IP from a Permit rule."""
    kinds = set(seen)
    if D in kinds:
        return D
    return IDP if ID in kinds else P if P in kinds else IDP if IP in kinds else NA


def model_legacy_rule_permit_overrides(seen: list[Decision]) -> Decision:
    return SWAP[model_legacy_rule_deny_overrides([SWAP[each] for each in seen])]


CURRENT = {
    f"{V3}{{kind}}-combining-algorithm:deny-overrides": model_deny_overrides,
    f"{V3}{{kind}}-combining-algorithm:ordered-deny-overrides": model_deny_overrides,
    f"{V3}{{kind}}-combining-algorithm:permit-overrides": model_permit_overrides,
    f"{V3}{{kind}}-combining-algorithm:ordered-permit-overrides": model_permit_overrides,
    f"{V3}{{kind}}-combining-algorithm:deny-unless-permit": model_deny_unless_permit,
    f"{V3}{{kind}}-combining-algorithm:permit-unless-deny": model_permit_unless_deny,
    f"{V1}{{kind}}-combining-algorithm:first-applicable": model_first_applicable,
}
POLICY_MODELS = {uri.format(kind="policy"): model for uri, model in CURRENT.items()} | {
    f"{V1}policy-combining-algorithm:deny-overrides": model_legacy_policy_deny_overrides,
    f"{V11}policy-combining-algorithm:ordered-deny-overrides": model_legacy_policy_deny_overrides,
    f"{V1}policy-combining-algorithm:permit-overrides": model_legacy_policy_permit_overrides,
    f"{V11}policy-combining-algorithm:ordered-permit-overrides": model_legacy_policy_permit_overrides,
}
RULE_MODELS = {uri.format(kind="rule"): model for uri, model in CURRENT.items()} | {
    f"{V1}rule-combining-algorithm:deny-overrides": model_legacy_rule_deny_overrides,
    f"{V11}rule-combining-algorithm:ordered-deny-overrides": model_legacy_rule_deny_overrides,
    f"{V1}rule-combining-algorithm:permit-overrides": model_legacy_rule_permit_overrides,
    f"{V11}rule-combining-algorithm:ordered-permit-overrides": model_legacy_rule_permit_overrides,
}
ONLY_ONE = V1 + "policy-combining-algorithm:only-one-applicable"
RULE_VALUES = [P, D, NA, ID, IP]


def child(decision: Decision, name: str = "o", *, applies: bool | Status = True) -> Child:
    effect = {P: Effect.PERMIT, IP: Effect.PERMIT, D: Effect.DENY, ID: Effect.DENY}.get(decision)
    duties = (Obligation(name, effect),) if decision in (P, D) and effect is not None else ()
    status = Status("error", name) if decision in ERRORS else Status()
    outcome = Outcome(decision, status, duties)
    return Closures(lambda _context: applies, lambda _context: outcome, Target(), effect)


def combined(combine: Combine, seen: list[Decision]) -> Outcome:
    children = [child(decision, f"o{position}") for position, decision in enumerate(seen)]
    return combine(children, Context(EMPTY))


def test_every_algorithm_has_a_model() -> None:
    assert set(RULE_ALGORITHMS) == set(RULE_MODELS)
    assert set(POLICY_ALGORITHMS) == set(POLICY_MODELS) | {ONLY_ONE}


@pytest.mark.parametrize("uri", sorted(RULE_MODELS))
def test_rules_combine_as_the_table_says(uri: str) -> None:
    for length in range(5):
        for seen in product(RULE_VALUES, repeat=length):
            expected = RULE_MODELS[uri](list(seen))
            assert combined(RULE_ALGORITHMS[uri], list(seen)).decision is expected, (uri, seen)


@pytest.mark.parametrize("uri", sorted(POLICY_MODELS))
def test_policies_combine_as_the_table_says(uri: str) -> None:
    for length in range(5):
        for seen in product(Decision, repeat=length):
            expected = POLICY_MODELS[uri](list(seen))
            assert combined(POLICY_ALGORITHMS[uri], list(seen)).decision is expected, (uri, seen)


@settings(deadline=None)
@given(st.sampled_from(sorted(POLICY_MODELS)), st.lists(st.sampled_from(list(Decision)), max_size=12))
def test_property_policies_combine_as_the_model(uri: str, seen: list[Decision]) -> None:
    outcome = combined(POLICY_ALGORITHMS[uri], seen)
    assert outcome.decision is POLICY_MODELS[uri](seen)
    # Obligations come only from children of the final decision, in order, and an error has none and says why.
    names = [obligation.id for obligation in outcome.obligations]
    agreeing = [f"o{position}" for position, each in enumerate(seen) if each is outcome.decision and each in (P, D)]
    assert names == agreeing[: len(names)]
    if outcome.decision in ERRORS:
        assert not names
        assert outcome.status.code == "error"
    # The older deny-overrides of policies stops at an error, before it has seen the Deny behind it.
    stops_at_errors = POLICY_MODELS[uri] is model_legacy_policy_deny_overrides and ERRORS & set(seen)
    if outcome.decision in (P, D) and agreeing and not stops_at_errors:
        assert names


@settings(deadline=None)
@given(st.sampled_from(sorted(RULE_MODELS)), st.lists(st.sampled_from(RULE_VALUES), max_size=12))
def test_property_rules_combine_as_the_model(uri: str, seen: list[Decision]) -> None:
    assert combined(RULE_ALGORITHMS[uri], seen).decision is RULE_MODELS[uri](seen)


def test_deny_overrides_collects_the_obligations_of_all_permits() -> None:
    outcome = combined(POLICY_ALGORITHMS[f"{V3}policy-combining-algorithm:deny-overrides"], [P, NA, P])
    assert [obligation.id for obligation in outcome.obligations] == ["o0", "o2"]


FAILED = Status("error", "target")


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([True, False, FAILED]), st.sampled_from(list(Decision))), max_size=6))
def test_property_only_one_applicable_counts_targets(members: list[tuple[bool | Status, Decision]]) -> None:
    children = [child(decision, applies=applies) for applies, decision in members]
    outcome = POLICY_ALGORITHMS[ONLY_ONE](children, Context(EMPTY))
    applicable = [decision for applies, decision in members if applies is True]
    if any(applies is FAILED for applies, _ in members) or len(applicable) > 1:
        assert outcome.decision is IDP
    else:
        assert outcome.decision is (applicable[0] if applicable else NA)
