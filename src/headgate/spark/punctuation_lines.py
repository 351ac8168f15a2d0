"""Lines as sources give them; of punctuations, those that differ by nothing but their time are parsed once."""

from __future__ import annotations

import re

import pyarrow as pa

from headgate.errors import InputError
from headgate.model.element import PUNCTUATION_OPENS, Element, Rejected, parse_line
from headgate.model.instant import Instant, parse_timestamp
from headgate.model.punctuation import Punctuation
from headgate.model.schema import StreamSchema

_TIME = re.compile(rb'"ts"\s*:\s*"([ !#-\[\]-~]*)"')
_ANY = b"2026-01-01T00:00:00Z"
_MOST = 1_000


def bytes_of_lines(lines: pa.ChunkedArray) -> list[bytes]:
    """The lines as they came. Spark calls them texts, and has not looked whether they are."""
    found: list[bytes] = lines.cast(pa.binary()).to_pylist()
    return found


class PunctuationReader:
    """Reads what `parse_line` reads, for lines that are likely to be punctuations."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes, bytes], Punctuation | None] = {}

    def read(self, line: bytes, stream: StreamSchema) -> tuple[Punctuation, Instant] | Element | Rejected:
        """What the line says. Of a punctuation that is like others: one of those, and the time of this one."""
        # With escapes in it a key may be written in other ways.
        plain = line.startswith(PUNCTUATION_OPENS) and line.count(b'"ts"') == 1 and b"\\" not in line
        found = _TIME.search(line) if plain else None
        if found is not None:
            begin, end = found.span(1)
            like = self._at_any_time(line[:begin], line[end:], stream)
            if like is not None:
                try:
                    return like, parse_timestamp(found[1].decode("ascii"))
                except InputError:
                    pass  # told with all the rest below
        return parse_line(line, stream)

    def _at_any_time(self, before: bytes, after: bytes, stream: StreamSchema) -> Punctuation | None:
        key = (stream.name, before, after)
        if key not in self._known:
            if len(self._known) >= _MOST:
                self._known.clear()
            found = parse_line(before + _ANY + after, stream)
            self._known[key] = found if isinstance(found, Punctuation) else None
        return self._known[key]
