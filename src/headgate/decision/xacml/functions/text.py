"""Strings and URIs: normalising, joining, cutting, searching; and text of other types."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.decision.xacml.datatypes import (
    ANY_URI,
    BOOLEAN,
    DATE,
    DATE_TIME,
    DAY_TIME_DURATION,
    DNS_NAME,
    DOUBLE,
    INTEGER,
    IP_ADDRESS,
    RFC822_NAME,
    STRING,
    TIME,
    X500_NAME,
    YEAR_MONTH_DURATION,
)
from headgate.decision.xacml.functions.function import Function, function, one
from headgate.decision.xacml.identifiers import XACML_1, XACML_2, XACML_3

_LARGEST_TEXT = 1_000_000
_CONVERTIBLE = (
    BOOLEAN,
    INTEGER,
    DOUBLE,
    TIME,
    DATE,
    DATE_TIME,
    ANY_URI,
    DAY_TIME_DURATION,
    YEAR_MONTH_DURATION,
    X500_NAME,
    RFC822_NAME,
    IP_ADDRESS,
    DNS_NAME,
)


def concatenate(*parts: str) -> str:
    if sum(map(len, parts)) > _LARGEST_TEXT:
        raise ValueError("the joined text is too long")
    return "".join(parts)


def substring(text: str, begin: int, end: int) -> str:
    """The characters from `begin` up to, not including, `end`; -1 as the end means the rest.

    >>> substring("headgate", 4, -1)
    'gate'
    """
    if end == -1:
        end = len(text)
    if not 0 <= begin <= end <= len(text):
        raise ValueError("the positions lie outside the text")
    return text[begin:end]


def _joined_uri(*parts: str) -> str:
    return str(ANY_URI.parse(concatenate(*parts)))


def text_functions() -> Iterator[Function]:
    yield function(XACML_1 + "function:string-normalize-space", (STRING,), STRING, lambda text: text.strip(" \t\r\n"))
    yield function(XACML_1 + "function:string-normalize-to-lower-case", (STRING,), STRING, str.lower)
    strings = (one(STRING), one(STRING))
    yield Function(XACML_2 + "function:string-concatenate", strings, one(STRING), concatenate, repeats=True, least=2)
    mixed = (one(ANY_URI), one(STRING))
    yield Function(XACML_2 + "function:uri-string-concatenate", mixed, one(ANY_URI), _joined_uri, repeats=True, least=2)
    for data_type in (STRING, ANY_URI):
        prefix = f"{XACML_3}function:{data_type.name}"
        # The text looked for comes first, the text it is looked for in second (A.3.9).
        yield function(f"{prefix}-starts-with", (STRING, data_type), BOOLEAN, lambda part, text: text.startswith(part))
        yield function(f"{prefix}-ends-with", (STRING, data_type), BOOLEAN, lambda part, text: text.endswith(part))
        yield function(f"{prefix}-contains", (STRING, data_type), BOOLEAN, lambda part, text: part in text)
        yield function(f"{prefix}-substring", (data_type, INTEGER, INTEGER), STRING, substring)


def conversion_functions() -> Iterator[Function]:
    for data_type in _CONVERTIBLE:
        yield function(f"{XACML_3}function:{data_type.name}-from-string", (STRING,), data_type, data_type.read)
        yield function(f"{XACML_3}function:string-from-{data_type.name}", (data_type,), STRING, data_type.format)
