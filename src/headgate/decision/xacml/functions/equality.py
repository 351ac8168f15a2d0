"""Equality and order of single values."""

from __future__ import annotations

import operator
from collections.abc import Iterator

from headgate.decision.xacml.datatypes import (
    BOOLEAN,
    DATE,
    DATE_TIME,
    DAY_TIME_DURATION,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TYPES_WITH_EQUALITY,
    YEAR_MONTH_DURATION,
)
from headgate.decision.xacml.functions.function import Function, function
from headgate.decision.xacml.identifiers import XACML_1, XACML_2, XACML_3
from headgate.decision.xacml.values.calendar import time_in_range

_ORDERS = {
    "greater-than": operator.gt,
    "greater-than-or-equal": operator.ge,
    "less-than": operator.lt,
    "less-than-or-equal": operator.le,
}


def equality_functions() -> Iterator[Function]:
    """`double-equal` follows IEEE 754, so NaN equals nothing, not even NaN."""
    for data_type in TYPES_WITH_EQUALITY:
        prefixes = (XACML_1, XACML_3) if data_type in (DAY_TIME_DURATION, YEAR_MONTH_DURATION) else (XACML_1,)
        for prefix in prefixes:
            uri = f"{prefix}function:{data_type.name}-equal"
            yield function(uri, (data_type, data_type), BOOLEAN, operator.eq)
    yield function(
        XACML_3 + "function:string-equal-ignore-case",
        (STRING, STRING),
        BOOLEAN,
        lambda first, second: first.lower() == second.lower(),
    )


def order_functions() -> Iterator[Function]:
    for data_type in (INTEGER, DOUBLE, STRING, TIME, DATE, DATE_TIME):
        for name, compare in _ORDERS.items():
            uri = f"{XACML_1}function:{data_type.name}-{name}"
            yield function(uri, (data_type, data_type), BOOLEAN, compare)
    yield function(XACML_2 + "function:time-in-range", (TIME, TIME, TIME), BOOLEAN, time_in_range)
