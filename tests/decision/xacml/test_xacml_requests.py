"""Requests that ask for several decisions, for lists of policies, or for their attributes back."""

from __future__ import annotations

import pytest
from xacml_documents import (
    ACTION,
    EMPTY,
    NAMESPACE,
    RESOURCE,
    RESOURCE_ID,
    SUBJECT,
    V2,
    V3,
    all_of,
    any_of,
    equals,
    match,
    obligations,
    policy,
    policy_set,
    rule,
    target,
)

from headgate.decision.xacml import (
    DENY_OVERRIDES,
    DENY_UNLESS_PERMIT,
    Attribute,
    Attributes,
    Decision,
    Pdp,
    PolicyIdentifier,
    RawValue,
    Request,
    build_request,
    read_policy,
    read_request,
    write_request,
)
from headgate.decision.xacml.datatypes import ANY_URI, STRING, XPATH_EXPRESSION
from headgate.errors import UnknownNameError

P, D, NA = Decision.PERMIT, Decision.DENY, Decision.NOT_APPLICABLE


def attributes(
    category: str, name: str, value: str, *, include: bool = False, reference: str | None = None
) -> Attributes:
    return Attributes(category, (Attribute(name, (RawValue(STRING.uri, value),), None, include),), None, reference)


def decisions(pdp: Pdp, request: Request) -> list[Decision]:
    return [result.decision for result in pdp.decide(request).results]


ANN_MAY = Pdp([read_policy(policy(rule(target=equals("name", "ann"))))])
ANN, BOB = attributes(SUBJECT, "name", "ann"), attributes(SUBJECT, "name", "bob")
READ, WRITE = attributes(ACTION, "act", "read"), attributes(ACTION, "act", "write")


def test_repeated_categories_ask_for_each_combination() -> None:
    assert decisions(ANN_MAY, Request((ANN, BOB))) == [P, NA]
    assert decisions(ANN_MAY, Request((ANN, BOB, READ, WRITE))) == [P, P, NA, NA]


def test_references_pick_categories_by_name() -> None:
    groups = (
        attributes(SUBJECT, "name", "ann", reference="a"),
        attributes(SUBJECT, "name", "bob", reference="b"),
        attributes(ACTION, "act", "read", reference="r"),
    )
    request = Request(groups, references=(("b", "r"), ("a", "r")))
    assert decisions(ANN_MAY, request) == [NA, P]
    assert decisions(ANN_MAY, read_request(write_request(request))) == [NA, P]
    broken = ANN_MAY.decide(Request(groups, references=(("a", "nobody"),))).result
    assert broken.decision is Decision.INDETERMINATE_DP
    assert "nobody" in (broken.status.message or "")


@pytest.mark.parametrize(
    ("groups", "decision"),
    [
        ((ANN, READ, WRITE), P),
        ((BOB, READ, WRITE), NA),
        ((ANN, BOB), Decision.INDETERMINATE_DP),
        ((ANN,), P),
    ],
)
def test_a_combined_decision_is_the_common_one_or_indeterminate(
    groups: tuple[Attributes, ...], decision: Decision
) -> None:
    assert decisions(ANN_MAY, Request(groups, combined_decision=True)) == [decision]


def test_decisions_with_obligations_are_not_combined() -> None:
    pdp = Pdp([read_policy(policy(rule(), extra=obligations(("o", "Permit", ""))))])
    assert decisions(pdp, Request((ANN, BOB))) == [P, P]
    result = pdp.decide(Request((ANN, BOB), combined_decision=True)).result
    assert (result.decision, result.obligations) == (Decision.INDETERMINATE_DP, ())
    assert decisions(pdp, Request((ANN,), combined_decision=True)) == [P]


def test_too_many_single_requests_are_indeterminate() -> None:
    many = tuple(attributes(category, "a", str(n)) for category in ("x", "y", "z") for n in range(11))
    result = ANN_MAY.decide(Request(many)).result
    assert result.decision is Decision.INDETERMINATE_DP
    assert "1000" in (result.status.message or "")


TREE = {"root": ["a", "b"], "a": ["c"], "c": ["root"]}
ROOT_ONLY = read_policy(policy(rule(target=target(any_of(all_of(match(RESOURCE_ID, "root", category=RESOURCE)))))))


def scoped(scope: str) -> Request:
    return build_request({RESOURCE: {RESOURCE_ID: "root", V2 + "resource:scope": scope}})


@pytest.mark.parametrize(
    ("scope", "names"),
    [
        ("Immediate", ["root"]),
        ("Children", ["root", "a", "b"]),
        ("Descendants", ["root", "a", "c", "b"]),
        ("EntireHierarchy", ["root", "a", "c", "b"]),
    ],
)
def test_a_scope_asks_about_a_part_of_the_hierarchy(scope: str, names: list[str]) -> None:
    results = Pdp([ROOT_ONLY], hierarchy=TREE).decide(scoped(scope)).results
    assert [(result.resource_id, result.decision) for result in results] == [
        (name, P if name == "root" else NA) for name in names
    ]


