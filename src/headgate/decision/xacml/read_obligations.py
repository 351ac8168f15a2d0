"""Obligations and advice from XML: expressions in 3.0, fixed values in 2.0."""

from __future__ import annotations

from headgate.decision.xacml.outcome import Effect
from headgate.decision.xacml.read_expression import data_type_named, literal_value, read_expression
from headgate.decision.xacml.syntax import AssignmentExpression, Literal, ObligationExpression
from headgate.decision.xacml.xml_reading import Element
from headgate.errors import ParseError


def read_effect(text: str, element: Element) -> Effect:
    try:
        return Effect(text)
    except ValueError as problem:
        raise ParseError(
            f"the effect `{text}` is not known", place=element.place, hint="write Permit or Deny"
        ) from problem


def read_obligations_v3(element: Element) -> tuple[ObligationExpression, ...]:
    """The members of an `ObligationExpressions` or `AdviceExpressions` element."""
    is_advice = element.name == "AdviceExpressions"
    member, id_name, on_name = (
        ("AdviceExpression", "AdviceId", "AppliesTo")
        if is_advice
        else ("ObligationExpression", "ObligationId", "FulfillOn")
    )
    found = []
    for child in element.children():
        if child.name != member:
            raise child.unexpected()
        names = child.attributes(id_name, on_name)
        assignments = tuple(_assignment_v3(inner) for inner in child.children())
        found.append(ObligationExpression(names[id_name], read_effect(names[on_name], child), assignments, is_advice))
    return tuple(found)


def _assignment_v3(element: Element) -> AssignmentExpression:
    if element.name != "AttributeAssignmentExpression":
        raise element.unexpected()
    names = element.attributes("AttributeId", optional=("Category", "Issuer"))
    expression = read_expression(element.only_child("expression"))
    return AssignmentExpression(names["AttributeId"], expression, names.get("Category"), names.get("Issuer"))


def read_obligations_v2(element: Element) -> tuple[ObligationExpression, ...]:
    """The members of an `Obligations` element; 2.0 has no advice."""
    found = []
    for child in element.children():
        if child.name != "Obligation":
            raise child.unexpected()
        names = child.attributes("ObligationId", "FulfillOn")
        assignments = tuple(_assignment_v2(inner) for inner in child.children())
        found.append(ObligationExpression(names["ObligationId"], read_effect(names["FulfillOn"], child), assignments))
    return tuple(found)


def _assignment_v2(element: Element) -> AssignmentExpression:
    if element.name != "AttributeAssignment":
        raise element.unexpected()
    names = element.attributes("AttributeId", "DataType", optional=tuple(map(str, element.node.attrib)))
    data_type = data_type_named(names["DataType"], element.place)
    literal = Literal(data_type, literal_value(element, data_type), element.place)
    return AssignmentExpression(names["AttributeId"], literal)
