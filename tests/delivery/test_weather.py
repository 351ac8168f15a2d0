"""The weather example of eXACML+: its figures, as requests, as grants, and as a program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from headgate.algebra.spelling.cql import print_cql
from headgate.decision.exacml.from_xacml import from_xacml
from headgate.decision.xacml import read_policy_file
from headgate.delivery import Client, EnforcementPoint, PolicyBook, Proxy, ReferenceEngine, Verdict
from headgate.policy.yaml_file import print_policies
from headgate.reference.interpreter import in_replay_order
from headgate.scenario.inputs import read_inputs
from headgate.scenario.load import load_scenario

FOLDER = Path(__file__).parents[2] / "examples" / "weather"
POLICY = read_policy_file(FOLDER / "nea-policy.xml")
SCENARIO = load_scenario(FOLDER / "scenario.yaml")
FIGURE_4 = (FOLDER / "lta-query.xml").read_text(encoding="utf-8")


class Weather:
    """The service, with LTA as its client."""

    def __init__(self) -> None:
        streams = SCENARIO.system.streams
        self.engine = ReferenceEngine(streams)
        self.point = EnforcementPoint(streams, PolicyBook([POLICY]), self.engine)
        self.lta = Client(Proxy(self.point), SCENARIO.system.users["LTA"])

    def plan(self, query: str | None) -> str:
        answer = self.lta.ask("weather", query)
        live = self.point.graphs.find(answer.uri or "")
        assert live is not None
        return print_cql(live.query.plan)

    def rows(self, query: str | None) -> list[dict[str, object]]:
        subscription = self.lta.subscribe("weather", query)
        elements = in_replay_order(SCENARIO.system, read_inputs(SCENARIO).elements)
        for begin in range(0, len(elements), 7):
            self.engine.epoch(elements[begin : begin + 7])
        self.engine.finish()
        return [dict(one.row) for one in subscription.rows()]


def readings() -> list[dict[str, float]]:
    return [json.loads(line) for line in (FOLDER / "weather.ndjson").read_text(encoding="utf-8").splitlines()]


def test_figure_1_is_the_graph_of_the_obligations() -> None:
    assert Weather().plan(None) == (
        "SELECT last(samplingtime), avg(rainrate), max(windspeed) FROM weather [ROWS 5, SLIDE 2] WHERE rainrate > 5"
    )


def test_figure_1_gives_what_its_operators_give() -> None:
    rain = [one for one in readings() if one["rainrate"] > 5]
    windows = [rain[begin : begin + 5] for begin in range(0, len(rain) - 4, 2)]
    assert len(windows) == 9
    assert [(row["avg(rainrate)"], row["max(windspeed)"]) for row in Weather().rows(None)] == [
        (sum(one["rainrate"] for one in window) / 5, max(one["windspeed"] for one in window)) for window in windows
    ]


def test_figure_4_is_merged_into_it() -> None:
    answer = Weather().lta.ask("weather", FIGURE_4)
    assert (answer.verdict, answer.warnings) == (Verdict.GRANTED, ())
    assert answer.statements.splitlines()[1:] == [
        "CREATE STREAM internal_0;",
        "SELECT * FROM weather WHERE rainrate > 50 INTO internal_0;",
        "CREATE STREAM internal_1;",
        "SELECT rainrate FROM internal_0 INTO internal_1;",
        "CREATE OUTPUT STREAM output;",
        "CREATE WINDOW _10tuple (SIZE 10 ADVANCE 2 TUPLES);",
        "SELECT avg(rainrate) FROM internal_1[_10tuple] INTO output;",
    ]
    heavy = [one["rainrate"] for one in readings() if one["rainrate"] > 50]
    assert [row["avg(rainrate)"] for row in Weather().rows(FIGURE_4)] == [
        sum(heavy[begin : begin + 10]) / 10 for begin in range(0, len(heavy) - 9, 2)
    ]


@pytest.mark.parametrize(
    ("query", "verdict", "said"),
    [
        ("SELECT avg(rainrate) FROM weather [ROWS 5, SLIDE 2] WHERE rainrate > 2", Verdict.PARTIAL, "such as rainrate"),
        (
            "SELECT avg(rainrate), avg(humidity) FROM weather [ROWS 5, SLIDE 2] WHERE rainrate > 6",
            Verdict.PARTIAL,
            "`humidity`",
        ),
        (
            "SELECT avg(rainrate), min(windspeed) FROM weather [ROWS 5, SLIDE 2] WHERE rainrate > 6",
            Verdict.PARTIAL,
            "`min(weather.windspeed)`",
        ),
        ("SELECT rainrate FROM weather WHERE rainrate > 6", Verdict.PARTIAL, "no single tuples"),
        ("SELECT avg(rainrate) FROM weather [ROWS 5, SLIDE 2] WHERE rainrate < 4", Verdict.EMPTY, "no tuple"),
        ("SELECT avg(rainrate) FROM weather [ROWS 4, SLIDE 2] WHERE rainrate > 6", Verdict.EMPTY, "at least 5 rows"),
        ("SELECT avg(rainrate) FROM weather [ROWS 5, SLIDE 1] WHERE rainrate > 6", Verdict.EMPTY, "at least 2 rows"),
        ("SELECT avg(rainrate) FROM weather [RANGE 1 h] WHERE rainrate > 6", Verdict.EMPTY, "not [RANGE 1h"),
        ("SELECT max(rainrate) FROM weather [ROWS 5, SLIDE 2] WHERE rainrate > 6", Verdict.EMPTY, "functions"),
        ("SELECT humidity FROM weather WHERE rainrate > 6", Verdict.EMPTY, "none of the columns"),
    ],
)
def test_partial_and_empty_are_told(query: str, verdict: Verdict, said: str) -> None:
    answer = Weather().lta.ask("weather", query)
    assert answer.verdict is verdict
    assert any(said in warning for warning in answer.warnings), answer.warnings
    assert all(warning.startswith(verdict.upper()) for warning in answer.warnings)
    assert (answer.handle is None) is (verdict is Verdict.EMPTY)


def test_the_policies_of_the_scenario_are_the_policy_converted() -> None:
    imported = from_xacml(POLICY, SCENARIO.system.streams)
    assert imported.findings == ()
    assert print_policies(imported.policies) == (FOLDER / "policies.yaml").read_text(encoding="utf-8")
    assert imported.policies == SCENARIO.system.policies


@pytest.mark.parametrize("query", ["figure_1", "figure_4"])
def test_handles_and_grants_give_the_same_rows(query: str) -> None:
    plan = next(one.plan for one in SCENARIO.system.queries if one.id == query)
    expected = [{key: row[key] for key in row} for row in SCENARIO.expect[query]["LTA"]]
    found = Weather().rows(print_cql(plan))
    assert [row.get("rain", row.get("avg(rainrate)")) for row in found] == [
        row.get("rain", row.get("avg(rainrate)")) for row in expected
    ]


def test_the_program_runs() -> None:
    ended = subprocess.run(
        [sys.executable, FOLDER / "handles.py"], capture_output=True, text=True, timeout=60, check=True
    )
    assert "NEA removes its policy: no policy permits `read` of `weather` to `LTA`; further results: []" in ended.stdout
