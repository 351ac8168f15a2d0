"""Regular expressions in linear time.

XACML matches with XPath's `fn:matches`: the pattern may match anywhere, `^` and `$` are the text's ends. RE2 runs in
time linear in the text, whatever the pattern, but reads a different dialect, so the pattern is translated first. What
RE2 cannot do (back-references, class subtraction, Unicode blocks) and what XPath does not know (flags, `\\b`, `\\A`,
named groups) is refused, which makes the expression Indeterminate.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]  # the package has no annotations

_LONGEST_PATTERN = 10_000
_MEMORY_BYTES = 2 << 20

_NAME_START = r"A-Za-z_:\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{2FF}\x{370}-\x{37D}\x{37F}-\x{1FFF}\x{200C}-\x{200D}"
_NAME_START += (
    r"\x{2070}-\x{218F}\x{2C00}-\x{2FEF}\x{3001}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFFD}\x{10000}-\x{EFFFF}"
)
_NAME = _NAME_START + r"\-.0-9\x{B7}\x{300}-\x{36F}\x{203F}-\x{2040}"

# Multi-character escapes of XML Schema, as the inside of a character class.
_CLASS_ESCAPES = {"s": r" \t\n\r", "d": r"\p{Nd}", "i": _NAME_START, "c": _NAME}
_WORD = r"\p{P}\p{Z}\p{C}"  # \w is everything but these
_SINGLE_ESCAPES = "nrt\\|.?*+(){}-[]^$"
_CATEGORIES = frozenset(
    f"{major}{minor}"
    for major, minors in {
        "L": "ultmo",
        "M": "nce",
        "N": "dlo",
        "P": "cdseifo",
        "Z": "slp",
        "S": "mcko",
        "C": "cfon",
    }.items()
    for minor in ("", *minors)
)


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern matches anywhere in the text.

    >>> matches("a.c", "xxabcxx"), matches("^a.c$", "xxabcxx")
    (True, False)
    """
    return compiled(pattern).search(text) is not None


@lru_cache(maxsize=512)
def compiled(pattern: str) -> Any:
    if len(pattern) > _LONGEST_PATTERN:
        raise ValueError("the regular expression is too long")
    options = re2.Options()
    options.max_mem = _MEMORY_BYTES
    options.log_errors = False
    try:
        return re2.compile(translate(pattern), options)
    except re2.error as problem:
        raise ValueError(f"the regular expression `{pattern}` cannot be used") from problem


def translate(pattern: str) -> str:
    """The pattern in the dialect of RE2; ValueError if it has no counterpart there."""
    output: list[str] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            text, position = _escape(pattern, position, in_class=False)
            output.append(text)
        elif character == "[":
            text, position = _character_class(pattern, position)
            output.append(text)
        elif character == ".":
            output.append(r"[^\n\r]")
            position += 1
        elif pattern.startswith("(?", position) and not pattern.startswith("(?:", position):
            raise ValueError("groups of a regular expression have no flags or names")
        else:
            output.append(character)
            position += 1
    return "".join(output)


def _escape(pattern: str, position: int, *, in_class: bool) -> tuple[str, int]:
    letter = pattern[position + 1 : position + 2]
    if letter and letter in _SINGLE_ESCAPES:
        return "\\" + letter, position + 2
    if letter in ("p", "P"):
        end = pattern.find("}", position)
        name = pattern[position + 3 : end]
        if pattern[position + 2 : position + 3] != "{" or end < 0 or name not in _CATEGORIES:
            raise ValueError("`\\p{..}` in a regular expression names a general category such as `Lu`")
        return f"\\{letter}{{{name}}}", end + 1
    if letter == "w" and not in_class:
        return f"[^{_WORD}]", position + 2
    if letter == "W":
        return (_WORD if in_class else f"[{_WORD}]"), position + 2
    if letter in _CLASS_ESCAPES:
        inside = _CLASS_ESCAPES[letter]
        return (inside if in_class else f"[{inside}]"), position + 2
    if letter and letter in "SDIC" and not in_class:
        return f"[^{_CLASS_ESCAPES[letter.lower()]}]", position + 2
    if in_class and letter in ("D", "S", "w"):
        return {"D": r"\P{Nd}", "S": r"\S", "w": r"\p{L}\p{M}\p{N}\p{S}"}[letter], position + 2
    raise ValueError(f"`\\{letter}` means nothing in a regular expression of XPath")


def _character_class(pattern: str, position: int) -> tuple[str, int]:
    output = ["["]
    position += 1
    if pattern.startswith("^", position):
        output.append("^")
        position += 1
    start = position
    while position < len(pattern):
        character = pattern[position]
        if character == "]" and position > start:
            return "".join([*output, "]"]), position + 1
        if character == "\\":
            text, position = _escape(pattern, position, in_class=True)
            output.append(text)
        elif character == "[":
            raise ValueError("character classes of a regular expression are not nested or subtracted")
        else:
            output.append("\\" + character if character == "^" else character)
            position += 1
    raise ValueError("a character class of a regular expression is not closed")
