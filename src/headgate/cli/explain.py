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
from headgate.cli.terminal import output, print_json, progress_bar
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
    query: Annotated[
        str | None, typer.Option(help="A query in CQL, or the id of one in the scenario.", show_default=False)
    ] = None,
    sql: Annotated[
        str | None, typer.Option(help="A query for guarded Spark, over the scenario's streams as tables.")
    ] = None,
    user: Annotated[str | None, typer.Option(help="Who asks; SQL needs one.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show each stage of a query's path, and why each part is granted, masked or refused.

    With --sql a small Spark is started, with the streams as empty tables; nothing of the query runs.

    Example: headgate explain --scenario examples/smart-health/scenario.yaml --user ann --query cq1
    """
    if (query is None) == (sql is None):
        raise InputError("there must be one query to explain", hint="give either --query or --sql")
    loaded = load_scenario(scenario)
    if query is None:
        assert sql is not None
        _explain_sql(loaded, sql, user, as_json)
    else:
        _explain_cql(loaded, query, user, as_json)


def _explain_sql(scenario: Scenario, sql: str, user: str | None, as_json: bool) -> None:
    system = scenario.system
    if user is None:
        raise InputError("what is given depends on who asks", hint="give --user")
    if user not in system.users:
        raise UnknownNameError(f"unknown user `{user}`", hint=closest(user, system.users))
    # Spark takes a second to import and five to start: only where it is asked for.
    from headgate.guard.empty_tables import empty_tables
    from headgate.guard.explanation import explain_sql
    from headgate.guard.guard import Guard

    guard = Guard(system.streams, system.policies, system.users)
    with progress_bar("starting Spark", None), empty_tables(system.streams) as spark:
        explanation = explain_sql(guard, spark, user, sql)
    if as_json:
        print_json(explanation.to_json())
    else:
        for title, lines in explanation.sections():
            _show(title, lines)


def _explain_cql(loaded: Scenario, query: str, user: str | None, as_json: bool) -> None:
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
    return list(found.lines) if found is not None else []


def _print(stages: dict[str, Any]) -> None:
    _show("asked", [stages["asked"]])
    _show("plan", stages["plan"])
    _show("optimised", stages["optimised"])
    _show("hash", [stages["hash"]])
    if "verdict" in stages:
        _show("uses", stages["uses"])
        for alias, one in stages["decision"].items():
            _show(f"decision for {stages['user']} on {alias}: {one['effect']}", one["reasons"])
        _show(f"verdict for {stages['user']}: {stages['verdict']}", stages["reasons"] + stages["warnings"])
        if "told" in stages:
            _show(f"what {stages['user']} is told", stages["told"])
        _show("rewritten", stages["rewritten"])
        if stages["missing"]:
            _show("the smallest grant that would give all of it", stages["missing"])


def _show(title: str, lines: list[str]) -> None:
    console = output()
    console.print(f"{title}:", style="bold", markup=False)
    for line in lines or ["(nothing)"]:
        console.print(f"  {line}", markup=False)
