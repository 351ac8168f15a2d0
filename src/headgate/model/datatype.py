"""The types of columns and what fits them; values are plain Python, timestamps are instants, dates are days.

Every value that enters the system passes `from_json`, so that beyond it no operator meets a value of another type.
"""

from __future__ import annotations

import math
from enum import StrEnum

from headgate.errors import HeadgateError, ParseError
from headgate.model.instant import format_date, format_timestamp, parse_date, parse_timestamp

Value = str | int | float | bool | None
"""A cell: NULL is None; timestamps and dates are integers, told apart by their column's type."""


class DataType(StrEnum):
    """The type of a column or of an expression."""

    STRING = "string"
    INT = "int"
    BIGINT = "bigint"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    DATE = "date"
    # Types of expressions that no column can have.
    NULL = "null"
    DURATION = "duration"
    TIME_OF_DAY = "time of day"

    @property
    def numeric(self) -> bool:
        return self in NUMERIC


NUMERIC = (DataType.INT, DataType.BIGINT, DataType.DOUBLE)
"""Narrowest first: arithmetic on two of them has the wider type."""

COLUMN_TYPES = frozenset(DataType) - {DataType.NULL, DataType.DURATION, DataType.TIME_OF_DAY}

_SPELLINGS: dict[str, DataType] = {
    **{member.value: member for member in COLUMN_TYPES},
    "text": DataType.STRING,
    "varchar": DataType.STRING,
    "integer": DataType.INT,
    "long": DataType.BIGINT,
    "float": DataType.DOUBLE,
    "bool": DataType.BOOLEAN,
    "datetime": DataType.TIMESTAMP,
}

_BOUNDS = {DataType.INT: 1 << 31, DataType.BIGINT: 1 << 63}


class MisfitError(HeadgateError):
    """A value does not fit the type of its column."""


def parse_type(text: str) -> DataType:
    """The type of that name.

    >>> parse_type("INTEGER")
    <DataType.INT: 'int'>
    """
    found = _SPELLINGS.get(text.strip().lower())
    if found is None:
        names = ", ".join(sorted(member.value for member in COLUMN_TYPES))
        raise ParseError(f"unknown type `{text}`", hint=f"the types are {names}")
    return found


def in_range(value: int, kind: DataType) -> bool:
    """Whether an integer fits `int` or `bigint`."""
    bound = _BOUNDS[kind]
    return -bound <= value < bound


def from_json(value: object, kind: DataType) -> Value:
    """The cell that a JSON value stands for in a column of this type, or MisfitError."""
    if value is None:
        return None
    try:
        converted = _convert(value, kind)
    except ParseError as error:
        raise MisfitError(error.message) from error
    if converted is None:
        raise MisfitError(f"`{_shown(value)}` is not of type {kind}")
    return converted


def _convert(value: object, kind: DataType) -> Value:
    match value:
        case bool():
            return value if kind is DataType.BOOLEAN else None
        case int() if kind in _BOUNDS:
            return value if in_range(value, kind) else None
        case int() | float() if kind is DataType.DOUBLE:
            return _finite(value)
        case str() if kind is DataType.STRING:
            return value if value.isascii() or _whole_characters(value) else None
        case str() if kind is DataType.TIMESTAMP:
            return parse_timestamp(value)
        case str() if kind is DataType.DATE:
            return parse_date(value)
    return None


def _whole_characters(text: str) -> bool:
    """Whether the text can be written as UTF-8: half a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _finite(value: float) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def to_json(value: Value, kind: DataType) -> Value:
    """The JSON value that a cell is written as."""
    if isinstance(value, int) and not isinstance(value, bool):
        if kind is DataType.TIMESTAMP:
            return format_timestamp(value)
        if kind is DataType.DATE:
            return format_date(value)
    return value


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:37] + "..."
