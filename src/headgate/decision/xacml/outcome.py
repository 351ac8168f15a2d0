"""What an evaluation yields: a decision, why, and what must be done with it.

`Decision` holds the extended Indeterminate values of XACML 3.0 (section 7.10): an error that could only have
hidden a Deny is `INDETERMINATE_D`, one that could only have hidden a Permit is `INDETERMINATE_P`. Outside the PDP
all three read `Indeterminate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from headgate.decision.xacml.identifiers import (
    STATUS_MISSING_ATTRIBUTE,
    STATUS_OK,
    STATUS_PROCESSING_ERROR,
    STATUS_SYNTAX_ERROR,
)

if TYPE_CHECKING:
    from headgate.decision.xacml.datatypes import DataType


class Decision(Enum):
    PERMIT = "Permit"
    DENY = "Deny"
    NOT_APPLICABLE = "NotApplicable"
    INDETERMINATE_D = "Indeterminate{D}"
    INDETERMINATE_P = "Indeterminate{P}"
    INDETERMINATE_DP = "Indeterminate{DP}"

    @property
    def public_name(self) -> str:
        """The decision as a response writes it: the extended values are all `Indeterminate`."""
        return self.value.partition("{")[0]


class Effect(Enum):
    PERMIT = "Permit"
    DENY = "Deny"

    @property
    def decision(self) -> Decision:
        return Decision.PERMIT if self is Effect.PERMIT else Decision.DENY

    @property
    def indeterminate(self) -> Decision:
        return Decision.INDETERMINATE_P if self is Effect.PERMIT else Decision.INDETERMINATE_D


@dataclass(frozen=True, slots=True)
class MissingAttribute:
    """An attribute that a policy demands and that neither the request nor a finder has."""

    category: str
    attribute_id: str
    data_type: str
    issuer: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    code: str = STATUS_OK
    message: str | None = None
    missing: tuple[MissingAttribute, ...] = ()


OK = Status()


class EvaluationError(Exception):
    """Something went wrong while evaluating; it never leaves the PDP, which answers Indeterminate."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


class BudgetError(Exception):
    """The evaluation has used up its steps. No function or algorithm may go on past this, unlike past an error."""


def processing_error(message: str) -> EvaluationError:
    return EvaluationError(Status(STATUS_PROCESSING_ERROR, message))


def syntax_error(message: str) -> EvaluationError:
    return EvaluationError(Status(STATUS_SYNTAX_ERROR, message))


def missing_attribute(category: str, attribute_id: str, data_type: str, issuer: str | None = None) -> EvaluationError:
    missing = MissingAttribute(category, attribute_id, data_type, issuer)
    return EvaluationError(Status(STATUS_MISSING_ATTRIBUTE, f"attribute `{attribute_id}` is missing", (missing,)))


@dataclass(frozen=True, slots=True)
class Assignment:
    """One attribute of an obligation or of an advice, with its value."""

    attribute_id: str
    data_type: DataType
    value: object
    category: str | None = None
    issuer: str | None = None

    @property
    def text(self) -> str:
        return self.data_type.format(self.value)


@dataclass(frozen=True, slots=True)
class Obligation:
    """An instruction to the enforcement point; `advice` is the same shape, without the duty to follow it.

    `fulfill_on` is the decision it came with; XACML 2.0 responses write it.
    """

    id: str
    fulfill_on: Effect
    assignments: tuple[Assignment, ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyIdentifier:
    """A policy (or policy set) that took part in a decision."""

    id: str
    version: str
    is_set: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a rule, a policy or a policy set."""

    decision: Decision
    status: Status = OK
    obligations: tuple[Obligation, ...] = ()
    advice: tuple[Obligation, ...] = ()
    policies: tuple[PolicyIdentifier, ...] = ()


NOT_APPLICABLE = Outcome(Decision.NOT_APPLICABLE)
