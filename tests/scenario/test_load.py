"""From a scenario file to a system."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.algebra.spelling.cql import parse_cql
from headgate.errors import FileError, InputError, UnknownNameError
from headgate.model.datatype import DataType
from headgate.model.instant import SECOND
from headgate.scenario.load import load_scenario

SCENARIO = """\
version: 1
streams:
  Vitals:
    columns: {TS: timestamp, patient: string, rate: {type: int, unit: hours}}
    time: ts
    tid: PATIENT
    owner: dora
    governed: true
    retroactive: true
    timezone: Asia/Singapore
    lateness: 5 s
    idle_timeout: 1 min
roles: {chief: [doctor], doctor: [], nurse: []}
users:
  dora: {roles: [chief], profile: {Platoon: 7, ward: null, cleared: true}}
  ivan: {}
policies: []
queries:
  first: {by: dora, cql: "SELECT rate FROM Vitals"}
  second: {by: dora, subscribers: [ivan, dora], access: punctuated, cql: "SELECT patient FROM vitals"}
  empty: {by: dora, subscribers: [], cql: "SELECT patient FROM vitals"}
expect: {first: {dora: []}}
expect_verdicts: {second: {ivan: denied}}
"""


def load(folder: Path, text: str):
    (folder / "s.yaml").write_text(text)
    return load_scenario(folder / "s.yaml")


def test_a_stream_is_as_it_was_declared(tmp_path: Path) -> None:
    stream = load(tmp_path, SCENARIO).system.streams.stream("VITALS")
    assert (stream.name, stream.time, stream.tid, stream.owner) == ("Vitals", "TS", "patient", "dora")
    assert (stream.governed, stream.retroactive, stream.timezone) == (True, True, "Asia/Singapore")
    assert (stream.lateness, stream.idle_timeout) == (5 * SECOND, 60 * SECOND)
    assert [(one.name, one.type, one.unit) for one in stream.columns] == [
        ("TS", DataType.TIMESTAMP, None),
        ("patient", DataType.STRING, None),
        ("rate", DataType.INT, "hours"),
    ]


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    system = load(tmp_path, "version: 1\nstreams: {S: {columns: {ts: timestamp}}}\n").system
    stream = system.streams.stream("S")
    assert (stream.time, stream.tid, stream.owner, stream.timezone) == ("ts", None, None, "UTC")
    assert (stream.governed, stream.retroactive, stream.lateness, stream.idle_timeout) == (False, False, 0, None)
    assert (system.users, system.queries, system.policies) == ({}, (), None)


def test_users_have_all_their_roles_include(tmp_path: Path) -> None:
    users = load(tmp_path, SCENARIO).system.users
    assert users["dora"].roles == {"chief", "doctor"}
    assert users["dora"].profile == {"Platoon": 7, "ward": None, "cleared": True}
    assert users["ivan"].roles == frozenset()


def test_subscribers_default_to_who_registered_the_query(tmp_path: Path) -> None:
    first, second, empty = load(tmp_path, SCENARIO).system.queries
    assert (first.subscribers, first.punctuated) == (("dora",), False)
    assert (second.subscribers, second.punctuated) == (("ivan", "dora"), True)
    assert empty.subscribers == ()


def test_a_scenario_with_expectations_is_a_test(tmp_path: Path) -> None:
    assert load(tmp_path, SCENARIO).is_test
    assert not load(tmp_path, SCENARIO.split("expect:")[0]).is_test


def test_every_spelling_of_a_query_gives_the_same_plan(tmp_path: Path) -> None:
    scenario = load(
        tmp_path,
        SCENARIO.split("expect:")[0]
        + """\
  as-json:
    by: dora
    json:
      operator: project
      outputs: [{name: rate, expression: Vitals.rate}]
      input: {operator: source, stream: Vitals}
