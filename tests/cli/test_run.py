"""`headgate run`: what it writes, what it prints, and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCENARIO = """\
version: 1
streams:
  Vitals:
    columns: {ts: timestamp, patient: string, rate: int}
    tid: patient
    elements:
      - {ts: "2026-01-01T08:00:02Z", patient: b, rate: 95}
      - {ts: "2026-01-01T08:00:01Z", patient: a, rate: 70}
      - {ts: "2026-01-01T08:00:02Z", patient: a, rate: null}
      - {ts: "2026-01-01T08:00:03Z", patient: c, rate: soon}
users:
  dora: {roles: [Doctor]}
  ivan: {}
policies:
  - {id: doctors, subject: {role: Doctor}, object: {streams: [Vitals]}, allow: [read]}
queries:
  all: {by: dora, subscribers: [dora, ivan], cql: "SELECT patient, rate FROM Vitals"}
  counted: {by: dora, cql: "SELECT count(*) AS n FROM Vitals [RANGE 2 s]"}
"""
FIRST = {"_ts": "2026-01-01T08:00:01.000Z", "patient": "a", "rate": 70}
SECOND = {"_ts": "2026-01-01T08:00:02.000Z", "patient": "a", "rate": None}
THIRD = {"_ts": "2026-01-01T08:00:02.000Z", "patient": "b", "rate": 95}

EXPECTED = """\
expect:
  all: {dora: [{patient: b, rate: 95}, {patient: a, rate: 70}, {patient: a, rate: null}], ivan: []}
expect_verdicts:
  all: {dora: granted, ivan: denied}
