"""Policies as wholes: errors in targets, references, obligations, attributes, and what is refused on loading."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from xacml_documents import (
    ACTION,
    ENVIRONMENT,
    ERROR,
    NAMESPACE,
    SUBJECT,
    V1,
    V3,
    all_of,
    any_of,
    apply,
    assignment,
    decision_of,
    designator,
    equals,
    function,
    literal,
    match,
    obligations,
    policy,
    policy_set,
    result_of,
    rule,
    subject,
    target,
    text,
    truth,
    value_of,
    whole,
)

from headgate.decision.xacml import (
    Attribute,
    Attributes,
    Decision,
    Pdp,
    RawValue,
    Request,
    evaluate_files,
    read_policy,
    validate_file,
)
from headgate.decision.xacml.datatypes import STRING
from headgate.errors import InputError

BROKEN_TARGET = equals("absent", "x", must=True)
PERMIT_UNLESS_DENY = V3 + "rule-combining-algorithm:permit-unless-deny"


def reference(name: str, extra: str = "", *, kind: str = "Policy") -> str:
    return f"<{kind}IdReference {extra}>{name}</{kind}IdReference>"


@pytest.mark.parametrize(
    ("rules", "decision"),
    [
        ([rule("Permit")], Decision.INDETERMINATE_P),
        ([rule("Deny")], Decision.INDETERMINATE_D),
        ([rule("Permit", condition=truth(False))], Decision.NOT_APPLICABLE),
        ([rule("Permit", condition=ERROR), rule("Deny", condition=ERROR)], Decision.INDETERMINATE_DP),
        ([], Decision.NOT_APPLICABLE),
    ],
)
def test_an_error_in_the_target_makes_uncertain_what_the_rules_would_say(rules: list[str], decision: Decision) -> None:
    assert decision_of(policy(*rules, target=BROKEN_TARGET)) is decision
    assert decision_of(policy_set(policy(*rules), target=BROKEN_TARGET)) is decision


def test_an_error_in_the_target_drops_the_obligations() -> None:
    duties = obligations(("o", "Permit", ""))
    assert result_of(policy(rule(), target=BROKEN_TARGET, extra=duties)).obligations == ()
    result = result_of(policy(rule(), extra=duties))
    assert [obligation.id for obligation in result.obligations] == ["o"]


@pytest.mark.parametrize(
    ("shape", "decision"),
    [
        # certain mismatch beats an error, in any order
        (target(any_of(all_of(match("absent", "x", must=True), match("a", "2")))), Decision.NOT_APPLICABLE),
        (target(any_of(all_of(match("a", "2"), match("absent", "x", must=True)))), Decision.NOT_APPLICABLE),
        (target(any_of(all_of(match("absent", "x", must=True))), any_of(all_of(match("a", "2")))),
         Decision.NOT_APPLICABLE),
        # a certain match of one alternative beats an error in another
        (target(any_of(all_of(match("absent", "x", must=True)), all_of(match("a", "1")))), Decision.PERMIT),
        (target(any_of(all_of(match("absent", "x", must=True)), all_of(match("a", "2")))), Decision.INDETERMINATE_P),
        (target(any_of(all_of(match("a", "1"), match("absent", "x", must=True)))), Decision.INDETERMINATE_P),
        (target(any_of(all_of(match("a", "[", name="string-regexp-match")))), Decision.INDETERMINATE_P),
        (target(any_of(all_of(match("b", "[", name="string-regexp-match")))), Decision.NOT_APPLICABLE),
        (target(), Decision.PERMIT),
    ],
)  # fmt: skip
def test_targets_have_three_answers(shape: str, decision: Decision) -> None:
    assert decision_of(policy(rule(), target=shape), subject({"a": "1"})) is decision
    assert decision_of(policy(rule(target=shape)), subject({"a": "1"})) is decision


def test_a_missing_attribute_is_named_in_the_status() -> None:
    status = result_of(policy(rule(target=BROKEN_TARGET))).status
    assert status.code == V1 + "status:missing-attribute"
    assert [(missing.category, missing.attribute_id) for missing in status.missing] == [(SUBJECT, "absent")]


def test_an_error_in_an_obligation_makes_its_rule_or_policy_indeterminate() -> None:
    broken = obligations(("o", "Permit", assignment("v", apply("integer-divide", whole(1), whole(0)))))
    assert decision_of(policy(rule(duties=broken))) is Decision.INDETERMINATE_P
    assert decision_of(policy(rule(), extra=broken)) is Decision.INDETERMINATE_P
    assert decision_of(policy(rule("Deny"), extra=broken)) is Decision.DENY
    assert decision_of(policy_set(policy(rule()), extra=broken)) is Decision.INDETERMINATE_P


def test_obligations_and_advice_go_with_their_effect_and_a_bag_assigns_each_member() -> None:
    duties = obligations(
        ("kept", "Permit", assignment("v", designator("a"))), ("other", "Deny", assignment("v", text("x")))
    )
    advice = obligations(("hint", "Permit", assignment("v", text("y"))), kind="Advice")
    result = result_of(policy(rule(), extra=duties + advice), subject({"a": ["1", "2"]}))
    assert [(each.id, [part.text for part in each.assignments]) for each in result.obligations] == [
        ("kept", ["1", "2"])
    ]
    assert [(each.id, [part.text for part in each.assignments]) for each in result.advice] == [("hint", ["y"])]


def test_unresolved_references_are_indeterminate_only_when_they_are_reached() -> None:
    first = V1 + "policy-combining-algorithm:first-applicable"
    assert decision_of(policy_set(reference("nowhere"))) is Decision.INDETERMINATE_DP
    assert decision_of(policy_set(policy(rule()), reference("nowhere"), algorithm=first)) is Decision.PERMIT
    only = V1 + "policy-combining-algorithm:only-one-applicable"
    assert decision_of(policy_set(policy(rule()), reference("nowhere"), algorithm=only)) is Decision.INDETERMINATE_DP


@pytest.mark.parametrize(
    ("extra", "decision"),
    [
        ("", Decision.DENY),
        ('Version="1.0"', Decision.PERMIT),
        ('Version="1.*"', Decision.PERMIT),
        ('Version="2.+"', Decision.DENY),
        ('Version="+"', Decision.DENY),
        ('Version="*"', Decision.INDETERMINATE_DP),
        ('Version="1.0.*"', Decision.INDETERMINATE_DP),
        ('LatestVersion="1.9"', Decision.PERMIT),
        ('LatestVersion="2.0"', Decision.DENY),
        ('EarliestVersion="1.1"', Decision.DENY),
        ('EarliestVersion="3.0"', Decision.INDETERMINATE_DP),
        ('Version="1.5"', Decision.INDETERMINATE_DP),
        ('EarliestVersion="1.0" LatestVersion="1.0"', Decision.PERMIT),
    ],
)
def test_references_take_the_latest_version_that_fits(extra: str, decision: Decision) -> None:
    old = read_policy(policy(rule("Permit"), name="q", version="1.0"))
    new = read_policy(policy(rule("Deny"), name="q", version="2.0"))
    root = read_policy(policy_set(reference("q", extra)))
    for order in ([old, new], [new, old]):
        assert Pdp([root], references=order).decide(subject({})).result.decision is decision


def test_a_reference_distinguishes_policies_from_policy_sets() -> None:
    inner = read_policy(policy(rule(), name="q"))
    root = read_policy(policy_set(reference("q", kind="PolicySet")))
    assert Pdp([root], references=[inner]).decide(subject({})).result.decision is Decision.INDETERMINATE_DP


def test_references_in_a_circle_are_indeterminate() -> None:
    first = read_policy(policy_set(reference("b", kind="PolicySet"), name="a"))
    second = read_policy(policy_set(reference("a", kind="PolicySet"), name="b"))
    assert Pdp([first], references=[second]).decide(subject({})).result.decision is Decision.INDETERMINATE_DP


def test_references_that_double_are_evaluated_once_each() -> None:
    sets = [read_policy(policy(rule(), name="s0"))]
    for level in range(1, 25):
        kind = "Policy" if level == 1 else "PolicySet"
        sets.append(read_policy(policy_set(reference(f"s{level - 1}", kind=kind) * 2, name=f"s{level}")))
    assert Pdp([sets[-1]], references=sets[:-1]).decide(subject({})).result.decision is Decision.PERMIT


def test_issuers_types_and_categories_keep_attributes_apart() -> None:
    group = Attributes(
        SUBJECT,
        (
            Attribute("a", (RawValue(STRING.uri, "trusted"),), issuer="ann"),
            Attribute("a", (RawValue(STRING.uri, "plain"), RawValue("urn:unknown", "skipped"))),
        ),
    )
    request = Request((group,))
    assert value_of(designator("a"), request) == "trusted,plain"
    assert value_of(designator("a", issuer="ann"), request) == "trusted"
    assert value_of(designator("a", issuer="bob"), request) == ""
    assert value_of(designator("a", category=ACTION), request) == ""
    assert value_of(designator("a", "integer"), request) == ""


def test_a_malformed_value_hurts_only_those_who_look_at_it() -> None:
    request = Request((Attributes(SUBJECT, (Attribute("n", (RawValue(designator_type("integer"), "many"),)),)),))
    assert decision_of(policy(rule()), request) is Decision.PERMIT
    result = result_of(policy(rule(condition=apply("integer-equal", whole(1), one("n")))), request)
    assert result.decision is Decision.INDETERMINATE_P
    assert result.status.code == V1 + "status:syntax-error"


def designator_type(name: str) -> str:
    return f"http://www.w3.org/2001/XMLSchema#{name}"


def one(attribute: str) -> str:
    return apply("integer-one-and-only", designator(attribute, "integer"))


def test_the_clock_gives_the_time_unless_the_request_does() -> None:
    def clock() -> datetime.datetime:
        return datetime.datetime(2012, 5, 31, 11, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))

    names = {"time": "09:30:00Z", "date": "2012-05-31Z", "dateTime": "2012-05-31T09:30:00Z"}
    for name, expected in names.items():
        attribute = f"{V1}environment:current-{name}"
        found = designator(attribute, name, category=ENVIRONMENT, must=True)
        assert value_of(found, clock=clock) == expected
        given = Request(
            (Attributes(ENVIRONMENT, (Attribute(attribute, (RawValue(designator_type("date"), "2000-01-01"),)),)),)
        )
        if name == "date":
            assert value_of(found, given, clock=clock) == "2000-01-01"


def test_a_finder_is_asked_for_what_the_request_lacks_and_its_failure_is_indeterminate() -> None:
    asked = []

    def finder(category: str, attribute: str, data_type: str, issuer: str | None) -> list[str]:
        asked.append(attribute)
        return ["found"]

    assert value_of(designator("a"), subject({"a": "given"}), finder=finder) == "given"
    assert asked == []
    assert value_of(designator("b"), finder=finder) == "found"

    def broken(*_: object) -> list[str]:
        raise RuntimeError("out of order")

    assert value_of(designator("b"), finder=broken) == "Indeterminate"
    assert decision_of(policy(rule("Deny", target=equals("b", "x")), algorithm=PERMIT_UNLESS_DENY), finder=broken) is (
        Decision.INDETERMINATE_DP
    )


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (policy(rule(condition=whole(1))), "has the type integer"),
        (policy(rule(condition=apply("string-equal", text("a"), designator("a")))), "has the type bag of string"),
        (policy(rule(condition=apply("string-equal", text("a")))), "does not take 1 arguments"),
        (policy(rule(condition=apply("no-such"))), "no-such` is not known"),
        (policy(rule(condition=function("and"))), "is not expected here"),
        (policy(rule(condition=apply("any-of", text("a"), text("b")))), "needs a function first"),
        (policy(rule(condition=apply("any-of", function("string-equal"), text("b"), text("c")))), "must be a bag"),
        (policy(rule(condition=apply("any-of", function("integer-add"), apply("integer-bag")))), "must yield"),
        (policy(rule(condition='<VariableReference VariableId="v"/>')), "`v` is not defined"),
        (policy('<VariableDefinition VariableId="v"><VariableReference VariableId="v"/></VariableDefinition>'),
         "defined by itself"),
        (policy(rule(), algorithm="urn:none"), "combining algorithm `urn:none`"),
        (policy(rule(), algorithm=V3 + "policy-combining-algorithm:deny-overrides"), "combining algorithm"),
        (policy(rule("Maybe")), "effect `Maybe`"),
        (policy(rule(), version="one"), "version `one`"),
        (policy(rule(), target=""), "has no <Target>"),
        (policy(rule(condition=literal("integer", "x").replace("#integer", "#nothing"))), "data type"),
        (policy(rule(condition=apply("integer-equal", literal("integer", "x"), whole(1)))), "`x` is no integer"),
        (policy(rule(target=target("<AnyOf/>"))), "<AnyOf> is empty"),
        (policy("<Surprise/>"), "<Surprise> is not expected"),
        (policy(rule(condition=designator("a").replace("Issuer", "Isuer"))), "bag of string"),
        (policy(rule(target=equals("a", "b").replace("MustBePresent", 'Isuer="x" MustBePresent'))), "`Isuer`"),
        (policy("<PolicyIssuer/>"), "policies with an issuer"),
        (policy(rule()).replace(NAMESPACE, "urn:other"), "namespace `urn:other`"),
        ("<Request xmlns='" + NAMESPACE + "'/>", "is no policy"),
        (policy(rule(target=target(any_of(all_of(match("a", "b", name="integer-equal")))))), "does not match a string"),
    ],
)  # fmt: skip
def test_a_policy_that_cannot_mean_anything_is_refused_with_a_place_and_a_hint(document: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Pdp([read_policy(document, source="p.xml")])
    assert message in caught.value.message
    assert caught.value.hint
    assert str(caught.value).startswith("p.xml:1: ")


def test_a_long_chain_of_variables_is_refused_and_not_a_crash() -> None:
    chain = ['<VariableDefinition VariableId="v0">' + truth(True) + "</VariableDefinition>"]
    for number in range(1, 3000):
        previous = f'<VariableReference VariableId="v{number - 1}"/>'
        inner = apply("not", previous)
        chain.append(f'<VariableDefinition VariableId="v{number}">{inner}</VariableDefinition>')
    with pytest.raises(InputError, match="nested too deep"):
        Pdp([read_policy(policy(*reversed(chain), rule()))])


def test_files_are_evaluated_and_validated(tmp_path: Path) -> None:
    good, bad, asked = tmp_path / "good.xml", tmp_path / "bad.xml", tmp_path / "request.xml"
    good.write_text(policy(rule(), extra=obligations(("o", "Permit", ""))))
    bad.write_text(policy(rule(condition=whole(1))))
    asked.write_text(f'<Request xmlns="{NAMESPACE}"/>')
    assert evaluate_files([good], asked) == {"decision": "Permit", "obligations": ["o"], "advice": []}
    assert evaluate_files([good, good], asked, roots=2)["decision"] == "Indeterminate"
    assert evaluate_files([bad], asked)["rejected"] is True
    assert evaluate_files([good, bad, tmp_path / "absent.xml"], asked)["decision"] == "Permit"
    assert validate_file(good).id == "p"
    with pytest.raises(InputError, match="condition"):
        validate_file(bad)
    with pytest.raises(InputError, match="cannot read"):
        validate_file(tmp_path / "absent.xml")
