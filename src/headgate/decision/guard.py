"""The decision on one use of one column: under which conditions it is allowed, and under which it is withheld."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headgate.model.datatype import DataType
from headgate.model.expression import nodes
from headgate.model.expression.nodes import Expression
from headgate.policy.model import Mask


@dataclass(frozen=True)
class Clause:
    """What one policy says about the use: it holds where `condition` is true; None is everywhere."""

    policy: str
    condition: Expression | None
    need: int = 1
    mask: Mask | None = None
    problem: str | None = None
    aliases: tuple[str, ...] = ()
    """The sources it speaks of together: more than one for a joint view."""


@dataclass(frozen=True)
class Guard:
    """A cell is covered iff some `allow` holds and no `deny` does; the owner may use everything."""

    allows: tuple[Clause, ...] = ()
    denies: tuple[Clause, ...] = ()
    owned: bool = False

    @property
    def unconditional(self) -> bool:
        """Covered whatever the tuple and the group."""
        return self.owned or (not self.denies and any(one.condition is None and one.need <= 1 for one in self.allows))

    @property
    def impossible(self) -> bool:
        """Covered for no tuple, as can be told without a solver."""
        return not self.owned and (not self.allows or any(one.condition is None for one in self.denies))

    @property
    def predicate(self) -> Expression:
        """A condition over the raw tuple that is true for exactly the covered cells, and never NULL."""
        if self.owned:
            return nodes.TRUE
        allowed = disjunction(_holds(one.condition) for one in self.allows)
        if not self.denies:
            return allowed
        denied = disjunction(_holds(one.condition) for one in self.denies)
        return nodes.And((allowed, nodes.Not(denied)))


FALSE = nodes.Constant(False, DataType.BOOLEAN)

OPEN = Guard(owned=True)
"""The guard of a system that has no policies at all."""


def disjunction(conditions: Iterable[Expression]) -> Expression:
    """A condition that holds iff one of these does; false for none."""
    parts = tuple(conditions)
    if len(parts) < 2:
        return parts[0] if parts else FALSE
    return nodes.Or(parts)


def _holds(condition: Expression | None) -> Expression:
    """The condition, false where it is NULL."""
    if condition is None:
        return nodes.TRUE
    return nodes.Call("coalesce", (condition, FALSE))
