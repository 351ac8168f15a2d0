"""`headgate check` as a person or a script runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from headgate.cli.check import check
from headgate.errors import InputError

ACSTREAM = Path(__file__).parents[2] / "examples" / "acstream"

OLD = """version: 1
policies:
  - id: p
    subject: {role: Doctor}
    object: {streams: [Position], attributes: [Pos, SID], where: "Platoon = self.Platoon"}
    allow: [read]
"""
NEW = (
    OLD
    + """  - id: average
    subject: {role: Captain}
    object: {streams: [Position], attributes: [Pos], where: "Platoon > 7"}
    allow: [avg]
"""
)
BAD = (
    NEW
    + """  - id: never
    subject: {role: Doctor}
    object: {streams: [Position], attributes: [Pos], where: "Platoon > 7 AND Platoon < 7"}
    deny: [read]
"""
)


@pytest.fixture
def app() -> typer.Typer:
    """The command on its own, registered as the main program does."""
    app = typer.Typer()
    app.command()(check)
    return app


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in (("old.yaml", OLD), ("new.yaml", NEW), ("bad.yaml", BAD)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_clean_policies(run, app: typer.Typer) -> None:
    assert run(app, ACSTREAM / "policies.yaml") == (0, "", "nothing found\n")
    assert run(app, ACSTREAM / "scenario.yaml")[0] == 0
    assert run(app, ACSTREAM / "policies.yaml", "--scenario", ACSTREAM / "scenario.yaml")[0] == 0


def test_an_error_is_a_line_with_its_place_and_exit_code_1(run, app: typer.Typer, files: Path) -> None:
    code, out, err = run(app, files / "bad.yaml")
    assert code == 1
    assert out.splitlines() == [
        f"{files / 'bad.yaml'}:11:5: error: `where` can never hold: Platoon > 7 AND Platoon < 7, "
        "so `never` denies nothing [never-holds]"
    ]
    assert err == "1 error, 0 warnings, 0 notes\n"


def test_warnings_leave_the_exit_code_at_0(run, app: typer.Typer, files: Path) -> None:
    code, out, _ = run(app, files / "new.yaml", "--scenario", ACSTREAM / "scenario.yaml")
    assert code == 0
    assert out == "warning: no policy names the stream `Health`, so it is closed to everybody [closed]\n"


def test_json(run, app: typer.Typer, files: Path) -> None:
    code, out, _ = run(app, files / "bad.yaml", "--against", files / "old.yaml", "--json")
    document = json.loads(out)
    assert code == 1
    assert (document["errors"], document["warnings"], document["notes"]) == (1, 0, 0)
    assert document["findings"][0]["place"] == {"file": str(files / "bad.yaml"), "line": 11, "column": 5}
    assert document["findings"][0]["policies"] == ["never"]
    (change,) = document["changes"]
    assert change["example"]["Position.Platoon"] > 7
    assert {
        key: change[key] for key in ("effect", "decided", "who", "stream", "joined_with", "columns", "privileges")
    } == {
        "effect": "gains",
        "decided": True,
        "who": ["role Captain"],
        "stream": "Position",
        "joined_with": [],
        "columns": ["Pos"],
        "privileges": ["avg"],
    }


def test_against_an_older_file(run, app: typer.Typer, files: Path) -> None:
    scenario = ("--scenario", ACSTREAM / "scenario.yaml")
    code, out, _ = run(app, files / "new.yaml", "--against", files / "old.yaml", *scenario)
    assert code == 0
    assert out.splitlines()[1:] == ["carl gains avg of Position.Pos, for example Position.Platoon = 8"]
    _, out, _ = run(app, files / "old.yaml", "--against", files / "new.yaml", *scenario)
    assert out.splitlines()[1:] == ["carl loses avg of Position.Pos, for example Position.Platoon = 8"]
    _, out, _ = run(app, files / "new.yaml", "--against", files / "new.yaml")
    assert out == "no change: nobody gains or loses anything\n"


def test_what_is_wrong_with_the_old_file_is_left_out(run, app: typer.Typer, files: Path) -> None:
    (files / "older.yaml").write_text(NEW.replace("[Pos], where", "[Gone], where"))
    code, out, err = run(
        app, files / "new.yaml", "--against", files / "older.yaml", "--scenario", ACSTREAM / "scenario.yaml"
    )
    assert code == 0
    assert "carl gains avg" in out
    assert "left out of the comparison" in err


def test_a_broken_policy_of_the_scenario_is_a_finding(run, app: typer.Typer, tmp_path: Path) -> None:
    text = (ACSTREAM / "scenario.yaml").read_text().split("policies:")[0]
    path = tmp_path / "scenario.yaml"
    path.write_text(text + "policies:\n" + NEW.split("policies:\n")[1].replace("Pos, SID", "Poss"))
    code, out, _ = run(app, path)
    assert code == 1
    assert f"{path}:27:35: error: unknown column `Poss` [unknown]\n  hint: did you mean `Pos`?" in out


def test_a_table_on_a_terminal(run, app: typer.Typer, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.cli.check.sys", type("Terminal", (), {"stdout": _Terminal()}))
    code, out, _ = run(app, files / "bad.yaml", "--against", files / "old.yaml")
    assert code == 1
    assert out.splitlines()[0] == "severity\tplace\tfinding\texample"
    assert "change\twho\tprivileges\tcolumns\texample" in out.splitlines()


class _Terminal:
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("gone.yaml", None, "no such file"),
        ("policies.txt", "x", "is not an ending of policy files"),
        ("broken.yaml", "version: [1", "not YAML"),
        ("keys.yaml", "version: 1\npolices: []\n", "unknown key `polices`"),
        ("number.yaml", "7\n", "a policy file is a mapping"),
        ("where.yaml", OLD.replace("= self.Platoon", "= = 1"), "unexpected"),
        ("broken.sql", "GRANT READ ON", "something is missing here"),
    ],
)
def test_bad_input_has_a_place(
    run, app: typer.Typer, tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        run(app, path)
    assert caught.value.place.file == str(path)


def test_help_has_an_example_and_the_exit_codes(run, app: typer.Typer) -> None:
    code, out, _ = run(app, "--help")
    assert code == 0
    assert "Example: headgate check" in " ".join(out.split())
    assert "1 with findings of severity error" in " ".join(out.replace("│", "").split())