"""


def written(folder: Path) -> dict[str, str]:
    """The files below a folder and their texts."""
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def rows(path: Path) -> list[object]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_subscriber_gets_a_file_even_an_empty_one(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    code, _, _ = headgate("run", "s.yaml", "--out", "o")
    assert code == 0
    assert set(written(tmp_path / "o")) == {
        "all/dora.ndjson",
        "all/ivan.ndjson",
        "counted/dora.ndjson",
        "dead-letter/Vitals.ndjson",
        "report.json",
    }
    assert (tmp_path / "o" / "all" / "ivan.ndjson").read_text() == ""


def test_rows_are_ordered_by_time_and_text_with_nulls_written(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    headgate("run", "s.yaml", "--out", "o")
    assert rows(tmp_path / "o" / "all" / "dora.ndjson") == [FIRST, SECOND, THIRD]
    assert rows(tmp_path / "o" / "counted" / "dora.ndjson") == [
        {"_ts": "2026-01-01T08:00:02.000Z", "n": 1},
        {"_ts": "2026-01-01T08:00:04.000Z", "n": 2},
    ]


def test_the_report_says_who_got_how_much_and_why_not(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    headgate("run", "s.yaml", "--out", "o", "--epoch-elements", "2", "--enforcement", "shield")
    report = json.loads((tmp_path / "o" / "report.json").read_text())
    assert set(report) == {"queries", "streams", "epochs", "seconds", "engine", "enforcement"}
    dora, ivan = report["queries"]["all"]["dora"], report["queries"]["all"]["ivan"]
    assert dora == {"verdict": "granted", "reasons": [], "warnings": [], "delivered": 3, "withheld": 0}
    assert (ivan["verdict"], ivan["delivered"]) == ("denied", 0)
    assert ivan["reasons"] == ["no use of `Vitals` is allowed"]
    assert report["streams"] == {"Vitals": {"tuples": 3, "punctuations": 0, "rejected": 1}}
    assert (report["epochs"], report["engine"], report["enforcement"]) == (2, "reference", "shield")


def test_a_rejected_element_is_kept_with_its_reason_and_place(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    headgate("run", "s.yaml", "--out", "o")
    (letter,) = rows(tmp_path / "o" / "dead-letter" / "Vitals.ndjson")
    assert letter["stream"] == "Vitals"
    assert letter["place"] == "element 4"
    assert "`rate`" in letter["reason"]
    assert json.loads(letter["element"])["rate"] == "soon"


@pytest.mark.parametrize("size", [1, 2, 3, 1_000])
def test_the_cut_into_epochs_changes_nothing(headgate, tmp_path: Path, size: int) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    headgate("run", "s.yaml", "--out", "o", "--epoch-elements", size)
    assert rows(tmp_path / "o" / "all" / "dora.ndjson") == [FIRST, SECOND, THIRD]
    assert len(rows(tmp_path / "o" / "counted" / "dora.ndjson")) == 2


def test_json_for_machines_is_the_report(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    code, out, _ = headgate("run", "s.yaml", "--out", "o", "--json")
    assert code == 0
    assert json.loads(out) == json.loads((tmp_path / "o" / "report.json").read_text())


def test_piped_the_summary_is_tab_separated_and_messages_go_to_standard_error(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    _, out, err = headgate("run", "s.yaml", "--out", "o")
    lines = [line.split("\t") for line in out.splitlines()]
    assert lines[0] == ["query", "user", "verdict", "delivered", "withheld", "warnings"]
    assert lines[1][:5] == ["all", "dora", "granted", "3", "0"]
    assert lines[2][:4] == ["all", "ivan", "denied", "0"]
    assert "3 elements in 1 epochs, 1 rejected" in err
    assert "written to o" in err


def test_what_is_expected_and_given_is_fine(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO + EXPECTED)
    assert headgate("run", "s.yaml", "--out", "o")[0] == 0


def test_an_expectation_that_does_not_hold_ends_in_1_with_a_difference(headgate, tmp_path: Path) -> None:
    wrong = EXPECTED.replace("rate: 95", "rate: 96").replace("ivan: denied", "ivan: partial")
    (tmp_path / "s.yaml").write_text(SCENARIO + wrong)
    code, _, err = headgate("run", "s.yaml", "--out", "o")
    assert code == 1
    assert "all for ivan: the verdict is denied, expected partial" in err
    assert 'all for dora: missing {"patient": "b", "rate": 96}' in err
    assert 'all for dora: unexpected {"_ts": "2026-01-01T08:00:02.000Z", "patient": "b", "rate": 95}' in err
    assert rows(tmp_path / "o" / "all" / "dora.ndjson") == [FIRST, SECOND, THIRD], (
        "what was delivered is kept to look at"
    )


def test_an_earlier_output_is_replaced_whole(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    headgate("run", "s.yaml", "--out", "o")
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("  counted:", "  again:"))
    headgate("run", "s.yaml", "--out", "o")
    assert "counted/dora.ndjson" not in written(tmp_path / "o")
    assert "again/dora.ndjson" in written(tmp_path / "o")


def test_an_empty_folder_is_filled_and_missing_parents_are_made(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    (tmp_path / "empty").mkdir()
    assert headgate("run", "s.yaml", "--out", "empty")[0] == 0
    assert headgate("run", "s.yaml", "--out", "a/b/c")[0] == 0
    assert written(tmp_path / "empty").keys() == written(tmp_path / "a" / "b" / "c").keys()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "empty", "s.yaml"], "nothing is left beside them"


def test_help_has_an_example(headgate) -> None:
    for command in ("run", "test", "explain"):
        code, out, _ = headgate(command, "--help")
        assert code == 0
        assert f"Example: headgate {command}" in " ".join(out.split())


def installed(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The console script, as users run it."""
    program = Path(sys.executable).with_name("headgate")
    return subprocess.run([program, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (SCENARIO + EXPECTED, 0, "written to o"),
        (SCENARIO + EXPECTED.replace("rate: 95", "rate: 96"), 1, "all for dora: missing"),
        (
            SCENARIO.replace('FROM Vitals"', 'FROM Vitls"'),
            2,
            "s.yaml:17:3: query `all`, line 1, column 27: unknown stream",
        ),
    ],
    ids=["fine", "not as expected", "bad input"],
)
def test_the_installed_program_tells_by_its_exit_code(tmp_path: Path, text: str, code: int, said: str) -> None:
    (tmp_path / "s.yaml").write_text(text)
    ended = installed("run", "s.yaml", "--out", "o", cwd=tmp_path)
    assert ended.returncode == code, ended.stderr
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert (tmp_path / "o").exists() == (code != 2)
