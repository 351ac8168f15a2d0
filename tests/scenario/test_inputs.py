"""The finite inputs of a scenario."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headgate.errors import FileError
from headgate.model.element import MAX_ELEMENT_BYTES, Tuple
from headgate.scenario.inputs import Inputs, read_inputs
from headgate.scenario.load import load_scenario


def line(x: object) -> str:
    return json.dumps({"ts": "2026-01-01T08:00:00Z", "x": x})


def read(folder: Path, source: str, **options) -> Inputs:
    """What is read of a stream `S` with this input."""
    text = f"version: 1\nstreams:\n  S:\n    columns: {{ts: timestamp, x: int}}\n    {source}\n"
    (folder / "s.yaml").write_text(text)
    return read_inputs(load_scenario(folder / "s.yaml"), **options)


def values(inputs: Inputs) -> list[object]:
    assert all(isinstance(one, Tuple) for one in inputs.elements["S"])
    return [one.values[1] for one in inputs.elements["S"]]


@pytest.mark.parametrize("key", ["elements: {}", "source: {{elements: {}}}"], ids=["elements", "source"])
def test_inline_elements_are_read_in_order(tmp_path: Path, key: str) -> None:
    listed = f"[{line(3)}, {line(1)}, {line('no')}, 5]"
    inputs = read(tmp_path, key.format(listed))
    assert values(inputs) == [3, 1]
    assert [(one.place, one.stream) for one in inputs.rejected] == [("element 3", "S"), ("element 4", "S")]


def test_a_stream_without_an_input_is_empty(tmp_path: Path) -> None:
    inputs = read(tmp_path, "tid: x")
    assert inputs.elements == {"S": []}


def test_a_file_is_read_line_by_line_with_or_without_an_end(tmp_path: Path) -> None:
    (tmp_path / "in.ndjson").write_bytes(f"{line(1)}\r\n\n  {line(2)}  \n{line(3)}".encode())
    assert values(read(tmp_path, "source: {format: json, path: in.ndjson}")) == [1, 2, 3]


def test_the_files_of_a_folder_are_read_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "below").mkdir(parents=True)
    for name, x in {"b.json": 2, "a.ndjson": 1, "c": 3, ".hidden": 9, "_SUCCESS": 9, "below/d.json": 9}.items():
        (folder / name).write_text(line(x))
    assert values(read(tmp_path, "source: {format: json, path: in}")) == [1, 2, 3]
    assert values(read(tmp_path, "source: {format: json, path: 'in/*.*json'}")) == [1, 2]


def test_an_absolute_path_and_unknown_options_are_fine(tmp_path: Path) -> None:
    (tmp_path / "in.ndjson").write_text(line(1))
    source = f"source: {{format: json, path: {tmp_path / 'in.ndjson'}, maxFilesPerTrigger: 1}}"
    assert values(read(tmp_path, source)) == [1]


def test_an_empty_folder_and_an_empty_file_are_empty_streams(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    assert values(read(tmp_path, "source: {format: json, path: in}")) == []
    (tmp_path / "in" / "a").write_bytes(b"")
    assert values(read(tmp_path, "source: {format: json, path: in}")) == []


def test_a_pattern_that_finds_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(FileError, match="is a directory"):
        read(tmp_path, "source: {format: json, path: 'i*'}")


@pytest.mark.parametrize(
    "size", [MAX_ELEMENT_BYTES - 1, MAX_ELEMENT_BYTES, MAX_ELEMENT_BYTES + 1, 3 * MAX_ELEMENT_BYTES]
)
def test_a_line_at_and_over_the_limit_is_one_line(tmp_path: Path, size: int) -> None:
    long = line(1)[:-1] + ', "note": "'
    long += "a" * (size - len(long) - 2) + '"}'
    assert len(long) == size
    (tmp_path / "in.ndjson").write_text(f"{line(0)}\n{long}\n{line(2)}\n")
    inputs = read(tmp_path, "source: {format: json, path: in.ndjson}")
    if size <= MAX_ELEMENT_BYTES:
        assert (values(inputs), inputs.rejected) == ([0, 1, 2], [])
    else:
        assert values(inputs) == [0, 2]
        assert [one.place for one in inputs.rejected] == ["in.ndjson:2"]


def test_progress_is_told_of_every_element(tmp_path: Path) -> None:
    (tmp_path / "in.ndjson").write_text(f"{line(1)}\nbroken\n{line(2)}\n")
    counted: list[int] = []
    read(tmp_path, "source: {format: json, path: in.ndjson}", progress=counted.append)
    assert sum(counted) == 3
