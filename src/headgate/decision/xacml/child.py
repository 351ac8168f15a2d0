"""A compiled rule, policy or policy set, as the algorithm that combines it sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headgate.decision.xacml.context import Context
from headgate.decision.xacml.outcome import Effect, Outcome, Status
from headgate.decision.xacml.syntax import Target

Matched = bool | Status
"""Whether a target matches: True, False, or the status of the error that hides the answer."""


@dataclass(frozen=True, slots=True)
class Child:
    """`effect` is that of a rule, None for policies. `target` is the shape behind `applies`, for the index."""

    applies: Callable[[Context], Matched]
    evaluate: Callable[[Context], Outcome]
    target: Target
    effect: Effect | None = None