""",
    )
    plans = {query.id: query.plan for query in scenario.system.queries}
    assert plans["as-json"] == plans["first"] == parse_cql("SELECT rate FROM Vitals", scenario.system.streams)


@pytest.mark.parametrize(
    ("given_as", "closed"),
    [("policies: []\n", True), ("policies: {}\n", True), ("policies:\n", True), ("", False)],
    ids=["empty list", "empty mapping", "nothing", "not given"],
)
def test_policies_that_are_given_but_empty_close_everything(tmp_path: Path, given_as: str, closed: bool) -> None:
    system = load(tmp_path, SCENARIO.replace("policies: []\n", given_as)).system
    assert (system.policies is not None) == closed
    assert not closed or system.policies.policies == ()


POLICY = "{id: p, subject: {role: doctor}, object: {streams: [Vitals]}, allow: [read]}"


@pytest.mark.parametrize("name", ["p.yaml", "p.yml", "P.YAML", "p.sql"])
def test_policies_can_stand_in_a_file_beside_the_scenario(tmp_path: Path, name: str) -> None:
    statement = "GRANT READ ON STREAM Vitals TO ROLE doctor;"
    text = statement if name.endswith("sql") else f"version: 1\npolicies: [{POLICY}]\n"
    (tmp_path / name).write_text(text)
    beside = load(tmp_path, SCENARIO.replace("policies: []", f"policies: {name}")).system.policies
    inline = load(tmp_path, SCENARIO.replace("policies: []", f"policies: [{POLICY}]")).system.policies
    assert [(one.subjects, one.cells, one.allow) for one in beside.policies] == [
        (one.subjects, one.cells, one.allow) for one in inline.policies
    ]


def test_a_policy_file_of_another_ending_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("version: 1\n")
    with pytest.raises(FileError, match=r"`\.txt` is not an ending of policy files"):
        load(tmp_path, SCENARIO.replace("policies: []", "policies: p.txt"))


def test_an_error_in_a_policy_file_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(f"version: 1\npolicies:\n  - {POLICY.replace('Vitals', 'Vital')}\n")
    with pytest.raises(UnknownNameError, match="unknown stream `Vital`") as raised:
        load(tmp_path, SCENARIO.replace("policies: []", "policies: p.yaml"))
    assert raised.value.place.file == str(tmp_path / "p.yaml")
    assert (raised.value.place.line, raised.value.hint) == (3, "did you mean `Vitals`?")


@pytest.mark.parametrize(
    "policies", [f"policies: [{POLICY}]", f"policies: {{policies: [{POLICY}]}}"], ids=["list", "mapping"]
)
def test_an_error_in_an_inline_policy_has_its_place_in_the_scenario(tmp_path: Path, policies: str) -> None:
    text = SCENARIO.replace("policies: []", policies.replace("[Vitals]", "[Vital]"))
    with pytest.raises(UnknownNameError, match="unknown stream `Vital`") as raised:
        load(tmp_path, text)
    line = text.split("\n")[raised.value.place.line - 1]
    assert line[raised.value.place.column - 1 :].startswith("streams: [Vital]")


def test_the_place_in_a_query_of_several_lines_is_told_twice(tmp_path: Path) -> None:
    query = "|\n      SELECT rate\n      FROM Vitals\n      WHERE pulse > 1\n"
    text = SCENARIO.replace('{by: dora, cql: "SELECT rate FROM Vitals"}', f"\n    by: dora\n    cql: {query}")
    with pytest.raises(UnknownNameError) as raised:
        load(tmp_path, text)
    assert raised.value.message == "query `first`, line 3, column 7: unknown column `pulse`"
    assert text.split("\n")[raised.value.place.line - 1] == "  first: "


VALID = [SCENARIO, SCENARIO.replace("policies: []", f"policies: [{POLICY}]")]
PIECES = [
    "",
    " ",
    "\n",
    "\t",
    ":",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "&a ",
    "*a",
    "null",
    "1e999",
    "|",
    "0x",
    "é",
    "\x00",
]


@st.composite
def _damaged(draw: st.DrawFn) -> str:
    """A valid scenario with a few pieces taken out, put in or moved."""
    text = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.integers(0, 12)))
        text = text[:begin] + draw(st.sampled_from(PIECES) | st.text(max_size=4)) + text[end:]
    return text


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scenario")


@given(_damaged() | st.text())
def test_property_a_damaged_scenario_loads_or_is_an_input_error(workplace: Path, text: str) -> None:
    (workplace / "s.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        told = load_scenario(workplace / "s.yaml").system.streams.names
    except InputError as error:
        told = error.message
    assert told
