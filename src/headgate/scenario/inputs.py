"""The finite inputs of a scenario: inline elements, and files of JSON lines."""

from __future__ import annotations

import glob
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headgate.errors import FileError, InputError, Place
from headgate.model.element import MAX_ELEMENT_BYTES, Element, Rejected, parse_line, parse_object
from headgate.model.schema import StreamSchema
from headgate.scenario.entry import SourceEntry, StreamEntry
from headgate.scenario.load import Scenario


@dataclass
class Inputs:
    """What was read: elements by stream in the order they were found, and what was rejected."""

    elements: dict[str, list[Element]] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many elements there are."""
        return sum(len(own) for own in self.elements.values())


ReadOther = Callable[[StreamSchema, SourceEntry, Path], Iterator[Element | Rejected]]
"""Reads a source of another format than JSON lines."""


def read_inputs(
    scenario: Scenario, progress: Callable[[int], None] = lambda _: None, read_other: ReadOther | None = None
) -> Inputs:
    """Read all inputs; `progress` is told how many elements each step has brought."""
    inputs = Inputs()
    for name, entry in scenario.inputs.items():
        kept = inputs.elements.setdefault(name, [])
        stream = scenario.system.streams.stream(name)
        for element in _elements(stream, entry, scenario.path.parent, read_other or _refuse_other):
            if isinstance(element, Rejected):
                inputs.rejected.append(element)
            else:
                kept.append(element)
            progress(1)
    return inputs


def _elements(
    stream: StreamSchema, entry: StreamEntry, base: Path, read_other: ReadOther
) -> Iterator[Element | Rejected]:
    if entry.inline is not None:
        for position, value in enumerate(entry.inline, start=1):
            yield parse_object(value, stream, f"element {position}")
        return
    if entry.source is None:
        return
    if entry.source.format != "json":
        yield from read_other(stream, entry.source, base)
        return
    for file in _files(stream, entry.source.path, base):
        yield from _lines(stream, file)


def _refuse_other(stream: StreamSchema, source: SourceEntry, _: Path) -> Iterator[Element | Rejected]:
    raise InputError(
        f"the reference engine cannot read the format `{source.format}` of stream `{stream.name}`",
        hint="it reads `json` and inline elements; use `--engine spark`",
    )


def _files(stream: StreamSchema, path: str | None, base: Path) -> list[Path]:
    if path is None:
        raise InputError(f"the source of stream `{stream.name}` has no `path`", hint="name a file or folder")
    target = base / path
    if target.is_dir():
        return sorted(one for one in target.iterdir() if one.is_file() and not one.name.startswith((".", "_")))
    if target.is_file():
        return [target]
    found = sorted(Path(one) for one in glob.glob(str(target)))  # noqa: PTH207 - the pattern may be absolute
    if not found:
        raise FileError(
            f"the input of stream `{stream.name}` is not there", place=Place(file=str(target)), hint="check the path"
        )
    return found


def _lines(stream: StreamSchema, file: Path) -> Iterator[Element | Rejected]:
    try:
        with file.open("rb") as handle:
            for number, line in enumerate(_bounded_lines(handle), start=1):
                # A line that was cut is kept as it is: its blanks may be all that was read of it.
                stripped = line.strip() if len(line) <= MAX_ELEMENT_BYTES + 1 else line
                if stripped:
                    yield parse_line(stripped, stream, f"{file.name}:{number}")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FileError(f"cannot be read: {reason}", place=Place(file=str(file)), hint="check the path") from error


def _bounded_lines(handle: io.BufferedReader) -> Iterator[bytes]:
    """Lines, of an endless one no more than is needed to see that it is too long."""
    while line := handle.readline(MAX_ELEMENT_BYTES + 2):
        if not line.endswith(b"\n") and len(line) > MAX_ELEMENT_BYTES:
            yield line
            while line and not line.endswith(b"\n"):
                line = handle.readline(MAX_ELEMENT_BYTES)
        else:
            yield line
