"""Short ways to write XACML documents in tests."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

from headgate.decision.xacml import Decision, Pdp, Request, Result, build_request, read_policy
from headgate.decision.xacml.datatypes import ALL_TYPES

TYPES = {data_type.name: data_type.uri for data_type in ALL_TYPES}
V1 = "urn:oasis:names:tc:xacml:1.0:"
V11 = "urn:oasis:names:tc:xacml:1.1:"
V2 = "urn:oasis:names:tc:xacml:2.0:"
V3 = "urn:oasis:names:tc:xacml:3.0:"
NAMESPACE = "urn:oasis:names:tc:xacml:3.0:core:schema:wd-17"
SUBJECT = V1 + "subject-category:access-subject"
RESOURCE = V3 + "attribute-category:resource"
ACTION = V3 + "attribute-category:action"
ENVIRONMENT = V3 + "attribute-category:environment"
RESOURCE_ID = V1 + "resource:resource-id"
DENY_OVERRIDES = V3 + "rule-combining-algorithm:deny-overrides"
SET_DENY_OVERRIDES = V3 + "policy-combining-algorithm:deny-overrides"
EMPTY = build_request({})


def literal(type_name: str, text: str) -> str:
    return f'<AttributeValue DataType="{TYPES[type_name]}">{escape(text)}</AttributeValue>'


def text(value: str) -> str:
    return literal("string", value)


def whole(value: int) -> str:
    return literal("integer", str(value))


def truth(value: bool) -> str:
    return literal("boolean", "true" if value else "false")


def apply(function: str, *arguments: str) -> str:
    """An application; a function without a version is one of 1.0."""
    uri = function if function.startswith("urn:") else f"{V1}function:{function}"
    return f"<Apply FunctionId={quoteattr(uri)}>{''.join(arguments)}</Apply>"


def function(name: str) -> str:
    return f'<Function FunctionId="{V1}function:{name}"/>'


ERROR = apply("integer-equal", apply("integer-divide", whole(1), whole(0)), whole(1))
"""A boolean expression that always fails."""


def designator(
    attribute: str, type_name: str = "string", *, category: str = SUBJECT, must: bool = False, issuer: str | None = None
) -> str:
    extra = "" if issuer is None else f" Issuer={quoteattr(issuer)}"
    return (
        f'<AttributeDesignator Category="{category}" AttributeId={quoteattr(attribute)} '
        f'DataType="{TYPES[type_name]}" MustBePresent="{str(must).lower()}"{extra}/>'
    )


def match(
    attribute: str, value: str, *, must: bool = False, category: str = SUBJECT, name: str = "string-equal"
) -> str:
    found = designator(attribute, category=category, must=must)
    return f'<Match MatchId="{V1}function:{name}">{text(value)}{found}</Match>'


def all_of(*matches: str) -> str:
    return f"<AllOf>{''.join(matches)}</AllOf>"


def any_of(*alternatives: str) -> str:
    return f"<AnyOf>{''.join(alternatives)}</AnyOf>"


def target(*any_ofs: str) -> str:
    return f"<Target>{''.join(any_ofs)}</Target>"


def equals(attribute: str, value: str, *, must: bool = False) -> str:
    """A target that demands one value."""
    return target(any_of(all_of(match(attribute, value, must=must))))


def rule(effect: str = "Permit", *, condition: str = "", target: str = "", duties: str = "", name: str = "r") -> str:
    inner = f"<Condition>{condition}</Condition>" if condition else ""
    return f'<Rule RuleId="{name}" Effect="{effect}">{target}{inner}{duties}</Rule>'


def policy(
    *rules: str,
    target: str = "<Target/>",
    algorithm: str = DENY_OVERRIDES,
    name: str = "p",
    version: str = "1.0",
    extra: str = "",
) -> str:
    return (
        f'<Policy xmlns="{NAMESPACE}" PolicyId="{name}" Version="{version}" RuleCombiningAlgId="{algorithm}">'
        f"{target}{''.join(rules)}{extra}</Policy>"
    )


def policy_set(
    *children: str,
    target: str = "<Target/>",
    algorithm: str = SET_DENY_OVERRIDES,
    name: str = "s",
    version: str = "1.0",
    extra: str = "",
) -> str:
    return (
        f'<PolicySet xmlns="{NAMESPACE}" PolicySetId="{name}" Version="{version}" PolicyCombiningAlgId="{algorithm}">'
        f"{target}{''.join(children)}{extra}</PolicySet>"
    )


def obligations(*members: tuple[str, str, str], kind: str = "Obligation") -> str:
    """Members are an identifier, an effect, and assignments as XML."""
    on = "FulfillOn" if kind == "Obligation" else "AppliesTo"
    inner = "".join(
        f'<{kind}Expression {kind}Id="{name}" {on}="{effect}">{assignments}</{kind}Expression>'
        for name, effect, assignments in members
    )
    return f"<{kind}Expressions>{inner}</{kind}Expressions>"


def assignment(attribute: str, expression: str) -> str:
    name = "AttributeAssignmentExpression"
    return f"<{name} AttributeId={quoteattr(attribute)}>{expression}</{name}>"


def result_of(document: str, request: Request = EMPTY, **options: object) -> Result:
    return Pdp([read_policy(document)], **options).decide(request).result  # type: ignore[arg-type]


def decision_of(document: str, request: Request = EMPTY, **options: object) -> Decision:
    return result_of(document, request, **options).decision


def subject(attributes: Mapping[str, object]) -> Request:
    return build_request({SUBJECT: attributes})


def value_of(expression: str, request: Request = EMPTY, **options: object) -> str:
    """What an expression yields, as text, members of a bag joined by commas; `Indeterminate` if it fails."""
    duty = obligations(("o", "Permit", assignment("v", expression)))
    result = result_of(policy(rule(duties=duty)), request, **options)
    if result.decision is not Decision.PERMIT:
        return result.decision.public_name
    return ",".join(each.text for each in result.obligations[0].assignments)
