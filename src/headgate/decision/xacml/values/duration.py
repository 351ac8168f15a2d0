"""The two durations that can be ordered: days with times, and years with months."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headgate.decision.xacml.values.calendar import NANOSECONDS_PER_DAY, NANOSECONDS_PER_SECOND

_DAY_TIME = re.compile(
    r"(-)?P(?:(\d{1,12})D)?(T(?:(\d{1,12})H)?(?:(\d{1,12})M)?(?:(\d{1,12})(?:\.(\d{1,9}))?S)?)?", re.ASCII
)
_YEAR_MONTH = re.compile(r"(-)?P(?:(\d{1,9})Y)?(?:(\d{1,9})M)?", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class DayTimeDuration:
    nanoseconds: int


@dataclass(frozen=True, slots=True, order=True)
class YearMonthDuration:
    months: int


def parse_day_time_duration(text: str) -> DayTimeDuration:
    found = _DAY_TIME.fullmatch(text)
    if found is None or text.endswith(("P", "T")):
        raise ValueError("not a dayTimeDuration such as P1DT2H30M")
    sign, days, _, hours, minutes, seconds, fraction = found.groups()
    total = (int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)) * NANOSECONDS_PER_SECOND
    total += int(days or 0) * NANOSECONDS_PER_DAY + int((fraction or "").ljust(9, "0"))
    return DayTimeDuration(-total if sign else total)


def parse_year_month_duration(text: str) -> YearMonthDuration:
    found = _YEAR_MONTH.fullmatch(text)
    if found is None or text.endswith("P"):
        raise ValueError("not a yearMonthDuration such as P1Y6M")
    sign, years, months = found.groups()
    total = int(years or 0) * 12 + int(months or 0)
    return YearMonthDuration(-total if sign else total)


def format_day_time_duration(duration: DayTimeDuration) -> str:
    """The shortest canonical form.

    >>> format_day_time_duration(parse_day_time_duration("PT36H"))
    'P1DT12H'
    """
    days, rest = divmod(abs(duration.nanoseconds), NANOSECONDS_PER_DAY)
    seconds, fraction = divmod(rest, NANOSECONDS_PER_SECOND)
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    exact = f"{seconds}.{fraction:09d}".rstrip("0") if fraction else str(seconds)
    clock = "".join(
        f"{amount}{unit}" for amount, unit in ((hours, "H"), (minutes, "M"), (exact, "S")) if amount not in (0, "0")
    )
    if not days and not clock:
        return "PT0S"
    sign = "-" if duration.nanoseconds < 0 else ""
    return f"{sign}P{f'{days}D' if days else ''}{f'T{clock}' if clock else ''}"


def format_year_month_duration(duration: YearMonthDuration) -> str:
    years, months = divmod(abs(duration.months), 12)
    if not years and not months:
        return "P0M"
    sign = "-" if duration.months < 0 else ""
    return f"{sign}P{f'{years}Y' if years else ''}{f'{months}M' if months else ''}"
