"""Arithmetic of dates and durations; month ends are clamped (31 January plus a month is 28 or 29 February)."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.decision.xacml.datatypes import DATE, DATE_TIME, DAY_TIME_DURATION, YEAR_MONTH_DURATION
from headgate.decision.xacml.functions.function import Function, function
from headgate.decision.xacml.identifiers import XACML_1, XACML_3


def date_functions() -> Iterator[Function]:
    for version in (XACML_1, XACML_3):
        prefix = version + "function:"
        for data_type in (DATE_TIME, DATE):
            takes = (data_type, YEAR_MONTH_DURATION)
            name = f"{prefix}{data_type.name}"
            yield function(f"{name}-add-yearMonthDuration", takes, data_type, lambda at, by: at.plus_months(by.months))
            yield function(
                f"{name}-subtract-yearMonthDuration", takes, data_type, lambda at, by: at.plus_months(-by.months)
            )
        takes = (DATE_TIME, DAY_TIME_DURATION)
        yield function(
            prefix + "dateTime-add-dayTimeDuration",
            takes,
            DATE_TIME,
            lambda at, by: at.plus_nanoseconds(by.nanoseconds),
        )
        yield function(
            prefix + "dateTime-subtract-dayTimeDuration",
            takes,
            DATE_TIME,
            lambda at, by: at.plus_nanoseconds(-by.nanoseconds),
        )
