"""When a policy holds, as one condition that the solver understands.

`where`, `during` and `when` are joined; named events become the constants they are. What is not known at the time of
the analysis (the environment, and `self.x` where no user is given) becomes a column of its own, typed by what it is
compared with. A side of a comparison that computes with such a thing becomes an unknown as a whole: the solver may
give it any value, so that "can never hold" and "always follows" stay true whatever it turns out to be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from headgate.model.datatype import DataType
from headgate.model.expression import nodes
from headgate.model.expression.nodes import Expression, walk
from headgate.model.expression.parse import text_as
from headgate.model.expression.print import to_text
from headgate.model.expression.transform import conjunction, conjuncts, with_operands
from headgate.model.schema import StreamCatalog
from headgate.model.subject import User
from headgate.policy.bind import constant
from headgate.policy.model import NamedEvent, Policy

# Sources of columns that belong to no stream. The colon keeps them apart from streams of the same name.
SELF, ENVIRONMENT, WINDOW, GROUP, OPAQUE = "self:", "env:", "window:", "group:", "?:"

_FREE = (nodes.ProfileRef, nodes.EnvironmentRef)


@dataclass(frozen=True)
class Viewer:
    """For whom a condition is looked at; of a `partial` one, what the profile does not say is not known."""

    user: User
    partial: bool = False

    def knows(self, attribute: str) -> bool:
        return not self.partial or self.user.attribute(attribute) is not None


ANYBODY = Viewer(User("?"), partial=True)


@dataclass(frozen=True)
class Conditions:
    """The conditions of one version's policies."""

    events: Mapping[str, NamedEvent]
    catalog: StreamCatalog

    def whole(self, policy: Policy, viewer: Viewer = ANYBODY, deny: bool = False) -> Expression | None:
        """When the policy allows, or denies; None is always. An InputError: it has no meaning for the viewer."""
        return conjunction(part for part in self.parts(policy, viewer, deny).values() if part is not None)

    def parts(self, policy: Policy, viewer: Viewer = ANYBODY, deny: bool = False) -> dict[str, Expression | None]:
        """The same, by the key of the policy that says it."""
        given = {
            "where": conjuncts(policy.where),
            "during": self._period(policy),
            "when": conjuncts(policy.when),
        }
        parts = {key: conjunction([freed(self._bound(part, viewer)) for part in parts]) for key, parts in given.items()}
        when = parts["when"]
        if deny and when is not None:
            # Where the environment does not say (NULL), an allow is not in force and a deny is.
            parts["when"] = nodes.Or((when, nodes.IsNull(when)))
        return parts

    def _period(self, policy: Policy) -> tuple[Expression, ...]:
        found: list[Expression] = []
        for name in policy.streams:
            time = nodes.ColumnRef(name, self.catalog.stream(name).time, DataType.TIMESTAMP)
            if policy.during.start is not None:
                found.append(nodes.Comparison(">=", time, policy.during.start))
            if policy.during.end is not None:
                found.append(nodes.Comparison("<", time, policy.during.end))
        return tuple(found)

    def _bound(self, node: Expression, viewer: Viewer) -> Expression:
        if isinstance(node, nodes.ProfileRef) and viewer.knows(node.name):
            return constant(viewer.user.attribute(node.name))
        if isinstance(node, nodes.EventRef):
            return self._event(node)
        if isinstance(node, nodes.Comparison):
            left, right = self._bound(node.left, viewer), self._bound(node.right, viewer)
            if isinstance(left, nodes.Constant):
                left = text_as(left, right.type)
            if isinstance(right, nodes.Constant):
                right = text_as(right, left.type)
            return nodes.Comparison(node.sign, left, right)
        return with_operands(node, lambda operand: self._bound(operand, viewer))

    def _event(self, node: nodes.EventRef) -> Expression:
        value = getattr(self.events[node.event], node.part)
        return constant(value) if node.part == "target" else nodes.Constant(cast(int, value), DataType.TIMESTAMP)


def freed(condition: Expression) -> Expression:
    """The condition with every reference that is not bound turned into a column or an unknown."""
    if not _has_free(condition):
        return condition
    free = _FREEING.get(type(condition))
    return free(condition) if free else _stand_in(condition, DataType.BOOLEAN)


def _operands(node: Expression) -> Expression:
    return with_operands(node, freed)


def _comparison(node: nodes.Comparison) -> Expression:
    kind = _widest(node.left.type, node.right.type)
    return nodes.Comparison(node.sign, _side(node.left, kind), _side(node.right, kind))


def _membership(node: nodes.In) -> Expression:
    kind = _widest(node.operand.type, *(item.type for item in node.items))
    return nodes.In(_side(node.operand, kind), tuple(_side(item, kind) for item in node.items))


_FREEING: dict[type[Expression], Callable[..., Expression]] = {
    nodes.And: _operands,
    nodes.Or: _operands,
    nodes.Not: _operands,
    nodes.Comparison: _comparison,
    nodes.In: _membership,
    nodes.Like: lambda node: nodes.Like(_side(node.operand, DataType.STRING), node.pattern),
    nodes.IsNull: lambda node: nodes.IsNull(_side(node.operand, _widest(node.operand.type))),
}
"""Kinds that are not here become unknowns as a whole."""


def _widest(*types: DataType) -> DataType:
    """What an unbound value is taken for: any number where numbers are meant, a text where nothing tells."""
    known = next((kind for kind in types if kind is not DataType.NULL), DataType.STRING)
    return DataType.DOUBLE if known.numeric else known


def _side(node: Expression, kind: DataType) -> Expression:
    return _stand_in(node, kind) if _has_free(node) else node


def _stand_in(node: Expression, kind: DataType) -> nodes.ColumnRef:
    # INVARIANT: one reference taken for two types is two columns. That only ever lets more hold.
    match node:
        case nodes.ProfileRef(name):
            return nodes.ColumnRef(f"{SELF}{kind}", name.lower(), kind)
        case nodes.EnvironmentRef(name):
            return nodes.ColumnRef(f"{ENVIRONMENT}{kind}", name, kind)
    return nodes.ColumnRef(f"{OPAQUE}{kind}", to_text(node), kind)


def _has_free(node: Expression) -> bool:
    return any(isinstance(one, _FREE) for one in walk(node))


def profile_names(policy: Policy) -> frozenset[str]:
    """The attributes that a policy calls `self.x`, in lower case."""
    mask = policy.mask.expression if policy.mask else None
    given = (policy.where, policy.when, mask)
    return frozenset(
        node.name.lower()
        for one in given
        if one is not None
        for node in walk(one)
        if isinstance(node, nodes.ProfileRef)
    )


def aggregate_limits(policy: Policy) -> Expression | None:
    """What a policy asks of an aggregate's window and group, over columns that stand for them."""
    limits: list[Expression] = []
    for name, extent in (("size", policy.window.min_size), ("step", policy.window.min_step)):
        if extent is not None:
            rows = nodes.ColumnRef(WINDOW, "rows", DataType.BOOLEAN)
            amount = nodes.ColumnRef(WINDOW, name, DataType.BIGINT)
            limits.append(nodes.Comparison("=", rows, nodes.Constant(extent.rows, DataType.BOOLEAN)))
            limits.append(nodes.Comparison(">=", amount, nodes.Constant(extent.amount, DataType.BIGINT)))
    if policy.min_group is not None and policy.min_group > 1:
        size = nodes.ColumnRef(GROUP, "size", DataType.BIGINT)
        limits.append(nodes.Comparison(">=", size, nodes.Constant(policy.min_group, DataType.BIGINT)))
    return conjunction(limits)