def test_a_scope_that_cannot_be_followed_is_indeterminate() -> None:
    assert decisions(Pdp([ROOT_ONLY]), scoped("Children")) == [Decision.INDETERMINATE_DP]
    assert decisions(Pdp([ROOT_ONLY], hierarchy=TREE), scoped("Upwards")) == [Decision.INDETERMINATE_DP]
    alone = build_request({RESOURCE: {V2 + "resource:scope": "Children"}})
    assert decisions(Pdp([ROOT_ONLY], hierarchy=TREE), alone) == [Decision.INDETERMINATE_DP]


def test_a_content_selector_asks_about_each_node() -> None:
    value = RawValue(XPATH_EXPRESSION.uri, "//w:rain", RESOURCE, {"w": "urn:w"})
    group = Attributes(
        RESOURCE,
        (Attribute(V3 + "multiple:content-selector", (value,), None, True),),
        '<s xmlns:x="urn:w"><x:rain>1</x:rain><other/><x:rain>7</x:rain></s>',
    )
    selector = (
        f'<AttributeSelector Category="{RESOURCE}" ContextSelectorId="{V3}content-selector" Path="text()" '
        'DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="true"/>'
    )
    wet = equals("name", "7").replace(
        equals("name", "7").partition("</AttributeValue>")[2].partition("</Match>")[0], selector
    )
    results = Pdp([read_policy(policy(rule(target=wet)))]).decide(Request((group,))).results
    assert [result.decision for result in results] == [NA, P]
    chosen = [result.attributes[0].attributes[0] for result in results]
    assert [(each.attribute_id, each.values[0].text) for each in chosen] == [
        (V3 + "content-selector", "/*[1]/*[1]"),
        (V3 + "content-selector", "/*[1]/*[3]"),
    ]


def test_attributes_that_ask_for_it_come_back_without_the_others() -> None:
    group = Attributes(
        SUBJECT,
        (Attribute("a", (RawValue(ANY_URI.uri, "urn:x"),), "ann", True), Attribute("b", (RawValue(STRING.uri, "y"),))),
        "<secret/>",
        "name",
    )
    result = ANN_MAY.decide(Request((group, READ))).result
    assert result.attributes == (
        Attributes(SUBJECT, (Attribute("a", (RawValue(ANY_URI.uri, "urn:x"),), "ann", True),)),
    )


def test_the_list_of_policies_holds_those_that_decided() -> None:
    document = policy_set(
        policy(rule("Deny", target=equals("name", "bob")), name="bob"),
        policy(rule(), name="all", version="2.1"),
        name="set",
    )
    pdp = Pdp([read_policy(document)])
    assert pdp.decide(Request((ANN,))).result.policies == ()
    assert pdp.decide(Request((ANN,), return_policy_ids=True)).result.policies == (
        PolicyIdentifier("all", "2.1", False),
        PolicyIdentifier("set", "1.0", True),
    )


def test_several_roots_are_combined_as_the_caller_says() -> None:
    permit, deny = read_policy(policy(rule())), read_policy(policy(rule("Deny")))
    assert decisions(Pdp([permit, deny]), EMPTY) == [Decision.INDETERMINATE_DP]
    assert decisions(Pdp([permit, deny], combining=DENY_OVERRIDES), EMPTY) == [D]
    assert decisions(Pdp([]), EMPTY) == [NA]
    assert decisions(Pdp([], combining=DENY_UNLESS_PERMIT), EMPTY) == [D]
    never = read_policy(policy(rule(target=equals("name", "nobody"))))
    assert decisions(Pdp([never]), EMPTY) == [NA]
    assert decisions(Pdp([never], combining=DENY_UNLESS_PERMIT), EMPTY) == [D]
    with pytest.raises(UnknownNameError, match="combining algorithm"):
        Pdp([permit], combining="urn:none")


def test_requests_of_3_0_read_back_as_written() -> None:
    document = (
        f'<Request xmlns="{NAMESPACE}" ReturnPolicyIdList="true" CombinedDecision="true"><RequestDefaults/>'
        '<Attributes Category="c" xml:id="i"><Content><a>x &lt; y</a></Content>'
        '<Attribute AttributeId="p" Issuer="me" IncludeInResult="true"><AttributeValue xmlns:w="urn:w" '
        f'DataType="{XPATH_EXPRESSION.uri}" XPathCategory="c">//w:a</AttributeValue>'
        '<AttributeValue DataType="urn:own"> kept </AttributeValue></Attribute></Attributes></Request>'
    )
    request = read_request(document)
    assert request.return_policy_ids
    assert request.combined_decision
    assert request.attributes[0].attributes[0].values[0].namespaces == {"w": "urn:w"}
    assert request.attributes[0].attributes[0].values[1].text == " kept "
    assert read_request(write_request(request)) == request
