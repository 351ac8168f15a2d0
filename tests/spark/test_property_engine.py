"""The engine on Spark gives what the reference interpreter gives: any cut, any strategy, in one task or spread."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from spark_combined import combined

from headgate.columnar.strategy import Strategy
from headgate.policy.model import AssistDenied, Defaults
from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.spark.engine import Settings
from headgate.spark.replay import delivered, run_aligned
from headgate.testing.systems import GeneratedSystem, systems


@st.composite
def groups(draw: st.DrawFn, side_by_side: int) -> GeneratedSystem:
    """So many systems that share the epochs of one run."""
    policed = draw(st.booleans())
    drawn = [draw(systems(with_policies=policed, max_queries=5)) for _ in range(side_by_side)]
    return combined(drawn, Defaults(on_assist_denied=draw(st.sampled_from(AssistDenied))))


def lines(rows: list[tuple[int, dict[str, object]]]) -> list[str]:
    return sorted(json.dumps([time, row], sort_keys=True, default=repr) for time, row in rows)


# A failure is not made smaller here: the same system runs through the kernels alone in tests/columnar, in milliseconds.
QUICK = {
    "derandomize": True,
    "deadline": None,
    "phases": [Phase.explicit, Phase.generate],
    "suppress_health_check": list(HealthCheck),
}


@settings(max_examples=10, **QUICK)
@given(data=st.data())
def test_property_engine_equals_the_reference(spark: SparkSession, tmp_path_factory, data: st.DataObject) -> None:
    """Ten runs of twenty systems each."""
    _compare(spark, tmp_path_factory.mktemp("engine"), data, data.draw(groups(20)), one_task=1_000_000)


@settings(max_examples=5, **QUICK)
@given(data=st.data())
def test_property_spread_work_equals_the_reference(spark: SparkSession, tmp_path_factory, data: st.DataObject) -> None:
    """Joins and windows that Spark itself joins and shuffles, as it does with more tuples than one task takes."""
    _compare(spark, tmp_path_factory.mktemp("engine"), data, data.draw(groups(2)), one_task=0)


def _compare(spark: SparkSession, folder: Path, data: st.DataObject, group: GeneratedSystem, one_task: int) -> None:
    strategy = data.draw(st.sampled_from(Strategy), "strategy")
    epochs = data.draw(st.integers(1, 4), "epochs")
    ordered = in_replay_order(group.system, group.elements)
    size = -(-len(ordered) // epochs)
    chosen = Settings(strategy, live=False, files_per_epoch=1, one_task=one_task)
    engine, _ = run_aligned(spark, str(folder), group.system, group.elements, size, chosen)
    reference = Interpreter(group.system)
    reference.epoch(ordered)
    reference.finish()
    rows = delivered(engine)
    for (query, user), outcome in reference.outcomes.items():
        wanted = [(one.time, one.row) for one in outcome.results]
        assert lines(rows.get((query, user), [])) == lines(wanted), (query, user)
        if not outcome.verdict.denied:
            assert engine.totals.withheld.get(f"{query}/{user}", 0) == outcome.withheld
