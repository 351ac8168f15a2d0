"""Times as everything else speaks of them: an instant is whole microseconds since 1970-01-01T00:00Z.

Integers compare, subtract and align to windows without surprises; `+∞` is `END_OF_TIME`, the watermark of a finished
stream.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headgate.errors import ParseError

Instant = int

MICROSECOND = 1
MILLISECOND = 1_000
SECOND = 1_000_000
DAY = 86_400 * SECOND

START_OF_TIME: Instant = -(1 << 62)
END_OF_TIME: Instant = 1 << 62

_CYCLE = 146_097 * DAY
"""The Gregorian calendar repeats every 400 years."""

FIRST: Instant = -62_135_596_800_000_000
LAST: Instant = 253_402_300_799_999_999
"""The first and the last instant of the years 1 to 9999."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?([zZ]|[+-]\d{2}(:?\d{2})?)?$")


def parse_timestamp(text: str) -> Instant:
    """Read an ISO 8601 timestamp; one without a zone is refused, because nobody can know which was meant.

    >>> parse_timestamp("1970-01-01T00:00:01.5Z")
    1500000
    """
    found = _TIMESTAMP.match(text)
    if not found:
        raise ParseError(f"`{text}` is not a timestamp", hint="write it as `2026-01-01T08:00:00Z`")
    if not found[3]:
        raise ParseError(f"timestamp `{text}` has no zone", hint=f"add one: `{text}Z`, or an offset such as `+08:00`")
    try:
        moment = datetime.fromisoformat(text.upper())
        return from_datetime(moment if found[3] in "zZ" else moment.astimezone(UTC))
    except (ValueError, OverflowError) as error:
        raise ParseError(f"`{text}` is not a timestamp: {error}", hint="write it as `2026-01-01T08:00:00Z`") from error


def from_datetime(moment: datetime) -> Instant:
    """The instant of an aware datetime."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def to_datetime(instant: Instant) -> datetime:
    """The UTC datetime of an instant."""
    return _EPOCH + timedelta(microseconds=instant)


def format_timestamp(instant: Instant) -> str:
    """Print an instant in UTC, with milliseconds, and microseconds only where there are any.

    >>> format_timestamp(1500000)
    '1970-01-01T00:00:01.500Z'
    """
    precision = "milliseconds" if instant % MILLISECOND == 0 else "microseconds"
    return to_datetime(instant).isoformat(timespec=precision).replace("+00:00", "Z")


def format_result_time(instant: Instant) -> str:
    """The same for the end of a window, which may lie beyond the calendar: then with ISO 8601's expanded years.

    >>> format_result_time(253_402_300_800_000_000)
    '+10000-01-01T00:00:00.000Z'
    """
    if FIRST <= instant <= LAST:
        return format_timestamp(instant)
    cycles, within = divmod(instant, _CYCLE)
    text = format_timestamp(within)
    return f"{int(text[:4]) + 400 * cycles:+06d}{text[4:]}"


def parse_date(text: str) -> int:
    """Days since 1970-01-01 of an ISO date."""
    try:
        return (date.fromisoformat(text) - date(1970, 1, 1)).days
    except ValueError as error:
        raise ParseError(f"`{text}` is not a date", hint="write it as `2026-01-31`") from error


def format_date(days: int) -> str:
    """Print a date as ISO.

    >>> format_date(31)
    '1970-02-01'
    """
    return (date(1970, 1, 1) + timedelta(days=days)).isoformat()


def zone(name: str) -> ZoneInfo:
    """The time zone of that name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ParseError(f"unknown time zone `{name}`", hint="use a name such as `UTC` or `Asia/Singapore`") from error


def time_of_day(instant: Instant, time_zone: ZoneInfo) -> int | None:
    """Microseconds since local midnight, by the wall clock of `time_zone`; None beyond the calendar."""
    try:
        local = to_datetime(instant).astimezone(time_zone)
    except OverflowError:
        return None
    return ((local.hour * 60 + local.minute) * 60 + local.second) * SECOND + local.microsecond
