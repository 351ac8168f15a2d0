"""The policies in force, in numbered versions that never change; a change is whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from types import MappingProxyType

from headgate.decision.xacml.combining import DENY_OVERRIDES, ONLY_ONE_APPLICABLE
from headgate.decision.xacml.context import Clock, utc_now
from headgate.decision.xacml.outcome import Decision
from headgate.decision.xacml.pdp import Pdp
from headgate.decision.xacml.repository import has_references
from headgate.decision.xacml.request import Request
from headgate.decision.xacml.syntax import Policy, PolicySet
from headgate.errors import InputError, UnknownNameError
from headgate.model.closest import closest

AnyPolicy = Policy | PolicySet


@dataclass(frozen=True)
class PolicyVersion:
    """The policies by id, and the decision point made of them."""

    number: int
    policies: Mapping[str, AnyPolicy]
    pdp: Pdp


@dataclass(frozen=True)
class PolicyChange:
    """From one version to the next: which policies were put in, replaced or removed."""

    before: PolicyVersion
    after: PolicyVersion
    changed: frozenset[str]
    combining: str

    def touches(self, request: Request) -> bool:
        """Whether the decision on a request can have changed.

        A policy that does not apply to a request, neither as it was nor as it is, has no part in its decision. That
        cannot be told policy by policy where one refers to another, or where it counts how many apply.
        """
        if self._entangled:
            return True
        return any(_applies(pdp, request) for pdp in self._alone)

    @cached_property
    def _entangled(self) -> bool:
        if self.combining == ONLY_ONE_APPLICABLE:
            return True
        versions = (self.before, self.after)
        return any(has_references(policy) for version in versions for policy in version.policies.values())

    @cached_property
    def _alone(self) -> list[Pdp]:
        versions = (self.before, self.after)
        return [
            Pdp([version.policies[name]])
            for version in versions
            for name in sorted(self.changed)
            if name in version.policies
        ]


def _applies(pdp: Pdp, request: Request) -> bool:
    return any(result.decision is not Decision.NOT_APPLICABLE for result in pdp.decide(request).results)


class PolicyBook:
    """Holds the version in force. Several documents are combined by `combining`, by default deny-overrides."""

    def __init__(
        self, policies: Iterable[AnyPolicy] = (), combining: str = DENY_OVERRIDES, clock: Clock = utc_now
    ) -> None:
        self.combining = combining
        self._clock = clock
        self._lock = Lock()
        self._current = self._made(0, dict(_identified(policies)))

    @property
    def current(self) -> PolicyVersion:
        return self._current

    def change(self, put: Iterable[AnyPolicy] = (), remove: Iterable[str] = ()) -> PolicyChange:
        """Put policies in, in place of those with the same id, and take others out. An error leaves all as it was."""
        with self._lock:
            before = self._current
            policies = dict(before.policies)
            changed = dict(_identified(put))
            for name in remove:
                if name not in policies or name in changed:
                    raise UnknownNameError(f"there is no policy `{name}` to remove", hint=closest(name, policies))
                del policies[name]
                changed[name] = before.policies[name]
            policies |= {name: policy for name, policy in changed.items() if policy is not before.policies.get(name)}
            self._current = self._made(before.number + 1, policies, before.pdp)
            return PolicyChange(before, self._current, frozenset(changed), self.combining)

    def _made(self, number: int, policies: dict[str, AnyPolicy], like: Pdp | None = None) -> PolicyVersion:
        pdp = Pdp(tuple(policies.values()), combining=self.combining, clock=self._clock, like=like)
        return PolicyVersion(number, MappingProxyType(policies), pdp)


def _identified(policies: Iterable[AnyPolicy]) -> Iterator[tuple[str, AnyPolicy]]:
    seen: set[str] = set()
    for policy in policies:
        if policy.id in seen:
            raise InputError(f"two policies have the id `{policy.id}`", place=policy.place, hint="give each its own id")
        seen.add(policy.id)
        yield policy.id, policy
