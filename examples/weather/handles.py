"""The weather example of eXACML+ end to end, in one process: requests, handles, and a policy that changes meanwhile.

python examples/weather/handles.py
"""

from __future__ import annotations

from pathlib import Path

from headgate.decision.xacml import read_policy_file
from headgate.delivery import Answer, Client, EnforcementPoint, PolicyBook, Proxy, ReferenceEngine
from headgate.model.instant import format_timestamp
from headgate.reference.interpreter import in_replay_order
from headgate.scenario.inputs import read_inputs
from headgate.scenario.load import load_scenario

FOLDER = Path(__file__).parent
QUERIES = {
    "all that is authorised (figure 1)": None,
    "heavy rain in windows of ten (figure 4)": (FOLDER / "lta-query.xml").read_text(encoding="utf-8"),
    "light rain too": "SELECT avg(rainrate) AS rain FROM weather [ROWS 5, SLIDE 5] WHERE rainrate > 2",
    "dry weather": "SELECT avg(rainrate) AS rain FROM weather [ROWS 5, SLIDE 5] WHERE rainrate < 3",
    "windows of three": "SELECT avg(rainrate) AS rain FROM weather [ROWS 3, SLIDE 2] WHERE rainrate > 50",
}


def show(title: str, answer: Answer) -> None:
    print(f"\n{title}: {answer.verdict}")
    for line in (*answer.reasons, *answer.warnings, *answer.statements.splitlines()):
        print(f"  {line}")


def main() -> None:
    scenario = load_scenario(FOLDER / "scenario.yaml")
    streams = scenario.system.streams
    engine = ReferenceEngine(streams)
    point = EnforcementPoint(streams, PolicyBook([read_policy_file(FOLDER / "nea-policy.xml")]), engine)
    lta = Client(Proxy(point), scenario.system.users["LTA"])
    for title, query in QUERIES.items():
        answer = lta.ask("weather", query)
        show(title, answer)
        if answer.uri is not None:
            point.close(answer.uri, "LTA")  # one user's windows could be subtracted from each other

    weather = in_replay_order(scenario.system, read_inputs(scenario).elements)
    subscription = lta.subscribe("weather", QUERIES["heavy rain in windows of ten (figure 4)"])
    engine.epoch(weather[:22])
    print("\nresults so far")
    for one in subscription.rows():
        print(f"  {format_timestamp(one.time)} {one.row}")
    point.change_policies(remove=["nea-weather-for-lta"])
    engine.epoch(weather[22:])
    engine.finish()
    print(f"\nNEA removes its policy: {subscription.closed}; further results: {subscription.rows()}")


if __name__ == "__main__":
    main()
