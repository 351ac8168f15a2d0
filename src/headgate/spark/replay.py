"""Replaying a scenario on Spark: its finite inputs are put in order, cut into epochs, and run through the engine."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from headgate.columnar.strategy import Strategy
from headgate.model.datatype import Value
from headgate.model.element import Element
from headgate.model.instant import Instant
from headgate.reference.interpreter import in_replay_order
from headgate.scenario.inputs import Inputs
from headgate.scenario.load import Scenario
from headgate.scenario.outcome import RunOutcome, SubscriberOutcome, final_rows
from headgate.scenario.system import System
from headgate.spark.engine import Engine, Settings
from headgate.spark.result_log import ResultLog

ENGINE = "spark"

Rows = Mapping[tuple[str, str], list[tuple[Instant, dict[str, Value]]]]


def replay(
    spark: SparkSession,
    scenario: Scenario,
    inputs: Inputs,
    epoch_elements: int = 1_000,
    enforcement: str = "switches",
    progress: Callable[[int], None] = lambda _: None,
) -> RunOutcome:
    """Replay a scenario to the end of its inputs, cut into epochs of this many elements."""
    started = time.perf_counter()
    root = Path(tempfile.mkdtemp(prefix="headgate-"))
    try:
        engine, epochs = run_aligned(
            spark,
            str(root),
            scenario.system,
            inputs.elements,
            epoch_elements,
            Settings(Strategy(enforcement), live=False, files_per_epoch=1),
        )
        progress(sum(len(own) for own in inputs.elements.values()))
        rows = delivered(engine)
        return _outcome(scenario.system, engine, rows, inputs, epochs, time.perf_counter() - started, enforcement)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def run_aligned(
    spark: SparkSession,
    root: str,
    system: System,
    elements: Mapping[str, list[Element]],
    epoch_elements: int,
    settings: Settings,
) -> tuple[Engine, int]:
    """Run finite inputs through an engine in this folder, to their end."""
    engine = Engine(spark, root, system, settings=settings)
    ordered = in_replay_order(system, elements)
    cuts = range(0, len(ordered), epoch_elements)
    for number, begin in enumerate(cuts):
        lines = engine.lines_of(ordered[begin : begin + epoch_elements])
        engine.push_folder.put_lines(lines, f"{number:010d}")
    if ordered:
        engine.drain()
    engine.finish()
    return engine, len(cuts)


def delivered(engine: Engine) -> Rows:
    """All rows of all subscribers."""
    rows: dict[tuple[str, str], list[tuple[Instant, dict[str, Value]]]] = defaultdict(list)
    log = ResultLog(engine.storage)
    for epoch in range(engine.kept_from, engine.epoch + 1):
        for query, user, time_, row in log.rows(epoch):
            rows[query, user].append((time_, row))
    return rows


def _outcome(
    system: System, engine: Engine, rows: Rows, inputs: Inputs, epochs: int, seconds: float, enforcement: str
) -> RunOutcome:
    plans = {query.id: query.plan for query in system.queries}
    subscribers = {}
    verdicts = {(one.query, member): one.verdict for one in engine.planned.classes for member in one.members}
    for query in system.queries:
        for user in query.subscribers:
            verdict = verdicts[query.id, user]
            subscribers[query.id, user] = SubscriberOutcome(
                verdict.outcome.value,
                verdict.reasons,
                verdict.warnings,
                final_rows(plans[query.id], rows.get((query.id, user), [])),
                0 if verdict.denied else engine.totals.withheld.get(f"{query.id}/{user}", 0),
            )
    names = system.streams.names
    return RunOutcome(
        subscribers,
        {name: engine.totals.tuples.get(name, 0) for name in names},
        {name: engine.totals.punctuations.get(name, 0) for name in names},
        list(inputs.rejected),
        epochs,
        seconds,
        ENGINE,
        enforcement,
    )
