"""`headgate test`: every scenario with expectations is a test."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

SCENARIO = """\
version: 1
streams:
  S:
    columns: {ts: timestamp, x: int}
    elements: [{ts: "2026-01-01T08:00:00Z", x: 1}]
users: {u1: {}}
queries:
  q: {by: u1, cql: "SELECT x FROM S"}
"""
PASSING = SCENARIO + "expect: {q: {u1: [{x: 1}]}}\n"
FAILING = SCENARIO + "expect: {q: {u1: [{x: 2}]}}\n"
BROKEN = PASSING.replace("FROM S", "FROM R")
MISSING, UNEXPECTED = 'q for u1: missing {"x": 2}', 'q for u1: unexpected {"_ts": "2026-01-01T08:00:00.000Z", "x": 1}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a scenario of each kind, one that is no test, and files that are no scenarios."""
    (tmp_path / "t" / "deep").mkdir(parents=True)
    for name, text in {
        "a-passing": PASSING,
        "b-failing": FAILING,
        "deep/c-broken": BROKEN,
        "d-no-test": SCENARIO,
        "e-policies": "version: 1\npolicies: []\n",
    }.items():
        (tmp_path / "t" / f"{name}.yaml").write_text(text)
    (tmp_path / "t" / "notes.txt").write_text("streams:\n")
    return tmp_path / "t"


def test_all_that_pass_end_in_0(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(PASSING)
    code, out, _ = headgate("test", "s.yaml")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("s.yaml PASSED (")
    assert lines[1:] == ["1 passed, 0 failed, 0 errors"]


def test_one_that_fails_ends_in_1_with_the_difference(headgate, tmp_path: Path) -> None:
    (tmp_path / "ok.yaml").write_text(PASSING)
    (tmp_path / "s.yaml").write_text(FAILING)
    code, out, _ = headgate("test", "ok.yaml", "s.yaml")
    assert code == 1
    lines = out.splitlines()
    assert lines[1].startswith("s.yaml FAILED (")
    assert lines[2:] == [f"  {MISSING}", f"  {UNEXPECTED}", "1 passed, 1 failed, 0 errors"]


def test_one_that_is_broken_ends_in_2_and_the_others_run(headgate, folder: Path) -> None:
    code, out, err = headgate("test", "t")
    assert code == 2
    assert err == ""
    words = [line.split(" (")[0] for line in out.splitlines() if line.startswith("t/")]
    assert words == ["t/a-passing.yaml PASSED", "t/b-failing.yaml FAILED", "t/deep/c-broken.yaml ERROR"]
    assert "  t/deep/c-broken.yaml:8:3: query `q`, line 1, column 15: unknown stream `R`" in out
    assert "hint: known: `S`" in out
    assert out.splitlines()[-1] == "1 passed, 1 failed, 1 errors"


def test_json_for_machines(headgate, folder: Path) -> None:
    code, out, _ = headgate("test", "t", "--json")
    assert code == 2
    results = json.loads(out)
    assert (results["passed"], results["failed"], results["error"]) == (1, 1, 1)
    assert results["tests"][1] == {"path": "t/b-failing.yaml", "result": "failed", "problems": [MISSING, UNEXPECTED]}


def test_junit_xml_counts_and_names(headgate, folder: Path, tmp_path: Path) -> None:
    headgate("test", "t", "--junit", "results.xml")
    suite = ET.parse(tmp_path / "results.xml").getroot()
    assert (suite.tag, suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("testsuite", "3", "1", "1")
    cases = {case.get("name"): case for case in suite}
    assert list(cases["t/a-passing.yaml"]) == []
    (failure,) = cases["t/b-failing.yaml"]
    assert (failure.tag, failure.get("message"), failure.text) == ("failure", MISSING, f"{MISSING}\n{UNEXPECTED}")
    (error,) = cases["t/deep/c-broken.yaml"]
    assert error.tag == "error"
    assert "unknown stream `R`" in str(error.text)


def test_a_scenario_may_end_in_yml(headgate, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "a.yml").write_text(PASSING)
    (tmp_path / "t" / "b.yaml").write_text(PASSING)
    code, out, _ = headgate("test", "t")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["t/a.yml", "t/b.yaml", "2"]


def test_nothing_to_test_is_a_mistake(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    code, out, err = headgate("test", "s.yaml")
    assert (code, out) == (2, "0 passed, 0 failed, 0 errors\n")
    assert "no scenario with expectations was found" in err


def test_a_path_that_is_not_there_is_a_mistake(headgate) -> None:
    code, _, err = headgate("test", "nowhere")
    assert (code, err.splitlines()) == (
        2,
        ["error: nowhere: there is no such file or folder", "  hint: check the path"],
    )


def test_nothing_is_written_but_what_was_asked_for(headgate, folder: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    headgate("test", "t")
    assert sorted(tmp_path.rglob("*")) == before


def test_results_that_cannot_be_written_are_a_mistake(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(PASSING)
    code, _, err = headgate("test", "s.yaml", "--junit", "no/such/folder/results.xml")
    assert code == 2
    assert "results.xml" in err


def test_a_folder_that_is_called_like_a_scenario_is_looked_into(headgate, tmp_path: Path) -> None:
    (tmp_path / "t" / "odd.yaml").mkdir(parents=True)
    (tmp_path / "t" / "odd.yaml" / "s.yaml").write_text(PASSING)
    assert headgate("test", "t")[0] == 0


def test_junit_xml_stays_xml_whatever_the_problem_says(headgate, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(PASSING + '"\\x01": 1\n')
    assert headgate("test", "s.yaml", "--junit", "results.xml")[0] == 2
    assert ET.parse(tmp_path / "results.xml").getroot().get("errors") == "1"
