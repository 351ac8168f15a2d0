"""The OASIS conformance tests, kept beside the checkout.

Three tests of the whole set are expected to fail, and why:

- IIC350 and IIC358 expect NaN to equal NaN; the standard refers `double-equal` to IEEE 754, where it does not.
- IID029 was broken when it was converted from 2.0: the target of its first policy looks for the action among the
  attributes of the subject, demands it to be present, and so has an error where the expected answer needs no match.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
RUNNER = ROOT.parent / "shared" / "xacml-conformance" / "run.py"
EXPECTED_FAILURES = {"IIC350", "IIC358", "IID029"}

needs_suite = pytest.mark.skipif(
    not RUNNER.exists(), reason="the conformance tests are not beside the checkout (../shared/xacml-conformance)"
)


def run(subset: str, *options: str) -> tuple[int, int, set[str], str]:
    command = [sys.executable, str(RUNNER), "--entry", "headgate.decision.xacml:evaluate_files", "--version", "3.0"]
    done = subprocess.run(
        [*command, "--path", str(ROOT / "src"), "--set", subset, *options],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    passed, total = map(int, done.stdout.strip().splitlines()[-1].split("/"))
    failing = re.search(r"^failing 3\.0: (.*)$", done.stdout, re.MULTILINE)
    return passed, total, set(failing[1].split()) if failing else set(), done.stdout


@needs_suite
def test_the_core_set_passes_completely() -> None:
    passed, total, failing, output = run("core", "--min-each", "1.0")
    assert (passed, total) == (527, 527), output
    assert not failing


@needs_suite
def test_the_whole_set_passes_but_for_the_known_three() -> None:
    passed, total, failing, output = run("all")
    assert failing == EXPECTED_FAILURES, output
    assert (passed, total) == (556, 559)
