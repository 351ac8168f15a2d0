"""Changes in readable lines: what is the same for several columns, privileges or users is said once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from headgate.decision.analysis.finding import Example
from headgate.model.datatype import Value


class Effect(StrEnum):
    """Which way it goes."""

    GAINS = "gains"
    LOSES = "loses"


@dataclass(frozen=True)
class Seen:
    """One change: of one user, column and privilege. Without an example it could not be decided whether it is one."""

    effect: Effect
    who: str
    stream: str
    joined_with: tuple[str, ...]
    column: str
    privilege: str
    example: Example | None


@dataclass(frozen=True)
class Change:
    """One line: who gains or loses which privileges on which columns, with a tuple for which it is so."""

    effect: Effect
    who: tuple[str, ...]
    stream: str
    joined_with: tuple[str, ...]
    columns: tuple[str, ...]
    privileges: tuple[str, ...]
    example: Example | None

    @property
    def decided(self) -> bool:
        return self.example is not None

    def to_json(self) -> dict[str, Any]:
        return {
            "effect": self.effect.value,
            "decided": self.decided,
            "who": list(self.who),
            "stream": self.stream,
            "joined_with": list(self.joined_with),
            "columns": list(self.columns),
            "privileges": list(self.privileges),
            "example": dict(self.example) if self.example is not None else None,
        }


_Line = tuple[Effect, str, str, tuple[str, ...], frozenset[tuple[str, Value]] | None]


def grouped(seen: Iterable[Seen]) -> list[Change]:
    """The fewest lines that say the same."""
    privileges: dict[tuple[_Line, str], list[Seen]] = {}
    for one in seen:
        example = frozenset(one.example.items()) if one.example is not None else None
        line = (one.effect, one.who, one.stream, one.joined_with, example)
        privileges.setdefault((line, one.column), []).append(one)
    columns: dict[tuple[_Line, tuple[str, ...]], list[str]] = {}
    examples: dict[_Line, Example | None] = {}
    for (line, column), found in privileges.items():
        columns.setdefault((line, tuple(one.privilege for one in found)), []).append(column)
        examples[line] = found[0].example
    people: dict[tuple[object, ...], list[str]] = {}
    lines: dict[tuple[object, ...], Change] = {}
    for (line, words), names in columns.items():
        effect, who, stream, joined_with, example = line
        key = (effect, stream, joined_with, example, words, tuple(names))
        people.setdefault(key, []).append(who)
        lines[key] = Change(effect, (), stream, joined_with, tuple(names), words, examples[line])
    made = [_for(lines[key], tuple(sorted(names))) for key, names in people.items()]
    return sorted(made, key=lambda one: (one.effect, one.who, one.stream, one.joined_with, one.columns, one.privileges))


def _for(change: Change, who: tuple[str, ...]) -> Change:
    return Change(
        change.effect, who, change.stream, change.joined_with, change.columns, change.privileges, change.example
    )
