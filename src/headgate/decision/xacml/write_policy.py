"""Policies and policy sets as XML, in the syntax of 3.0: what `read_policy` reads back as the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lxml import etree

from headgate.decision.xacml.datatypes import XPathExpression
from headgate.decision.xacml.identifiers import NAMESPACE_V3, XML_NAMESPACE
from headgate.decision.xacml.syntax import (
    Apply,
    AssignmentExpression,
    Designator,
    Expression,
    FunctionName,
    Literal,
    Match,
    ObligationExpression,
    Policy,
    PolicySet,
    Reference,
    Rule,
    Selector,
    Target,
    VariableReference,
)
from headgate.errors import InputError

# lxml takes None for the default namespace; its annotations do not know.
_DEFAULT: dict[str, str] = {None: NAMESPACE_V3}  # type: ignore[dict-item]


def write_policy(policy: Policy | PolicySet) -> str:
    """The document; InputError where a 2.0 policy says what 3.0 cannot, or a text holds what XML cannot."""
    try:
        element = _policy(policy)
        etree.indent(element)
    except ValueError as problem:
        raise InputError(
            f"the policy `{policy.id}` holds a character that XML cannot carry", place=policy.place, hint="remove it"
        ) from problem
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + etree.tostring(element, encoding="unicode") + "\n"


def _element(name: str, namespaces: Mapping[str, str] | None = None, **attributes: str) -> etree._Element:
    prefixes = {prefix: uri for prefix, uri in (namespaces or {}).items() if prefix and uri != XML_NAMESPACE}
    element = etree.Element(f"{{{NAMESPACE_V3}}}{name}", nsmap={**prefixes, **_DEFAULT})
    for key, value in attributes.items():
        element.set(key, value)
    return element


def _holding(element: etree._Element, children: Iterable[etree._Element]) -> etree._Element:
    for child in children:
        element.append(child)
    return element


def _policy(policy: Policy | PolicySet | Reference) -> etree._Element:
    match policy:
        case Reference():
            return _reference(policy)
        case PolicySet():
            element = _element(
                "PolicySet", PolicySetId=policy.id, Version=policy.version, PolicyCombiningAlgId=policy.algorithm
            )
            inner = [_policy(child) for child in policy.children]
        case Policy():
            element = _element(
                "Policy", PolicyId=policy.id, Version=policy.version, RuleCombiningAlgId=policy.algorithm
            )
            inner = [
                _holding(_element("VariableDefinition", VariableId=name), [_expression(expression)])
                for name, expression in policy.variables.items()
            ]
            inner += [_rule(rule) for rule in policy.rules]
    return _holding(element, [_target(policy.target), *inner, *_duties(policy.obligations)])


def _reference(reference: Reference) -> etree._Element:
    element = _element("PolicySetIdReference" if reference.to_set else "PolicyIdReference")
    element.text = reference.id
    versions = {
        "Version": reference.version,
        "EarliestVersion": reference.earliest,
        "LatestVersion": reference.latest,
    }
    for name, value in versions.items():
        if value is not None:
            element.set(name, value)
    return element


def _rule(rule: Rule) -> etree._Element:
    children = [_target(rule.target)] if rule.target.any_ofs else []
    if rule.condition is not None:
        children.append(_holding(_element("Condition"), [_expression(rule.condition)]))
    element = _element("Rule", RuleId=rule.id, Effect=rule.effect.value)
    return _holding(element, [*children, *_duties(rule.obligations)])


def _target(target: Target) -> etree._Element:
    return _holding(
        _element("Target"),
        (
            _holding(
                _element("AnyOf"),
                (_holding(_element("AllOf"), (_match(match) for match in all_of)) for all_of in any_of),
            )
            for any_of in target.any_ofs
        ),
    )


def _match(match: Match) -> etree._Element:
    return _holding(
        _element("Match", MatchId=match.function_id), [_expression(match.literal), _expression(match.attribute)]
    )


def _duties(duties: Iterable[ObligationExpression]) -> list[etree._Element]:
    """Obligations, then advice, each in an element of their own."""
    found = []
    for is_advice, outer, inner, id_name, on_name in (
        (False, "ObligationExpressions", "ObligationExpression", "ObligationId", "FulfillOn"),
        (True, "AdviceExpressions", "AdviceExpression", "AdviceId", "AppliesTo"),
    ):
        members = [
            _holding(
                _element(inner, None, **{id_name: duty.id, on_name: duty.applies_to.value}),
                (_assignment(assignment) for assignment in duty.assignments),
            )
            for duty in duties
            if duty.is_advice is is_advice
        ]
        if members:
            found.append(_holding(_element(outer), members))
    return found


def _assignment(assignment: AssignmentExpression) -> etree._Element:
    element = _element("AttributeAssignmentExpression", AttributeId=assignment.attribute_id)
    if assignment.category is not None:
        element.set("Category", assignment.category)
    if assignment.issuer is not None:
        element.set("Issuer", assignment.issuer)
    return _holding(element, [_expression(assignment.expression)])


def _expression(expression: Expression) -> etree._Element:
    match expression:
        case Literal():
            return _literal(expression)
        case Designator():
            return _designator(expression)
        case Selector():
            return _selector(expression)
        case Apply():
            element = _element("Apply", expression.namespaces, FunctionId=expression.function_id)
            return _holding(element, (_expression(argument) for argument in expression.arguments))
        case FunctionName():
            return _element("Function", FunctionId=expression.function_id)
        case VariableReference():
            return _element("VariableReference", VariableId=expression.variable_id)


def _literal(literal: Literal) -> etree._Element:
    value = literal.value
    if isinstance(value, XPathExpression):
        element = _element("AttributeValue", value.namespaces, DataType=literal.data_type.uri)
        element.set("XPathCategory", value.category)
    else:
        element = _element("AttributeValue", DataType=literal.data_type.uri)
    element.text = literal.data_type.format(value)
    return element


def _designator(designator: Designator) -> etree._Element:
    element = _element(
        "AttributeDesignator",
        Category=designator.category,
        AttributeId=designator.attribute_id,
        DataType=designator.data_type.uri,
        MustBePresent=_truth(designator.must_be_present),
    )
    if designator.issuer is not None:
        element.set("Issuer", designator.issuer)
    return element


def _selector(selector: Selector) -> etree._Element:
    if selector.category is None:
        raise InputError(
            f"the path `{selector.path}` looks into a 2.0 request",
            place=selector.place,
            hint="3.0 has no such selectors: rewrite it with a category",
        )
    element = _element(
        "AttributeSelector",
        selector.namespaces,
        Category=selector.category,
        Path=selector.path,
        DataType=selector.data_type.uri,
        MustBePresent=_truth(selector.must_be_present),
    )
    if selector.context_selector_id is not None:
        element.set("ContextSelectorId", selector.context_selector_id)
    return element


def _truth(value: bool) -> str:
    return "true" if value else "false"
