"""`headgate check`: every analysis of one policy set, in order."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.decision.analysis.conflicts import conflicts
from headgate.decision.analysis.context import Context
from headgate.decision.analysis.duplicates import duplicates
from headgate.decision.analysis.finding import Finding, Kind, Severity, in_order
from headgate.decision.analysis.material import Material
from headgate.decision.analysis.never_holds import never_holds
from headgate.decision.analysis.shadowed import shadowed
from headgate.decision.analysis.unknown_names import closed_streams, unknown_names
from headgate.decision.analysis.unmeetable_windows import unmeetable_windows


def check(material: Material, context: Context | None = None) -> list[Finding]:
    """All there is to say about a policy set, the worst first."""
    context = context or Context(material)
    found = list(material.problems)
    # 1. Names: what follows speaks of policies as if they concerned somebody.
    found += unknown_names(context)
    found += closed_streams(context)
    # 2. Each policy on its own. What can never hold is left out of the comparisons.
    found += never_holds(context)
    found += unmeetable_windows(context)
    # 3. Policies with one another. What is a duplicate is not also shadowed, and what is dead is not also in conflict.
    same = list(duplicates(context))
    found += same
    repeated = {identifier for one in same for identifier in one.policies[:-1]}
    dead_or_shadowed = [one for one in shadowed(context) if one.policies[0] not in repeated]
    found += dead_or_shadowed
    found += conflicts(context, frozenset(_settled(dead_or_shadowed)))
    found += _left_out(context)
    return in_order(found)


def _settled(found: list[Finding]) -> Iterator[tuple[str, str]]:
    for one in found:
        if one.kind is Kind.DEAD:
            yield from ((one.policies[0], other) for other in (*one.policies[1:], one.policies[0]))


def _left_out(context: Context) -> Iterator[Finding]:
    if context.reasoner.left_out:
        message = f"{context.reasoner.left_out} comparisons could not be decided: too many for one check"
        yield context.finding(Severity.NOTE, Kind.UNDECIDED, message, hint="check fewer policies at a time")
