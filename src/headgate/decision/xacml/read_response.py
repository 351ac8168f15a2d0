"""Responses from XML, 3.0 and 2.0: what a client of another PDP needs."""

from __future__ import annotations

from collections.abc import Mapping

from headgate.decision.xacml.identifiers import CONTEXT_NAMESPACE_V2, NAMESPACE_V3
from headgate.decision.xacml.outcome import (
    OK,
    Assignment,
    Decision,
    Effect,
    MissingAttribute,
    Obligation,
    PolicyIdentifier,
    Status,
)
from headgate.decision.xacml.read_expression import data_type_named, literal_value
from headgate.decision.xacml.read_obligations import read_effect
from headgate.decision.xacml.read_request import read_attributes
from headgate.decision.xacml.request import Attributes
from headgate.decision.xacml.response import Response, Result
from headgate.decision.xacml.xml_reading import Element
from headgate.errors import ParseError, Place
from headgate.model.safe_xml import parse_xml

DECISIONS: Mapping[str, Decision] = {
    "Permit": Decision.PERMIT,
    "Deny": Decision.DENY,
    "NotApplicable": Decision.NOT_APPLICABLE,
    # What an error hid is not written, so it may have been anything.
    "Indeterminate": Decision.INDETERMINATE_DP,
}


def read_response(data: bytes | str, *, source: str | None = None) -> Response:
    """The response in a document of XACML 3.0 or 2.0."""
    element = Element(parse_xml(data, source=source), source)
    if element.name != "Response" or element.namespace not in (NAMESPACE_V3, CONTEXT_NAMESPACE_V2):
        raise ParseError(f"<{element.name}> is no response", place=element.place, hint="write a XACML <Response>")
    return Response(tuple(_result(child) for child in element.children()))


def decision_named(name: str, place: Place | None = None) -> Decision:
    decision = DECISIONS.get(name.strip())
    if decision is None:
        raise ParseError(
            f"the decision `{name}` is not known", place=place, hint="it is one of " + ", ".join(DECISIONS)
        )
    return decision


def _result(element: Element) -> Result:
    if element.name != "Result":
        raise element.unexpected()
    resource_id = element.attributes(optional=("ResourceId",)).get("ResourceId")
    decision: Decision | None = None
    status = OK
    obligations: list[Obligation] = []
    advice: list[Obligation] = []
    attributes: list[Attributes] = []
    policies: list[PolicyIdentifier] = []
    for child in element.children():
        match child.name:
            case "Decision":
                decision = decision_named(child.text, child.place)
            case "Status":
                status = _status(child)
            case "Obligations":
                obligations = [_duty(inner, "ObligationId", decision) for inner in child.children()]
            case "AssociatedAdvice":
                advice = [_duty(inner, "AdviceId", decision) for inner in child.children()]
            case "Attributes":
                attributes.append(read_attributes(child))
            case "PolicyIdentifierList":
                policies = [_policy(inner) for inner in child.children()]
            case _:
                raise child.unexpected()
    if decision is None:
        raise ParseError("<Result> has no <Decision>", place=element.place, hint="add one")
    return Result(decision, status, tuple(obligations), tuple(advice), tuple(attributes), tuple(policies), resource_id)


def _status(element: Element) -> Status:
    code, message = OK.code, None
    missing: list[MissingAttribute] = []
    for child in element.children():
        if child.name == "StatusCode":
            code = child.attributes("Value")["Value"]
        elif child.name == "StatusMessage":
            message = child.text
        elif child.name == "StatusDetail":
            missing = [_missing(inner) for inner in child.children() if inner.name == "MissingAttributeDetail"]
        else:
            raise child.unexpected()
    return Status(code, message, tuple(missing))


def _missing(element: Element) -> MissingAttribute:
    found = element.attributes("AttributeId", "DataType", optional=("Category", "Issuer"))
    return MissingAttribute(found.get("Category", ""), found["AttributeId"], found["DataType"], found.get("Issuer"))


def _duty(element: Element, id_name: str, decision: Decision | None) -> Obligation:
    found = element.attributes(id_name, optional=("FulfillOn",))
    effect = Effect.DENY if decision is Decision.DENY else Effect.PERMIT
    if "FulfillOn" in found:
        effect = read_effect(found["FulfillOn"], element)
    return Obligation(found[id_name], effect, tuple(_assignment(child) for child in element.children()))


def _assignment(element: Element) -> Assignment:
    if element.name != "AttributeAssignment":
        raise element.unexpected()
    found = element.attributes("AttributeId", "DataType", optional=("Category", "Issuer", "XPathCategory"))
    data_type = data_type_named(found["DataType"], element.place)
    value = literal_value(element, data_type)
    return Assignment(found["AttributeId"], data_type, value, found.get("Category"), found.get("Issuer"))


def _policy(element: Element) -> PolicyIdentifier:
    if element.name not in ("PolicyIdReference", "PolicySetIdReference"):
        raise element.unexpected()
    version = element.attributes(optional=("Version",)).get("Version", "1.0")
    return PolicyIdentifier(element.text.strip(), version, element.name == "PolicySetIdReference")
