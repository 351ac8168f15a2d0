"""Policies by identifier and version, for references."""

from __future__ import annotations

import re
from collections.abc import Iterable

from headgate.decision.xacml.syntax import Policy, PolicySet, Reference

Version = tuple[int, ...]


class Repository:
    """Finds the policy a reference means: of the versions that fit, the latest."""

    def __init__(self, policies: Iterable[Policy | PolicySet]) -> None:
        self._policies: dict[tuple[str, bool], list[Policy | PolicySet]] = {}
        for policy in policies:
            self._policies.setdefault((policy.id, isinstance(policy, PolicySet)), []).append(policy)

    def find(self, reference: Reference) -> Policy | PolicySet | None:
        candidates = self._policies.get((reference.id, reference.to_set), ())
        fitting = [policy for policy in candidates if fits(policy.version, reference)]
        return max(fitting, key=lambda policy: _numbers(policy.version), default=None)


def has_references(policy: Policy | PolicySet | Reference) -> bool:
    """Whether a policy means something only together with others."""
    if isinstance(policy, PolicySet):
        return any(has_references(child) for child in policy.children)
    return isinstance(policy, Reference)


def fits(version: str, reference: Reference) -> bool:
    """Whether a version satisfies the patterns of a reference.

    >>> fits("1.2.3", Reference("p", False, version="1.*.3")), fits("1.2", Reference("p", False, latest="1.1"))
    (True, False)
    """
    numbers = _numbers(version)
    if reference.version is not None and not _pattern(reference.version).fullmatch(version):
        return False
    if reference.earliest is not None and not _reaches(numbers, reference.earliest, upwards=True):
        return False
    return reference.latest is None or _reaches(numbers, reference.latest, upwards=False)


def _numbers(version: str) -> Version:
    return tuple(int(part) for part in version.split("."))


def _pattern(text: str) -> re.Pattern[str]:
    """`*` stands for one number, `+` for one or more."""
    parts = []
    for part in text.strip().split("."):
        if part == "*":
            parts.append(r"\d+")
        elif part == "+":
            parts.append(r"\d+(?:\.\d+)*")
        else:
            parts.append(re.escape(part))
    return re.compile(r"\.".join(parts), re.ASCII)


def _reaches(numbers: Version, bound: str, *, upwards: bool) -> bool:
    """Whether a version lies at or beyond a bound, part by part; wildcards of the bound fit anything."""
    parts = bound.strip().split(".")
    for number, part in zip(numbers, parts, strict=False):
        if part == "+":
            return True
        if part != "*" and number != int(part):
            return (number > int(part)) is upwards
    if len(numbers) == len(parts) or (parts[-1] == "+" and len(numbers) >= len(parts) - 1):
        return True
    return (len(numbers) > len(parts)) is upwards
