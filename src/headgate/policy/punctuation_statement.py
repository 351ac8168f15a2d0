"""Punctuations as statements: `PUNCTUATE STREAM S1 ON (*, heartRate) TO ROLE D2 GRANT AT TIMESTAMP '...'`.

    PUNCTUATE STREAM streams [QUERY q] ON (tuples, attributes) TO {ROLE r, ... | USER u, ...} {GRANT | DENY}
        AT TIMESTAMP '2026-01-01T08:00:00Z' [IMMEDIATE]

Without QUERY it is a dsp, with it a qsp. A name that is not plain goes in double quotes, a tuple id that is a text in
single ones; a slash inside /a pattern/ is doubled. The reader of characters here also serves the pipe form.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TypeVar

from headgate.errors import InputError, ParseError, Place
from headgate.model.expression.print import quote_text
from headgate.model.expression.tokens import MAX_TEXT, place_of
from headgate.model.instant import FIRST, LAST, Instant, format_timestamp, parse_timestamp
from headgate.model.pattern import (
    EVERYTHING,
    Everything,
    NamePattern,
    Range,
    Regex,
    TuplePattern,
    parse_names,
    parse_tuples,
)
from headgate.model.punctuation import Kind, Objects, Punctuation, SubjectModel

T = TypeVar("T")

_NUMBER = re.compile(r"[-+]?[0-9]{1,400}(\.[0-9]{0,400})?([eE][-+]?[0-9]{1,9})?(?![\w.-])")
_WORD = re.compile(r"\w[\w.-]*")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_END = re.compile(r"\Z")
_SPACE = re.compile(r"(\s|--[^\n]*)*")
_SHAPE = "write `PUNCTUATE STREAM s ON (tuples, attributes) TO ROLE r GRANT AT TIMESTAMP '...'`"
_NAMES = "write `*`, a name, a list of names or /a pattern/"
_TUPLES = "write `*`, an id, `IN (ids)`, `[lo, hi]` or /a pattern/; texts go in single quotes"


class TextReader:
    """Goes over the characters of a punctuation; a pattern may hold any of them, so no SQL tokenizer can."""

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

    def place(self, offset: int) -> Place:
        return place_of(self.text, offset).in_file(self.file)

    def error(self, message: str, hint: str) -> ParseError:
        return ParseError(message, place=self.place(self.position), hint=hint)

    def unexpected(self, hint: str) -> ParseError:
        found = self.text[self.position : self.position + 20].split("\n")[0]
        return self.error(f"unexpected `{found}`" if found else "something is missing here", hint)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What stands next, if it is of this kind; space and comments before it are skipped."""
        space = _SPACE.match(self.text, self.position)
        self.position = space.end() if space else self.position
        found = pattern.match(self.text, self.position)
        self.position = found.end() if found else self.position
        return found

    def take(self, mark: str) -> bool:
        """Whether this mark or word stands next, in any case; a word must end there."""
        return (
            self.match(re.compile(re.escape(mark) + (r"(?!\w)" if mark.isalnum() else ""), re.IGNORECASE)) is not None
        )

    def expect(self, *marks: str, hint: str) -> str:
        """The one of these that stands next."""
        for mark in marks:
            if self.take(mark):
                return mark
        raise self.unexpected(hint)

    def finish(self) -> None:
        if not self.match(_END):
            raise self.unexpected("write one punctuation")

    def built(self, build: Callable[[], T], start: int) -> T:
        """What `build` gives; what it complains of is placed at `start`."""
        try:
            return build()
        except InputError as error:
            error.place = Place()
            space = _SPACE.match(self.text, start)
            raise error.at(self.place(space.end() if space else start)) from None

    def quoted(self, mark: str) -> str | None:
        """What stands between two of these marks, where a doubled mark is one that belongs to it."""
        if not self.take(mark):
            return None
        start, pieces = self.position - 1, []
        while (end := self.text.find(mark, self.position)) >= 0:
            pieces.append(self.text[self.position : end])
            self.position = end + 1
            if not self.text.startswith(mark, self.position):
                return mark.join(pieces)
            self.position += 1
        self.position = start
        raise self.error(f"the `{mark}` that opens here is not closed", f"add `{mark}`; inside, double it")

    def regex(self) -> Regex | None:
        start = self.position
        source = self.quoted("/")
        return None if source is None else self.built(lambda: Regex(source), start)

    def name(self, hint: str, anything: bool = False) -> str:
        """A word, or anything in double quotes; with `anything` even a star."""
        name = self.quoted('"')
        if name is None:
            word = self.match(_WORD)
            name = word[0] if word else ""
        elif name == "*" and not anything:
            raise self.error("`*` in quotes names nothing", "without quotes it means everything")
        if not name:
            raise self.unexpected(hint)
        return name

    def number(self) -> int | float | None:
        found = self.match(_NUMBER)
        if not found:
            return None
        number = float(found[0]) if found[1] or found[2] else int(found[0])
        if isinstance(number, float) and not math.isfinite(number):
            raise self.error(f"the number {found[0]} does not fit", "write a smaller one")
        return number

    def listed(self, read: Callable[[], T], closing: str = "") -> list[T]:
        """One or more with commas between them, and the mark that closes the list if there is one."""
        items = [read()]
        while self.take(","):
            items.append(read())
        if closing:
            self.expect(closing, hint=f"separate by `,` and close with `{closing}`")
        return items

    def subjects(self, closing: str = "") -> tuple[str, ...]:
        """Roles or users, each once."""
        return tuple(dict.fromkeys(self.listed(lambda: self.name("write the names of roles or users", True), closing)))

    def interval(self) -> Range | None:
        """`[lo, hi]`"""
        start = self.position
        if not self.take("["):
            return None
        ends = [end for end in self.listed(self.number, "]") if end is not None]
        if len(ends) != 2:
            raise self.error("a range has two ends", "write `[lo, hi]` with two numbers")
        return self.built(lambda: Range(ends[0], ends[1]), start)


