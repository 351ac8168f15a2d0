"""What an analysis has to say: one finding each, with the policies and the place it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from headgate.errors import Place
from headgate.model.datatype import Value

Example = Mapping[str, Value]
"""Values of columns by name, built by the solver from the conditions alone and never from data."""


class Severity(StrEnum):
    """How bad it is: an error is certainly a mistake, a warning probably, a note is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Kind(StrEnum):
    """What a finding is about."""

    CONFLICT = "conflict"
    SHADOWED = "shadowed"
    DEAD = "dead"
    NEVER_HOLDS = "never-holds"
    WINDOW = "window"
    UNKNOWN = "unknown"
    INVALID = "invalid"
    DUPLICATE = "duplicate"
    CLOSED = "closed"
    NO_EFFECT = "no-effect"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Finding:
    """One thing found."""

    severity: Severity
    kind: Kind
    message: str
    policies: tuple[str, ...] = ()
    place: Place = field(default_factory=Place)
    hint: str | None = None
    example: Example | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain values; what is not known is left out."""
        content: dict[str, Any] = {
            "severity": self.severity.value,
            "kind": self.kind.value,
            "policies": list(self.policies),
            "message": self.message,
        }
        where = {"file": self.place.file, "line": self.place.line, "column": self.place.column}
        content["place"] = {key: value for key, value in where.items() if value is not None} or None
        content["hint"] = self.hint
        content["example"] = dict(self.example) if self.example is not None else None
        return {key: value for key, value in content.items() if value is not None}


def in_order(findings: list[Finding]) -> list[Finding]:
    """The worst first, then as they stand in the files."""
    ranks = list(Severity)
    return sorted(
        findings,
        key=lambda one: (
            ranks.index(one.severity),
            one.place.file or "",
            one.place.line or 0,
            one.place.column or 0,
            one.policies,
            one.message,
        ),
    )


def example_text(example: Example) -> str:
    """An example as people read it; one that leaves everything open is any tuple."""
    if not example:
        return "any tuple"
    return ", ".join(f"{name} = {_value_text(value)}" for name, value in sorted(example.items()))


def _value_text(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}'" if isinstance(value, str) else str(value)
