"""Regular expressions that run in time linear in their input (RE2): no pattern a user sends can stall the engine."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

import re2  # type: ignore[import-untyped]  # the package ships no types

from headgate.errors import ParseError

_PATTERN_BYTES = 1 << 20
"""What a compiled pattern may take; RE2 refuses what needs more."""


class LinearRegex(Protocol):
    """A compiled pattern."""

    def fullmatch(self, text: str) -> object | None: ...


@lru_cache(maxsize=10_000)
def compile_regex(source: str, dot_matches_newline: bool = False) -> LinearRegex:
    """Compile a pattern, or say why it cannot be used."""
    options = re2.Options()
    options.max_mem = _PATTERN_BYTES
    options.log_errors = False
    options.dot_nl = dot_matches_newline
    try:
        compiled: LinearRegex = re2.compile(source, options=options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error.args[0])
        shown = source if len(source) <= 60 else source[:57] + "..."
        raise ParseError(f"`{shown}` is not a usable pattern: {reason[:80]}", hint="patterns are RE2 syntax") from error
    except UnicodeError as error:
        raise ParseError("the pattern is not valid text", hint="patterns are RE2 syntax") from error
    return compiled


def escape(text: str) -> str:
    """The pattern that matches exactly this text."""
    escaped: str = re2.escape(text)
    return escaped
