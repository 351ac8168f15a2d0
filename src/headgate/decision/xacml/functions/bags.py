"""Bags and sets. A bag is a tuple; the set functions drop what occurs twice.

Members are compared by hash, so that two large bags cost their sum and not their product. Only NaN needs care: it
is a member of nothing, though Python would find the identical object.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headgate.decision.xacml.datatypes import (
    ALL_TYPES,
    BOOLEAN,
    DAY_TIME_DURATION,
    DNS_NAME,
    INTEGER,
    IP_ADDRESS,
    TYPES_WITH_EQUALITY,
    XPATH_EXPRESSION,
    YEAR_MONTH_DURATION,
    DataType,
)
from headgate.decision.xacml.functions.function import Function, bag, one
from headgate.decision.xacml.identifiers import XACML_1, XACML_2, XACML_3

Bag = tuple[Any, ...]


def one_and_only(values: Bag) -> Any:
    if len(values) != 1:
        raise ValueError(f"a bag of {len(values)} values has no one and only value")
    return values[0]


def is_in(value: Any, values: Bag) -> bool:
    return bool(value == value) and value in values  # NaN differs from itself


def intersection(first: Bag, second: Bag) -> Bag:
    members = _members(second)
    return tuple(value for value in dict.fromkeys(first) if value in members)


def union(first: Bag, second: Bag) -> Bag:
    return tuple(dict.fromkeys(first + second))


def at_least_one_member_of(first: Bag, second: Bag) -> bool:
    return not _members(first).isdisjoint(_members(second))


def subset(first: Bag, second: Bag) -> bool:
    members = _members(second)
    return all(value in members for value in first)


def set_equals(first: Bag, second: Bag) -> bool:
    return subset(first, second) and subset(second, first)


def _members(values: Bag) -> frozenset[Any]:
    return frozenset(value for value in values if value == value)  # NaN differs from itself


def _prefixes(data_type: DataType) -> tuple[str, ...]:
    if data_type in (IP_ADDRESS, DNS_NAME):
        return (XACML_2,)
    if data_type in (DAY_TIME_DURATION, YEAR_MONTH_DURATION):
        return (XACML_1, XACML_3)
    return (XACML_1,)


def bag_functions() -> Iterator[Function]:
    for data_type in ALL_TYPES:
        if data_type is XPATH_EXPRESSION:
            continue
        many, single = bag(data_type), one(data_type)
        for prefix in _prefixes(data_type):
            name = f"{prefix}function:{data_type.name}"
            yield Function(f"{name}-one-and-only", (many,), single, one_and_only)
            yield Function(f"{name}-bag-size", (many,), one(INTEGER), len)
            yield Function(f"{name}-bag", (single,), many, lambda *values: values, repeats=True)


def set_functions() -> Iterator[Function]:
    for data_type in TYPES_WITH_EQUALITY:
        many, truth = bag(data_type), one(BOOLEAN)
        for prefix in _prefixes(data_type):
            name = f"{prefix}function:{data_type.name}"
            yield Function(f"{name}-is-in", (one(data_type), many), truth, is_in)
            yield Function(f"{name}-intersection", (many, many), many, intersection)
            yield Function(f"{name}-union", (many, many), many, union)
            yield Function(f"{name}-at-least-one-member-of", (many, many), truth, at_least_one_member_of)
            yield Function(f"{name}-subset", (many, many), truth, subset)
            yield Function(f"{name}-set-equals", (many, many), truth, set_equals)
