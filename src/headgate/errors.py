"""What can go wrong, drawn as one tree.

    HeadgateError
    ├── InputError            something a person wrote is wrong: message, place, hint (exit code 2)
    │   ├── ParseError        the text does not follow its grammar
    │   ├── UnknownNameError  it names a thing that does not exist, or more than one
    │   ├── TypeMismatchError values of types that do not go together
    │   ├── WindowError       a window that is missing, of the wrong kind or of an impossible size
    │   └── FileError         a file that is missing, unreadable, not UTF-8 or too large
    ├── ConflictError         two changes at once, or a change that contradicts what is stored
    ├── GoneError             what was there once, and is not kept any more
    └── StoreError            the catalog itself is broken or out of reach

A refusal by policy is not here: it is a result with reasons, not an exception.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a text something stands; lines and columns count from one."""

    line: int | None = None
    column: int | None = None
    file: str | None = None

    def __str__(self) -> str:
        parts = [self.file] if self.file else []
        if self.line is not None:
            parts.append(str(self.line))
            if self.column is not None:
                parts.append(str(self.column))
        return ":".join(parts)

    def in_file(self, file: str) -> Place:
        return replace(self, file=file)


class HeadgateError(Exception):
    """The root: every error that Headgate raises on purpose."""


FAILURES: Final = (
    HeadgateError,
    ArithmeticError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    AssertionError,
    RecursionError,
)
"""What can go wrong while something is decided, our own mistakes included. Whoever decides takes it for a deny."""


class InputError(HeadgateError):
    """Something a person wrote is wrong. Shown as `place: message` and an indented hint."""

    def __init__(self, message: str, *, place: Place | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place or Place()
        self.hint = hint

    def __str__(self) -> str:
        where = str(self.place)
        text = f"{where}: {self.message}" if where else self.message
        return f"{text}\n  hint: {self.hint}" if self.hint else text

    def at(self, place: Place) -> InputError:
        """The same error, its place completed by what the caller knows of it."""
        inner = self.place
        self.place = Place(
            line=inner.line if inner.line is not None else place.line,
            column=inner.column if inner.line is not None else place.column,
            file=inner.file or place.file,
        )
        return self


class ParseError(InputError):
    """The text does not follow its grammar."""


class UnknownNameError(InputError):
    """A name that stands for nothing, or for more than one thing."""


class TypeMismatchError(InputError):
    """Values of types that do not go together."""


class WindowError(InputError):
    """A window that is missing, of the wrong kind or of an impossible size."""


class FileError(InputError):
    """A file that is missing, unreadable, not UTF-8 or too large."""


class ConflictError(HeadgateError):
    """Two changes at once, or a change that contradicts what is stored."""


class GoneError(HeadgateError):
    """What was there once, and is not kept any more."""


class StoreError(HeadgateError):
    """The catalog itself is broken or out of reach."""
