"""Patterns by which a punctuation names streams, attributes and tuples.

A regex matches the whole value and is case-sensitive. A plain name matches whatever its case, as names do everywhere
else: a policy must not be inert for a capital letter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from headgate.errors import ParseError
from headgate.model.datatype import Value
from headgate.model.linear_regex import compile_regex


class Pattern(Protocol):
    """Something that matches values, and prints as the JSON it was read from."""

    def matches(self, value: Value) -> bool: ...

    def to_json(self) -> object: ...


@dataclass(frozen=True, slots=True)
class Everything:
    """`*`"""

    def matches(self, value: Value) -> bool:  # noqa: ARG002 - the protocol's signature
        return True

    def to_json(self) -> object:
        return "*"


@dataclass(frozen=True, slots=True)
class Names:
    """One name, or a list of them."""

    names: tuple[str, ...]

    def matches(self, value: Value) -> bool:
        return isinstance(value, str) and any(value.lower() == name.lower() for name in self.names)

    def to_json(self) -> object:
        # A name that looks like a regex stays in its list, where it is only a name.
        return self.names[0] if len(self.names) == 1 and not _is_regex(self.names[0]) else list(self.names)


@dataclass(frozen=True, slots=True)
class Regex:
    """`/regex/`, matched against the whole of a string."""

    source: str

    def __post_init__(self) -> None:
        compile_regex(self.source)

    def matches(self, value: Value) -> bool:
        return isinstance(value, str) and compile_regex(self.source).fullmatch(value) is not None

    def to_json(self) -> object:
        return f"/{self.source}/"


@dataclass(frozen=True, slots=True)
class Ids:
    """One tuple id, or `{in: [ids]}`; an id of another type does not match."""

    ids: tuple[str | int | float, ...]

    def matches(self, value: Value) -> bool:
        return any(_same(value, one) for one in self.ids)

    def to_json(self) -> object:
        alone = self.ids[0] if len(self.ids) == 1 else "*"
        # An id that reads as a pattern when it stands alone is written as a list of one.
        if isinstance(alone, str) and (alone == "*" or _is_regex(alone)):
            return {"in": list(self.ids)}
        return alone


@dataclass(frozen=True, slots=True)
class Range:
    """`[lo, hi]`, both ends included; numbers only."""

    low: int | float
    high: int | float

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ParseError(f"the range [{self.low}, {self.high}] is empty", hint="write the smaller number first")

    def matches(self, value: Value) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and self.low <= value <= self.high

    def to_json(self) -> object:
        return [self.low, self.high]


NamePattern = Everything | Names | Regex
TuplePattern = Everything | Ids | Range | Regex

EVERYTHING = Everything()


def _same(value: Value, wanted: str | int | float) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    return isinstance(value, str) == isinstance(wanted, str) and value == wanted


def parse_names(value: object, what: str) -> NamePattern:
    """Read `*`, a name, a list of names, or `/regex/`."""
    match value:
        case None | "*":
            return EVERYTHING
        case str() if _is_regex(value):
            return Regex(value[1:-1])
        case str() if value:
            return Names((value,))
        case [*items] if items and all(isinstance(item, str) and item for item in items):
            return EVERYTHING if "*" in items else Names(tuple(str(item) for item in items))
    raise ParseError(f"`{value}` does not name any {what}", hint="write `*`, a name, a list of names, or `/regex/`")


def parse_tuples(value: object) -> TuplePattern:
    """Read `*`, one id, `[lo, hi]`, `{in: [ids]}`, or `/regex/`."""
    match value:
        case None | "*":
            return EVERYTHING
        case str() if _is_regex(value):
            return Regex(value[1:-1])
        case [int() | float() as low, int() | float() as high] if _is_number(low) and _is_number(high):
            return Range(low, high)
        case {"in": [*ids], **rest} if ids and not rest and all(_is_id(one) for one in ids):
            return Ids(tuple(ids))
        case _ if _is_id(value):
            assert isinstance(value, str | int | float)
            return Ids((value,))
    raise ParseError(
        f"`{value}` does not name any tuples", hint="write `*`, one id, `[lo, hi]`, `{in: [ids]}`, or `/regex/`"
    )


def _is_regex(text: str) -> bool:
    return len(text) > 1 and text.startswith("/") and text.endswith("/")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_id(value: object) -> bool:
    return _is_number(value) or (isinstance(value, str) and value != "")
