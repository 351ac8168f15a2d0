"""A small system that the tests of policy analysis share, and short ways to write policies for it."""

from __future__ import annotations

from pathlib import Path

from headgate.decision.analysis.check import check
from headgate.decision.analysis.finding import Finding
from headgate.decision.analysis.material import Material
from headgate.scenario.materials import read_materials, read_surroundings

EXAMPLES = Path(__file__).parents[3] / "examples"

SCENARIO = """
version: 1
streams:
  Position:
    owner: olga
    columns: {ts: timestamp, SID: string, Platoon: int, Pos: double, Name: string}
  Health:
    columns: {ts: timestamp, SID: string, Platoon: int, Heart: int}
users:
  dora: {roles: [Doctor], profile: {Platoon: 7}}
  dan: {roles: [Doctor, Captain], profile: {Platoon: 8}}
  olga: {roles: [Doctor], profile: {Platoon: 9}}
"""

HEAD = """
version: 1
events:
  a: {start: 2026-01-01T08:00:00Z, end: 2026-01-01T20:00:00Z, target: 120}
policies:
"""


def policy(identifier: str, subject: str, target: str, *more: str) -> str:
    """One policy as YAML."""
    lines = [f"  - id: {identifier}", f"    subject: {{{subject}}}", f"    object: {{{target}}}"]
    return "\n".join([*lines, *(f"    {line}" for line in more)]) + "\n"


def pos(where: str | None = None, attributes: str = "Pos") -> str:
    """An object on the positions."""
    condition = f', where: "{where}"' if where else ""
    return f"streams: [Position], attributes: [{attributes}]{condition}"


class Files:
    """A folder with the scenario, and policies written into it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scenario = self.write("scenario.yaml", SCENARIO)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def material(self, *policies: str, users: bool = True) -> Material:
        """These policies, with the streams and users of the scenario or on their own."""
        path = self.write("policies.yaml", HEAD + "".join(policies))
        return read_materials([path], read_surroundings(self.scenario) if users else None)[0]

    def found(self, *policies: str, users: bool = True) -> list[Finding]:
        return check(self.material(*policies, users=users))


def about(findings: list[Finding], kind: str) -> list[Finding]:
    """The findings of one kind."""
    return [one for one in findings if one.kind == kind]
