"""`headgate who-can` as a person or a script runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from headgate.cli.who_can import who_can
from headgate.errors import InputError

EXAMPLES = Path(__file__).parents[2] / "examples"
ACSTREAM = EXAMPLES / "acstream"


@pytest.fixture
def app() -> typer.Typer:
    """The command on its own, registered as the main program does."""
    app = typer.Typer()
    app.command()(who_can)
    return app


def test_every_user_sorted_with_conditions_and_policies(run, app: typer.Typer) -> None:
    code, out, _ = run(app, "Position.Pos", "--scenario", ACSTREAM / "scenario.yaml")
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0
    assert rows[0] == ["user", "may", "privileges", "condition", "window", "min group", "mask", "policy"]
    assert [row[0] for row in rows[1:]] == ["carl", "dan", "dan", "dan", "dora", "dora", "dora"]
    assert rows[1] == ["carl", "nothing", "", "", "", "", "", ""]
    assert rows[5] == ["dora", "allow", "read, assist, compute", "Platoon = 7", "", "", "", "1-own-positions"]
    assert rows[6][4] == "size >= 1h, step >= 1h"
    assert rows[7][3].startswith("joined with Health: Health.Platoon <> 7 AND ")


def test_json(run, app: typer.Typer) -> None:
    code, out, _ = run(app, "patient.expense", "--scenario", EXAMPLES / "medical" / "scenario.yaml", "--json")
    document = json.loads(out)
    assert code == 0
    assert (document["stream"], document["column"]) == ("patient", "Expense")
    assert [(one["who"], one["word"], one["policy"]) for one in document["access"]] == [
        ("alice", "allow", "other-hospitals-compute"),
        ("bob", "allow", "own-hospital"),
    ]
    assert document["access"][0]["mask"] == "drop"


def test_an_owner_who_is_no_user_is_named(run, app: typer.Typer) -> None:
    _, _, err = run(app, "patient.Id", "--scenario", EXAMPLES / "medical" / "scenario.yaml")
    assert err == "`hospital_r` owns `patient` and may use all of it\n"


def test_a_governed_stream_is_said_to_be(run, app: typer.Typer) -> None:
    _, out, err = run(app, "S1.rate", "--scenario", EXAMPLES / "fence" / "scenario.yaml")
    assert "cara\topen\tread, assist, compute" in out
    assert err == "`S1` is governed: punctuations must allow each tuple as well\n"


def test_without_a_scenario_the_subjects_are_shown(run, app: typer.Typer) -> None:
    code, out, _ = run(app, "position.sid", "--policies", ACSTREAM / "policies.yaml")
    assert code == 0
    assert out.splitlines()[1].split("\t")[:4] == [
        "role Doctor",
        "allow",
        "read, assist, compute",
        "Platoon = self.Platoon",
    ]


def test_other_policies_for_a_scenario(run, app: typer.Typer, tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text("version: 1\npolicies: []\n")
    _, out, _ = run(app, "Position.Pos", "--scenario", ACSTREAM / "scenario.yaml", "--policies", path)
    assert [line.split("\t")[1] for line in out.splitlines()[1:]] == ["nothing"] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Position.Pos"], "nothing to look in"),
        (["Position", "--scenario", ACSTREAM / "scenario.yaml"], "is not a column of a stream"),
        (["Position.Pso", "--scenario", ACSTREAM / "scenario.yaml"], "has no column `Pso`"),
        (["Postion.Pos", "--scenario", ACSTREAM / "scenario.yaml"], "unknown stream `Postion`"),
    ],
)
def test_bad_input_has_a_hint(run, app: typer.Typer, arguments: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        run(app, *arguments)
    assert caught.value.hint


def test_help_has_an_example(run, app: typer.Typer) -> None:
    code, out, _ = run(app, "--help")
    assert code == 0
    assert "Example: headgate who-can Position.Pos" in " ".join(out.split())
