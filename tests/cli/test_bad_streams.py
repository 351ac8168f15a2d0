"""Streams: what is wrong with an element goes to the dead letters, and the others pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bad_input_samples import PUNCTUATION, asking, from_file

BROKEN_LINES = [
    (b'{"ts": broken', "not JSON"),
    (b"\xff\xfe", "not UTF-8 at byte 0"),
    (b'{"ts": "' + b"a" * (10 << 20) + b'"}', "over the limit of 1048576"),
    (b'{"ts": "2026-01-01T08:00:00", "x": 1}', "has no zone"),
    (b'{"ts": null, "x": 1}', "the time column `ts` is null"),
    (b'{"x": 1}', "the time column `ts` is null"),
    (b"[1]", "not a JSON object"),
    (b"[" * 100_000, "not JSON"),
    (b'{"ts": "2026-01-01T08:00:00Z", "d": NaN}', "`nan` is not of type double"),
    (b'{"ts": "2026-01-01T08:00:00Z", "x": 2147483648}', "`2147483648` is not of type int"),
    (b'{"ts": "2026-01-01T08:00:00Z", "x": true}', "`True` is not of type int"),
    (b'{"sp": 5}', "the punctuation is not an object"),
    ((PUNCTUATION % "[5, 1]").encode(), "the range [5, 1] is empty"),
    ((PUNCTUATION % '"/(a{1,1000}){1,1000}/"').encode(), "is not a usable pattern"),
    ((PUNCTUATION % '"*"').replace('"S"', '"T"').encode(), "speaks of another stream"),
    ((PUNCTUATION % '"*"').replace("08:00:00Z", "08:00:00").encode(), "has no zone"),
]


def test_broken_lines_are_dead_letters_and_the_others_pass(headgate, tmp_path: Path) -> None:
    good = b'{"ts": "2026-01-01T08:00:00Z", "x": %d}'
    lines = [good % 1, *(line for line, _ in BROKEN_LINES), b"", good % 2]
    (tmp_path / "in.ndjson").write_bytes(b"\n".join(lines))
    (tmp_path / "s.yaml").write_text(from_file("in.ndjson"))
    code, _, err = headgate("run", "s.yaml", "--out", "o")
    assert code == 0, err
    assert [json.loads(line)["x"] for line in (tmp_path / "o/q/u1.ndjson").read_text().splitlines()] == [1, 2]
    letters = [json.loads(line) for line in (tmp_path / "o/dead-letter/S.ndjson").read_text().splitlines()]
    assert [one["place"] for one in letters] == [f"in.ndjson:{i + 2}" for i in range(len(BROKEN_LINES))]
    for letter, (_, reason) in zip(letters, BROKEN_LINES, strict=True):
        assert reason in letter["reason"]
        assert len(letter["element"]) < 1_100, "a long line is cut"
    report = json.loads((tmp_path / "o/report.json").read_text())
    assert report["streams"]["S"] == {"tuples": 2, "punctuations": 0, "rejected": len(BROKEN_LINES)}


def test_a_hostile_pattern_that_compiles_is_harmless(headgate, tmp_path: Path) -> None:
    lines = [PUNCTUATION % '"/(a+)+(b|a)*c/"', json.dumps({"ts": "2026-01-01T08:00:01Z", "id": "a" * 100_000, "x": 1})]
    (tmp_path / "in.ndjson").write_text("\n".join(lines))
    (tmp_path / "s.yaml").write_text(
        from_file("in.ndjson").replace("    tid: id\n", "    tid: id\n    governed: true\n")
    )
    assert headgate("run", "s.yaml", "--out", "o")[0] == 0
    assert (tmp_path / "o/q/u1.ndjson").read_text() == "", "the pattern does not match"


def test_an_empty_file_is_an_empty_stream(headgate, tmp_path: Path) -> None:
    (tmp_path / "in.ndjson").write_bytes(b"")
    (tmp_path / "s.yaml").write_text(from_file("in.ndjson"))
    assert headgate("run", "s.yaml", "--out", "o")[0] == 0
    assert (tmp_path / "o/q/u1.ndjson").read_text() == ""
    assert not (tmp_path / "o/dead-letter").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (from_file("nowhere.ndjson"), "nowhere.ndjson: the input of stream `S` is not there"),
        (from_file("'*.ndjson'"), "*.ndjson: the input of stream `S` is not there"),
        (from_file("x").replace(", path: x", ""), "the source of stream `S` has no `path`"),
        (from_file("x").replace("json", "parquet"), "cannot read the format `parquet` of stream `S`"),
    ],
    ids=["file", "pattern", "no path", "another format"],
)
def test_an_input_that_is_not_there_is_an_error(headgate, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "s.yaml").write_text(text)
    code, _, err = headgate("run", "s.yaml", "--out", "o")
    assert code == 2
    assert said in err
    assert "hint: " in err
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("cql", ["SELECT id FROM S", "SELECT x FROM S WHERE id LIKE 'a%'"], ids=["shown", "compared"])
def test_half_a_character_does_not_stop_the_run(headgate, tmp_path: Path, cql: str) -> None:
    (tmp_path / "in.ndjson").write_text('{"ts": "2026-01-01T08:00:00Z", "id": "\\ud800"}\n')
    (tmp_path / "s.yaml").write_text(from_file("in.ndjson").replace("SELECT x FROM S", cql))
    code, _, err = headgate("run", "s.yaml", "--out", "o")
    assert code == 0, err
    (tmp_path / "o/q/u1.ndjson").read_text(encoding="utf-8")


def test_a_long_line_that_starts_with_blanks_is_not_dropped_in_silence(headgate, tmp_path: Path) -> None:
    (tmp_path / "in.ndjson").write_bytes(b" " * (2 << 20) + b'{"ts": "2026-01-01T08:00:00Z", "x": 1}\n')
    (tmp_path / "s.yaml").write_text(from_file("in.ndjson"))
    headgate("run", "s.yaml", "--out", "o")
    counts = json.loads((tmp_path / "o/report.json").read_text())["streams"]["S"]
    assert counts["tuples"] + counts["rejected"] == 1


@pytest.mark.parametrize(
    ("time", "cql"),
    [
        ("2026-01-01T08:00:00Z", "SELECT ts + 9999999d AS t FROM S"),
        ("2026-01-01T08:00:00Z", "SELECT x FROM S WHERE ts + 9999999d > 6:00am"),
        ("9999-12-31T23:59:59-05:00", "SELECT x FROM S"),
        ("9999-12-31T23:59:59Z", "SELECT count(*) AS n FROM S [RANGE 1 h]"),
        ("2026-01-01T08:00:00Z", "SELECT count(*) AS n FROM S [RANGE 9999999 d]"),
    ],
    ids=["sum", "compared sum", "element", "window end", "long window"],
)
def test_a_time_beyond_the_calendar_does_not_stop_the_run(headgate, tmp_path: Path, time: str, cql: str) -> None:
    (tmp_path / "s.yaml").write_text(asking(cql).replace("2026-01-01T08:00:00Z", time))
    code, _, err = headgate("run", "s.yaml", "--out", "o")
    assert code in (0, 2), err
    assert (tmp_path / "o").exists() == (code == 0)


def test_local_time_at_the_first_midnight_does_not_stop_the_run(headgate, tmp_path: Path) -> None:
    text = asking("SELECT x FROM S WHERE ts > 6:00am").replace("2026-01-01T08:00:00Z", "0001-01-01T00:00:00Z")
    (tmp_path / "s.yaml").write_text(text.replace("tid: id", "timezone: America/New_York"))
    assert headgate("run", "s.yaml", "--out", "o")[0] == 0
