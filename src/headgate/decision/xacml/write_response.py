"""Responses as XML, in the 3.0 and in the 2.0 syntax."""

from __future__ import annotations

from lxml import etree

from headgate.decision.xacml.datatypes import XPathExpression
from headgate.decision.xacml.identifiers import CONTEXT_NAMESPACE_V2, NAMESPACE_V3, POLICY_NAMESPACE_V2
from headgate.decision.xacml.outcome import Assignment, Obligation, Status
from headgate.decision.xacml.response import Response, Result
from headgate.decision.xacml.write_request import attributes_element


def write_response(response: Response) -> str:
    """The response as a XACML 3.0 document."""
    root = etree.Element(f"{{{NAMESPACE_V3}}}Response", nsmap={None: NAMESPACE_V3})  # type: ignore[dict-item]
    for result in response.results:
        root.append(_result_v3(result))
    return etree.tostring(root, encoding="unicode")


def write_response_v2(response: Response) -> str:
    """The response as a XACML 2.0 document, which has no place for advice, attributes and policy identifiers."""
    prefixes = {None: CONTEXT_NAMESPACE_V2, "policy": POLICY_NAMESPACE_V2}
    root = etree.Element(f"{{{CONTEXT_NAMESPACE_V2}}}Response", nsmap=prefixes)  # type: ignore[arg-type]
    for result in response.results:
        root.append(_result_v2(result))
    return etree.tostring(root, encoding="unicode")


def _result_v3(result: Result) -> etree._Element:
    element = etree.Element(f"{{{NAMESPACE_V3}}}Result")
    _add(element, NAMESPACE_V3, "Decision").text = result.decision.public_name
    element.append(_status(NAMESPACE_V3, result.status))
    if result.obligations:
        group = _add(element, NAMESPACE_V3, "Obligations")
        for obligation in result.obligations:
            _fill(_add(group, NAMESPACE_V3, "Obligation", ObligationId=obligation.id), obligation)
    if result.advice:
        group = _add(element, NAMESPACE_V3, "AssociatedAdvice")
        for advice in result.advice:
            _fill(_add(group, NAMESPACE_V3, "Advice", AdviceId=advice.id), advice)
    for attributes in result.attributes:
        element.append(attributes_element(attributes))
    if result.policies:
        group = _add(element, NAMESPACE_V3, "PolicyIdentifierList")
        for policy in result.policies:
            name = "PolicySetIdReference" if policy.is_set else "PolicyIdReference"
            _add(group, NAMESPACE_V3, name, Version=policy.version).text = policy.id
    return element


def _result_v2(result: Result) -> etree._Element:
    element = etree.Element(f"{{{CONTEXT_NAMESPACE_V2}}}Result")
    if result.resource_id is not None:
        element.set("ResourceId", result.resource_id)
    _add(element, CONTEXT_NAMESPACE_V2, "Decision").text = result.decision.public_name
    element.append(_status(CONTEXT_NAMESPACE_V2, result.status))
    if result.obligations:
        group = _add(element, POLICY_NAMESPACE_V2, "Obligations")
        for obligation in result.obligations:
            child = _add(group, POLICY_NAMESPACE_V2, "Obligation", ObligationId=obligation.id)
            child.set("FulfillOn", obligation.fulfill_on.value)
            for assignment in obligation.assignments:
                child.append(_assignment(POLICY_NAMESPACE_V2, assignment))
    return element


def _fill(element: etree._Element, obligation: Obligation) -> None:
    for assignment in obligation.assignments:
        child = _assignment(NAMESPACE_V3, assignment)
        if assignment.category is not None:
            child.set("Category", assignment.category)
        if assignment.issuer is not None:
            child.set("Issuer", assignment.issuer)
        element.append(child)


def _assignment(namespace: str, assignment: Assignment) -> etree._Element:
    value = assignment.value
    nsmap = dict(value.namespaces) if isinstance(value, XPathExpression) else None
    element = etree.Element(f"{{{namespace}}}AttributeAssignment", nsmap=nsmap)
    element.set("AttributeId", assignment.attribute_id)
    element.set("DataType", assignment.data_type.uri)
    if isinstance(value, XPathExpression):
        element.set("XPathCategory", value.category)
    element.text = assignment.text
    return element


def _status(namespace: str, status: Status) -> etree._Element:
    element = etree.Element(f"{{{namespace}}}Status")
    _add(element, namespace, "StatusCode", Value=status.code)
    if status.message is not None:
        _add(element, namespace, "StatusMessage").text = status.message
    if status.missing:
        detail = _add(element, namespace, "StatusDetail")
        for missing in status.missing:
            child = _add(detail, namespace, "MissingAttributeDetail", AttributeId=missing.attribute_id)
            if namespace == NAMESPACE_V3:
                child.set("Category", missing.category)
            child.set("DataType", missing.data_type)
            if missing.issuer is not None:
                child.set("Issuer", missing.issuer)
    return element


def _add(parent: etree._Element, namespace: str, name: str, **attributes: str) -> etree._Element:
    return etree.SubElement(parent, f"{{{namespace}}}{name}", attributes)
