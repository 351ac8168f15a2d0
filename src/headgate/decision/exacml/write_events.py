"""Named events written out: a grant that refers to none, with the times and values that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from headgate.model.datatype import DataType
from headgate.model.expression import nodes
from headgate.model.expression.nodes import Expression, walk
from headgate.model.expression.parse import text_as
from headgate.model.expression.transform import with_operands
from headgate.policy.bind import constant
from headgate.policy.model import NamedEvent, Period, Policy


def without_events(policy: Policy, events: Mapping[str, NamedEvent]) -> tuple[Policy, str | None]:
    """The policy without events, and what to know about that; the same policy if it has none."""
    named = sorted({one.event for part in _parts(policy) for one in walk(part) if isinstance(one, nodes.EventRef)})
    if not named:
        return policy, None

    def written(part: Expression | None) -> Expression | None:
        return None if part is None else _written(part, events)

    mask = policy.mask and replace(policy.mask, expression=written(policy.mask.expression))
    period = Period(written(policy.during.start), written(policy.during.end))
    made = replace(policy, where=written(policy.where), during=period, mask=mask, when=written(policy.when))
    names = ", ".join(f"`{name}`" for name in named)
    return made, f"the event {names} is written out as it is now: a later change of it will not reach the policy"


def _parts(policy: Policy) -> list[Expression]:
    mask = policy.mask.expression if policy.mask else None
    parts = (policy.where, policy.during.start, policy.during.end, mask, policy.when)
    return [part for part in parts if part is not None]


def _written(node: Expression, events: Mapping[str, NamedEvent]) -> Expression:
    if isinstance(node, nodes.EventRef):
        value = getattr(events[node.event], node.part)
        return constant(value) if node.part == "target" else nodes.Constant(cast(int, value), DataType.TIMESTAMP)
    if isinstance(node, nodes.Comparison):
        left, right = _written(node.left, events), _written(node.right, events)
        # A text stands for a time where it is compared with one, as it does when a policy is bound to a user.
        if isinstance(left, nodes.Constant):
            left = text_as(left, right.type)
        if isinstance(right, nodes.Constant):
            right = text_as(right, left.type)
        return nodes.Comparison(node.sign, left, right)
    return with_operands(node, lambda one: _written(one, events))
