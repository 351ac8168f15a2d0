"""Reading punctuations that come in great numbers: those that differ by nothing but their time are parsed once."""

from __future__ import annotations

import re

from headgate.errors import InputError
from headgate.model.element import PUNCTUATION_OPENS, Element, Rejected, parse_line
from headgate.model.instant import Instant, parse_timestamp
from headgate.model.punctuation import Punctuation
from headgate.model.schema import StreamSchema

_TIME = re.compile(r'"ts"\s*:\s*"([^"\\]*)"')
_ANY = "2026-01-01T00:00:00Z"
_MOST = 1_000


class PunctuationReader:
    """Reads what `parse_line` reads, for lines that are likely to be punctuations."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], Punctuation | None] = {}

    def read(self, line: str, stream: StreamSchema) -> tuple[Punctuation, Instant] | Element | Rejected:
        """What the line says. Of a punctuation that is like others: one of those, and the time of this one."""
        # With escapes in it a key may be written in other ways.
        plain = line.startswith(PUNCTUATION_OPENS) and line.count('"ts"') == 1 and "\\" not in line
        found = _TIME.search(line) if plain else None
        if found is not None:
            begin, end = found.span(1)
            like = self._at_any_time(line[:begin], line[end:], stream)
            if like is not None:
                try:
                    return like, parse_timestamp(found[1])
                except InputError:
                    pass  # told with all the rest below
        return parse_line(line.encode("utf-8", "surrogatepass"), stream)

    def _at_any_time(self, before: str, after: str, stream: StreamSchema) -> Punctuation | None:
        key = (stream.name, before, after)
        if key not in self._known:
            if len(self._known) >= _MOST:
                self._known.clear()
            found = parse_line(f"{before}{_ANY}{after}".encode("utf-8", "surrogatepass"), stream)
            self._known[key] = found if isinstance(found, Punctuation) else None
        return self._known[key]
