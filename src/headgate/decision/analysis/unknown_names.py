"""Policies about things that do not exist, as far as the users of the scenario tell, and streams no policy is about.

Unknown streams, columns and events are found while reading (`read.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from headgate.decision.analysis.condition import profile_names
from headgate.decision.analysis.context import Context
from headgate.decision.analysis.finding import Finding, Kind, Severity
from headgate.model.closest import closest
from headgate.policy.model import Policy, Subject


def unknown_names(context: Context) -> Iterator[Finding]:
    """Users, roles and profile attributes that nobody is or has; only where the users are known."""
    if context.material.users is None:
        return
    known = _Known(context)
    for policy in context.material.all:
        for subject in policy.subjects:
            for message, hint in known.missing(subject):
                yield context.finding(Severity.WARNING, Kind.UNKNOWN, message, policy, hint=hint)
        for name in sorted(profile_names(policy) - known.attributes):
            message = f"`self.{name}` is in nobody's profile, so it is always NULL"
            hint = closest(name, sorted(known.attributes))
            yield context.finding(Severity.WARNING, Kind.UNKNOWN, message, policy, hint=hint)


class _Known:
    def __init__(self, context: Context) -> None:
        self.users = context.material.users or {}
        self.roles = sorted({role for user in self.users.values() for role in user.roles})
        self.attributes = {name.lower() for user in self.users.values() for name in user.profile}

    def missing(self, subject: Subject) -> Iterator[tuple[str, str | None]]:
        """Why a subject is nobody: the most telling reason, with a hint."""
        found = False
        if subject.user is not None and subject.user not in self.users:
            found = True
            yield f"there is no user `{subject.user}`", closest(subject.user, self.users)
        if subject.role is not None and subject.role not in self.roles:
            found = True
            yield f"nobody has the role `{subject.role}`", closest(subject.role, self.roles)
        for name, _ in subject.profile:
            if name.lower() not in self.attributes:
                found = True
                yield f"`{name}` is in nobody's profile", closest(name, sorted(self.attributes))
        if not found and not any(subject.matches(user) for user in self.users.values()):
            yield f"no user is all of this: {subject_text(subject)}", None


def subject_text(subject: Subject) -> str:
    """A subject as people read it."""
    parts = [f"user {subject.user}"] if subject.user is not None else []
    if subject.role is not None:
        parts.append(f"role {subject.role}")
    parts += [f"{name} = {value}" for name, value in subject.profile]
    return ", ".join(parts)


def subjects_text(policy: Policy) -> str:
    """The subjects of a policy as people read them."""
    return " or ".join(subject_text(subject) for subject in policy.subjects)


def closed_streams(context: Context) -> Iterator[Finding]:
    """Streams that no policy names; a system without any policies has none, for there everything is open."""
    if context.material.policies is None or context.material.inferred:
        return
    named = {stream for policy in context.material.all for stream in policy.streams}
    for stream in context.material.catalog:
        if stream.name not in named:
            whom = f"all but its owner `{stream.owner}`" if stream.owner else "everybody"
            severity = Severity.NOTE if stream.owner else Severity.WARNING
            message = f"no policy names the stream `{stream.name}`, so it is closed to {whom}"
            yield context.finding(severity, Kind.CLOSED, message)
