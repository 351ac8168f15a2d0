"""The weather example of eXACML+ end to end on Spark: XACML obligations become a continuous query behind a handle."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from headgate.decision.xacml import read_policy_file
from headgate.delivery import Client, EnforcementPoint, PolicyBook, Proxy, ReferenceEngine
from headgate.reference.interpreter import in_replay_order
from headgate.scenario.inputs import read_inputs
from headgate.scenario.load import load_scenario
from headgate.scenario.system import System
from headgate.spark.engine import Engine, Settings
from headgate.spark.handle_engine import HandleEngine

WEATHER = Path(__file__).parents[2] / "examples" / "weather"


def test_the_weather_example_on_spark_gives_what_the_reference_gives(spark: SparkSession, tmp_path: Path) -> None:
    scenario = load_scenario(WEATHER / "scenario.yaml")
    streams, lta = scenario.system.streams, scenario.system.users["LTA"]
    query = (WEATHER / "lta-query.xml").read_text(encoding="utf-8")
    weather = in_replay_order(scenario.system, read_inputs(scenario).elements)
    engine = Engine(spark, str(tmp_path), System(streams), settings=Settings(live=False, files_per_epoch=1))
    plain = ReferenceEngine(streams)
    found = []
    for one in (HandleEngine(engine), plain):
        point = EnforcementPoint(streams, PolicyBook([read_policy_file(WEATHER / "nea-policy.xml")]), one)
        found.append((point, Client(Proxy(point), lta).subscribe("weather", query)))
    for part in (weather[:22], weather[22:30]):
        engine.push_folder.put_lines(engine.lines_of(part))
        engine.drain()
        plain.epoch(part)
    (point, subscription), (_, other) = found
    wanted = [(one.time, one.row) for one in other.rows()]
    assert wanted
    # Windows of rows wait for the end of an instant, which the reference sees one element earlier.
    got = [(one.time, one.row) for one in subscription.rows()]
    assert got == wanted[: len(got)]
    assert len(got) >= len(wanted) - 1
    point.change_policies(remove=["nea-weather-for-lta"])
    engine.push_folder.put_lines(engine.lines_of(weather[30:]))
    engine.drain()
    engine.finish()
    assert subscription.closed is not None
    assert subscription.rows() == []
