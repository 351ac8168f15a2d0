"""What the engine on Spark gave, beside what the reference interpreter gives."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from spark_combined import combined

from headgate.model.datatype import Value
from headgate.model.instant import Instant
from headgate.policy.model import AssistDenied, Defaults
from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.reference.run import Outcome
from headgate.spark.engine import Engine
from headgate.spark.replay import delivered
from headgate.testing.systems import GeneratedSystem, systems

# A failure is not made smaller here: the same system runs through the kernels alone in tests/columnar, in milliseconds.
QUICK = {
    "derandomize": True,
    "deadline": None,
    "phases": [Phase.explicit, Phase.generate],
    "suppress_health_check": list(HealthCheck),
}


@st.composite
def groups(draw: st.DrawFn, side_by_side: int) -> GeneratedSystem:
    """So many systems that share the epochs of one run."""
    policed = draw(st.booleans())
    drawn = [draw(systems(with_policies=policed, max_queries=5)) for _ in range(side_by_side)]
    return combined(drawn, Defaults(on_assist_denied=draw(st.sampled_from(AssistDenied))))


def assert_equals_reference(engine: Engine, group: GeneratedSystem) -> None:
    """Every subscriber got the rows of the reference, and as many tuples were withheld."""
    rows = delivered(engine)
    for (query, user), outcome in by_reference(group).items():
        wanted = [(one.time, one.row) for one in outcome.results]
        assert lines(rows.get((query, user), [])) == lines(wanted), (query, user)
        if not outcome.verdict.denied:
            assert engine.totals.withheld.get(f"{query}/{user}", 0) == outcome.withheld


def by_reference(group: GeneratedSystem) -> dict[tuple[str, str], Outcome]:
    reference = Interpreter(group.system)
    reference.epoch(in_replay_order(group.system, group.elements))
    reference.finish()
    return reference.outcomes


def lines(rows: Sequence[tuple[Instant, dict[str, Value]]]) -> list[str]:
    return sorted(json.dumps([time, row], sort_keys=True, default=repr) for time, row in rows)
