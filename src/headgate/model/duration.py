"""Durations and times of day, as people write them in queries and policies: `5 min`, `1 hour`, `6:00am`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headgate.errors import ParseError
from headgate.model.instant import DAY, MILLISECOND, SECOND

Duration = int
"""Whole microseconds."""

_UNITS: dict[str, int] = {
    "us": 1,
    "ms": MILLISECOND,
    "s": SECOND,
    "min": 60 * SECOND,
    "h": 3600 * SECOND,
    "d": DAY,
}
_SPELLINGS: dict[str, str] = {
    **dict.fromkeys(("us", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*$")
_ROWS = re.compile(r"\s*(\d+)\s+rows?\s*$", re.IGNORECASE)
_TIME_OF_DAY = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(am|pm)?$", re.IGNORECASE)
_MAX_DIGITS = 20
_HINT = "write a number and a unit, such as `5 min`, `1 hour` or `30s`"


def is_unit(word: str) -> bool:
    """Whether the word names a unit of time."""
    return word.lower() in _SPELLINGS


def unit_length(name: str) -> Duration:
    """The length of one unit.

    >>> unit_length("hours")
    3600000000
    """
    try:
        return _UNITS[_SPELLINGS[name.lower()]]
    except KeyError:
        raise ParseError(f"unknown unit of time `{name}`", hint="use ms, s, min, h or d") from None


def parse_duration(text: str) -> Duration:
    """Read a duration.

    >>> parse_duration("1.5 min")
    90000000
    """
    match = _DURATION.match(text)
    if not match:
        raise ParseError(f"`{text}` is not a duration", hint=_HINT)
    return scale(match[1], match[2])


def scale(number: str, unit: str) -> Duration:
    """`number` times `unit`; a length that is not a whole number of microseconds is refused."""
    length = unit_length(unit)
    if len(number) > _MAX_DIGITS:
        raise ParseError(f"`{number[:_MAX_DIGITS]}... {unit}` is too long a time", hint=_HINT)
    whole, _, fraction = number.partition(".")
    micros, remainder = divmod(int(fraction or "0") * length, 10 ** len(fraction))
    if remainder:
        raise ParseError(f"`{number} {unit}` is finer than a microsecond", hint=_HINT)
    total: int = int(whole) * length + micros
    return total


def format_duration(duration: Duration) -> str:
    """Print a duration in the largest unit that divides it.

    >>> format_duration(300_000_000), format_duration(0)
    ('5min', '0s')
    """
    if duration == 0:
        return "0s"
    for name, length in reversed(_UNITS.items()):
        if duration % length == 0:
            return f"{duration // length}{name}"
    raise AssertionError("microseconds divide every duration")


def parse_rows(text: str) -> int | None:
    """The count in `5 rows`, or None where the text is not of that kind."""
    match = _ROWS.match(text)
    if match and len(match[1]) > _MAX_DIGITS:
        raise ParseError(f"`{match[1][:_MAX_DIGITS]}... rows` is too many", hint=_HINT)
    return int(match[1]) if match else None


def parse_time_of_day(text: str) -> int:
    """Microseconds since midnight of `6:00am`, `7:00pm` or `18:30:15`.

    >>> parse_time_of_day("6:00am") // 3_600_000_000, parse_time_of_day("12:00am")
    (6, 0)
    """
    match = _TIME_OF_DAY.match(text)
    hour, minute, second = (int(match[i] or 0) for i in (1, 2, 3)) if match else (99, 0, 0)
    half = (match[4] or "").lower() if match else ""
    if minute > 59 or second > 59 or hour > 23 or (half and not 1 <= hour <= 12):
        raise ParseError(f"`{text}` is not a time of day", hint="write it as `6:00am` or `18:30`")
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return ((hour * 60 + minute) * 60 + second) * SECOND


def format_time_of_day(micros: int) -> str:
    """Print a time of day on the 24-hour clock.

    >>> format_time_of_day(parse_time_of_day("7:00pm"))
    '19:00'
    """
    seconds, _ = divmod(micros, SECOND)
    hour, minute, second = seconds // 3600, seconds // 60 % 60, seconds % 60
    return f"{hour}:{minute:02}" + (f":{second:02}" if second else "")


@dataclass(frozen=True, slots=True)
class Extent:
    """How long a window or a step is, and of which kind: time, or rows."""

    amount: int
    rows: bool = False

    @classmethod
    def parse(cls, text: str) -> Extent:
        """Read `1 hour` or `5 rows`.

        >>> Extent.parse("5 rows")
        Extent(amount=5, rows=True)
        """
        count = parse_rows(text)
        extent = cls(count, rows=True) if count is not None else cls(parse_duration(text))
        if extent.amount <= 0:
            raise ParseError(f"`{text}` is not longer than nothing", hint="write `1 hour` or `5 rows`")
        return extent

    def __str__(self) -> str:
        return f"{self.amount} rows" if self.rows else format_duration(self.amount)
