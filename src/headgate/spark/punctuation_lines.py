"""Reading punctuations that come in great numbers: those that differ by nothing but their time are parsed once."""

from __future__ import annotations

import re

from headgate.errors import InputError
from headgate.model.element import PUNCTUATION_OPENS, Element, Rejected, parse_line
from headgate.model.instant import Instant, parse_timestamp
from headgate.model.punctuation import Punctuation
from headgate.model.schema import StreamSchema

_TIME = re.compile(r'("ts"\s*:\s*")([^"\\]*)(?=")')
_ANY = "2026-01-01T00:00:00Z"
_MOST = 1_000


class PunctuationReader:
    """Reads what `parse_line` reads, for lines that are likely to be punctuations."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], Punctuation | None] = {}

    def read(self, line: str, stream: StreamSchema) -> Element | Rejected:
        # With escapes in it a key may be written in other ways.
        plain = line.startswith(PUNCTUATION_OPENS) and line.count('"ts"') == 1 and "\\" not in line
        parts = _TIME.split(line, maxsplit=1) if plain else []
        if len(parts) == 4:
            like = self._at_any_time(parts[0] + parts[1], parts[3], stream)
            if like is not None:
                try:
                    return _moved(like, parse_timestamp(parts[2]))
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


def _moved(one: Punctuation, at: Instant) -> Punctuation:
    # Not `dataclasses.replace`, which is slower than all the rest of this.
    return Punctuation(one.kind, one.subjects, one.positive, at, one.model, one.query, one.objects, one.immediate)
