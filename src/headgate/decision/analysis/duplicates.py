"""Policies that say the same under two ids."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.decision.analysis.context import Context
from headgate.decision.analysis.finding import Finding, Kind, Severity
from headgate.policy.model import Policy

Content = tuple[object, ...]


def duplicates(context: Context) -> Iterator[Finding]:
    """One finding for each group of policies with the same content."""
    groups: dict[Content, list[Policy]] = {}
    for policy in context.material.all:
        groups.setdefault((*content(context, policy), policy.mask), []).append(policy)
    for group in groups.values():
        if len(group) > 1:
            names = ", ".join(f"`{policy.id}`" for policy in group[1:])
            message = f"{names} {'says' if len(group) == 2 else 'say'} the same as `{group[0].id}`"
            yield context.finding(
                Severity.WARNING, Kind.DUPLICATE, message, *group[1:], group[0], hint="keep one of them"
            )


def content(context: Context, policy: Policy) -> Content:
    """All that a policy says about who may do what, whatever its id and however it is spelt; masks are left out."""
    return (
        frozenset(
            (one.user, one.role, frozenset((name, repr(value)) for name, value in one.profile))
            for one in policy.subjects
        ),
        frozenset(policy.streams),
        policy.cells,
        context.known(policy).parts,
        policy.allowed,
        policy.denied,
        policy.window,
        policy.min_group or 1,
    )
