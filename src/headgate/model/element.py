"""What flows in a stream: tuples and punctuations, one JSON object each on the wire; and what is rejected, with the
reason."""

from __future__ import annotations

import json
from dataclasses import dataclass

from headgate.errors import InputError
from headgate.model.datatype import MisfitError, Value, from_json, to_json
from headgate.model.instant import Instant
from headgate.model.punctuation import Kind, Punctuation, punctuation_from_json
from headgate.model.schema import PUNCTUATION_KEY, StreamSchema

MAX_ELEMENT_BYTES = 1 << 20
"""A longer line is rejected before it is parsed."""

SHOWN_OF_A_LONG_LINE = 1_000


@dataclass(frozen=True, slots=True)
class Tuple:
    """One tuple; its values stand in the order of the stream's columns."""

    time: Instant
    values: tuple[Value, ...]


Element = Tuple | Punctuation

PUNCTUATION_OPENS = f'{{"{PUNCTUATION_KEY}"'.encode()
"""A line that begins so is no tuple: it is a punctuation, or is rejected."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """An element that did not enter, why, and where it came from: one line of the dead-letter file."""

    stream: str
    reason: str
    element: str
    place: str = ""

    def to_json(self) -> dict[str, str]:
        shown = self.element
        if len(shown) > SHOWN_OF_A_LONG_LINE:
            shown = f"{shown[:SHOWN_OF_A_LONG_LINE]}... ({len(self.element)} characters)"
        return {"stream": self.stream, "reason": self.reason, "place": self.place, "element": shown}


def element_time(element: Element) -> Instant:
    """When the element is, in event time."""
    return element.time if isinstance(element, Tuple) else element.at


def parse_line(line: bytes, stream: StreamSchema, place: str = "") -> Element | Rejected:
    """Read one line of a file, a socket or a message."""
    if len(line) > MAX_ELEMENT_BYTES:
        shown = line[:SHOWN_OF_A_LONG_LINE].decode("utf-8", errors="replace") + "..."
        return Rejected(
            stream.name, f"the line has {len(line)} bytes, over the limit of {MAX_ELEMENT_BYTES}", shown, place
        )
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        shown = line.decode("utf-8", errors="backslashreplace")
        return Rejected(stream.name, f"not UTF-8 at byte {error.start}", shown, place)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Rejected(stream.name, f"not JSON: {str(error) or 'nested too deeply'}", text, place)
    return parse_object(value, stream, place)


def parse_object(value: object, stream: StreamSchema, place: str = "") -> Element | Rejected:
    """Read one element from its JSON value."""
    if not isinstance(value, dict):
        return Rejected(stream.name, "not a JSON object", _dumped(value), place)
    try:
        return _punctuation(value, stream) if PUNCTUATION_KEY in value else _tuple(value, stream)
    except MisfitError as error:
        return Rejected(stream.name, str(error), _dumped(value), place)
    except InputError as error:
        return Rejected(stream.name, error.message, _dumped(value), place)


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _tuple(value: dict[str, object], stream: StreamSchema) -> Tuple:
    given = value if all(name in value for name in stream.names) else _folded(value, stream)
    cells: list[Value] = []
    for column in stream.columns:
        try:
            cells.append(from_json(given.get(column.name), column.type))
        except MisfitError as error:
            raise MisfitError(f"column `{column.name}`: {error}") from error
    time = cells[stream.names.index(stream.time)]
    if time is None:
        raise MisfitError(f"the time column `{stream.time}` is null")
    assert isinstance(time, int)
    return Tuple(time, tuple(cells))


def _folded(value: dict[str, object], stream: StreamSchema) -> dict[str, object]:
    # Case does not tell names apart, here as elsewhere; a field that is no column is not read at all.
    return {column.name: cell for key, cell in value.items() if (column := stream.find(key))}


def _punctuation(value: dict[str, object], stream: StreamSchema) -> Punctuation:
    if len(value) > 1:
        raise MisfitError("a punctuation has other keys beside `sp`")
    punctuation = punctuation_from_json(value[PUNCTUATION_KEY])
    check_carrier(punctuation, stream)
    return punctuation


def check_carrier(punctuation: Punctuation, stream: StreamSchema) -> None:
    """A dsp speaks only for the stream that carries it: a provider cannot open another's stream."""
    if punctuation.kind is Kind.DATA and not punctuation.objects.streams.matches(stream.name):
        raise MisfitError(f"a dsp carried by `{stream.name}` speaks of another stream")


def tuple_to_json(element: Tuple, stream: StreamSchema) -> dict[str, Value]:
    """The object a tuple is on the wire."""
    return {
        column.name: to_json(value, column.type) for column, value in zip(stream.columns, element.values, strict=True)
    }


def element_to_json(element: Element, stream: StreamSchema) -> dict[str, object]:
    """The object an element is on the wire."""
    if isinstance(element, Tuple):
        return dict(tuple_to_json(element, stream))
    return {PUNCTUATION_KEY: element.to_json()}


def null_first(value: Value) -> tuple[bool, Value]:
    """A sort key for one cell: NULL comes before every value."""
    return (value is not None, 0 if value is None else value)


def order_key(element: Element, stream: StreamSchema) -> tuple[object, ...]:
    """Where an element stands in its stream: by time, tuples before punctuations, then by id and columns."""
    if isinstance(element, Tuple):
        tid = element.values[stream.position(stream.tid)] if stream.tid else None
        return (element.time, 0, null_first(tid), tuple(null_first(value) for value in element.values))
    return (element.at, 1)
