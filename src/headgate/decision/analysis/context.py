"""What the analyses of one policy set share: its conditions, answers about them, and examples in people's terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from headgate.decision.analysis.box import Name
from headgate.decision.analysis.condition import GROUP, SELF, WINDOW, Conditions, Viewer, profile_names
from headgate.decision.analysis.finding import Example, Finding, Kind, Severity
from headgate.decision.analysis.material import Material
from headgate.decision.analysis.reasoner import Known, Reasoner
from headgate.errors import InputError, Place
from headgate.model.datatype import DataType, Value, to_json
from headgate.model.duration import format_duration
from headgate.model.schema import StreamCatalog
from headgate.model.subject import User
from headgate.policy.model import Policy

MAX_PROFILES = 50
"""How many different profiles a question is asked for; beyond that the answer for an unknown profile counts."""


@dataclass(frozen=True)
class Context:
    """The material of an analysis and what is known about it."""

    material: Material
    reasoner: Reasoner = field(default_factory=Reasoner)

    @cached_property
    def conditions(self) -> Conditions:
        events = self.material.policies.events if self.material.policies is not None else {}
        return Conditions(events, self.material.catalog)

    @cached_property
    def _known(self) -> dict[tuple[str, bool], Known]:
        return {}

    def known(self, policy: Policy, deny: bool = False) -> Known:
        """When the policy allows, or denies, whoever the user is."""
        key = (policy.id, deny and policy.when is not None)
        if key not in self._known:
            self._known[key] = self.reasoner.know(self.conditions.whole(policy, deny=deny))
        return self._known[key]

    def known_for(self, policy: Policy, viewer: Viewer, deny: bool = False) -> Known | None:
        """The same for one user; None if the policy has no meaning for that user."""
        try:
            return self.reasoner.know(self.conditions.whole(policy, viewer, deny))
        except InputError:
            return None

    def profiles(self, users: Iterable[str], *policies: Policy) -> list[User] | None:
        """One user for each different profile that the policies can tell apart, or None if there are too many."""
        names = sorted(frozenset[str]().union(*(profile_names(policy) for policy in policies)))
        known = self.material.users or {}
        found: dict[tuple[object, ...], User] = {}
        for identifier in sorted(users):
            user = known[identifier]
            values = [user.attribute(name) for name in names]
            found.setdefault(tuple((type(value), value) for value in values), user)
            if len(found) > MAX_PROFILES:
                return None
        return list(found.values())

    def finding(
        self,
        severity: Severity,
        kind: Kind,
        message: str,
        *policies: Policy,
        hint: str | None = None,
        example: Mapping[Name, Value] | None = None,
    ) -> Finding:
        """A finding about these policies, at the place of the first."""
        shown = shown_example(example, self.material.catalog) if example is not None else None
        ids = tuple(policy.id for policy in policies)
        place = self.material.place(ids[0]) if ids else Place()
        return Finding(severity, kind, message, ids, place, hint, shown)

    def undecided(self, question: str, *policies: Policy) -> Iterator[Finding]:
        """That the solver does not know. What it was not even asked is one note for all (`check.py`)."""
        if not self.reasoner.left_out:
            message = f"{question} could not be decided"
            yield self.finding(Severity.NOTE, Kind.UNDECIDED, message, *policies)


def shown_example(example: Mapping[Name, Value], catalog: StreamCatalog) -> Example:
    """An example in people's terms: columns by stream and name, times as they are written."""
    shown: dict[str, Value] = {}
    rows = example.get((WINDOW, "rows"))
    for (source, name), value in example.items():
        if source == WINDOW:
            if name != "rows" and isinstance(value, int):
                shown[f"window {name}"] = f"{value} rows" if rows else format_duration(value)
        elif source == GROUP:
            shown["group size"] = value
        elif ":" in source and catalog.find(source) is None:
            owner, _, kind = source.partition(":")
            shown[f"{'self' if f'{owner}:' == SELF else owner}.{name}"] = to_json(value, DataType(kind))
        else:
            shown[f"{source}.{name}"] = to_json(value, catalog.stream(source).column(name).type)
    return shown
