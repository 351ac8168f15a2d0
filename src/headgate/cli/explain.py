"""`headgate explain`: each stage of a query's path, and why each part was granted, masked or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headgate.algebra.block import block_of
from headgate.algebra.canonical import stable_hash
from headgate.algebra.explain import explain as explain_plan
from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql, print_cql
from headgate.algebra.spelling.json import query_to_json
from headgate.algebra.uses import uses_of
from headgate.cli.options import AsJson
from headgate.cli.terminal import output, print_json
from headgate.decision.decide import Decider
from headgate.errors import InputError, UnknownNameError
from headgate.model.closest import closest
from headgate.model.subject import User
from headgate.policy.model import Disclosure
from headgate.rewrite.least_grant import least_grant
from headgate.rewrite.pipeline import optimize
from headgate.rewrite.secure import secure_query
from headgate.rewrite.verdict import decisions_of
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
    subscriber = system.users[user]
    secured = secure_query(decider, query, subscriber)
    # Whoever explains has read the policies: the whole verdict is shown, and beside it what the user is told.
    verdict = secured.verdict.told(Disclosure.CLAUSE)
    decisions = decisions_of(query, decider, subscriber)
    stages: dict[str, Any] = {
        "uses": _uses(query),
        "decision": {
            alias: {"effect": one.effect.value, "reasons": [str(reason) for reason in one.reasons]}
            for alias, one in decisions.items()
        },
        "verdict": verdict.outcome.value,
        "reasons": list(verdict.reasons),
        "warnings": list(verdict.warnings),
        "rewritten": explain_plan(secured.plan).split("\n") if secured.plan is not None else [],
        "missing": _missing(decider, query, subscriber),
    }
    if system.policies is not None and system.policies.defaults.disclosure is not Disclosure.CLAUSE:
        stages["told"] = [*secured.verdict.reasons, *secured.verdict.warnings]
    return stages


def _uses(query: Query) -> list[str]:
    used = (use for block in query.blocks for use in uses_of(block_of(block)))
    return [f"{use.privilege} of `{use.source}.{use.column}`" for use in dict.fromkeys(used)]


def _missing(decider: Decider, query: Query, user: User) -> list[str]:
    """The smallest grants that would give a full answer, and the denies that would have to go."""
    found = least_grant(decider, query, user)
    if found is None:
        return []
    return [*found.statements, *(f"and without what `{name}` denies" for name in found.denied_by)]


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
        show("uses", stages["uses"])
        for alias, one in stages["decision"].items():
            show(f"decision for {stages['user']} on {alias}: {one['effect']}", one["reasons"])
        show(f"verdict for {stages['user']}: {stages['verdict']}", stages["reasons"] + stages["warnings"])
        if "told" in stages:
            show(f"what {stages['user']} is told", stages["told"])
        show("rewritten", stages["rewritten"])
        if stages["missing"]:
            show("the smallest grant that would give all of it", stages["missing"])
