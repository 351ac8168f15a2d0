"""Requests as XML: in the 3.0 syntax, and in the 2.0 syntax, which 2.0 paths look at too."""

from __future__ import annotations

import re

from lxml import etree

from headgate.decision.xacml.identifiers import (
    ACTION,
    CONTEXT_NAMESPACE_V2,
    ENVIRONMENT,
    NAMESPACE_V3,
    RESOURCE,
    XML_NAMESPACE,
)
from headgate.decision.xacml.request import Attribute, Attributes, RawValue, Request
from headgate.model.safe_xml import parse_xml

_TAG = re.compile(r"<[^\s/>]+")

# lxml takes None for the default namespace; its annotations do not know.
_DEFAULT_V3: dict[str, str] = {None: NAMESPACE_V3}  # type: ignore[dict-item]
_DEFAULT_V2: dict[str, str] = {None: CONTEXT_NAMESPACE_V2}  # type: ignore[dict-item]


def write_request(request: Request) -> str:
    """The request as a XACML 3.0 document."""
    return etree.tostring(request_element(request), encoding="unicode")


def write_request_v2(request: Request) -> str:
    """The request as a XACML 2.0 document; a category that 2.0 does not know is written as a subject."""
    return etree.tostring(request_element_v2(request), encoding="unicode")


def request_element(request: Request) -> etree._Element:
    root = etree.Element(f"{{{NAMESPACE_V3}}}Request", nsmap=_DEFAULT_V3)
    root.set("ReturnPolicyIdList", "true" if request.return_policy_ids else "false")
    root.set("CombinedDecision", "true" if request.combined_decision else "false")
    for group in request.attributes:
        root.append(attributes_element(group))
    if request.references:
        several = etree.SubElement(root, f"{{{NAMESPACE_V3}}}MultiRequests")
        for references in request.references:
            single = etree.SubElement(several, f"{{{NAMESPACE_V3}}}RequestReference")
            for reference in references:
                etree.SubElement(single, f"{{{NAMESPACE_V3}}}AttributesReference", ReferenceId=reference)
    return root


def attributes_element(group: Attributes) -> etree._Element:
    """One category in the 3.0 syntax; responses hold these too."""
    element = etree.Element(f"{{{NAMESPACE_V3}}}Attributes", nsmap=_DEFAULT_V3, Category=group.category)
    if group.reference_id is not None:
        element.set(f"{{{XML_NAMESPACE}}}id", group.reference_id)
    if group.content is not None:
        element.append(_content_element(NAMESPACE_V3, "Content", group.content))
    for attribute in group.attributes:
        child = etree.SubElement(element, f"{{{NAMESPACE_V3}}}Attribute", AttributeId=attribute.attribute_id)
        child.set("IncludeInResult", "true" if attribute.include_in_result else "false")
        if attribute.issuer is not None:
            child.set("Issuer", attribute.issuer)
        for value in attribute.values:
            child.append(_value_element(NAMESPACE_V3, value, typed=True))
    return element


def _content_element(namespace: str, name: str, content: str) -> etree._Element:
    """Content inside an element of XACML; without the empty `xmlns` its unprefixed names would become XACML's."""
    root = parse_xml(content)
    text = etree.tostring(root, encoding="unicode")
    if None not in root.nsmap:
        text = _TAG.sub(r'\g<0> xmlns=""', text, count=1)
    return parse_xml(f'<{name} xmlns="{namespace}">{text}</{name}>')


def _value_element(namespace: str, value: RawValue, *, typed: bool) -> etree._Element:
    nsmap = {prefix: uri for prefix, uri in value.namespaces.items() if uri != XML_NAMESPACE}
    element = etree.Element(f"{{{namespace}}}AttributeValue", nsmap=nsmap)
    element.text = value.text
    if typed:
        element.set("DataType", value.data_type)
        if value.xpath_category is not None:
            element.set("XPathCategory", value.xpath_category)
    return element


_ELEMENTS_V2 = {RESOURCE: "Resource", ACTION: "Action", ENVIRONMENT: "Environment"}


def request_element_v2(request: Request) -> etree._Element:
    root = etree.Element(f"{{{CONTEXT_NAMESPACE_V2}}}Request", nsmap=_DEFAULT_V2)
    groups: dict[str, list[Attributes]] = {"Subject": [], "Resource": [], "Action": [], "Environment": []}
    for group in request.attributes:
        groups[_element_v2(group.category)].append(group)
    for name, members in groups.items():
        for group in members:
            root.append(_group_v2(name, group))
        if not members:
            etree.SubElement(root, f"{{{CONTEXT_NAMESPACE_V2}}}{name}")
    return root


def _element_v2(category: str) -> str:
    return _ELEMENTS_V2.get(category, "Subject")


def _group_v2(name: str, group: Attributes) -> etree._Element:
    element = etree.Element(f"{{{CONTEXT_NAMESPACE_V2}}}{name}")
    if name == "Subject":
        element.set("SubjectCategory", group.category)
    if name == "Resource" and group.content is not None:
        element.append(_content_element(CONTEXT_NAMESPACE_V2, "ResourceContent", group.content))
    for attribute in group.attributes:
        by_type: dict[str, list[RawValue]] = {}
        for value in attribute.values:
            by_type.setdefault(value.data_type, []).append(value)
        for data_type, values in by_type.items():
            element.append(_attribute_v2(attribute, data_type, values))
    return element


def _attribute_v2(attribute: Attribute, data_type: str, values: list[RawValue]) -> etree._Element:
    element = etree.Element(f"{{{CONTEXT_NAMESPACE_V2}}}Attribute", AttributeId=attribute.attribute_id)
    element.set("DataType", data_type)
    if attribute.issuer is not None:
        element.set("Issuer", attribute.issuer)
    for value in values:
        element.append(_value_element(CONTEXT_NAMESPACE_V2, value, typed=False))
    return element
