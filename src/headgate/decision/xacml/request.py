"""A request: attributes in categories, as the enforcement point gave them.

Values stay text until a policy asks for them: a malformed value that no policy looks at does no harm, one that a
policy looks at makes it Indeterminate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headgate.decision.xacml.datatypes import BOOLEAN, DOUBLE, INTEGER, STRING, DataType


@dataclass(frozen=True, slots=True)
class RawValue:
    """A value as text, with the URI of its type; the last two belong to `xpathExpression` values."""

    data_type: str
    text: str
    xpath_category: str | None = None
    namespaces: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Attribute:
    attribute_id: str
    values: tuple[RawValue, ...]
    issuer: str | None = None
    include_in_result: bool = False


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of one category; `content` is one XML element as text, `reference_id` the name for references."""

    category: str
    attributes: tuple[Attribute, ...] = ()
    content: str | None = None
    reference_id: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """`references` lists, for each single request of a `MultiRequests` element, the categories it is made of."""

    attributes: tuple[Attributes, ...]
    return_policy_ids: bool = False
    combined_decision: bool = False
    references: tuple[tuple[str, ...], ...] = ()


def raw_value(value: object) -> RawValue:
    """A Python value as a request carries it: str, bool, int and float, anything else as a string."""
    data_type: DataType
    match value:
        case bool():
            data_type = BOOLEAN
        case int():
            data_type = INTEGER
        case float():
            data_type = DOUBLE
        case str():
            data_type = STRING
        case _:
            raise TypeError(f"no XACML type for a {type(value).__name__}")
    return RawValue(data_type.uri, data_type.format(value))


def build_request(categories: Mapping[str, Mapping[str, object]], *, return_policy_ids: bool = False) -> Request:
    """A request from plain Python values; a list or tuple stands for several values of one attribute.

    >>> build_request({"urn:subject": {"urn:name": "Ann"}}).attributes[0].attributes[0].values[0].text
    'Ann'
    """
    return Request(
        tuple(
            Attributes(category, tuple(Attribute(name, _raw_values(value)) for name, value in attributes.items()))
            for category, attributes in categories.items()
        ),
        return_policy_ids=return_policy_ids,
    )


def _raw_values(value: object) -> tuple[RawValue, ...]:
    if isinstance(value, RawValue):
        return (value,)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return tuple(item if isinstance(item, RawValue) else raw_value(item) for item in value)
    return (raw_value(value),)
