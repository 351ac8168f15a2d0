"""The answer to a request: a verdict with reasons, and a handle where there is something to get."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headgate.delivery.handle import Handle


class Verdict(StrEnum):
    """What comes of a request. EMPTY is no refusal: the user may, and nothing can come out (NR in the paper)."""

    GRANTED = "granted"
    PARTIAL = "partial"
    EMPTY = "empty"
    DENIED = "denied"


@dataclass(frozen=True)
class Answer:
    """`statements` shows the merged query step by step, as figure 4(b) does; `version` is that of the policies."""

    verdict: Verdict
    version: int
    handle: Handle | None = None
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    statements: str = ""

    @property
    def uri(self) -> str | None:
        return None if self.handle is None else self.handle.uri