def parse_punctuation(text: str, file: str = "<text>") -> Punctuation:
    """Read a PUNCTUATE statement."""
    reader = TextReader(text, file)
    reader.expect("PUNCTUATE", hint=_SHAPE)
    reader.expect("STREAM", hint=_SHAPE)
    streams = _names(reader, "stream")
    query = reader.name("write the name of the query", anything=True) if reader.take("QUERY") else None
    objects = _objects(reader, streams)
    reader.expect("TO", hint="say to whom: `TO ROLE r` or `TO USER u`")
    model = SubjectModel.ROLES if reader.expect("ROLE", "USER", hint=_SHAPE) == "ROLE" else SubjectModel.USERS
    subjects = reader.subjects()
    positive = reader.expect("GRANT", "DENY", hint="write GRANT or DENY") == "GRANT"
    at = _timestamp(reader)
    immediate = reader.take("IMMEDIATE")
    reader.take(";")
    reader.finish()
    if model is SubjectModel.USERS and (query is None or not objects.everything):
        reader.position = 0
        raise reader.error("users are given whole outputs of a query", "write `STREAM * QUERY q ON (*, *)`")
    kind = Kind.DATA if query is None else Kind.QUERY
    return Punctuation(kind, subjects, positive, at, model, query, objects, immediate)


def _objects(reader: TextReader, streams: NamePattern) -> Objects:
    reader.expect("ON", hint=_SHAPE)
    reader.expect("(", hint=_SHAPE)
    tuples = _tuples(reader)
    reader.expect(",", hint="write `ON (tuples, attributes)`")
    attributes = _names(reader, "attribute")
    reader.expect(")", hint="write `ON (tuples, attributes)`")
    return Objects(streams, tuples, attributes)


