"""Punctuations as the FENCE paper prints them: `<dsp|S1, *, *|D2|+|12:00:00PM|D>`.

The fields are type, data (`streams, tuples, attributes`, or `null` for a qsp about all data), roles, sign, time of day and
enforcement. The form has neither a date nor a query: the caller supplies them. A list is written `{a, b}`, a pattern
`/.../` with a slash inside it doubled, and a name that is not plain goes in double quotes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date as Date  # noqa: N812 - `date` is what callers call the argument
from datetime import datetime, timedelta
from typing import TypeVar

from headgate.errors import InputError, ParseError
from headgate.model.duration import parse_time_of_day
from headgate.model.expression.tokens import MAX_TEXT, place_of
from headgate.model.instant import Instant, from_datetime, to_datetime, zone
from headgate.model.pattern import Everything, Ids, NamePattern, Names, Range, Regex, TuplePattern
from headgate.model.pattern import parse_names, parse_tuples
from headgate.model.punctuation import ALL_OBJECTS, Kind, Objects, Punctuation, SubjectModel

T = TypeVar("T")

_NUMBER = re.compile(r"[-+]?[0-9]{1,400}(\.[0-9]{0,400})?([eE][-+]?[0-9]{1,9})?(?![\w.-])")
_WORD = re.compile(r"\w[\w.-]*")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CLOCK = re.compile(r"([0-9]{1,2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,6}))?\s*([aApP][mM])?")
_SPACE = re.compile(r"(\s|--[^\n]*)*")

_SHAPE = "write `<dsp|streams, tuples, attributes|roles|+|12:00:00PM|D>`"
_NAMES = "write `*`, a name, a list of names or /a pattern/"
_TUPLES = "write `*`, an id, a list of ids, `[lo, hi]` or /a pattern/"


class TextReader:
    """Goes over the characters of a punctuation; patterns may hold any of them, so no SQL tokenizer can."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.position = 0
        if len(text) > MAX_TEXT:
            raise self.error(f"the text has {len(text)} characters", f"the limit is {MAX_TEXT}")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            self.position = error.start
            raise self.error("half of a character stands alone", "save the text as UTF-8") from None

    def error(self, message: str, hint: str) -> ParseError:
        return ParseError(message, place=place_of(self.text, self.position).in_file(self.file), hint=hint)

    def unexpected(self, hint: str) -> ParseError:
        found = self.text[self.position : self.position + 20].split("\n")[0]
        return self.error(f"unexpected `{found}`" if found else "the text ends too soon", hint)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What stands next, if it is of this kind; space before it is skipped."""
        space = _SPACE.match(self.text, self.position)
        assert space is not None
        self.position = space.end()
        found = pattern.match(self.text, self.position)
        if found:
            self.position = found.end()
        return found

    def take(self, mark: str) -> bool:
        """Whether this mark or word stands next, in any case; a word must end there."""
        end = r"(?!\w)" if mark[-1].isalnum() else ""
        return self.match(re.compile(re.escape(mark) + end, re.IGNORECASE)) is not None

    def expect(self, mark: str, hint: str) -> None:
        if not self.take(mark):
            raise self.unexpected(hint)

    def built(self, build: Callable[[], T], start: int) -> T:
        """What `build` gives; its complaint is placed at `start`."""
        try:
            return build()
        except InputError as error:
            raise error.at(place_of(self.text, start).in_file(self.file)) from None

    def quoted(self, mark: str) -> str | None:
        """What stands between two of these marks, where a doubled mark is one that belongs to it."""
        if not self.take(mark):
            return None
        pieces = []
        start = self.position - 1
        while (end := self.text.find(mark, self.position)) >= 0:
            pieces.append(self.text[self.position : end])
            self.position = end + 1
            if not self.text.startswith(mark, self.position):
                return mark.join(pieces)
            self.position += 1
        self.position = start
        raise self.error(f"the `{mark}` that opens here is not closed", f"add `{mark}`")

    def regex(self) -> Regex | None:
        start = self.position
        source = self.quoted("/")
        return None if source is None else self.built(lambda: Regex(source), start)

    def name(self, hint: str) -> str:
        """A name: a word, or anything in double quotes."""
        name = self.quoted('"')
        word = self.match(_WORD) if name is None else None
        if not name and not word:
            raise self.unexpected(hint)
        if name == "*":
            raise self.error("`*` in quotes names nothing", "without quotes it means everything")
        return name or (word[0] if word else "")

    def number(self) -> int | float | None:
        found = self.match(_NUMBER)
        if not found:
            return None
        number = float(found[0]) if found[1] or found[2] else int(found[0])
        if not math.isfinite(number):
            raise self.error(f"the number {found[0]} does not fit", "write a smaller one")
        return number

    def listed(self, read: Callable[[], T]) -> list[T]:
        """One or more, with commas between them."""
        items = [read()]
        while self.take(","):
            items.append(read())
        return items

    def interval(self) -> list[int | float] | None:
        """`[lo, hi]`"""
        if not self.take("["):
            return None
        ends = self.listed(self.number)
        numbers = [end for end in ends if end is not None]
        if len(ends) != 2 or len(numbers) != 2 or not self.take("]"):
            raise self.unexpected("write `[lo, hi]` with two numbers")
        return numbers


def parse_pipe(
    text: str, *, date: Date, query: str | None = None, timezone: str = "UTC", file: str = "<text>"
) -> Punctuation:
    """Read the pipe form; `date` and `timezone` say which day its time is of, `query` which query a qsp is for."""
    reader = TextReader(text, file)
    reader.expect("<", _SHAPE)
    kind = Kind.DATA if reader.take("dsp") else Kind.QUERY if reader.take("qsp") else None
    if kind is None:
        raise reader.unexpected("write `dsp` or `qsp`")
    reader.expect("|", _SHAPE)
    objects = _objects(reader, kind)
    reader.expect("|", _SHAPE)
    roles = _either(reader, lambda: reader.name("write the roles: `D1, D2`"))
    reader.expect("|", _SHAPE)
    positive = _one_of(reader, {"+": True, "-": False})
    reader.expect("|", _SHAPE)
    at = _instant(reader, date, timezone)
    reader.expect("|", _SHAPE)
    immediate = _one_of(reader, {"D": False, "I": True})
    reader.expect(">", _SHAPE)
    if reader.match(re.compile(r".", re.DOTALL)):
        reader.position -= 1
        raise reader.unexpected("write one punctuation")
    if kind is Kind.QUERY and not query:
        reader.position = 0
        raise reader.error("it is not said which query the qsp is for", "give the query beside the text")
    subjects = tuple(dict.fromkeys(roles))
    return Punctuation(
        kind,
        subjects,
        positive,
        at,
        query=query if kind is Kind.QUERY else None,
        objects=objects,
        immediate=immediate,
    )


def _either(reader: TextReader, read: Callable[[], T]) -> list[T]:
    """`a, b` or `{a, b}`"""
    braced = reader.take("{")
    items = reader.listed(read)
    if braced:
        reader.expect("}", "close the list with `}`")
    return items


def _one_of(reader: TextReader, choices: dict[str, bool]) -> bool:
    for mark, meaning in choices.items():
        if reader.take(mark):
            return meaning
    raise reader.unexpected(f"write {' or '.join(f'`{mark}`' for mark in choices)}")


def _objects(reader: TextReader, kind: Kind) -> Objects:
    start = reader.position
    if kind is Kind.QUERY and reader.take("null") and reader.text[reader.position :].lstrip().startswith("|"):
        return ALL_OBJECTS
    reader.position = start
    streams = _names(reader, "stream")
    reader.expect(",", _SHAPE)
    tuples = _tuples(reader)
    reader.expect(",", _SHAPE)
    return Objects(streams, tuples, _names(reader, "attribute"))


def _names(reader: TextReader, what: str) -> NamePattern:
    if reader.take("*"):
        return Everything()
    pattern = reader.regex()
    if pattern is not None:
        return pattern
    braced = reader.take("{")
    names = reader.listed(lambda: reader.name(_NAMES)) if braced else [reader.name(_NAMES)]
    if braced:
        reader.expect("}", "close the list with `}`")
    return parse_names(names, what)


def _tuples(reader: TextReader) -> TuplePattern:
    start = reader.position
    if reader.take("*"):
        return Everything()
    pattern = reader.regex()
    if pattern is not None:
        return pattern
    interval = reader.interval()
    if interval is not None:
        return reader.built(lambda: parse_tuples(interval), start)
    braced = reader.take("{")
    ids = reader.listed(lambda: _identifier(reader)) if braced else [_identifier(reader)]
    if braced:
        reader.expect("}", "close the list with `}`")
    return reader.built(lambda: parse_tuples({"in": ids}), start)


def _identifier(reader: TextReader) -> str | int | float:
    number = reader.number()
    if number is not None:
        return number
    text = reader.quoted('"')
    return text if text is not None else reader.name(_TUPLES)


def _instant(reader: TextReader, date: Date, timezone: str) -> Instant:
    found = reader.match(_CLOCK)
    if not found:
        raise reader.unexpected("write a time of day such as `12:00:00PM`")
    start = found.start()
    clock = reader.built(lambda: parse_time_of_day(found[1] + (found[3] or "")), start)
    micros = clock + int((found[2] or "0").ljust(6, "0"))
    local = datetime(date.year, date.month, date.day) + timedelta(microseconds=micros)
    return reader.built(lambda: _in_zone(local, timezone), start)


def _in_zone(local: datetime, timezone: str) -> Instant:
    """The instant of a wall-clock time; one that the clock shows twice or never is refused, as it names no instant."""
    moment = local.replace(tzinfo=zone(timezone))
    if moment.utcoffset() != moment.replace(fold=1).utcoffset():
        raise ParseError(
            f"the clock of {timezone} shows {local.time()} twice or never on {local.date()}",
            hint="write the punctuation as JSON, with its time in UTC",
        )
    return from_datetime(moment)


def print_pipe(punctuation: Punctuation, timezone: str = "UTC") -> str:
    """The pipe form; what it has no place for, date and query, is left to the reader, and users are an error."""
    if punctuation.model is not SubjectModel.ROLES:
        raise InputError(
            "the pipe form names roles only, and the punctuation names users", hint="use JSON or a PUNCTUATE statement"
        )
    all_data = punctuation.kind is Kind.QUERY and punctuation.objects.everything
    fields = (
        punctuation.kind.value,
        "null" if all_data else ", ".join(_print_objects(punctuation.objects)),
        ", ".join(map(print_name, punctuation.subjects)),
        "+" if punctuation.positive else "-",
        _print_clock(punctuation.at, timezone),
        "I" if punctuation.immediate else "D",
    )
    return f"<{'|'.join(fields)}>"


def _print_objects(objects: Objects) -> list[str]:
    return [print_names(objects.streams, "{}"), _print_tuples(objects.tuples), print_names(objects.attributes, "{}")]


def print_name(name: str) -> str:
    """A name as `TextReader.name` reads it."""
    return name if _PLAIN.fullmatch(name) and name.lower() != "null" else '"' + name.replace('"', '""') + '"'


def print_regex(pattern: Regex) -> str:
    return f"/{pattern.source.replace('/', '//')}/"


def print_number(number: int | float) -> str:
    if not math.isfinite(number):
        raise InputError(f"the number {number} cannot be written", hint="use one that ends")
    return repr(number)
