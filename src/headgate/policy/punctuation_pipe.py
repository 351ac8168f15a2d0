"""Punctuations as the FENCE paper prints them: `<dsp|S1, *, *|D2|+|12:00:00PM|D>`.

The fields are type, data (`streams, tuples, attributes`, or `null` for a qsp about all data), roles, sign, time of day
and enforcement. The form has neither a date nor a query: the caller supplies them. A list is written `{a, b}`, a
pattern `/.../` with a slash inside it doubled, and a name that is not plain goes in double quotes.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import TypeVar

from headgate.errors import InputError, ParseError
from headgate.model.duration import parse_time_of_day
from headgate.model.instant import Instant, from_datetime, to_datetime, zone
from headgate.model.pattern import EVERYTHING, NamePattern, TuplePattern, parse_names, parse_tuples
from headgate.model.punctuation import ALL_OBJECTS, Kind, Objects, Punctuation, SubjectModel
from headgate.policy.punctuation_statement import TextReader, print_name, print_names, print_time, print_tuples

T = TypeVar("T")

_CLOCK = re.compile(r"([0-9]{1,2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,6}))?\s*([aApP][mM])?")
_NO_DATA = re.compile(r"null\s*(?=\|)", re.IGNORECASE)

_SHAPE = "write `<dsp|streams, tuples, attributes|roles|+|12:00:00PM|D>`"
_NAMES = "write `*`, a name, a list `{a, b}` or /a pattern/"
_TUPLES = "write `*`, an id, a list `{1, 2}`, `[lo, hi]` or /a pattern/"


def parse_pipe(
    text: str, *, date: datetime.date, query: str | None = None, timezone: str = "UTC", file: str = "<text>"
) -> Punctuation:
    """Read the pipe form; `date` and `timezone` say which day its time is of, `query` which query a qsp is for."""
    reader = TextReader(text, file)
    reader.expect("<", hint=_SHAPE)
    kind = Kind(reader.expect(*Kind, hint="write `dsp` or `qsp`"))
    reader.expect("|", hint=_SHAPE)
    objects = _objects(reader, kind)
    reader.expect("|", hint=_SHAPE)
    roles = reader.subjects("}" if reader.take("{") else "")
    reader.expect("|", hint=_SHAPE)
    positive = reader.expect("+", "-", hint="write `+` or `-`") == "+"
    reader.expect("|", hint=_SHAPE)
    at = _instant(reader, date, timezone)
    reader.expect("|", hint=_SHAPE)
    immediate = reader.expect("D", "I", hint="write `D` (deferred) or `I` (immediate)") == "I"
    reader.expect(">", hint=_SHAPE)
    reader.finish()
    if kind is Kind.DATA:
        return Punctuation(kind, roles, positive, at, objects=objects, immediate=immediate)
    if not query:
        raise ParseError(
            "it is not said which query the qsp is for", place=reader.place(0), hint="give the query beside the text"
        )
    return Punctuation(kind, roles, positive, at, query=query, objects=objects, immediate=immediate)


def _objects(reader: TextReader, kind: Kind) -> Objects:
    if kind is Kind.QUERY and reader.match(_NO_DATA):
        return ALL_OBJECTS
    streams = _names(reader, "stream")
    reader.expect(",", hint=_SHAPE)
    tuples = _tuples(reader)
    reader.expect(",", hint=_SHAPE)
    return Objects(streams, tuples, _names(reader, "attribute"))


def _one_or_list(reader: TextReader, read: Callable[[], T]) -> list[T]:
    return reader.listed(read, "}") if reader.take("{") else [read()]


def _names(reader: TextReader, what: str) -> NamePattern:
    if reader.take("*"):
        return EVERYTHING
    pattern = reader.regex()
    return pattern or parse_names(_one_or_list(reader, lambda: reader.name(_NAMES)), what)


def _tuples(reader: TextReader) -> TuplePattern:
    if reader.take("*"):
        return EVERYTHING
    pattern = reader.regex() or reader.interval()
    return pattern or parse_tuples({"in": _one_or_list(reader, lambda: _identifier(reader))})


def _identifier(reader: TextReader) -> str | int | float:
    number = reader.number()
    return reader.name(_TUPLES, anything=True) if number is None else number


def _instant(reader: TextReader, date: datetime.date, timezone: str) -> Instant:
    found = reader.match(_CLOCK)
    if not found:
        raise reader.unexpected("write a time of day such as `12:00:00PM`")

    def instant() -> Instant:
        micros = parse_time_of_day(found[1] + (found[3] or "")) + int((found[2] or "0").ljust(6, "0"))
        midnight = datetime.datetime(date.year, date.month, date.day)
        return _in_zone(midnight + datetime.timedelta(microseconds=micros), timezone)

    return reader.built(instant, found.start())


def _in_zone(local: datetime.datetime, timezone: str) -> Instant:
    """The instant of a wall-clock time; one that the clock shows twice or never is refused, as it names no instant."""
    moment = local.replace(tzinfo=zone(timezone), fold=0)
    if moment.utcoffset() != moment.replace(fold=1).utcoffset():
        raise ParseError(
            f"the clock of {timezone} shows {local.time()} twice or never on {local.date()}",
            hint="write the punctuation as JSON, with its time in UTC",
        )
    return from_datetime(moment)


def print_pipe(punctuation: Punctuation, timezone: str = "UTC") -> str:
    """The pipe form. Date and query, for which it has no place, are left out; users instead of roles are an error."""
    if punctuation.model is not SubjectModel.ROLES:
        raise InputError(
            "the pipe form names roles only, and the punctuation names users", hint="use JSON or a PUNCTUATE statement"
        )
    objects = punctuation.objects
    tuples = print_tuples(objects.tuples, print_name, ("{", "}"))
    data = (print_names(objects.streams, "{}"), tuples, print_names(objects.attributes, "{}"))
    fields = (
        punctuation.kind.value,
        "null" if punctuation.kind is Kind.QUERY and objects.everything else ", ".join(data),
        ", ".join(map(print_name, punctuation.subjects)),
        "+" if punctuation.positive else "-",
        print_time(punctuation.at, lambda at: _clock(at, timezone)),
        "I" if punctuation.immediate else "D",
    )
    return f"<{'|'.join(fields)}>"


def _clock(at: Instant, timezone: str) -> str:
    local = to_datetime(at).astimezone(zone(timezone))
    _in_zone(local.replace(tzinfo=None), timezone)
    fraction = f".{local.microsecond:06}".rstrip("0") if local.microsecond else ""
    half = "AM" if local.hour < 12 else "PM"
    return f"{local.hour % 12 or 12}:{local.minute:02}:{local.second:02}{fraction}{half}"
