"""The weather example of eXACML+ end to end on Spark: XACML obligations become a continuous query behind a handle."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from headgate.decision.xacml import read_policy_file
from headgate.delivery import Client, EnforcementPoint, PolicyBook, Proxy, ReferenceEngine, Verdict
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


PARTLY = [
    "SELECT avg(rainrate) FROM weather [ROWS 5, SLIDE 2] WHERE rainrate > 2",
    "SELECT avg(rainrate), avg(humidity) FROM weather [ROWS 5, SLIDE 2] WHERE rainrate > 6",
    "SELECT avg(rainrate), min(windspeed) FROM weather [ROWS 5, SLIDE 2] WHERE rainrate > 6",
    "SELECT rainrate FROM weather WHERE rainrate > 6",
]
NOTHING = [
    "SELECT avg(rainrate) FROM weather [ROWS 5, SLIDE 2] WHERE rainrate < 4",
    "SELECT avg(rainrate) FROM weather [ROWS 4, SLIDE 2] WHERE rainrate > 6",
    "SELECT humidity FROM weather WHERE rainrate > 6",
]


def test_partial_answers_are_given_on_spark_and_empty_ones_never_reach_it(spark: SparkSession, tmp_path: Path) -> None:
    """Each question by a client of its own, since one client has one handle on the stream; all in one engine."""
    scenario = load_scenario(WEATHER / "scenario.yaml")
    streams, lta = scenario.system.streams, scenario.system.users["LTA"]
    weather = in_replay_order(scenario.system, read_inputs(scenario).elements)
    engine = Engine(spark, str(tmp_path), System(streams), settings=Settings(live=False, files_per_epoch=1))
    plain = ReferenceEngine(streams)
    handles, book = HandleEngine(engine), PolicyBook([read_policy_file(WEATHER / "nea-policy.xml")])

    def client(runner: HandleEngine | ReferenceEngine) -> Client:
        return Client(Proxy(EnforcementPoint(streams, book, runner)), lta)

    for query in NOTHING:
        answer = client(handles).ask("weather", query)
        assert (answer.verdict, answer.handle) == (Verdict.EMPTY, None)
    assert engine.system.queries == ()
    assert [client(handles).ask("weather", query).verdict for query in PARTLY] == [Verdict.PARTIAL] * len(PARTLY)
    asked = [(client(handles).subscribe("weather", one), client(plain).subscribe("weather", one)) for one in PARTLY]
    for part in (weather[:25], weather[25:]):
        engine.push_folder.put_lines(engine.lines_of(part))
        engine.drain()
        plain.epoch(part)
    engine.finish()
    plain.finish()
    for query, (on_spark, by_reference) in zip(PARTLY, asked, strict=True):
        wanted = [(one.time, one.row) for one in by_reference.rows()]
        assert len(wanted) > 5, query
        assert [(one.time, one.row) for one in on_spark.rows()] == wanted, query
