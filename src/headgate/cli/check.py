"""`headgate check`: what is wrong with policies, and who gains and loses what by a change."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.options import AsJson
from headgate.cli.terminal import NOT_AS_EXPECTED, messages, output, print_json, print_table
from headgate.decision.analysis.changes import Change
from headgate.decision.analysis.check import check as check_material
from headgate.decision.analysis.difference import difference
from headgate.decision.analysis.finding import Finding, Severity, example_text
from headgate.decision.analysis.privileges import shortest
from headgate.scenario.materials import read_materials, read_surroundings, read_versions


def check(
    policies: Annotated[
        list[Path],
        typer.Argument(help="Policy files (.yaml, .sql), checked together, or scenario files.", show_default=False),
    ],
    scenario: Annotated[
        Path | None, typer.Option(help="Take streams and users from this scenario.", show_default=False)
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(help="An older policy or scenario file: show who gains and who loses what.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check policies: conflicts, shadowed and dead rules, conditions that can never hold, unknown names, duplicates.

    Streams and users come from --scenario, or from the scenario that is checked. Without one, the streams are inferred
    from the policies themselves; then names and users cannot be checked.
    Exit code 0 without errors (warnings and notes do not count), 1 with findings of severity error, 2 on bad input.

    Example: headgate check policies.yaml --scenario scenario.yaml --against policies.old.yaml
    """
    surroundings = read_surroundings(scenario) if scenario is not None else None
    changes: list[Change] | None = None
    if against is None:
        findings = [one for material in read_materials(policies, surroundings) for one in check_material(material)]
    else:
        old, new = read_versions(policies, against, surroundings)
        findings = check_material(new)
        changes = difference(old, new)
        for problem in old.problems:
            messages().print(f"left out of the comparison: {problem.place}: {problem.message}", markup=False)
    if as_json:
        print_json(_json(findings, changes))
    else:
        _print_findings(findings)
        if changes is not None:
            _print_changes(changes)
    if any(one.severity is Severity.ERROR for one in findings):
        raise typer.Exit(NOT_AS_EXPECTED)


def _json(findings: list[Finding], changes: list[Change] | None) -> dict[str, object]:
    content: dict[str, object] = {f"{one.value}s": _count(findings, one) for one in Severity}
    content["findings"] = [one.to_json() for one in findings]
    if changes is not None:
        content["changes"] = [one.to_json() for one in changes]
    return content


def _count(findings: list[Finding], severity: Severity) -> int:
    return sum(one.severity is severity for one in findings)


def _print_findings(findings: list[Finding]) -> None:
    if findings and sys.stdout.isatty():
        rows = [(one.severity, one.place, _sentence(one), _example(one.example)) for one in findings]
        print_table(("severity", "place", "finding", "example"), rows)
    elif findings:
        for one in findings:
            _print_line(one)
    counts = Counter(one.severity for one in findings)
    text = ", ".join(f"{counts[one]} {one.value}{'' if counts[one] == 1 else 's'}" for one in Severity)
    messages().print(text if findings else "nothing found", markup=False)


def _sentence(finding: Finding) -> str:
    return finding.message + (f"\nhint: {finding.hint}" if finding.hint else "")


def _print_line(finding: Finding) -> None:
    where = f"{finding.place}: " if str(finding.place) else ""
    output().print(f"{where}{finding.severity.value}: {finding.message} [{finding.kind.value}]", markup=False)
    if finding.example is not None:
        output().print(f"  example: {example_text(finding.example)}", markup=False)
    if finding.hint:
        output().print(f"  hint: {finding.hint}", markup=False)


def _example(example: object) -> str:
    return example_text(example) if isinstance(example, dict) else ""


def _print_changes(changes: list[Change]) -> None:
    if not changes:
        output().print("no change: nobody gains or loses anything", markup=False)
        return
    if sys.stdout.isatty():
        rows = [
            (_verb(one), ", ".join(one.who), ", ".join(shortest(one.privileges)), _cells(one), _example(one.example))
            for one in changes
        ]
        print_table(("change", "who", "privileges", "columns", "example"), rows)
        return
    for one in changes:
        example = f", for example {example_text(one.example)}" if one.example is not None else ""
        who, privileges = ", ".join(one.who), ", ".join(shortest(one.privileges))
        output().print(f"{who} {_verb(one)} {privileges} of {_cells(one)}{example}", markup=False)


def _verb(change: Change) -> str:
    plain = change.effect.value
    if change.decided:
        return plain
    return f"may {plain.removesuffix('s')} (could not be decided)"


def _cells(change: Change) -> str:
    cells = f"{change.stream}.{change.columns[0]}" if len(change.columns) == 1 else _several(change)
    return cells + (f" joined with {', '.join(change.joined_with)}" if change.joined_with else "")


def _several(change: Change) -> str:
    return f"{change.stream} ({', '.join(change.columns)})"
