"""XML from strangers: parsed without entities, document types, networks or surprises of size.

A first pass with expat only counts, in constant memory: it stops at a DOCTYPE before any entity is read, at the first
element too deep, and at too many elements. Only then does lxml build a tree, with entities and network access off.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, cast
from xml.parsers import expat

from lxml import etree

from headgate.errors import FileError, ParseError, Place

MAX_BYTES: Final = 16 << 20
MAX_DEPTH: Final = 100
MAX_ELEMENTS: Final = 500_000
_ENCODING = re.compile(rb"""^(?:\xef\xbb\xbf)?\s*<\?xml[^>]*?\sencoding\s*=\s*["']([^"']{1,40})["']""")


def read_bytes(path: str | Path, *, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a file, never more than the limit in memory."""
    place = Place(file=str(path))
    try:
        with Path(path).open("rb") as file:
            data = file.read(limit + 1)
    except OSError as problem:
        reason = (problem.strerror or "unreadable").lower()
        raise FileError(f"cannot read `{path}`: {reason}", place=place, hint="check the path") from problem
    if len(data) > limit:
        raise FileError(
            f"`{path}` is larger than {limit >> 20} MiB", place=place, hint="split it into several documents"
        )
    return data


def parse_xml(data: bytes | str, *, source: str | None = None) -> etree._Element:
    """The root element of a document, or a ParseError that says why it is refused."""
    place = Place(file=source)
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if len(raw) > MAX_BYTES:
        raise FileError(
            f"the document is larger than {MAX_BYTES >> 20} MiB", place=place, hint="split it into several documents"
        )
    _check_encoding(raw, place)
    _Survey(place).run(raw)
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        encoding="utf-8",
    )
    try:
        return etree.fromstring(raw, parser)
    except etree.XMLSyntaxError as problem:
        raise ParseError(
            f"the XML is broken: {_plain(problem.msg)}",
            place=Place(problem.lineno, None, source),
            hint="check that every element is closed and every namespace declared",
        ) from problem


def place_of(element: etree._Element, source: str | None = None) -> Place:
    return Place(line=cast("int | None", element.sourceline), file=source)


def _check_encoding(raw: bytes, place: Place) -> None:
    declared = _ENCODING.match(raw[:400])
    if declared is not None and declared[1].lower() not in (b"utf-8", b"utf8", b"us-ascii"):
        name = declared[1].decode("ascii", "replace")
        raise ParseError(f"the encoding `{name}` is not accepted", place=place, hint="save the document as UTF-8")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        raise ParseError(
            "the document is not UTF-8", place=Place(line, None, place.file), hint="save the document as UTF-8"
        ) from problem


class _Survey:
    """The counting pass."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._depth = 0
        self._elements = 0
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def run(self, raw: bytes) -> None:
        try:
            self._parser.Parse(raw, True)
        except expat.ExpatError as problem:
            raise ParseError(
                f"the XML is broken: {expat.ErrorString(problem.code)}",
                place=Place(problem.lineno, problem.offset + 1, self._place.file),
                hint="check that every element is closed",
            ) from problem

    def _doctype(self, *_: object) -> None:
        raise self._refusal("a DOCTYPE is not accepted", "remove the <!DOCTYPE ...> declaration")

    def _start(self, _name: str, _attributes: dict[str, str]) -> None:
        self._depth += 1
        self._elements += 1
        if self._depth > MAX_DEPTH:
            raise self._refusal(f"the XML is nested deeper than {MAX_DEPTH} elements", "flatten the document")
        if self._elements > MAX_ELEMENTS:
            raise self._refusal(f"the XML has more than {MAX_ELEMENTS} elements", "split it into several documents")

    def _end(self, _name: str) -> None:
        self._depth -= 1

    def _refusal(self, message: str, hint: str) -> ParseError:
        place = Place(self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1, self._place.file)
        return ParseError(message, place=place, hint=hint)


def _plain(message: str | None) -> str:
    return (message or "unknown").partition(", line ")[0].lower()
