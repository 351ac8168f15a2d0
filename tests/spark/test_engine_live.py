"""Live epochs: watermarks, lateness and idle streams as the reference interpreter has them, whatever the cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from spark_combined import combined

from headgate.model.instant import SECOND
from headgate.policy.model import Defaults
from headgate.reference.interpreter import Interpreter
from headgate.scenario.system import System
from headgate.spark.engine import Engine, Settings
from headgate.spark.replay import delivered
from headgate.testing.systems import GeneratedSystem, systems


@st.composite
def shuffled(draw: st.DrawFn) -> tuple[System, list[list[tuple[str, object]]]]:
    """Systems whose streams allow some lateness, and epochs in which elements come in any order."""
    drawn = [draw(systems(with_policies=False, max_queries=2)) for _ in range(8)]
    late = [GeneratedSystem(_with_lateness(one.system, draw(st.integers(0, 20))), one.elements) for one in drawn]
    group = combined(late, Defaults())
    elements = [(name, one) for name, own in group.elements.items() for one in own]
    elements = draw(st.permutations(elements))
    size = -(-len(elements) // 3)
    return group.system, [elements[begin : begin + size] for begin in range(0, len(elements), size)]


def _with_lateness(system: System, seconds: int) -> System:
    return replace(
        system, streams=type(system.streams)(replace(one, lateness=seconds * SECOND) for one in system.streams)
    )


@settings(
    max_examples=3,
    derandomize=True,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_property_live_epochs_equal_the_reference(spark: SparkSession, tmp_path_factory, data: st.DataObject) -> None:
    system, epochs = data.draw(shuffled())
    root: Path = tmp_path_factory.mktemp("live")
    engine = Engine(spark, str(root), system, settings=Settings(live=True, files_per_epoch=1), clock=lambda: 0)
    reference = Interpreter(system, live=True)
    for number, elements in enumerate(epochs):
        engine.push_folder.put_lines(engine.lines_of(elements), f"{number:010d}")
        reference.epoch(elements, processing_time=0)
    engine.drain()
    engine.finish()
    reference.finish()
    rows = delivered(engine)
    assert engine.totals.rejected == len(reference.rejected)
    for key, outcome in reference.outcomes.items():
        wanted = sorted(repr((one.time, sorted(one.row.items()))) for one in outcome.results)
        assert sorted(repr((at, sorted(row.items()))) for at, row in rows.get(key, [])) == wanted, key
