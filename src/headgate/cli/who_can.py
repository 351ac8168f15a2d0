"""`headgate who-can`: everybody who can use a column, how, and by which policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.options import AsJson
from headgate.cli.terminal import messages, print_json, print_table
from headgate.decision.analysis.material import Material
from headgate.decision.analysis.privileges import shortest
from headgate.decision.analysis.who_can import Access, find_cell
from headgate.decision.analysis.who_can import who_can as accesses_to
from headgate.errors import InputError
from headgate.scenario.materials import read_materials, read_surroundings

_COLUMNS = ("user", "may", "privileges", "condition", "window", "min group", "mask", "policy")


def who_can(
    column: Annotated[str, typer.Argument(metavar="STREAM.ATTRIBUTE", help="The column.", show_default=False)],
    scenario: Annotated[
        Path | None, typer.Option(help="The scenario with streams, users and policies.", show_default=False)
    ] = None,
    policies: Annotated[
        Path | None,
        typer.Option(help="A policy file, in place of the scenario's policies.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show for every user what may be done with a column, under which conditions, and by which policy.

    Without a scenario the users are not known: each subject that the policies name is shown instead.

    Example: headgate who-can Position.Pos --scenario examples/acstream/scenario.yaml
    """
    material = _material(scenario, policies)
    cell = find_cell(column, material.catalog)
    found = accesses_to(material, cell)
    if as_json:
        print_json({"stream": cell[0], "column": cell[1], "access": [one.to_json() for one in found]})
    else:
        print_table(_COLUMNS, [_row(one) for one in found])
    _remarks(material, cell[0])


def _material(scenario: Path | None, policies: Path | None) -> Material:
    if policies is not None:
        surroundings = read_surroundings(scenario) if scenario is not None else None
        return read_materials([policies], surroundings)[0]
    if scenario is None:
        raise InputError("there is nothing to look in", hint="give --scenario, --policies or both")
    return read_materials([scenario], None)[0]


def _row(access: Access) -> tuple[object, ...]:
    condition = access.condition or ""
    if access.joined_with:
        condition = f"joined with {', '.join(access.joined_with)}" + (f": {condition}" if condition else "")
    return (
        access.who,
        access.word.value,
        ", ".join(shortest(access.privileges)),
        condition,
        access.window or "",
        access.min_group or "",
        access.mask or "",
        access.policy or "",
    )


def _remarks(material: Material, stream: str) -> None:
    for problem in material.problems:
        messages().print(f"left out: {problem.place}: {problem.message}", markup=False)
    schema = material.catalog.stream(stream)
    if schema.owner is not None and schema.owner not in (material.users or {}):
        messages().print(f"`{schema.owner}` owns `{stream}` and may use all of it", markup=False)
    if schema.governed:
        messages().print(f"`{stream}` is governed: punctuations must allow each tuple as well", markup=False)
