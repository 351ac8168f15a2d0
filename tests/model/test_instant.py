"""Instants: whole microseconds since 1970."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import ParseError
from headgate.model.instant import (
    DAY,
    SECOND,
    format_date,
    format_timestamp,
    parse_date,
    parse_timestamp,
    time_of_day,
    zone,
)

EIGHT = 1_767_254_400 * SECOND
"""2026-01-01T08:00:00Z."""


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59Z", -SECOND),
        ("2026-01-01T08:00:00Z", EIGHT),
        ("2026-01-01 08:00:00Z", EIGHT),
        ("2026-01-01T08:00:00z", EIGHT),
        ("2026-01-01T08:00Z", EIGHT),
        ("2026-01-01T16:00:00+08:00", EIGHT),
        ("2026-01-01T16:00:00+0800", EIGHT),
        ("2026-01-01T03:00:00-05", EIGHT),
        ("2026-01-01T08:00:00.5Z", EIGHT + SECOND // 2),
        ("2026-01-01T08:00:00,25Z", EIGHT + SECOND // 4),
        ("2026-01-01T08:00:00.000001Z", EIGHT + 1),
    ],
)
def test_iso_timestamps_are_read(text: str, instant: int) -> None:
    assert parse_timestamp(text) == instant


@pytest.mark.parametrize("text", ["2026-01-01T08:00:00", "2026-01-01 08:00", "2026-01-01T08:00:00.123"])
def test_a_timestamp_without_a_zone_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(ParseError, match="has no zone") as raised:
        parse_timestamp(text)
    assert f"`{text}Z`" in raised.value.hint
    assert "+08:00" in raised.value.hint


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026-01-01", "2026-1-1T08:00:00Z", "2026-02-30T08:00:00Z", "2026-01-01T25:00:00Z", "1735718400"],
)
def test_other_texts_are_no_timestamps(text: str) -> None:
    with pytest.raises(ParseError, match="is not a timestamp") as raised:
        parse_timestamp(text)
    assert raised.value.hint == "write it as `2026-01-01T08:00:00Z`"


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (EIGHT, "2026-01-01T08:00:00.000Z"),
        (EIGHT + 1_000, "2026-01-01T08:00:00.001Z"),
        (EIGHT + 1, "2026-01-01T08:00:00.000001Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
    ],
)
def test_timestamps_are_written_with_milliseconds_or_microseconds(instant: int, text: str) -> None:
    assert format_timestamp(instant) == text


@given(st.integers(-62_135_596_800 * SECOND, 253_402_300_799 * SECOND))
def test_property_a_written_timestamp_reads_back(instant: int) -> None:
    assert parse_timestamp(format_timestamp(instant)) == instant


def test_dates_are_days() -> None:
    assert (parse_date("1970-01-01"), parse_date("1969-12-31"), parse_date("2026-01-01")) == (0, -1, 20_454)
    assert [format_date(days) for days in (0, -1, 20_454)] == ["1970-01-01", "1969-12-31", "2026-01-01"]


@pytest.mark.parametrize("text", ["", "2026-02-30", "2026-01-01T08:00:00Z", "today"])
def test_other_texts_are_no_dates(text: str) -> None:
    with pytest.raises(ParseError, match="is not a date"):
        parse_date(text)


def test_the_time_of_day_is_that_of_the_wall_clock() -> None:
    assert time_of_day(EIGHT, zone("UTC")) == 8 * 3600 * SECOND
    assert time_of_day(EIGHT + 5, zone("Asia/Singapore")) == 16 * 3600 * SECOND + 5
    summer = parse_timestamp("2026-07-01T08:00:00Z")
    assert time_of_day(summer, zone("Europe/Berlin")) - time_of_day(EIGHT, zone("Europe/Berlin")) == 3600 * SECOND
    assert time_of_day(-1, zone("UTC")) == DAY - 1


@pytest.mark.parametrize("name", ["Moon/Base", "", "../UTC", "/etc/passwd", "UTC\x00"])
def test_an_unknown_zone_is_refused(name: str) -> None:
    with pytest.raises(ParseError, match="unknown time zone") as raised:
        zone(name)
    assert raised.value.hint
