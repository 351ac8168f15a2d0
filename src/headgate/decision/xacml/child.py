"""Compiled rules, policies and policy sets, as the algorithm that combines them sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from headgate.decision.xacml.context import Context
from headgate.decision.xacml.outcome import Effect, Outcome, Status
from headgate.decision.xacml.syntax import Target

Matched = bool | Status
"""Whether a target matches: True, False, or the status of the error that hides the answer."""


class Child(Protocol):
    """`effect` is that of a rule, None for policies. `target` is the shape behind `applies`, for the index."""

    @property
    def applies(self) -> Callable[[Context], Matched]: ...

    @property
    def target(self) -> Target: ...

    @property
    def effect(self) -> Effect | None: ...

    def evaluate(self, context: Context) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class Closures:
    """A child made of functions."""

    applies: Callable[[Context], Matched]
    evaluate: Callable[[Context], Outcome]
    target: Target
    effect: Effect | None = None
