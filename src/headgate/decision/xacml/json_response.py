"""Responses in JSON, after the JSON profile of XACML 3.0 (version 1.1)."""

from __future__ import annotations

import json
from typing import Any

from headgate.decision.xacml.context import read_value
from headgate.decision.xacml.datatypes import DATA_TYPES, XPathExpression
from headgate.decision.xacml.json_request import json_category, read_json_category
from headgate.decision.xacml.json_values import (
    Object,
    as_list,
    as_object,
    broken,
    check_keys,
    json_value,
    optional_text,
    parse_json,
    raw_values,
    text_at,
    type_name,
)
from headgate.decision.xacml.outcome import (
    OK,
    Assignment,
    Decision,
    Effect,
    EvaluationError,
    MissingAttribute,
    Obligation,
    PolicyIdentifier,
    Status,
)
from headgate.decision.xacml.read_response import decision_named
from headgate.decision.xacml.request import RawValue
from headgate.decision.xacml.response import Response, Result

_RESULT_KEYS = ("Decision", "Status", "Obligations", "AssociatedAdvice", "Category", "PolicyIdentifierList")
_ASSIGNMENT_KEYS = ("AttributeId", "Value", "Category", "DataType", "Issuer")


def write_json_response(response: Response) -> str:
    return json.dumps({"Response": [_json_result(result) for result in response.results]})


def _json_result(result: Result) -> dict[str, Any]:
    source: dict[str, Any] = {"Decision": result.decision.public_name, "Status": _json_status(result.status)}
    if result.obligations:
        source["Obligations"] = [_json_duty(obligation) for obligation in result.obligations]
    if result.advice:
        source["AssociatedAdvice"] = [_json_duty(advice) for advice in result.advice]
    if result.attributes:
        source["Category"] = [json_category(group) for group in result.attributes]
    if result.policies:
        source["PolicyIdentifierList"] = {
            name: [
                {"Id": policy.id, "Version": policy.version} for policy in result.policies if policy.is_set is is_set
            ]
            for name, is_set in (("PolicyIdReference", False), ("PolicySetIdReference", True))
        }
    return source


def _json_status(status: Status) -> dict[str, Any]:
    source: dict[str, Any] = {"StatusCode": {"Value": status.code}}
    if status.message is not None:
        source["StatusMessage"] = status.message
    if status.missing:
        source["StatusDetail"] = {
            "MissingAttributeDetail": [
                {
                    "AttributeId": missing.attribute_id,
                    "Category": missing.category,
                    "DataType": missing.data_type,
                    **({} if missing.issuer is None else {"Issuer": missing.issuer}),
                }
                for missing in status.missing
            ]
        }
    return source


def _json_duty(duty: Obligation) -> dict[str, Any]:
    return {"Id": duty.id, "AttributeAssignment": [_json_assignment(assignment) for assignment in duty.assignments]}


def _json_assignment(assignment: Assignment) -> dict[str, Any]:
    value, data_type = assignment.value, assignment.data_type
    raw = RawValue(data_type.uri, assignment.text)
    if isinstance(value, XPathExpression):
        raw = RawValue(data_type.uri, value.path, value.category, value.namespaces)
    source = {"AttributeId": assignment.attribute_id, "DataType": type_name(data_type.uri), "Value": json_value(raw)}
    if assignment.category is not None:
        source["Category"] = assignment.category
    if assignment.issuer is not None:
        source["Issuer"] = assignment.issuer
    return source


def read_json_response(data: bytes | str, *, source: str | None = None) -> Response:
    """The response in a JSON document."""
    document = parse_json(data, source=source)
    check_keys(document, ("Response",), "the document")
    return Response(tuple(_result(member) for member in as_list(document.get("Response"))))


def _result(value: Any) -> Result:
    source = as_object(value, "a result")
    check_keys(source, _RESULT_KEYS, "a result")
    decision = decision_named(text_at(source, "Decision", "a result"))
    policies = as_object(source.get("PolicyIdentifierList", {}), "`PolicyIdentifierList`")
    return Result(
        decision,
        _status(as_object(source.get("Status", {}), "`Status`")),
        tuple(_duty(member, decision) for member in as_list(source.get("Obligations", []))),
        tuple(_duty(member, decision) for member in as_list(source.get("AssociatedAdvice", []))),
        tuple(read_json_category(member, None) for member in as_list(source.get("Category", []))),
        tuple(
            _policy(member, is_set=is_set)
            for name, is_set in (("PolicyIdReference", False), ("PolicySetIdReference", True))
            for member in as_list(policies.get(name, []))
        ),
    )


def _status(source: Object) -> Status:
    code = as_object(source.get("StatusCode", {}), "`StatusCode`").get("Value", OK.code)
    if not isinstance(code, str):
        raise broken("a status code is no text", "write it in quotation marks")
    detail = source.get("StatusDetail")
    listed = as_list(detail.get("MissingAttributeDetail", [])) if isinstance(detail, dict) else []
    return Status(code, optional_text(source, "StatusMessage"), tuple(_missing(member) for member in listed))


def _missing(value: Any) -> MissingAttribute:
    source = as_object(value, "a missing attribute")
    what = "a missing attribute"
    return MissingAttribute(
        text_at(source, "Category", what),
        text_at(source, "AttributeId", what),
        text_at(source, "DataType", what),
        optional_text(source, "Issuer"),
    )


def _duty(value: Any, decision: Decision) -> Obligation:
    source = as_object(value, "an obligation")
    check_keys(source, ("Id", "AttributeAssignment"), "an obligation")
    effect = Effect.DENY if decision is Decision.DENY else Effect.PERMIT
    members = as_list(source.get("AttributeAssignment", []))
    return Obligation(text_at(source, "Id", "an obligation"), effect, tuple(_assignment(member) for member in members))


def _assignment(value: Any) -> Assignment:
    source = as_object(value, "an assignment")
    check_keys(source, _ASSIGNMENT_KEYS, "an assignment")
    name = text_at(source, "AttributeId", "an assignment")
    raws = raw_values(source.get("Value"), optional_text(source, "DataType"))
    data_type = DATA_TYPES.get(raws[0].data_type) if len(raws) == 1 else None
    if data_type is None:
        raise broken(f"the assignment `{name}` has no single value of a known type", "check its `Value` and `DataType`")
    try:
        found = read_value(data_type, raws[0], name)
    except EvaluationError as problem:
        raise broken(f"the assignment `{name}` is malformed", str(problem)) from problem
    return Assignment(name, data_type, found, optional_text(source, "Category"), optional_text(source, "Issuer"))


def _policy(value: Any, *, is_set: bool) -> PolicyIdentifier:
    source = as_object(value, "a policy identifier")
    what = "a policy identifier"
    return PolicyIdentifier(text_at(source, "Id", what), optional_text(source, "Version") or "1.0", is_set)
