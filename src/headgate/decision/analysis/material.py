"""What is analysed: the policies in force together, with the streams and the users they are about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from headgate.decision.analysis.finding import Finding
from headgate.errors import Place
from headgate.model.schema import StreamCatalog
from headgate.model.subject import User
from headgate.policy.model import Policy, PolicySet


@dataclass(frozen=True)
class Material:
    """One version of a system's policies.

    `users` is None where they are not known, `policies` where the system has none at all; an `inferred` catalog holds
    just what the policies name. `problems` were found while reading; policies with a problem are not in `policies`.
    """

    policies: PolicySet | None
    catalog: StreamCatalog
    users: Mapping[str, User] | None = None
    inferred: bool = False
    places: Mapping[str, Place] = field(default_factory=dict)
    problems: tuple[Finding, ...] = ()

    @property
    def all(self) -> tuple[Policy, ...]:
        """The policies, in the order of their ids."""
        return self.policies.policies if self.policies is not None else ()

    def place(self, identifier: str) -> Place:
        """Where a policy stands."""
        return self.places.get(identifier, Place())

    def concerned(self, policy: Policy) -> frozenset[str]:
        """The users that a policy speaks of."""
        if policy.id not in self._concerned:
            self._concerned[policy.id] = frozenset(self._matching(policy))
        return self._concerned[policy.id]

    def _matching(self, policy: Policy) -> list[str]:
        users = self.users or {}
        found: list[str] = []
        for subject in policy.subjects:
            if subject.user is not None:
                some = [users[subject.user]] if subject.user in users else []
            elif subject.role is not None:
                some = self._by_role.get(subject.role, [])
            else:
                some = list(users.values())
            found.extend(user.id for user in some if subject.matches(user))
        return found

    @cached_property
    def _concerned(self) -> dict[str, frozenset[str]]:
        return {}

    @cached_property
    def _by_role(self) -> dict[str, list[User]]:
        filed: dict[str, list[User]] = {}
        for user in (self.users or {}).values():
            for role in user.roles:
                filed.setdefault(role, []).append(user)
        return filed
