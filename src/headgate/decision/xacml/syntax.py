"""The shape of policies after reading, the same for XACML 2.0 and 3.0.

A 2.0 policy differs only where the text differs in meaning: `dialect` says how an error in its target counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from headgate.decision.xacml.datatypes import DataType
from headgate.decision.xacml.outcome import Effect
from headgate.errors import Place


class Dialect(Enum):
    V2 = "2.0"
    V3 = "3.0"


@dataclass(frozen=True, slots=True)
class Literal:
    data_type: DataType
    value: object
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True)
class Designator:
    """The bag of an attribute's values in a category; `issuer` None takes any issuer."""

    category: str
    attribute_id: str
    data_type: DataType
    issuer: str | None = None
    must_be_present: bool = False


@dataclass(frozen=True, slots=True)
class Selector:
    """The bag of values that a path finds: in a category's content, or (2.0, `category` None) in the request."""

    category: str | None
    path: str
    data_type: DataType
    must_be_present: bool = False
    context_selector_id: str | None = None
    namespaces: Mapping[str, str] = field(default_factory=dict, hash=False)
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True)
class Apply:
    """`namespaces` and `dialect` matter to the XPath functions only."""

    function_id: str
    arguments: tuple[Expression, ...]
    namespaces: Mapping[str, str] = field(default_factory=dict, hash=False)
    dialect: Dialect = Dialect.V3
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True)
class FunctionName:
    """A function passed as an argument to another."""

    function_id: str
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True)
class VariableReference:
    variable_id: str
    place: Place = field(default=Place(), compare=False)


Expression = Literal | Designator | Selector | Apply | FunctionName | VariableReference


@dataclass(frozen=True, slots=True)
class Match:
    function_id: str
    literal: Literal
    attribute: Designator | Selector
    place: Place = field(default=Place(), compare=False)


AllOf = tuple[Match, ...]
AnyOf = tuple[AllOf, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """Every `AnyOf` must match; an `AnyOf` matches if one of its `AllOf` does. No `AnyOf` matches everything."""

    any_ofs: tuple[AnyOf, ...] = ()


@dataclass(frozen=True, slots=True)
class AssignmentExpression:
    attribute_id: str
    expression: Expression
    category: str | None = None
    issuer: str | None = None


@dataclass(frozen=True, slots=True)
class ObligationExpression:
    id: str
    applies_to: Effect
    assignments: tuple[AssignmentExpression, ...] = ()
    is_advice: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    id: str
    effect: Effect
    target: Target = field(default_factory=Target)
    condition: Expression | None = None
    obligations: tuple[ObligationExpression, ...] = ()
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True)
class Policy:
    id: str
    version: str
    algorithm: str
    target: Target
    rules: tuple[Rule, ...] = ()
    variables: Mapping[str, Expression] = field(default_factory=dict, hash=False)
    obligations: tuple[ObligationExpression, ...] = ()
    dialect: Dialect = Dialect.V3
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True)
class Reference:
    """A policy or policy set named by its identifier, with the versions that will do."""

    id: str
    to_set: bool
    version: str | None = None
    earliest: str | None = None
    latest: str | None = None
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True)
class PolicySet:
    id: str
    version: str
    algorithm: str
    target: Target
    children: tuple[Policy | PolicySet | Reference, ...] = ()
    obligations: tuple[ObligationExpression, ...] = ()
    dialect: Dialect = Dialect.V3
    place: Place = field(default=Place(), compare=False)
