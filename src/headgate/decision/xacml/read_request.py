"""Requests from XML, 2.0 and 3.0."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

from lxml import etree

from headgate.decision.xacml.identifiers import (
    ACCESS_SUBJECT,
    ACTION,
    CONTEXT_NAMESPACE_V2,
    ENVIRONMENT,
    NAMESPACE_V3,
    RESOURCE,
    XML_NAMESPACE,
)
from headgate.decision.xacml.request import Attribute, Attributes, RawValue, Request
from headgate.decision.xacml.xml_reading import Element
from headgate.errors import ParseError
from headgate.model.safe_xml import parse_xml, read_bytes


def read_request(data: bytes | str, *, source: str | None = None) -> Request:
    """The request in a document of XACML 3.0 or 2.0."""
    element = Element(parse_xml(data, source=source), source)
    if element.name != "Request":
        raise ParseError(f"<{element.name}> is no request", place=element.place, hint="write a <Request>")
    if element.namespace == NAMESPACE_V3:
        return _request_v3(element)
    if element.namespace == CONTEXT_NAMESPACE_V2:
        return _request_v2(element)
    raise ParseError(
        f"the namespace `{element.namespace or ''}` is not one of XACML requests",
        place=element.place,
        hint=f'write xmlns="{NAMESPACE_V3}" or xmlns="{CONTEXT_NAMESPACE_V2}"',
    )


def read_request_file(path: str | Path) -> Request:
    return read_request(read_bytes(path), source=str(path))


def _request_v3(element: Element) -> Request:
    # The schema demands both flags; plenty of clients leave them out, and false is what they mean.
    element.attributes(optional=("ReturnPolicyIdList", "CombinedDecision"))
    groups: list[Attributes] = []
    references: list[tuple[str, ...]] = []
    for child in _in_namespace(element, NAMESPACE_V3):
        if child.name == "Attributes":
            groups.append(read_attributes(child))
        elif child.name == "MultiRequests":
            references.extend(_references(single) for single in child.children())
        elif child.name != "RequestDefaults":
            raise child.unexpected()
    return Request(
        tuple(groups), element.flag("ReturnPolicyIdList"), element.flag("CombinedDecision"), tuple(references)
    )


def read_attributes(element: Element) -> Attributes:
    """One category in the 3.0 syntax; responses hold these too."""
    names = element.attributes("Category")
    content: str | None = None
    attributes: list[Attribute] = []
    for child in _in_namespace(element, NAMESPACE_V3):
        if child.name == "Content" and content is None:
            content = _content(child)
        elif child.name == "Attribute":
            attributes.append(_attribute(child))
        else:
            raise child.unexpected()
    return Attributes(names["Category"], tuple(attributes), content, element.node.get(f"{{{XML_NAMESPACE}}}id"))


def _attribute(element: Element) -> Attribute:
    names = element.attributes("AttributeId", optional=("Issuer", "IncludeInResult"))
    values: list[RawValue] = []
    for child in _in_namespace(element, NAMESPACE_V3):
        if child.name != "AttributeValue":
            raise child.unexpected()
        found = child.attributes("DataType", optional=tuple(map(str, child.node.attrib)))
        values.append(_raw_value(child, found["DataType"], found.get("XPathCategory")))
    if not values:
        raise ParseError(
            f"the attribute `{names['AttributeId']}` has no value", place=element.place, hint="add an <AttributeValue>"
        )
    return Attribute(names["AttributeId"], tuple(values), names.get("Issuer"), element.flag("IncludeInResult"))


def _raw_value(element: Element, data_type: str, xpath_category: str | None = None) -> RawValue:
    namespaces = element.namespaces if xpath_category is not None else {}
    return RawValue(data_type, element.text, xpath_category, namespaces)


def _content(element: Element) -> str:
    """The element inside, as a document of its own: declarations that it does not use stay behind."""
    child = element.only_child("element")
    text = etree.tostring(deepcopy(child.node), encoding="unicode", with_tail=False)
    return text.replace(' xmlns=""', "", 1) if child.node.nsmap.get(None) == "" else text


def _references(element: Element) -> tuple[str, ...]:
    if element.name != "RequestReference":
        raise element.unexpected()
    return tuple(child.attributes("ReferenceId")["ReferenceId"] for child in element.children())


_CATEGORIES_V2 = {"Resource": RESOURCE, "Action": ACTION, "Environment": ENVIRONMENT}


def _request_v2(element: Element) -> Request:
    """Subjects of the same category count as one (2.0, section 6.2); several resources ask for several decisions."""
    element.attributes()
    subjects: dict[str, list[Attribute]] = {}
    others: list[Attributes] = []
    for child in _in_namespace(element, CONTEXT_NAMESPACE_V2):
        if child.name == "Subject":
            category = child.attributes(optional=("SubjectCategory",)).get("SubjectCategory", ACCESS_SUBJECT)
            subjects.setdefault(category, []).extend(_attributes_v2(list(child.children())))
        elif child.name in _CATEGORIES_V2:
            others.append(_group_v2(child, _CATEGORIES_V2[child.name]))
        else:
            raise child.unexpected()
    groups = [Attributes(category, tuple(attributes)) for category, attributes in subjects.items()]
    return Request((*groups, *others))


def _group_v2(element: Element, category: str) -> Attributes:
    element.attributes()
    children = list(element.children())
    content: str | None = None
    if children and children[0].name == "ResourceContent" and category == RESOURCE:
        content = _content(children.pop(0))
    return Attributes(category, _attributes_v2(children), content)


def _attributes_v2(children: list[Element]) -> tuple[Attribute, ...]:
    attributes: list[Attribute] = []
    for child in children:
        if child.name != "Attribute":
            raise child.unexpected()
        names = child.attributes("AttributeId", "DataType", optional=("Issuer", "IssueInstant"))
        values = []
        for inner in child.children():
            if inner.name != "AttributeValue":
                raise inner.unexpected()
            values.append(_raw_value(inner, names["DataType"]))
        attributes.append(Attribute(names["AttributeId"], tuple(values), names.get("Issuer")))
    return tuple(attributes)


def _in_namespace(element: Element, namespace: str) -> list[Element]:
    children = list(element.children())
    for child in children:
        if child.namespace != namespace:
            raise child.unexpected()
    return children
