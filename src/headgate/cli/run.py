"""`headgate run`: replay a scenario and write what every subscriber got."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.options import AsJson, Enforcement, Engine, ScenarioPath
from headgate.cli.terminal import NOT_AS_EXPECTED, messages, print_json, print_table, progress_bar
from headgate.reference.engine import replay
from headgate.scenario.expect import differences
from headgate.scenario.inputs import read_inputs
from headgate.scenario.load import Scenario, load_scenario
from headgate.scenario.outcome import RunOutcome, write_outcome

LOCAL = "local[*]"


def run(
    scenario: ScenarioPath,
    out: Annotated[Path, typer.Option(help="The folder to write to; an earlier run's output is replaced.")] = Path(
        "out"
    ),
    engine: Annotated[
        Engine, typer.Option(envvar="HEADGATE_ENGINE", help="The executor; both give the same.")
    ] = Engine.SPARK,
    enforcement: Annotated[Enforcement, typer.Option(help="The enforcement strategy.")] = Enforcement.SWITCHES,
    epoch_elements: Annotated[int, typer.Option(min=1, help="How many elements make an epoch.")] = 1_000,
    master: Annotated[str, typer.Option(help="Where Spark runs: `local[2]`, `spark://host:7077`, `yarn`, ...")] = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Replay a scenario to the end of its inputs.

    Writes OUT/<query>/<user>.ndjson for every query and subscriber, and OUT/report.json.
    Exit code 1 if the scenario's `expect` does not hold.

    Example: headgate run examples/smart-health/scenario.yaml --out out
    """
    loaded = load_scenario(scenario)
    outcome = execute(loaded, engine, enforcement, epoch_elements, master)
    write_outcome(outcome, out)
    if as_json:
        print_json(outcome.report())
    else:
        _print_summary(outcome, out)
    found = differences(loaded, outcome)
    for line in found:
        messages().print(line, markup=False)
    if found:
        raise typer.Exit(NOT_AS_EXPECTED)


def execute(
    scenario: Scenario,
    engine: Engine,
    enforcement: Enforcement = Enforcement.SWITCHES,
    epoch_elements: int = 1_000,
    master: str = LOCAL,
) -> RunOutcome:
    """Read a scenario's inputs and run it, with progress on a terminal."""
    if engine is Engine.SPARK:
        return _on_spark(scenario, enforcement, epoch_elements, master)
    with progress_bar("reading", None) as advance:
        inputs = read_inputs(scenario, advance)
    with progress_bar("replaying", inputs.count) as advance:
        return replay(scenario, inputs, epoch_elements, enforcement.value, advance)


def _on_spark(scenario: Scenario, enforcement: Enforcement, epoch_elements: int, master: str) -> RunOutcome:
    # Spark takes a second to import and five to start: only where it is asked for.
    from headgate.spark.batch_inputs import reader
    from headgate.spark.replay import replay as replay_on_spark
    from headgate.spark.session import start_session

    with progress_bar("starting Spark", None):
        spark = start_session(master)
    with progress_bar("reading", None) as advance:
        inputs = read_inputs(scenario, advance, reader(spark))
    with progress_bar("replaying", inputs.count) as advance:
        return replay_on_spark(spark, scenario, inputs, epoch_elements, enforcement.value, advance)


def _print_summary(outcome: RunOutcome, out: Path) -> None:
    rows = [
        (query, user, one.verdict, len(one.rows), one.withheld, "; ".join(one.warnings))
        for (query, user), one in outcome.subscribers.items()
    ]
    print_table(("query", "user", "verdict", "delivered", "withheld", "warnings"), rows)
    elements = sum(outcome.tuples.values()) + sum(outcome.punctuations.values())
    messages().print(
        f"{elements} elements in {outcome.epochs} epochs, {len(outcome.rejected)} rejected, "
        f"{outcome.seconds:.2f} s, written to {out}",
        markup=False,
    )
