"""A response: one result for each single request."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.decision.xacml.outcome import OK, Decision, Obligation, PolicyIdentifier, Status
from headgate.decision.xacml.request import Attributes


@dataclass(frozen=True, slots=True)
class Result:
    """`attributes` are those of the request that asked to be included; `resource_id` is what 2.0 responses name."""

    decision: Decision
    status: Status = OK
    obligations: tuple[Obligation, ...] = ()
    advice: tuple[Obligation, ...] = ()
    attributes: tuple[Attributes, ...] = ()
    policies: tuple[PolicyIdentifier, ...] = ()
    resource_id: str | None = None


@dataclass(frozen=True, slots=True)
class Response:
    results: tuple[Result, ...]

    @property
    def result(self) -> Result:
        """The only result; ValueError if the request asked for several decisions."""
        if len(self.results) != 1:
            raise ValueError(f"the response has {len(self.results)} results")
        return self.results[0]
