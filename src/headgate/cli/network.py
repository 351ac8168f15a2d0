"""`headgate network`: the shared network of a scenario's queries, its switches, and what is shut off."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.options import ScenarioPath
from headgate.cli.terminal import print_json
from headgate.errors import UnknownNameError
from headgate.model.closest import closest
from headgate.model.instant import START_OF_TIME
from headgate.network.document import to_document
from headgate.network.explain import explain_network
from headgate.network.markup import to_dot, to_mermaid
from headgate.network.merge import merge
from headgate.network.svg import to_svg
from headgate.network.switch import SwitchPunctuation, SwitchState
from headgate.network.view import NetworkView, view_network
from headgate.scenario.load import load_scenario
from headgate.scenario.system import System


class Format(StrEnum):
    """How the network is drawn."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"
    JSON = "json"


def network(
    scenario: ScenarioPath,
    lost: Annotated[
        list[str] | None, typer.Option(help="A query that nobody may see, to show what its switches shut off.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How it is drawn.")] = Format.TEXT,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of standard output.")] = None,
) -> None:
    """Show the shared network of a scenario's queries, with its privacy switches.

    Example: headgate network examples/smart-health/scenario.yaml --lost cq2 --format svg --out network.svg
    """
    system = load_scenario(scenario).system
    view = _view(system, set(lost or ()))
    if form is Format.JSON and out is None:
        print_json(to_document(view))
        return
    text = _drawn(view, form)
    if out is None:
        sys.stdout.write(text + "\n")
    else:
        out.write_text(text + "\n", encoding="utf-8")


def _drawn(view: NetworkView, form: Format) -> str:
    if form is Format.JSON:
        return json.dumps(to_document(view), indent=2)
    return {Format.TEXT: explain_network, Format.MERMAID: to_mermaid, Format.DOT: to_dot, Format.SVG: to_svg}[form](
        view
    )


def _view(system: System, lost: set[str]) -> NetworkView:
    """The network with everyone allowed but for the queries that are lost."""
    known = {query.id: query.subscribers for query in system.queries}
    for name in lost:
        if name not in known:
            raise UnknownNameError(f"unknown query `{name}`", hint=closest(name, known))
    switches = SwitchState(known)
    switches.apply(
        SwitchPunctuation(query, user, True, START_OF_TIME + 1)
        for query, users in known.items()
        if query not in lost
        for user in users
    )
    return view_network(merge(system.queries).graph, switches, START_OF_TIME + 2)
