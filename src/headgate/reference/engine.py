"""Running a scenario with the reference interpreter."""

from __future__ import annotations

import time
from collections.abc import Callable

from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.scenario.inputs import Inputs
from headgate.scenario.load import Scenario
from headgate.scenario.outcome import RunOutcome, SubscriberOutcome, final_rows

ENGINE = "reference"


def replay(
    scenario: Scenario,
    inputs: Inputs,
    epoch_elements: int = 1_000,
    enforcement: str = "switches",
    progress: Callable[[int], None] = lambda _: None,
) -> RunOutcome:
    """Replay a scenario to the end of its inputs, cut into epochs of this many elements."""
    started = time.perf_counter()
    ordered = in_replay_order(scenario.system, inputs.elements)
    interpreter = Interpreter(scenario.system)
    epochs = range(0, len(ordered), epoch_elements)
    for begin in epochs:
        epoch = ordered[begin : begin + epoch_elements]
        interpreter.epoch(epoch)
        progress(len(epoch))
    interpreter.finish()
    plans = {query.id: query.plan for query in scenario.system.queries}
    return RunOutcome(
        subscribers={
            (query, user): SubscriberOutcome(
                outcome.verdict.outcome.value,
                outcome.verdict.reasons,
                outcome.verdict.warnings,
                final_rows(plans[query], ((result.time, result.row) for result in outcome.results)),
                outcome.withheld,
            )
            for (query, user), outcome in interpreter.outcomes.items()
        },
        tuples=interpreter.tuples,
        punctuations=interpreter.punctuations,
        rejected=[*inputs.rejected, *interpreter.rejected],
        epochs=len(epochs),
        seconds=time.perf_counter() - started,
        engine=ENGINE,
        enforcement=enforcement,
    )
