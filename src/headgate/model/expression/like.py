"""LIKE patterns, matched in linear time."""

from __future__ import annotations

from headgate.model.linear_regex import LinearRegex, compile_regex, escape


def like_pattern(pattern: str) -> LinearRegex:
    r"""The compiled form of a LIKE pattern: `%` is any text, `_` any character, `\` takes the next one literally."""
    parts, characters = [], iter(pattern)
    for character in characters:
        if character == "%":
            parts.append(".*")
        elif character == "_":
            parts.append(".")
        else:
            parts.append(escape(next(characters, "\\") if character == "\\" else character))
    return compile_regex("".join(parts), dot_matches_newline=True)


def like_matches(pattern: str, text: str) -> bool:
    """Whether a text matches a pattern that has been checked."""
    try:
        return like_pattern(pattern).fullmatch(text) is not None
    except UnicodeError:  # half a character, which no pattern matches
        return False