def _names(reader: TextReader, what: str) -> NamePattern:
    if reader.take("*"):
        return EVERYTHING
    pattern = reader.regex()
    if pattern is not None:
        return pattern
    closing = ")" if reader.take("(") else ""
    return parse_names(reader.listed(lambda: reader.name(_NAMES), closing), what)


def _tuples(reader: TextReader) -> TuplePattern:
    if reader.take("*"):
        return EVERYTHING
    pattern = reader.regex() or reader.interval()
    if pattern is not None:
        return pattern
    if not reader.take("IN"):
        return parse_tuples({"in": [_identifier(reader)]})
    reader.expect("(", hint=_TUPLES)
    return parse_tuples({"in": reader.listed(lambda: _identifier(reader), ")")})


def _identifier(reader: TextReader) -> str | int | float:
    number = reader.number()
    identifier = reader.quoted("'") if number is None else number
    if identifier is None or identifier == "":
        raise reader.unexpected(_TUPLES)
    return identifier


def _timestamp(reader: TextReader) -> Instant:
    reader.expect("AT", hint=_SHAPE)
    reader.expect("TIMESTAMP", hint="write `AT TIMESTAMP '2026-01-01T08:00:00Z'`")
    start = reader.position
    text = reader.quoted("'")
    if text is None:
        raise reader.unexpected("write the time in single quotes")
    return reader.built(lambda: parse_timestamp(text), start)


def print_punctuation(punctuation: Punctuation) -> str:
    """The statement, which reads back as the same punctuation."""
    objects = punctuation.objects
    subject = "ROLE" if punctuation.model is SubjectModel.ROLES else "USER"
    query = "" if punctuation.query is None else f" QUERY {print_name(punctuation.query)}"
    return (
        f"PUNCTUATE STREAM {print_names(objects.streams)}{query}"
        f" ON ({print_tuples(objects.tuples, quote_text)}, {print_names(objects.attributes)})"
        f" TO {subject} {', '.join(map(print_name, punctuation.subjects))}"
        f" {'GRANT' if punctuation.positive else 'DENY'}"
        f" AT TIMESTAMP '{print_time(punctuation.at, format_timestamp)}'{' IMMEDIATE' if punctuation.immediate else ''}"
    )


def print_name(name: str) -> str:
    """A name as `TextReader.name` reads it; the pipe form's word for no data is no name."""
    return name if _PLAIN.fullmatch(name) and name.lower() != "null" else '"' + name.replace('"', '""') + '"'


def print_names(names: NamePattern, brackets: str = "()") -> str:
    """Names, in brackets if there are several."""
    match names:
        case Everything():
            return "*"
        case Regex():
            return _print_regex(names)
    text = ", ".join(map(print_name, names.names))
    return f"{brackets[0]}{text}{brackets[1]}" if len(names.names) > 1 else text


def _print_regex(pattern: Regex) -> str:
    return f"/{pattern.source.replace('/', '//')}/"


def _print_number(number: int | float) -> str:
    if not -(10**400) < number < 10**400:  # infinity and what is no number do not lie between
        raise InputError("the punctuation has a number that cannot be written", hint="use one of at most 400 digits")
    return repr(number)


def print_time(at: Instant, text: Callable[[Instant], str]) -> str:
    """The text of a time that a calendar has."""
    if not FIRST <= at <= LAST:
        raise InputError("the time of the punctuation is in no calendar", hint="use years 1 to 9999")
    return text(at)


def print_tuples(tuples: TuplePattern, text: Callable[[str], str], brackets: tuple[str, str] = ("IN (", ")")) -> str:
    """Tuples; an id that is a text is printed by `text`, several ids in brackets."""
    match tuples:
        case Everything():
            return "*"
        case Regex():
            return _print_regex(tuples)
        case Range(low, high):
            return f"[{_print_number(low)}, {_print_number(high)}]"
    ids = ", ".join(text(one) if isinstance(one, str) else _print_number(one) for one in tuples.ids)
    return f"{brackets[0]}{ids}{brackets[1]}" if len(tuples.ids) > 1 else ids
