"""Windows and group sizes that no query can meet, and those that limit nothing."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.decision.analysis.context import Context
from headgate.decision.analysis.finding import Finding, Kind, Severity
from headgate.model.expression.nodes import AGGREGATES
from headgate.policy.model import Policy

LONGEST = 315_537_897_600_000_000
"""Microseconds between the first and the last timestamp there is: years 1 to 9999."""


def unmeetable_windows(context: Context) -> Iterator[Finding]:
    """What is wrong with `window` and `min_group`."""
    for policy in context.material.all:
        reason = _unmeetable(policy)
        if reason is not None:
            message = f"no query can meet the window of `{policy.id}`: {reason}"
            yield context.finding(Severity.ERROR, Kind.WINDOW, message, policy)
        yield from _without_effect(context, policy)


def _unmeetable(policy: Policy) -> str | None:
    if policy.joint and asks_for_rows(policy):
        return "a joint view is queried by a join, whose windows are of time, not of rows"
    for extent in (policy.window.min_size, policy.window.min_step):
        if extent is not None and not extent.rows and extent.amount > LONGEST:
            return f"{extent} is longer than the time that timestamps can tell"
    return None


def asks_for_rows(policy: Policy) -> bool:
    """Whether only windows of rows will do."""
    return any(extent is not None and extent.rows for extent in (policy.window.min_size, policy.window.min_step))


def _without_effect(context: Context, policy: Policy) -> Iterator[Finding]:
    limits = [
        key
        for key, given in (
            ("window", policy.window.min_size is not None or policy.window.min_step is not None),
            ("min_group", (policy.min_group or 1) > 1),
        )
        if given
    ]
    for key in limits:
        if not policy.allowed & set(AGGREGATES):
            message = f"`{key}` of `{policy.id}` has no effect: it concerns aggregates, and none is allowed"
            yield context.finding(Severity.NOTE, Kind.NO_EFFECT, message, policy)
        elif "read" in policy.allowed:
            message = f"`{key}` of `{policy.id}` limits aggregates only, and `read` shows every value without it"
            yield context.finding(Severity.NOTE, Kind.NO_EFFECT, message, policy)
