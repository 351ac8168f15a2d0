"""What a random network is drawn from: the five parameters of section 6.1."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.errors import InputError


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of the generator. `sharing` is the percentage of operators in the common part."""

    streams: int = 3
    queries: int = 3
    users: int = 10
    operators: int = 15
    sharing: int = 50

    def __post_init__(self) -> None:
        for name in ("streams", "queries", "users", "operators"):
            if getattr(self, name) < 1:
                raise InputError(f"a network with `{getattr(self, name)}` {name}", hint="there must be at least one")
        if not 0 <= self.sharing <= 100:
            raise InputError(f"a degree of sharing of `{self.sharing}`", hint="it is a percentage, from 0 to 100")

    @property
    def shared_operators(self) -> int:
        """How many operators serve several queries; none if there is only one query."""
        return round(self.operators * self.sharing / 100) if self.queries > 1 else 0
