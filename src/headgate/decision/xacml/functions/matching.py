"""Matching: regular expressions over every text-like type, and the special matches of names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headgate.decision.xacml.datatypes import (
    ANY_URI,
    BOOLEAN,
    DNS_NAME,
    IP_ADDRESS,
    RFC822_NAME,
    STRING,
    X500_NAME,
    DataType,
)
from headgate.decision.xacml.functions.function import Function, function
from headgate.decision.xacml.functions.regexp import matches
from headgate.decision.xacml.identifiers import XACML_1, XACML_2


def _on_text(data_type: DataType) -> Callable[[str, Any], bool]:
    write = data_type.format
    return lambda pattern, value: matches(pattern, write(value))


def matching_functions() -> Iterator[Function]:
    yield function(XACML_1 + "function:string-regexp-match", (STRING, STRING), BOOLEAN, matches)
    for data_type in (ANY_URI, IP_ADDRESS, DNS_NAME, RFC822_NAME, X500_NAME):
        uri = f"{XACML_2}function:{data_type.name}-regexp-match"
        yield function(uri, (STRING, data_type), BOOLEAN, _on_text(data_type))
    yield function(
        XACML_1 + "function:x500Name-match", (X500_NAME, X500_NAME), BOOLEAN, lambda end, name: name.ends_with(end)
    )
    yield function(
        XACML_1 + "function:rfc822Name-match",
        (STRING, RFC822_NAME),
        BOOLEAN,
        lambda pattern, name: name.matches(pattern),
    )
