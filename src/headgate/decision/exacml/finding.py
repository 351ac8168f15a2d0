"""What a conversion could not say, or not say in full: named with its place, never dropped in silence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headgate.errors import Place

NOWHERE = Place()


class Loss(StrEnum):
    """How much is missing. No kind opens anything that was closed."""

    NOTE = "note"
    """It is said in other words; decisions are the same."""
    NARROWER = "narrower"
    """What was converted withholds more than the original."""
    LOST = "lost"
    """It is not in the result at all."""


@dataclass(frozen=True)
class ConversionFinding:
    """One thing to know about a conversion."""

    loss: Loss
    policy: str
    text: str
    place: Place = NOWHERE

    def __str__(self) -> str:
        where = f"{self.place}: " if str(self.place) else ""
        return f"{where}{self.loss}: `{self.policy}`: {self.text}"

    def to_json(self) -> dict[str, object]:
        return {"loss": self.loss.value, "policy": self.policy, "text": self.text, "place": str(self.place) or None}
