"""The common ground of the JSON profile: parsing with bounds, short names, typed values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from headgate.decision.xacml.datatypes import (
    ALL_TYPES,
    BOOLEAN,
    DATA_TYPES,
    DOUBLE,
    INTEGER,
    STRING,
    XPATH_EXPRESSION,
)
from headgate.decision.xacml.identifiers import ACCESS_SUBJECT, ACTION, ENVIRONMENT, RESOURCE, SUBJECT_CATEGORY_PREFIX
from headgate.decision.xacml.request import RawValue
from headgate.errors import FileError, ParseError, Place
from headgate.model.safe_xml import MAX_BYTES

CATEGORY_NAMES: Mapping[str, str] = {
    "AccessSubject": ACCESS_SUBJECT,
    "Resource": RESOURCE,
    "Action": ACTION,
    "Environment": ENVIRONMENT,
    "RecipientSubject": SUBJECT_CATEGORY_PREFIX + "recipient-subject",
    "IntermediarySubject": SUBJECT_CATEGORY_PREFIX + "intermediary-subject",
    "Codebase": SUBJECT_CATEGORY_PREFIX + "codebase",
    "RequestingMachine": SUBJECT_CATEGORY_PREFIX + "requesting-machine",
}
_TYPE_NAMES = {data_type.name: data_type.uri for data_type in ALL_TYPES}
_NATIVE = {BOOLEAN.uri, INTEGER.uri, DOUBLE.uri}
_LARGEST_EXACT = 1 << 53
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

Object = Mapping[str, Any]


def parse_json(data: bytes | str, *, source: str | None = None) -> Object:
    """The object in a document; repeated keys, NaN and anything too deep or too large are refused."""
    place = Place(file=source)
    if len(data) > MAX_BYTES:
        raise FileError(f"the document is larger than {MAX_BYTES >> 20} MiB", place=place, hint="send less at once")
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        found = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as problem:
        raise ParseError(
            f"the JSON is broken: {problem.msg.lower()}",
            place=Place(problem.lineno, problem.colno, source),
            hint="check brackets, commas and quotation marks",
        ) from problem
    except (UnicodeDecodeError, ValueError, RecursionError) as problem:
        reason = "nested too deep" if isinstance(problem, RecursionError) else str(problem)
        raise ParseError(f"the JSON is refused: {reason}", place=place, hint="send UTF-8 and plain values") from problem
    return as_object(found, "the document")


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice in one object")
    for value in found.values():
        if any(isinstance(member, str) and _NOT_XML.search(member) for member in as_list(value)):
            raise ValueError("a text holds a character that XML cannot carry")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"`{name}` is not JSON")


def broken(what: str, hint: str) -> ParseError:
    return ParseError(what, hint=hint)


def as_object(value: Any, what: str) -> Object:
    if not isinstance(value, dict):
        raise broken(f"{what} is no object", "write it in braces")
    return value


def as_list(value: Any) -> Sequence[Any]:
    """A list; the profile lets a list of one element stand without its brackets."""
    return value if isinstance(value, list) else [value]


def text_at(source: Object, key: str, what: str) -> str:
    value = source.get(key)
    if not isinstance(value, str):
        raise broken(f"{what} has no `{key}`", f'add "{key}": "..."')
    return value


def optional_text(source: Object, key: str) -> str | None:
    value = source.get(key)
    if value is not None and not isinstance(value, str):
        raise broken(f"`{key}` is no text", "write it in quotation marks")
    return value


def flag_at(source: Object, key: str) -> bool:
    value = source.get(key, False)
    if not isinstance(value, bool):
        raise broken(f"`{key}` is neither true nor false", "write it without quotation marks")
    return value


def check_keys(source: Object, known: Sequence[str], what: str) -> None:
    for key in source:
        if key not in known:
            raise broken(f"{what} has a key `{key}` that is not known", "known are " + ", ".join(known))


def type_uri(name: str) -> str:
    """The URI of a type that is named by its URI or by its short name."""
    return _TYPE_NAMES.get(name, name)


def type_name(uri: str) -> str:
    data_type = DATA_TYPES.get(uri)
    return data_type.name if data_type is not None and data_type.uri == uri else uri


def raw_values(value: Any, declared: str | None) -> tuple[RawValue, ...]:
    """The values of an attribute; without a declared type they have the type of their JSON form."""
    members = as_list(value)
    if declared is None:
        inferred = {_inferred(member) for member in members} or {STRING.uri}
        if inferred == {INTEGER.uri, DOUBLE.uri}:
            inferred = {DOUBLE.uri}
        if len(inferred) != 1:
            raise broken("the values of an attribute have different types", "give them one `DataType`")
        (data_type,) = inferred
    else:
        data_type = type_uri(declared)
    return tuple(_raw_value(member, data_type) for member in members)


def _inferred(value: Any) -> str:
    match value:
        case bool():
            return BOOLEAN.uri
        case int():
            return INTEGER.uri
        case float():
            return DOUBLE.uri
        case str():
            return STRING.uri
        case dict():
            return XPATH_EXPRESSION.uri
        case _:
            raise broken("a value is neither text, number, boolean nor path", "write a plain value")


def _raw_value(value: Any, data_type: str) -> RawValue:
    if data_type == XPATH_EXPRESSION.uri:
        return _path(as_object(value, "a path"))
    match value:
        case bool():
            return RawValue(data_type, BOOLEAN.format(value))
        case int() | float():
            return RawValue(data_type, str(value) if isinstance(value, int) else DOUBLE.format(value))
        case str():
            return RawValue(data_type, value)
        case _:
            raise broken("a value is neither text, number nor boolean", "write a plain value")


def _path(source: Object) -> RawValue:
    check_keys(source, ("XPathCategory", "XPath", "Namespaces"), "a path")
    namespaces = {}
    for member in as_list(source.get("Namespaces", [])):
        declaration = as_object(member, "a namespace")
        namespaces[optional_text(declaration, "Prefix") or ""] = text_at(declaration, "Namespace", "a namespace")
    category = text_at(source, "XPathCategory", "a path")
    # XPath 1.0 knows no default namespace, so one without a prefix has no effect.
    prefixed = {prefix: uri for prefix, uri in namespaces.items() if prefix}
    return RawValue(
        XPATH_EXPRESSION.uri, text_at(source, "XPath", "a path"), CATEGORY_NAMES.get(category, category), prefixed
    )


def json_value(raw: RawValue) -> Any:
    """A value in its most natural JSON form that reads back as the same value."""
    if raw.data_type == XPATH_EXPRESSION.uri:
        namespaces = [{"Prefix": prefix, "Namespace": uri} for prefix, uri in raw.namespaces.items()]
        path: dict[str, Any] = {"XPathCategory": raw.xpath_category or "", "XPath": raw.text}
        return {**path, "Namespaces": namespaces} if namespaces else path
    if raw.data_type not in _NATIVE:
        return raw.text
    try:
        value = DATA_TYPES[raw.data_type].read(raw.text)
    except ValueError:
        return raw.text
    if isinstance(value, float) and not math.isfinite(value):
        return raw.text
    # Many JSON readers keep numbers as doubles: a larger integer would be rounded on its way.
    if not isinstance(value, bool) and isinstance(value, int) and abs(value) > _LARGEST_EXACT:
        return raw.text
    return value


def json_values(values: Sequence[RawValue]) -> Any:
    converted = [json_value(value) for value in values]
    return converted[0] if len(converted) == 1 else converted
