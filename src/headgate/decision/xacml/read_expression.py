"""Expressions from XML: what 2.0 and 3.0 share, and the two ways of naming attributes."""

from __future__ import annotations

from headgate.decision.xacml.datatypes import DATA_TYPES, XPATH_EXPRESSION, DataType, XPathExpression
from headgate.decision.xacml.identifiers import ACCESS_SUBJECT, ACTION, ENVIRONMENT, POLICY_NAMESPACE_V2, RESOURCE
from headgate.decision.xacml.syntax import (
    Apply,
    Designator,
    Dialect,
    Expression,
    FunctionName,
    Literal,
    Selector,
    VariableReference,
)
from headgate.decision.xacml.xml_reading import Element
from headgate.errors import ParseError, Place

_DESIGNATORS_V2 = {
    "SubjectAttributeDesignator": ACCESS_SUBJECT,
    "ResourceAttributeDesignator": RESOURCE,
    "ActionAttributeDesignator": ACTION,
    "EnvironmentAttributeDesignator": ENVIRONMENT,
}


def read_expression(element: Element) -> Expression:
    match element.name:
        case "Apply":
            return _apply(element)
        case "AttributeValue":
            return read_literal(element)
        case "Function":
            return FunctionName(element.attributes("FunctionId")["FunctionId"], element.place)
        case "VariableReference":
            return VariableReference(element.attributes("VariableId")["VariableId"], element.place)
        case _:
            return read_attribute(element)


def read_attribute(element: Element) -> Designator | Selector:
    """A designator or a selector, of either version: their element names do not overlap."""
    if element.name == "AttributeDesignator":
        return _designator(element)
    if element.name in _DESIGNATORS_V2:
        return _designator_v2(element)
    if element.name == "AttributeSelector":
        return _selector_v2(element) if element.node.get("RequestContextPath") is not None else _selector(element)
    raise element.unexpected()


def read_literal(element: Element) -> Literal:
    """A typed value; other attributes are allowed by the schema and mean nothing, except for paths."""
    found = element.attributes("DataType", optional=tuple(map(str, element.node.attrib)))
    data_type = data_type_named(found["DataType"], element.place)
    return Literal(data_type, literal_value(element, data_type), element.place)


def literal_value(element: Element, data_type: DataType) -> object:
    text = element.text
    if data_type is XPATH_EXPRESSION:
        category = element.node.get("XPathCategory")
        if category is None:
            raise ParseError(
                f"the path `{text.strip()}` has no category", place=element.place, hint='add XPathCategory="..."'
            )
        return XPathExpression(text.strip(), str(category), element.namespaces)
    try:
        return data_type.read(text)
    except ValueError as problem:
        raise ParseError(
            f"`{text.strip()}` is no {data_type.name}", place=element.place, hint=str(problem)
        ) from problem


def data_type_named(uri: str, place: Place) -> DataType:
    data_type = DATA_TYPES.get(uri)
    if data_type is None:
        raise ParseError(f"the data type `{uri}` is not known", place=place, hint="use a data type of XACML 3.0 or 2.0")
    return data_type


def _apply(element: Element) -> Apply:
    function_id = element.attributes("FunctionId")["FunctionId"]
    children = [child for child in element.children() if child.name != "Description"]
    arguments = tuple(read_expression(child) for child in children)
    dialect = Dialect.V2 if element.namespace == POLICY_NAMESPACE_V2 else Dialect.V3
    return Apply(function_id, arguments, element.namespaces, dialect, element.place)


def _designator(element: Element) -> Designator:
    # Some 3.0 documents converted from 2.0 keep SubjectCategory beside Category: harmless only if both agree.
    found = element.attributes(
        "Category", "AttributeId", "DataType", "MustBePresent", optional=("Issuer", "SubjectCategory")
    )
    if found.get("SubjectCategory", found["Category"]) != found["Category"]:
        raise ParseError(
            "`SubjectCategory` and `Category` differ", place=element.place, hint="XACML 3.0 knows only `Category`"
        )
    return Designator(
        found["Category"],
        found["AttributeId"],
        data_type_named(found["DataType"], element.place),
        found.get("Issuer"),
        element.flag("MustBePresent"),
    )


def _designator_v2(element: Element) -> Designator:
    subject = ("SubjectCategory",) if element.name == "SubjectAttributeDesignator" else ()
    found = element.attributes("AttributeId", "DataType", optional=("Issuer", "MustBePresent", *subject))
    return Designator(
        found.get("SubjectCategory", _DESIGNATORS_V2[element.name]),
        found["AttributeId"],
        data_type_named(found["DataType"], element.place),
        found.get("Issuer"),
        element.flag("MustBePresent"),
    )


def _selector(element: Element) -> Selector:
    found = element.attributes("Category", "Path", "DataType", "MustBePresent", optional=("ContextSelectorId",))
    return Selector(
        found["Category"],
        found["Path"].strip(),
        data_type_named(found["DataType"], element.place),
        element.flag("MustBePresent"),
        found.get("ContextSelectorId"),
        element.namespaces,
        element.place,
    )


def _selector_v2(element: Element) -> Selector:
    found = element.attributes("RequestContextPath", "DataType", optional=("MustBePresent",))
    return Selector(
        None,
        found["RequestContextPath"].strip(),
        data_type_named(found["DataType"], element.place),
        element.flag("MustBePresent"),
        None,
        element.namespaces,
        element.place,
    )
