"""Dates and times: arithmetic, order across time zones, and the ranges of a day."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xacml_documents import V2, V3, apply, literal, value_of

from headgate.decision.xacml.values.calendar import (
    Moment,
    calendar_day,
    day_number,
    format_date_time,
    parse_date_time,
    parse_time,
    time_in_range,
)
from headgate.decision.xacml.values.duration import (
    DayTimeDuration,
    YearMonthDuration,
    format_day_time_duration,
    format_year_month_duration,
    parse_day_time_duration,
    parse_year_month_duration,
)


@pytest.mark.parametrize(
    ("operation", "moment", "duration", "result"),
    [
        ("date-add", "2011-01-31", "P1M", "2011-02-28"),
        ("date-add", "2012-01-31", "P1M", "2012-02-29"),
        ("date-add", "2012-02-29", "P1Y", "2013-02-28"),
        ("date-add", "2000-02-29", "P400Y", "2400-02-29"),
        ("date-subtract", "2012-03-31", "P1M", "2012-02-29"),
        ("date-subtract", "2012-01-15", "P1M", "2011-12-15"),
        ("date-add", "2012-05-31", "-P3M", "2012-02-29"),
        ("date-add", "2012-05-31+02:00", "P1M", "2012-06-30+02:00"),
        ("dateTime-add", "2011-12-31T10:00:00Z", "P2M", "2012-02-29T10:00:00Z"),
        ("dateTime-subtract", "2012-02-29T10:00:00", "P1Y", "2011-02-28T10:00:00"),
    ],
)
def test_month_arithmetic_clamps_to_the_end_of_the_month(
    operation: str, moment: str, duration: str, result: str
) -> None:
    type_name = operation.partition("-")[0]
    for version in (V3, "urn:oasis:names:tc:xacml:1.0:"):
        expression = apply(
            f"{version}function:{operation}-yearMonthDuration",
            literal(type_name, moment),
            literal("yearMonthDuration", duration),
        )
        assert value_of(expression) == result


@pytest.mark.parametrize(
    ("operation", "moment", "duration", "result"),
    [
        ("add", "2012-02-28T23:59:59Z", "PT1S", "2012-02-29T00:00:00Z"),
        ("subtract", "2012-03-01T00:00:00+01:00", "P1D", "2012-02-29T00:00:00+01:00"),
        ("add", "2012-03-01T00:00:00", "-PT0.001S", "2012-02-29T23:59:59.999"),
    ],
)
def test_day_arithmetic_crosses_days_and_months(operation: str, moment: str, duration: str, result: str) -> None:
    expression = apply(
        f"{V3}function:dateTime-{operation}-dayTimeDuration",
        literal("dateTime", moment),
        literal("dayTimeDuration", duration),
    )
    assert value_of(expression) == result


@pytest.mark.parametrize(
    ("function", "type_name", "first", "second", "value"),
    [
        ("dateTime-equal", "dateTime", "2012-01-01T12:00:00+02:00", "2012-01-01T10:00:00Z", "true"),
        ("dateTime-equal", "dateTime", "2012-01-01T12:00:00", "2012-01-01T12:00:00Z", "true"),
        ("dateTime-less-than", "dateTime", "2012-01-01T23:00:00-02:00", "2012-01-02T00:00:00Z", "false"),
        ("date-greater-than", "date", "2012-01-01-05:00", "2012-01-01Z", "true"),
        ("time-equal", "time", "08:00:00+09:00", "17:00:00-06:00", "false"),
        ("time-greater-than", "time", "10:00:00Z", "11:00:00+02:00", "true"),
        ("dayTimeDuration-equal", "dayTimeDuration", "P1D", "PT24H", "true"),
        ("yearMonthDuration-equal", "yearMonthDuration", "P1Y", "P12M", "true"),
    ],
)
def test_moments_compare_as_instants(function: str, type_name: str, first: str, second: str, value: str) -> None:
    assert value_of(apply(function, literal(type_name, first), literal(type_name, second))) == value


@pytest.mark.parametrize(
    ("moment", "earliest", "latest", "inside"),
    [
        ("12:00:00", "09:00:00", "17:00:00", True),
        ("09:00:00", "09:00:00", "17:00:00", True),
        ("17:00:00", "09:00:00", "17:00:00", True),
        ("17:00:01", "09:00:00", "17:00:00", False),
        ("23:00:00", "22:00:00", "06:00:00", True),
        ("05:00:00", "22:00:00", "06:00:00", True),
        ("12:00:00", "22:00:00", "06:00:00", False),
        ("10:00:00", "10:00:00", "10:00:00", True),
        ("10:00:01", "10:00:00", "10:00:00", False),
        # Bounds without a zone are in the zone of the first time, with one they are converted.
        ("09:30:00+05:00", "09:00:00", "10:00:00", True),
        ("09:30:00+05:00", "09:00:00Z", "10:00:00Z", False),
        ("04:30:00Z", "09:00:00+05:00", "10:00:00+05:00", True),
        ("00:30:00+02:00", "22:00:00Z", "23:00:00Z", True),
    ],
)
def test_time_in_range(moment: str, earliest: str, latest: str, inside: bool) -> None:
    expression = apply(
        f"{V2}function:time-in-range", literal("time", moment), literal("time", earliest), literal("time", latest)
    )
    assert value_of(expression) == ("true" if inside else "false")
    assert time_in_range(parse_time(moment), parse_time(earliest), parse_time(latest)) is inside


@settings(deadline=None)
@given(st.dates())
def test_property_day_numbers_agree_with_pythons_calendar(date: datetime.date) -> None:
    number = day_number(date.year, date.month, date.day)
    assert number == date.toordinal() - datetime.date(1970, 1, 1).toordinal()
    assert calendar_day(number) == (date.year, date.month, date.day)


@settings(deadline=None)
@given(
    st.integers(-3_000_000, 3_000_000),
    st.integers(0, 86_400 * 10**9 - 1),
    st.none() | st.integers(-14 * 60, 14 * 60),
)
def test_property_date_times_read_back_as_written(day: int, nanosecond: int, offset: int | None) -> None:
    moment = Moment(day, nanosecond, offset)
    again = parse_date_time(format_date_time(moment))
    assert (again.day, again.nanosecond, again.offset) == (day, nanosecond, offset)


@settings(deadline=None)
@given(st.integers(-(10**20), 10**20), st.integers(-(10**9), 10**9))
def test_property_durations_read_back_as_written(nanoseconds: int, months: int) -> None:
    days = DayTimeDuration(nanoseconds)
    assert parse_day_time_duration(format_day_time_duration(days)) == days
    years = YearMonthDuration(months)
    assert parse_year_month_duration(format_year_month_duration(years)) == years


@settings(deadline=None)
@given(st.datetimes(), st.timedeltas(datetime.timedelta(-1000), datetime.timedelta(1000)))
def test_property_day_arithmetic_agrees_with_pythons(start: datetime.datetime, change: datetime.timedelta) -> None:
    try:
        expected = start + change
    except OverflowError:
        return
    moment = parse_date_time(start.isoformat())
    nanoseconds = (change.days * 86_400 + change.seconds) * 10**9 + change.microseconds * 1000
    assert moment.plus_nanoseconds(nanoseconds) == parse_date_time(expected.isoformat())
