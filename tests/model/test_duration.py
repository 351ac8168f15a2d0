"""Durations, times of day and extents, as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import ParseError
from headgate.model.duration import (
    Extent,
    format_duration,
    format_time_of_day,
    is_unit,
    parse_duration,
    parse_rows,
    parse_time_of_day,
    unit_length,
)
from headgate.model.instant import DAY, SECOND

HOUR = 3600 * SECOND


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("5 min", 300 * SECOND),
        ("5m", 300 * SECOND),
        ("5 MINUTES", 300 * SECOND),
        ("1 hour", HOUR),
        ("5h", 5 * HOUR),
        ("1.5 min", 90 * SECOND),
        ("0.000001 s", 1),
        ("30s", 30 * SECOND),
        ("2 days", 2 * DAY),
        ("1 us", 1),
        ("3 ms", 3_000),
        (" 1  sec ", SECOND),
        ("0 s", 0),
    ],
)
def test_durations_are_read(text: str, length: int) -> None:
    assert parse_duration(text) == length


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a duration"),
        ("5", "is not a duration"),
        ("min", "is not a duration"),
        ("-5 s", "is not a duration"),
        (".5 s", "is not a duration"),
        ("5 s s", "is not a duration"),
        ("5 parsecs", "unknown unit of time `parsecs`"),
        ("1 month", "unknown unit of time `month`"),
        ("0.0000001 s", "finer than a microsecond"),
    ],
)
def test_other_texts_are_no_durations(text: str, said: str) -> None:
    with pytest.raises(ParseError, match=said) as raised:
        parse_duration(text)
    assert raised.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "9" * 5_000 + " s",
        "0." + "0" * 5_000 + " s",
        "9" * 5_000 + " rows",
    ],
)
def test_a_number_of_5_000_digits_is_no_duration(text: str) -> None:
    with pytest.raises(ParseError):
        Extent.parse(text)


@pytest.mark.parametrize(
    ("length", "text"),
    [(0, "0s"), (DAY, "1d"), (36 * HOUR, "36h"), (90 * SECOND, "90s"), (1_500, "1500us"), (1_000, "1ms")],
)
def test_a_duration_is_written_in_the_largest_unit_that_divides_it(length: int, text: str) -> None:
    assert format_duration(length) == text


@given(st.integers(0, 10**18))
def test_property_a_written_duration_reads_back(length: int) -> None:
    assert parse_duration(format_duration(length)) == length


def test_units_are_known_whatever_their_case() -> None:
    assert is_unit("Hours")
    assert not is_unit("fortnight")
    assert unit_length("HOURS") == HOUR
    with pytest.raises(ParseError, match="unknown unit of time `week`"):
        unit_length("week")


@pytest.mark.parametrize(
    ("text", "hours"),
    [("12:00am", 0), ("12:30 AM", 0.5), ("6:00am", 6), ("12:00pm", 12), ("7:00pm", 19), ("0:00", 0), ("23:45", 23.75)],
)
def test_times_of_day_are_read_on_both_clocks(text: str, hours: float) -> None:
    assert parse_time_of_day(text) == int(hours * HOUR)


@pytest.mark.parametrize(
    "text", ["24:00", "13:00pm", "0:30am", "6:60am", "6", "6am", "6:0am", "18:30:61", "6:00 xm", ""]
)
def test_other_texts_are_no_times_of_day(text: str) -> None:
    with pytest.raises(ParseError, match="is not a time of day"):
        parse_time_of_day(text)


@given(st.integers(0, DAY // SECOND - 1))
def test_property_a_written_time_of_day_reads_back(second: int) -> None:
    assert parse_time_of_day(format_time_of_day(second * SECOND)) == second * SECOND


@pytest.mark.parametrize(
    ("text", "count"), [("5 rows", 5), ("1 ROW", 1), ("5rows", None), ("rows", None), ("5 s", None)]
)
def test_rows_are_counted(text: str, count: int | None) -> None:
    assert parse_rows(text) == count


def test_an_extent_is_time_or_rows_and_never_nothing() -> None:
    assert Extent.parse("1 hour") == Extent(HOUR)
    assert Extent.parse("5 rows") == Extent(5, rows=True)
    assert [str(Extent.parse(text)) for text in ("1 hour", "5 rows")] == ["1h", "5 rows"]
    for text in ("0 s", "0 rows"):
        with pytest.raises(ParseError, match="is not longer than nothing"):
            Extent.parse(text)
