"""Headgate: continuous, fine-grained access control for data streams and tables."""

from headgate.errors import (
    ConflictError,
    FileError,
    GoneError,
    HeadgateError,
    InputError,
    ParseError,
    Place,
    StoreError,
    TypeMismatchError,
    UnknownNameError,
    WindowError,
)

__all__ = [
    "ConflictError",
    "FileError",
    "GoneError",
    "HeadgateError",
    "InputError",
    "ParseError",
    "Place",
    "StoreError",
    "TypeMismatchError",
    "UnknownNameError",
    "WindowError",
]
