"""`headgate test`: every scenario with expectations is a test."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from xml.etree import ElementTree as ET

import typer

from headgate.cli.options import AsJson, Enforcement, Engine
from headgate.cli.run import execute
from headgate.cli.terminal import BAD_INPUT, NOT_AS_EXPECTED, messages, output, print_json, printable
from headgate.errors import FileError, HeadgateError, Place
from headgate.scenario.expect import differences
from headgate.scenario.load import load_scenario

_ENDINGS = (".yaml", ".yml")


@dataclass(frozen=True)
class TestResult:
    """How one scenario fared."""

    path: str
    seconds: float
    problems: tuple[str, ...] = ()
    broken: bool = False

    @property
    def word(self) -> str:
        return "error" if self.broken else "failed" if self.problems else "passed"


def run_tests(
    paths: Annotated[list[Path], typer.Argument(help="Scenario files, or folders to look in.", show_default=False)],
    engine: Annotated[Engine, typer.Option(help="The executor.")] = Engine.REFERENCE,
    junit: Annotated[Path | None, typer.Option(help="Also write the results as JUnit XML.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run every scenario that has `expect` or `expect_verdicts`.

    Example: headgate test examples --junit results.xml
    """
    results = []
    for path in _scenarios(paths):
        result = _run(path, engine)
        if result is not None:
            results.append(result)
            if not as_json:
                _print(result)
    if junit is not None:
        _write_junit(results, junit)
    counts = {word: sum(one.word == word for one in results) for word in ("passed", "failed", "error")}
    if as_json:
        tests = [{"path": one.path, "result": one.word, "problems": list(one.problems)} for one in results]
        print_json({**counts, "tests": tests})
    else:
        output().print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['error']} errors")
    if not results:
        messages().print("no scenario with expectations was found")
    if counts["failed"] or counts["error"] or not results:
        raise typer.Exit(NOT_AS_EXPECTED if results and not counts["error"] else BAD_INPUT)


def _scenarios(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            files = (one for one in path.rglob("*") if one.suffix in _ENDINGS and one.is_file())
            yield from sorted(one for one in files if _looks_like_scenario(one))
        elif path.is_file():
            yield path
        else:
            raise FileError("there is no such file or folder", place=Place(file=str(path)), hint="check the path")


def _looks_like_scenario(path: Path) -> bool:
    return re.search(r"^streams:", path.read_text(errors="ignore"), re.MULTILINE) is not None


def _run(path: Path, engine: Engine) -> TestResult | None:
    started = time.perf_counter()
    try:
        scenario = load_scenario(path)
        if not scenario.is_test:
            return None
        problems = tuple(differences(scenario, execute(scenario, engine, Enforcement.SWITCHES, 1_000)))
        return TestResult(str(path), time.perf_counter() - started, problems)
    except HeadgateError as error:
        return TestResult(str(path), time.perf_counter() - started, (str(error),), broken=True)


def _print(result: TestResult) -> None:
    output().print(f"{result.path} {result.word.upper()} ({result.seconds:.2f} s)", markup=False)
    for problem in result.problems:
        output().print(f"  {printable(problem)}")


def _write_junit(results: list[TestResult], path: Path) -> None:
    try:
        path.write_bytes(_junit(results))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FileError(f"cannot be written: {reason}", place=Place(file=str(path)), hint="check the path") from error


def _junit(results: list[TestResult]) -> bytes:
    suite = ET.Element("testsuite", name="headgate", tests=str(len(results)))
    suite.set("failures", str(sum(one.word == "failed" for one in results)))
    suite.set("errors", str(sum(one.word == "error" for one in results)))
    for one in results:
        case = ET.SubElement(suite, "testcase", name=one.path, classname="headgate", time=f"{one.seconds:.3f}")
        if one.problems:
            problems = [printable(problem) for problem in one.problems]
            ET.SubElement(case, "error" if one.broken else "failure", message=problems[0]).text = "\n".join(problems)
    written: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return written
