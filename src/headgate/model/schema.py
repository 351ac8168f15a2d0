"""Streams and their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from headgate.errors import InputError, UnknownNameError
from headgate.model.closest import closest
from headgate.model.datatype import DataType
from headgate.model.duration import Duration, unit_length
from headgate.model.instant import zone

PUNCTUATION_KEY = "sp"
"""On the wire an object with this key is a punctuation, so no column may be called that."""


@dataclass(frozen=True, slots=True)
class Column:
    """A typed column; `unit` is what its numbers count when compared with a duration."""

    name: str
    type: DataType
    unit: str | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("a column has an empty name", hint="give it a name")
        if self.name.lower() == PUNCTUATION_KEY:
            raise InputError(
                f"a column may not be called `{self.name}`", hint="that key marks punctuations on the wire"
            )
        if self.unit is not None:
            if not self.type.numeric:
                raise InputError(f"column `{self.name}` has a unit but is a {self.type}", hint="only numbers have one")
            unit_length(self.unit)


@dataclass(frozen=True)
class StreamSchema:
    """A stream: typed columns, one of them its event time, and how it is governed."""

    name: str
    columns: tuple[Column, ...]
    time: str = "ts"
    tid: str | None = None
    owner: str | None = None
    governed: bool = False
    retroactive: bool = False
    timezone: str = "UTC"
    lateness: Duration = 0
    idle_timeout: Duration | None = None
    _by_name: dict[str, Column] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        by_name: dict[str, Column] = {}
        for column in self.columns:
            if column.name.lower() in by_name:
                raise InputError(
                    f"stream `{self.name}` has two columns called `{column.name}`",
                    hint="names that differ only in case count as equal",
                )
            by_name[column.name.lower()] = column
        object.__setattr__(self, "_by_name", by_name)
        if not self.name:
            raise InputError("a stream has an empty name", hint="give it a name")
        self._canonicalise("time", self.time)
        if self.column(self.time).type is not DataType.TIMESTAMP:
            raise InputError(f"the time column `{self.time}` of stream `{self.name}` is not a timestamp")
        if self.tid is not None:
            self._canonicalise("tid", self.tid)
        if self.lateness < 0:
            raise InputError(f"stream `{self.name}` has a negative lateness")
        zone(self.timezone)

    def _canonicalise(self, key: str, name: str) -> None:
        # `time: TS` names the column `ts`: keep the declared spelling, so that later look-ups are exact.
        if name.lower() not in self._by_name:
            raise UnknownNameError(
                f"stream `{self.name}` has no column `{name}`, which `{key}:` names",
                hint=f"its columns are {', '.join(self.names)}",
            )
        object.__setattr__(self, key, self._by_name[name.lower()].name)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def types(self) -> tuple[DataType, ...]:
        return tuple(column.type for column in self.columns)

    def find(self, name: str) -> Column | None:
        """The column of that name, whatever its case."""
        return self._by_name.get(name.lower())

    def column(self, name: str) -> Column:
        """The column of that name, or an error with the closest one as a hint."""
        found = self.find(name)
        if found is None:
            raise UnknownNameError(f"stream `{self.name}` has no column `{name}`", hint=closest(name, self.names))
        return found

    def position(self, name: str) -> int:
        """Where the column stands among the declared ones."""
        found = self._positions.get(name)
        return found if found is not None else self._positions[self.column(name).name]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {column.name: position for position, column in enumerate(self.columns)}


class StreamCatalog:
    """The streams of a system by name; as with columns, case does not tell two apart."""

    def __init__(self, streams: Iterable[StreamSchema] = ()) -> None:
        self._streams: dict[str, StreamSchema] = {}
        for stream in streams:
            if stream.name.lower() in self._streams:
                raise InputError(f"two streams are called `{stream.name}`", hint="case does not tell names apart")
            self._streams[stream.name.lower()] = stream

    def find(self, name: str) -> StreamSchema | None:
        return self._streams.get(name.lower())

    def stream(self, name: str) -> StreamSchema:
        """The stream of that name, or an error with the closest one as a hint."""
        found = self.find(name)
        if found is None:
            raise UnknownNameError(f"unknown stream `{name}`", hint=closest(name, self.names))
        return found

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(stream.name for stream in self._streams.values())

    def __iter__(self) -> Iterator[StreamSchema]:
        return iter(self._streams.values())

    def __len__(self) -> int:
        return len(self._streams)
