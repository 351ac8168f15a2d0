"""Small things to put into catalogs."""

from __future__ import annotations

from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamSchema
from headgate.policy.entry import PolicyEntry


def stream(name: str = "Position", *columns: str, **options: object) -> StreamSchema:
    """A stream with a time and numbers, by default `Pos` and `Platoon`."""
    numbers = tuple(Column(column, DataType.INT) for column in columns or ("Pos", "Platoon"))
    return StreamSchema(name, (Column("ts", DataType.TIMESTAMP), *numbers), **options)  # type: ignore[arg-type]


def policy(
    name: str = "p", streams: tuple[str, ...] = ("Position",), role: str = "Doctor", **others: object
) -> PolicyEntry:
    """A policy as written; `where` and `attributes` belong to its object."""
    target = {key: others.pop(key) for key in ("where", "attributes") if key in others}
    effect = {} if "deny" in others else {"allow": ["read"]}
    return PolicyEntry.model_validate(
        {"id": name, "subject": {"role": role}, "object": {"streams": list(streams), **target}} | effect | others
    )


class ManualClock:
    """A clock that moves by one second each time it is read."""

    def __init__(self, at: int = 1_000_000) -> None:
        self.at = at

    def __call__(self) -> int:
        self.at += 1_000_000
        return self.at
