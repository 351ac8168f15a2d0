"""`headgate explain`: each stage of a query's path, and why each part was granted, masked or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headgate.algebra.canonical import stable_hash
from headgate.algebra.explain import explain as explain_plan
from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql, print_cql
from headgate.algebra.spelling.json import query_to_json
from headgate.cli.options import AsJson
from headgate.cli.terminal import output, print_json
from headgate.decision.decide import Decider
from headgate.errors import InputError, UnknownNameError
from headgate.model.closest import closest
from headgate.rewrite.pipeline import optimize
from headgate.rewrite.verdict import decide_with, decisions_of
from headgate.scenario.load import Scenario, load_scenario


def explain(
    scenario: Annotated[Path, typer.Option(help="The scenario with streams, users and policies.", show_default=False)],
    query: Annotated[str, typer.Option(help="A query in CQL, or the id of one in the scenario.", show_default=False)],
    user: Annotated[str | None, typer.Option(help="The subscriber it is explained for.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show each stage of a query's path.

    Example: headgate explain --scenario examples/smart-health/scenario.yaml --user ann --query cq1
    """
    loaded = load_scenario(scenario)
    known = next((one for one in loaded.system.queries if one.id == query), None)
    if user is not None and user not in loaded.system.users:
        raise UnknownNameError(f"unknown user `{user}`", hint=closest(user, loaded.system.users))
    subscriber = user or (known.by if known else None)
    if known is None:
        plan = parse_cql(query, loaded.system.streams)
        known = Query("query", subscriber or "nobody", (), plan)
    stages = _stages(loaded, known, subscriber)
    if as_json:
        print_json(stages)
    else:
        _print(stages)


def _stages(scenario: Scenario, query: Query, user: str | None) -> dict[str, Any]:
    optimised = optimize(query.plan)
    stages: dict[str, Any] = {
        "asked": print_cql(query.plan),
        "plan": explain_plan(query.plan).split("\n"),
        "optimised": explain_plan(optimised).split("\n"),
        "hash": stable_hash(query.plan),
        "algebra": query_to_json(query.plan),
    }
    if user is not None:
        stages["user"] = user
        stages |= _decision(scenario, query, user)
    return stages


def _decision(scenario: Scenario, query: Query, user: str) -> dict[str, Any]:
    system = scenario.system
    decider = Decider(system.policies, system.streams)
    if user not in system.users:
        raise InputError(f"unknown user `{user}`", hint=closest(user, system.users))
    verdict = decide_with(decider, query, system.users[user])
    decisions = decisions_of(query, decider, system.users[user])
    return {
        "decision": {
            alias: {"effect": one.effect.value, "reasons": [str(reason) for reason in one.reasons]}
            for alias, one in decisions.items()
        },
        "verdict": verdict.outcome.value,
        "reasons": list(verdict.reasons),
        "warnings": list(verdict.warnings),
    }


def _print(stages: dict[str, Any]) -> None:
    console = output()

    def show(title: str, lines: list[str]) -> None:
        console.print(f"{title}:", style="bold", markup=False)
        for line in lines or ["(nothing)"]:
            console.print(f"  {line}", markup=False)

    show("asked", [stages["asked"]])
    show("plan", stages["plan"])
    show("optimised", stages["optimised"])
    show("hash", [stages["hash"]])
    if "verdict" in stages:
        for alias, one in stages["decision"].items():
            show(f"decision for {stages['user']} on {alias}: {one['effect']}", one["reasons"])
        show(f"verdict for {stages['user']}: {stages['verdict']}", stages["reasons"] + stages["warnings"])
