"""Requests in JSON, after the JSON profile of XACML 3.0 (version 1.1)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headgate.decision.xacml.json_values import (
    CATEGORY_NAMES,
    Object,
    as_list,
    as_object,
    broken,
    check_keys,
    flag_at,
    json_values,
    optional_text,
    parse_json,
    raw_values,
    text_at,
    type_name,
)
from headgate.decision.xacml.request import Attribute, Attributes, RawValue, Request
from headgate.model.safe_xml import read_bytes

_REQUEST_KEYS = ("ReturnPolicyIdList", "CombinedDecision", "XPathVersion", "Category", "MultiRequests", *CATEGORY_NAMES)
_CATEGORY_KEYS = ("CategoryId", "Id", "Content", "Attribute")
_ATTRIBUTE_KEYS = ("AttributeId", "Value", "Issuer", "DataType", "IncludeInResult")


def read_json_request(data: bytes | str, *, source: str | None = None) -> Request:
    """The request in a JSON document."""
    document = parse_json(data, source=source)
    check_keys(document, ("Request",), "the document")
    request = as_object(document.get("Request"), "`Request`")
    check_keys(request, _REQUEST_KEYS, "the request")
    groups = [read_json_category(member, None) for member in as_list(request.get("Category", []))]
    for name, category in CATEGORY_NAMES.items():
        groups.extend(read_json_category(member, category) for member in as_list(request.get(name, [])))
    return Request(
        tuple(groups),
        flag_at(request, "ReturnPolicyIdList"),
        flag_at(request, "CombinedDecision"),
        tuple(_references(request)),
    )


def read_json_request_file(path: str | Path) -> Request:
    return read_json_request(read_bytes(path), source=str(path))


def read_json_category(value: Any, category: str | None) -> Attributes:
    """One category; responses hold these too. Its name is given where it stands under a short name."""
    source = as_object(value, "a category")
    check_keys(source, _CATEGORY_KEYS, "a category")
    name = optional_text(source, "CategoryId")
    if category is None:
        if name is None:
            raise broken("a category has no `CategoryId`", 'add "CategoryId": "..."')
        category = CATEGORY_NAMES.get(name, name)
    attributes = tuple(_attribute(member) for member in as_list(source.get("Attribute", [])))
    return Attributes(category, attributes, _content(source), optional_text(source, "Id"))


def _attribute(value: Any) -> Attribute:
    source = as_object(value, "an attribute")
    check_keys(source, _ATTRIBUTE_KEYS, "an attribute")
    name = text_at(source, "AttributeId", "an attribute")
    if "Value" not in source:
        raise broken(f"the attribute `{name}` has no `Value`", 'add "Value": ...')
    values = raw_values(source["Value"], optional_text(source, "DataType"))
    return Attribute(name, values, optional_text(source, "Issuer"), flag_at(source, "IncludeInResult"))


def _content(source: Object) -> str | None:
    """XML, either as it is or in base64."""
    text = optional_text(source, "Content")
    if text is None or text.lstrip().startswith("<"):
        return text
    try:
        return base64.b64decode(text, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError) as problem:
        raise broken("`Content` is neither XML nor base64", "write the XML as text") from problem


def _references(request: Object) -> Iterator[tuple[str, ...]]:
    if "MultiRequests" not in request:
        return
    several = as_object(request["MultiRequests"], "`MultiRequests`")
    for member in as_list(several.get("RequestReference", [])):
        references = as_list(as_object(member, "a request reference").get("ReferenceId", []))
        if not all(isinstance(reference, str) for reference in references):
            raise broken("a `ReferenceId` is no text", "write it in quotation marks")
        yield tuple(references)


def write_json_request(request: Request) -> str:
    body: dict[str, Any] = {
        "ReturnPolicyIdList": request.return_policy_ids,
        "CombinedDecision": request.combined_decision,
        "Category": [json_category(group) for group in request.attributes],
    }
    if request.references:
        body["MultiRequests"] = {"RequestReference": [{"ReferenceId": list(members)} for members in request.references]}
    return json.dumps({"Request": body})


def json_category(group: Attributes) -> dict[str, Any]:
    source: dict[str, Any] = {"CategoryId": group.category}
    if group.reference_id is not None:
        source["Id"] = group.reference_id
    if group.content is not None:
        source["Content"] = group.content
    source["Attribute"] = [part for attribute in group.attributes for part in _json_attributes(attribute)]
    return source


def _json_attributes(attribute: Attribute) -> Iterator[dict[str, Any]]:
    """One object per type: in JSON the type belongs to the attribute, in XML to each value."""
    by_type: dict[str, list[RawValue]] = {}
    for value in attribute.values:
        by_type.setdefault(value.data_type, []).append(value)
    for data_type, values in by_type.items():
        source: dict[str, Any] = {"AttributeId": attribute.attribute_id, "DataType": type_name(data_type)}
        source["Value"] = json_values(values)
        if attribute.issuer is not None:
            source["Issuer"] = attribute.issuer
        if attribute.include_in_result:
            source["IncludeInResult"] = True
        yield source
