"""Which parts of policies may be compiled once for all that have them.

Policies repeat each other: the same roles, the same actions, the same conditions. Compiled once, a thousand policies
are not a thousand times the memory that decisions walk through, and a decision's cost does not follow the processor's
caches as their number grows.
"""

from __future__ import annotations

from collections.abc import Iterator

from headgate.decision.xacml.datatypes import ANY_URI, BOOLEAN, INTEGER, STRING
from headgate.decision.xacml.syntax import Apply, Designator, Expression, FunctionName, Literal, Match, Rule, Target

# Equal values of these are the same value. Of others they are not: 0.0 and -0.0, or one instant in two time zones.
_EXACT = (STRING, ANY_URI, INTEGER, BOOLEAN)


def _may_share_target(target: Target) -> bool:
    """Whether targets equal to this one mean the same."""
    return all(_may_share_match(match) for match in _matches(target))


def may_share_rule(rule: Rule) -> bool:
    """Whether rules with the same effect, target and condition mean the same: variables are their policy's own."""
    return not rule.obligations and _may_share_target(rule.target) and _may_share(rule.condition)


def _matches(target: Target) -> Iterator[Match]:
    for any_of in target.any_ofs:
        for all_of in any_of:
            yield from all_of


def _may_share_match(match: Match) -> bool:
    return match.literal.data_type in _EXACT and isinstance(match.attribute, Designator)


def _may_share(expression: Expression | None) -> bool:
    match expression:
        case None | Designator() | FunctionName():
            return True
        case Literal(data_type):
            return data_type in _EXACT
        case Apply():
            return not expression.namespaces and all(map(_may_share, expression.arguments))
        case _:
            return False
