"""Dates, times and date-times of XML Schema, exact to the nanosecond.

Python's `datetime` stops at year 9999 and at microseconds, and tells aware from naive values by raising; XML
Schema orders both kinds. A value without a time zone counts as UTC, the implicit time zone of this PDP. Day
numbers are proleptic Gregorian, with day 0 on 1970-01-01 and an astronomical year 0, as in XML Schema 1.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering

NANOSECONDS_PER_SECOND = 1_000_000_000
NANOSECONDS_PER_MINUTE = 60 * NANOSECONDS_PER_SECOND
NANOSECONDS_PER_DAY = 86_400 * NANOSECONDS_PER_SECOND
_LARGEST_YEAR = 9_999_999

_ZONE = r"(?P<zone>Z|[+-]\d\d:\d\d)?"
_DATE = r"(?P<year>-?(?:[1-9]\d{4,6}|\d{4}))-(?P<month>\d\d)-(?P<day>\d\d)"
_TIME = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:\.(?P<fraction>\d{1,9}))?"
_DATE_PATTERN = re.compile(_DATE + _ZONE, re.ASCII)
_TIME_PATTERN = re.compile(_TIME + _ZONE, re.ASCII)
_DATE_TIME_PATTERN = re.compile(_DATE + "T" + _TIME + _ZONE, re.ASCII)


def day_number(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01.

    >>> day_number(1970, 1, 1), day_number(2000, 3, 1)
    (0, 11017)
    """
    year -= month <= 2
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def calendar_day(number: int) -> tuple[int, int, int]:
    """Year, month and day of a day number: the inverse of `day_number`.

    >>> calendar_day(11017)
    (2000, 3, 1)
    """
    number += 719_468
    era = number // 146_097
    day_of_era = number - era * 146_097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


def days_in_month(year: int, month: int) -> int:
    following = day_number(year + month // 12, month % 12 + 1, 1)
    return following - day_number(year, month, 1)


def add_months(day: int, months: int) -> int:
    """The same day of another month, clamped to that month's end: 31 January plus a month is 28 February."""
    year, month, day_of_month = calendar_day(day)
    index = year * 12 + month - 1 + months
    year, month = index // 12, index % 12 + 1
    _check_year(year)
    return day_number(year, month, min(day_of_month, days_in_month(year, month)))


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A local day and time of day with an optional offset from UTC in minutes; ordered by the instant it denotes."""

    day: int
    nanosecond: int = 0
    offset: int | None = None

    @property
    def instant(self) -> int:
        return self.day * NANOSECONDS_PER_DAY + self.nanosecond - (self.offset or 0) * NANOSECONDS_PER_MINUTE

    def __eq__(self, other: object) -> bool:
        return self.instant == other.instant if isinstance(other, Moment) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self.instant < other.instant if isinstance(other, Moment) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.instant)

    def plus_months(self, months: int) -> Moment:
        return Moment(add_months(self.day, months), self.nanosecond, self.offset)

    def plus_nanoseconds(self, nanoseconds: int) -> Moment:
        carried, rest = divmod(self.nanosecond + nanoseconds, NANOSECONDS_PER_DAY)
        day = self.day + carried
        _check_year(calendar_day(day)[0])
        return Moment(day, rest, self.offset)


def parse_date(text: str) -> Moment:
    found = _DATE_PATTERN.fullmatch(text)
    if found is None:
        raise ValueError("not a date such as 2012-05-31")
    return Moment(_day(found), 0, _offset(found))


def parse_time(text: str) -> Moment:
    found = _TIME_PATTERN.fullmatch(text)
    if found is None:
        raise ValueError("not a time such as 09:30:00")
    return Moment(0, _nanosecond(found) % NANOSECONDS_PER_DAY, _offset(found))


def parse_date_time(text: str) -> Moment:
    found = _DATE_TIME_PATTERN.fullmatch(text)
    if found is None:
        raise ValueError("not a dateTime such as 2012-05-31T09:30:00Z")
    carried, nanosecond = divmod(_nanosecond(found), NANOSECONDS_PER_DAY)
    return Moment(_day(found) + carried, nanosecond, _offset(found))


def format_date(moment: Moment) -> str:
    year, month, day = calendar_day(moment.day)
    sign = "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}{_format_offset(moment.offset)}"


def format_time(moment: Moment) -> str:
    return _format_clock(moment.nanosecond) + _format_offset(moment.offset)


def format_date_time(moment: Moment) -> str:
    date = format_date(Moment(moment.day))
    return f"{date}T{_format_clock(moment.nanosecond)}{_format_offset(moment.offset)}"


def time_in_range(moment: Moment, earliest: Moment, latest: Moment) -> bool:
    """Whether a time lies between two others, both included; the range may run past midnight.

    Bounds without a time zone take that of the first argument (XACML 3.0, A.3.8).
    """
    start = _with_zone_of(earliest, moment).instant
    length = (_with_zone_of(latest, moment).instant - start) % NANOSECONDS_PER_DAY
    return (moment.instant - start) % NANOSECONDS_PER_DAY <= length


def _with_zone_of(bound: Moment, moment: Moment) -> Moment:
    return bound if bound.offset is not None else Moment(bound.day, bound.nanosecond, moment.offset)


def _day(found: re.Match[str]) -> int:
    year, month, day = int(found["year"]), int(found["month"]), int(found["day"])
    if not 1 <= month <= 12 or not 1 <= day <= days_in_month(year, month):
        raise ValueError("no such day in the calendar")
    return day_number(year, month, day)


def _nanosecond(found: re.Match[str]) -> int:
    hour, minute, second = int(found["hour"]), int(found["minute"]), int(found["second"])
    fraction = int((found["fraction"] or "").ljust(9, "0"))
    midnight = hour == 24 and minute == second == fraction == 0
    if (hour > 23 and not midnight) or minute > 59 or second > 59:
        raise ValueError("no such time of day")
    return (hour * 3600 + minute * 60 + second) * NANOSECONDS_PER_SECOND + fraction


def _offset(found: re.Match[str]) -> int | None:
    zone = found["zone"]
    if zone is None or zone == "Z":
        return None if zone is None else 0
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if minutes > 59 or hours * 60 + minutes > 14 * 60:
        raise ValueError("a time zone lies between -14:00 and +14:00")
    return (hours * 60 + minutes) * (-1 if zone[0] == "-" else 1)


def _check_year(year: int) -> None:
    if abs(year) > _LARGEST_YEAR:
        raise ValueError("the year is out of range")


def _format_clock(nanosecond: int) -> str:
    seconds, fraction = divmod(nanosecond, NANOSECONDS_PER_SECOND)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction:09d}".rstrip("0") if fraction else text


def _format_offset(offset: int | None) -> str:
    if not offset:
        return "" if offset is None else "Z"
    hours, minutes = divmod(abs(offset), 60)
    return f"{'-' if offset < 0 else '+'}{hours:02d}:{minutes:02d}"
