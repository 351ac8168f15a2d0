"""A policy as it applies to one user: `self`, named events and the environment replaced by what they are.

What cannot be bound fails closed: an `allow` that cannot be understood for this user covers nothing, a `deny` that
cannot be understood withholds everything it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from headgate.errors import InputError
from headgate.model.datatype import DataType, in_range
from headgate.model.expression import nodes
from headgate.model.expression.evaluate import evaluate
from headgate.model.expression.nodes import Expression
from headgate.model.expression.parse import text_as
from headgate.model.expression.transform import conjunction, with_operands
from headgate.model.schema import StreamCatalog
from headgate.model.subject import ProfileValue, User
from headgate.policy.model import NamedEvent, Policy

Environment = Mapping[str, ProfileValue]


@dataclass(frozen=True)
class BoundPolicy:
    """A policy for one user. `condition` is over the policy's streams, by their names; None holds always."""

    policy: Policy
    condition: Expression | None
    allows: frozenset[str]
    denies: frozenset[str]
    problem: str | None = None


def bind(
    policy: Policy,
    user: User,
    events: Mapping[str, NamedEvent],
    catalog: StreamCatalog,
    environment: Environment | None = None,
) -> BoundPolicy:
    """The policy as it applies to this user in this environment."""
    binder = _Binder(user, events, environment or {})
    try:
        in_force = True if policy.when is None else evaluate(binder.when(policy.when), _no_cells)
        if in_force is False:
            return BoundPolicy(policy, None, frozenset(), frozenset())
        condition = conjunction(
            [*([binder.bound(policy.where)] if policy.where is not None else []), *_period(policy, binder, catalog)]
        )
    except InputError as error:
        # INVARIANT: a policy that cannot be decided never opens anything.
        return BoundPolicy(policy, None, frozenset(), policy.denied, problem=error.message)
    # INVARIANT: where the environment does not say (NULL), an `allow` is not in force and a `deny` is.
    if in_force is None:
        return BoundPolicy(policy, condition, frozenset(), policy.denied, binder.problem)
    return BoundPolicy(policy, condition, policy.allowed, policy.denied)


def _period(policy: Policy, binder: _Binder, catalog: StreamCatalog) -> list[Expression]:
    """`during` as conditions on the time of every tuple."""
    conditions: list[Expression] = []
    for name in policy.streams:
        time = nodes.ColumnRef(name, catalog.stream(name).time, DataType.TIMESTAMP)
        if policy.during.start is not None:
            conditions.append(nodes.Comparison(">=", time, binder.bound(policy.during.start)))
        if policy.during.end is not None:
            conditions.append(nodes.Comparison("<", time, binder.bound(policy.during.end)))
    return conditions


class _Binder:
    def __init__(self, user: User, events: Mapping[str, NamedEvent], environment: Environment) -> None:
        self.user = user
        self.events = events
        self.environment = environment
        self.problem: str | None = None

    def when(self, expression: Expression) -> Expression:
        """A condition on the environment. A part that its values do not fit is NULL, as if they were not there."""
        if isinstance(expression, nodes.And | nodes.Or | nodes.Not):
            return with_operands(expression, self.when)
        try:
            return self.bound(expression)
        except InputError as error:
            self.problem = error.message
            return nodes.Constant(None, DataType.BOOLEAN)

    def bound(self, expression: Expression) -> Expression:
        if isinstance(expression, nodes.ProfileRef):
            return constant(self.user.attribute(expression.name))
        if isinstance(expression, nodes.EnvironmentRef):
            return constant(self.environment.get(expression.name))
        if isinstance(expression, nodes.EventRef):
            return self._event(expression)
        if isinstance(expression, nodes.Comparison):
            return self._comparison(expression)
        return with_operands(expression, self.bound)

    def _comparison(self, node: nodes.Comparison) -> Expression:
        left, right = self.bound(node.left), self.bound(node.right)
        if isinstance(left, nodes.Constant):
            left = text_as(left, right.type)
        if isinstance(right, nodes.Constant):
            right = text_as(right, left.type)
        return nodes.Comparison(node.sign, left, right)

    def _event(self, node: nodes.EventRef) -> Expression:
        value = getattr(self.events[node.event], node.part)
        return constant(value) if node.part == "target" else nodes.Constant(cast(int, value), DataType.TIMESTAMP)


def constant(value: ProfileValue) -> nodes.Constant:
    """A value of a profile, an event or the environment, as a constant of the narrowest type."""
    match value:
        case None:
            return nodes.NULL
        case bool():
            return nodes.Constant(value, DataType.BOOLEAN)
        case int():
            for kind in (DataType.INT, DataType.BIGINT):
                if in_range(value, kind):
                    return nodes.Constant(value, kind)
            return nodes.Constant(float(value), DataType.DOUBLE)
        case float():
            return nodes.Constant(value, DataType.DOUBLE)
    return nodes.Constant(value, DataType.STRING)


def _no_cells(column: nodes.ColumnRef) -> None:
    raise AssertionError(f"`when` names the column {column}")
