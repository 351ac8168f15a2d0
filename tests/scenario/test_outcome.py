"""What a run gives, and that it is written all at once or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headgate.algebra.spelling.cql import parse_cql
from headgate.errors import FileError
from headgate.model.datatype import DataType
from headgate.model.element import Rejected
from headgate.model.instant import SECOND
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.scenario import outcome as written
from headgate.scenario.outcome import RunOutcome, SubscriberOutcome, final_rows, line_of, write_outcome

CATALOG = StreamCatalog(
    [
        StreamSchema(
            "S",
            (
                Column("ts", DataType.TIMESTAMP),
                Column("day", DataType.DATE),
                Column("x", DataType.INT),
                Column("b", DataType.BOOLEAN),
            ),
        )
    ]
)


def an_outcome(rows=(), rejected=()) -> RunOutcome:
    subscriber = SubscriberOutcome("partial", ("why",), ("careful",), tuple(rows), 2)
    return RunOutcome(
        subscribers={("q", "u"): subscriber},
        tuples={"S": 3, "T": 0},
        punctuations={"S": 1},
        rejected=list(rejected),
        epochs=4,
        seconds=1.23456,
        engine="reference",
        enforcement="switches",
    )


def test_rows_are_ordered_by_time_then_by_their_text() -> None:
    plan = parse_cql("SELECT x, day FROM S", CATALOG)
    results = [
        (2 * SECOND, {"x": None, "day": None}),
        (2 * SECOND, {"x": 9, "day": 0}),
        (2 * SECOND, {"x": 10, "day": 0}),
        (SECOND, {"x": 5, "day": 1}),
    ]
    assert [(row["_ts"][17:19], row["x"], row["day"]) for row in final_rows(plan, results)] == [
        ("01", 5, "1970-01-02"),
        ("02", 10, "1970-01-01"),
        ("02", 9, "1970-01-01"),
        ("02", None, None),
    ]


def test_cells_are_written_by_the_type_of_their_column() -> None:
    plan = parse_cql("SELECT * FROM S", CATALOG)
    (row,) = final_rows(plan, [(1_500, {"ts": 1, "day": 1, "x": 1, "b": True})])
    assert row == {
        "ts": "1970-01-01T00:00:00.000001Z",
        "day": "1970-01-02",
        "x": 1,
        "b": True,
        "_ts": "1970-01-01T00:00:00.001500Z",
    }


def test_a_line_has_its_keys_sorted_and_letters_as_they_are() -> None:
    assert line_of({"b": "é", "a": None, "_ts": "t"}) == '{"_ts": "t", "a": null, "b": "é"}'


def test_the_report_counts_rejected_elements_by_stream() -> None:
    report = an_outcome(rows=[{"x": 1}], rejected=[Rejected("S", "why", "{}"), Rejected("S", "why", "[]")]).report()
    assert report["streams"] == {
        "S": {"tuples": 3, "punctuations": 1, "rejected": 2},
        "T": {"tuples": 0, "punctuations": 0, "rejected": 0},
    }
    assert report["queries"]["q"]["u"] == {
        "verdict": "partial",
        "reasons": ["why"],
        "warnings": ["careful"],
        "delivered": 1,
        "withheld": 2,
    }
    assert report["seconds"] == 1.235


def test_a_long_element_is_cut_in_its_dead_letter(tmp_path: Path) -> None:
    write_outcome(an_outcome(rejected=[Rejected("S", "why", "a" * 5_000, "f:1")]), tmp_path / "o")
    letter = json.loads((tmp_path / "o" / "dead-letter" / "S.ndjson").read_text())
    assert letter["element"] == "a" * 1_000 + "... (5000 characters)"


def test_half_a_character_in_a_dead_letter_is_written_as_its_escape(tmp_path: Path) -> None:
    write_outcome(an_outcome(rejected=[Rejected("S", "why", "\ud800")]), tmp_path / "o")
    assert "\\ud800" in (tmp_path / "o" / "dead-letter" / "S.ndjson").read_text(encoding="utf-8")


def test_a_failure_while_writing_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_outcome(an_outcome(), tmp_path / "o")
    before = (tmp_path / "o" / "report.json").read_text()

    def fails(*_: object) -> str:
        raise OSError("the disk is full")

    monkeypatch.setattr(written, "line_of", fails)
    with pytest.raises((OSError, FileError)):
        write_outcome(an_outcome(rows=[{"x": 1}]), tmp_path / "o")
    assert (tmp_path / "o" / "report.json").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["o"], "nothing half-written is left"


def test_the_folder_can_be_read_by_others(tmp_path: Path) -> None:
    write_outcome(an_outcome(), tmp_path / "o")
    assert (tmp_path / "o").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_is_not_ours_is_not_replaced(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "o"
    if kind == "file":
        target.write_text("mine")
    else:
        target.mkdir()
        (target / "mine").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(FileError) as raised:
        write_outcome(an_outcome(), target)
    assert raised.value.place.file == str(target)
    assert raised.value.hint
    assert sorted(tmp_path.rglob("*")) == before
