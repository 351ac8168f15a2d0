"""Rules that read alike are compiled once, and only where they mean the same in every policy."""

from __future__ import annotations

import pytest
from xacml_documents import EMPTY, apply, designator, equals, literal, policy, policy_set, rule, truth, whole

from headgate.decision.xacml import Decision, Pdp, build_request, read_policy
from headgate.decision.xacml.combining import POLICY_ALGORITHMS
from headgate.decision.xacml.sharing import may_share_rule
from headgate.decision.xacml.syntax import Policy, Rule

PERMIT_OVERRIDES = next(
    uri for uri in POLICY_ALGORITHMS if uri.endswith("3.0:policy-combining-algorithm:permit-overrides")
)
WHO = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"


def only_rule(text: str) -> Rule:
    found = read_policy(policy(text))
    assert isinstance(found, Policy)
    return found.rules[0]


@pytest.mark.parametrize("first", [True, False])
def test_equal_conditions_on_variables_are_each_policys_own(first: bool) -> None:
    reference = '<VariableReference VariableId="v"/>'

    def with_variable(value: bool) -> str:
        defined = f'<VariableDefinition VariableId="v">{truth(value)}</VariableDefinition>'
        return policy(defined, rule(condition=reference))

    pdp = [
        Pdp([read_policy(policy_set(with_variable(value), with_variable(not value)))]) for value in (first, not first)
    ]
    alone = [Pdp([read_policy(with_variable(value))]).decide(EMPTY).results[0].decision for value in (True, False)]
    assert alone == [Decision.PERMIT, Decision.NOT_APPLICABLE]
    assert [one.decide(EMPTY).results[0].decision for one in pdp] == [Decision.PERMIT] * 2


def test_a_shared_rule_decides_in_every_policy_that_has_it() -> None:
    shared = rule(condition=apply("integer-equal", apply("integer-one-and-only", designator("n", "integer")), whole(1)))
    policies = [policy(shared, target=equals("role", name), name=name) for name in "abc"]
    pdp = Pdp([read_policy(one) for one in policies], combining=PERMIT_OVERRIDES)
    for role, number, wanted in (
        ("a", 1, Decision.PERMIT),
        ("c", 1, Decision.PERMIT),
        ("b", 2, Decision.NOT_APPLICABLE),
    ):
        asked = build_request({WHO: {"role": role, "n": number}})
        assert pdp.decide(asked).results[0].decision is wanted


@pytest.mark.parametrize(
    ("condition", "shared"),
    [
        (apply("integer-equal", whole(1), whole(2)), True),
        (apply("string-equal", literal("string", "a"), literal("string", "b")), True),
        (apply("double-equal", literal("double", "0.0"), literal("double", "-0.0")), False),
        (apply("not", '<VariableReference VariableId="v"/>'), False),
    ],
)
def test_only_values_that_are_equal_in_every_way_are_shared(condition: str, shared: bool) -> None:
    assert may_share_rule(only_rule(rule(condition=condition))) is shared
