"""`headgate explain --sql`, as users run it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from guarded import ROOT

SCENARIO = "examples/medical/scenario.yaml"
SPENDINGS = "SELECT PatientName, sum(Expense) AS spent FROM patient WHERE Expense > 6000 GROUP BY PatientName"


def explained(user: str, sql: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("headgate")), "explain", "--scenario", SCENARIO]
    return subprocess.run(
        [*command, "--user", user, "--sql", sql, *more], capture_output=True, text=True, timeout=300, cwd=ROOT
    )


def test_a_query_that_is_masked() -> None:
    done = explained("alice", SPENDINGS)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines() == [
        "asked:",
        f"  {SPENDINGS}",
        "plan:",
        "  Aggregate [patient.PatientName, patient.PatientName, sum(patient.Expense) AS spent]",
        "  +- Filter [(patient.Expense > 6000)]",
        "     +- SubqueryAlias patient",
        "        +- LogicalRelation [ts, Id, Disease, Expense, PatientName]",
        "purposes:",
        "  patient.Expense {assist}: assist (Filter)",
        "  patient.Expense {compute, output}: retrieve (Filter) -> compute (Aggregate) -> output",
        "  patient.PatientName {assist}: retrieve (Filter) -> assist (Aggregate)",
        "  patient.PatientName {retrieve, output}: retrieve (Filter) -> carry (Aggregate) -> output",
        "decision for alice:",
        "  assist of `patient.Expense`: all (`other-hospitals-compute` allows it)",
        "  sum of `patient.Expense`, to be shown: all (`other-hospitals-compute` allows it)",
        "  assist of `patient.PatientName`: all (`other-hospitals-compute` allows it)",
        "  read of `patient.PatientName`, to be shown: nothing (no policy allows it)",
        "verdict for alice: partial:",
        "  read of `patient.PatientName` is withheld: no policy allows it",
        "what is done about it:",
        "  column `PatientName` of the answer is masked, or left out (`without_dropped`)",
        "what alice is told:",
        "  permitted in part",
        "  - read of `patient.PatientName` is withheld: no policy allows it",
        "the smallest grant that would give all of it:",
        "  GRANT READ (PatientName) ON STREAM patient TO USER alice",
    ]


def test_a_query_that_is_refused() -> None:
    done = explained("alice", "SELECT Disease FROM patient", "--json")
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert set(found) == {
        "user", "asked", "verdict", "reasons", "warnings", "told", "plan", "ways", "decisions", "done", "missing"
    }  # fmt: skip
    assert found["verdict"] == "denied"
    assert found["reasons"] == ["no use of `patient` is allowed: no policy allows it"]
    assert found["told"] == ["refused: no use of `patient` is allowed: no policy allows it"]
    assert found["decisions"] == [
        {"use": "read of `patient.Disease`", "output": True, "given": "nothing", "why": ["no policy allows it"]}
    ]
    assert found["missing"] == ["GRANT READ (Disease) ON STREAM patient TO USER alice"]


def test_a_query_that_is_granted() -> None:
    done = explained("bob", SPENDINGS)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "verdict for bob: granted:\n  (nothing)\nwhat bob is told:\n  permitted\n" in done.stdout
    assert "read of `patient.PatientName`, to be shown: all (`own-hospital` allows it)" in done.stdout
    assert "grant that would" not in done.stdout


@pytest.mark.parametrize(
    ("sql", "said"), [("SELEC 1", "PARSE_SYNTAX_ERROR"), ("SELECT Nane FROM patient", "UNRESOLVED_COLUMN")]
)
def test_what_is_no_query_is_a_mistake_without_a_traceback(sql, said) -> None:
    done = explained("bob", sql)
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: Spark makes no query of this: [" in done.stderr
    assert said in done.stderr
    for noise in ("Traceback", "Py4JJavaError", "\tat "):
        assert noise not in done.stderr
