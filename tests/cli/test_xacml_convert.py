"""`headgate xacml convert`: both ways, with what is lost on the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headgate.decision.xacml import read_policy
from headgate.model.document import parse_document

WEATHER = Path(__file__).parents[2] / "examples" / "weather"
SCENARIO = WEATHER / "scenario.yaml"
JOINT = """\
version: 1
policies:
  - id: both
    subject: {role: r}
    object: {streams: [weather, traffic], where: "rain > cars"}
    allow: [read]
  - {id: one, subject: {role: r}, object: {streams: [weather]}, allow: [read]}
"""
STREAMS = """\
version: 1
streams:
  weather: {columns: {ts: timestamp, rain: int}}
  traffic: {columns: {ts: timestamp, cars: int}}
users: {}
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "joint.yaml").write_text(JOINT)
    (tmp_path / "streams.yaml").write_text(STREAMS)
    return tmp_path


def test_xacml_becomes_grants(headgate) -> None:
    code, out, err = headgate("xacml", "convert", WEATHER / "nea-policy.xml", "--to", "yaml", "--scenario", SCENARIO)
    assert (code, err) == (0, "")
    assert out == (WEATHER / "policies.yaml").read_text(encoding="utf-8")


def test_xacml_becomes_statements(headgate) -> None:
    code, out, _ = headgate("xacml", "convert", WEATHER / "nea-policy.xml", "--to", "sql", "--scenario", SCENARIO)
    assert code == 0
    assert "GRANT AVG (rainrate) ON STREAM weather WHERE rainrate > 5 TO USER LTA" in out


def test_grants_become_xacml_and_grants_again(headgate, tmp_path: Path) -> None:
    made = tmp_path / "made.xml"
    code, out, _ = headgate(
        "xacml", "convert", WEATHER / "policies.yaml", "--to", "xacml", "--scenario", SCENARIO, "--out", made
    )
    assert (code, out) == (0, "")
    assert read_policy(made.read_bytes()).id == "headgate:grants"
    code, out, _ = headgate("xacml", "convert", made, "--to", "yaml", "--scenario", SCENARIO)
    assert (code, out) == (0, (WEATHER / "policies.yaml").read_text(encoding="utf-8"))


def test_what_is_lost_is_named_and_the_exit_code_is_1(headgate, files: Path) -> None:
    code, out, err = headgate("xacml", "convert", "joint.yaml", "--to", "xacml", "--scenario", "streams.yaml")
    assert code == 1
    assert err == "lost: `both`: a grant over several streams together cannot be said: what it allows is left out\n"
    assert 'PolicyId="one"' in out
    assert 'PolicyId="both"' not in out


def test_json_for_machines(headgate, files: Path) -> None:
    code, out, err = headgate("xacml", "convert", "joint.yaml", "--to", "xacml", "--scenario", "streams.yaml", "--json")
    found = json.loads(out)
    assert (code, err, found["to"]) == (1, "", "xacml")
    assert [(one["loss"], one["policy"]) for one in found["findings"]] == [("lost", "both")]
    assert read_policy(found["document"]).id == "headgate:grants"


def test_findings_of_a_document_have_its_lines(headgate, files: Path) -> None:
    text = (WEATHER / "nea-policy.xml").read_text(encoding="utf-8")
    (files / "p.xml").write_text(text.replace("exacml:obligation:stream-map", "urn:unknown"))
    code, out, err = headgate("xacml", "convert", "p.xml", "--to", "yaml", "--scenario", SCENARIO)
    assert (code, parse_document(out, "").value["policies"]) == (1, [])
    assert err.startswith("p.xml:34: lost: `nea-weather-for-lta`: the permit is left out: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.xml", "--to", "yaml"], "nowhere.xml: cannot read"),
        ([WEATHER / "nea-policy.xml", "--to", "xacml"], "the file is XACML already"),
        (["notes.txt", "--to", "xacml"], "`.txt` is not an ending of policy files"),
        (["broken.xml", "--to", "yaml"], "broken.xml:1"),
        ([WEATHER / "nea-policy.xml", "--to", "yaml", "--out", "nowhere/x.yaml"], "nowhere/x.yaml: cannot be written"),
    ],
)
def test_a_mistake_is_told_with_its_place(headgate, files: Path, arguments, said: str) -> None:
    (files / "notes.txt").write_text("")
    (files / "broken.xml").write_text("<Policy>")
    code, out, err = headgate("xacml", "convert", *arguments, "--scenario", SCENARIO)
    assert (code, out) == (2, "")
    assert said in err
    assert "hint: " in err


def test_help_has_an_example(headgate) -> None:
    code, out, _ = headgate("xacml", "convert", "--help")
    assert code == 0
    assert "Example: headgate xacml convert policy.xml --to yaml --scenario scenario.yaml" in " ".join(out.split())
