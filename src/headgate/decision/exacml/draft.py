"""A grant in the making, as plain values; several that differ in one thing only are folded into one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headgate.errors import Place
from headgate.model.privilege import ASSIST, COMPUTE, PRIVILEGES, READ
from headgate.model.schema import StreamCatalog
from headgate.policy.entry import PolicyEntry
from headgate.policy.model import Policy
from headgate.policy.resolve import resolve_policy

Frozen = tuple[tuple[str, str], ...]
Subject = tuple[tuple[str, str, Any], ...]
"""Name, type and value of each thing that must hold: to Python 1 equals True, to a profile it does not."""
NOWHERE = Place()


@dataclass(frozen=True)
class Draft:
    """What becomes one item of `policies:`."""

    policy: str
    subjects: tuple[Subject, ...]
    stream: str
    attributes: tuple[str, ...] | None
    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()
    where: str | None = None
    during: Frozen = ()
    window: Frozen = ()
    min_group: int | None = None
    mask: str | None = None
    when: str | None = None
    implied: bool = True
    """Whether what follows from `read` was permitted too, where `read` was."""
    place: Place = field(default=NOWHERE, compare=False)
    origin: object = field(default=None, compare=False, repr=False)
    """The rule it comes from."""
    id: str = ""

    def resolved(self, catalog: StreamCatalog) -> Policy:
        """The grant; InputError where it makes no sense."""
        content: dict[str, Any] = {
            "id": self.id or self.policy,
            "subject": [{name: value for name, _, value in subject} for subject in self.subjects],
            "object": {"streams": [self.stream], "attributes": list(self.attributes or ("*",)), "where": self.where},
            "allow": listed(self.allow, implies=True),
            "deny": listed(self.deny, implies=False),
            "during": dict(self.during),
            "window": dict(self.window),
            "min_group": self.min_group,
            "mask": self.mask,
            "when": self.when,
        }
        return resolve_policy(PolicyEntry.model_validate(content), catalog, {}, lambda *_: self.place)


def listed(privileges: frozenset[str], implies: bool) -> list[str]:
    """Privileges as a policy file lists them: `compute` is every aggregate; an allowed `read` says all the others."""
    if implies and READ in privileges:
        return [READ]
    aggregates = frozenset(PRIVILEGES) - {READ, ASSIST}
    plain = [one for one in (READ, ASSIST) if one in privileges]
    if aggregates <= privileges:
        return [*plain, COMPUTE]
    return [*plain, *(one for one in PRIVILEGES if one in privileges & aggregates)]


def folded(drafts: Iterable[Draft], catalog: StreamCatalog) -> list[Draft]:
    """As few grants as say the same: privileges, then columns, then subjects are gathered; then each policy's deny and
    permit, and its permits with and without a window, which concerns aggregates only."""
    found = list(drafts)
    found = _gathered(found, lambda one: replace(one, allow=frozenset(), deny=frozenset(), implied=True), _privileges)
    found = _gathered(found, lambda one: replace(one, attributes=None) if one.attributes else one, _attributes)
    found = [replace(one, attributes=_ordered(one, catalog)) for one in found]
    found = _gathered(found, lambda one: replace(one, subjects=()), _subjects)
    found = _gathered(found, _beside_windows, _windows)
    return _gathered(found, _beside_denies, _denies)


def numbered(drafts: Sequence[Draft]) -> list[Draft]:
    """Each with an id of its own: that of its policy, or with a number behind it."""
    taken: set[str] = set()
    made = []
    for draft in drafts:
        name, number = draft.policy, 1
        while name in taken or (number > 1 and name in {one.policy for one in drafts}):
            number += 1
            name = f"{draft.policy}-{number}"
        taken.add(name)
        made.append(replace(draft, id=name))
    return made


def _gathered(
    drafts: Sequence[Draft], key: Callable[[Draft], Hashable], join: Callable[[Draft, Draft], Draft | None]
) -> list[Draft]:
    groups: dict[Hashable, list[Draft]] = {}
    for draft in drafts:
        group = groups.setdefault(key(draft), [])
        for place, other in enumerate(group):
            joined = join(other, draft)
            if joined is not None:
                group[place] = joined
                break
        else:
            group.append(draft)
    return [draft for group in groups.values() for draft in group]


def _privileges(first: Draft, second: Draft) -> Draft | None:
    if bool(first.allow) is not bool(second.allow):
        return None
    allow = first.allow | second.allow
    implied = READ not in allow or allow >= frozenset(PRIVILEGES)
    return replace(first, allow=allow, deny=first.deny | second.deny, implied=implied)


def _attributes(first: Draft, second: Draft) -> Draft | None:
    if first.attributes is None or second.attributes is None:
        return first if first == second else None
    return replace(first, attributes=tuple(dict.fromkeys((*first.attributes, *second.attributes))))


def _ordered(draft: Draft, catalog: StreamCatalog) -> tuple[str, ...] | None:
    """The columns in the order of the stream; None for all of them, however they were named."""
    if draft.attributes is None:
        return None
    named = {one.lower() for one in draft.attributes}
    found = tuple(name for name in catalog.stream(draft.stream).names if name.lower() in named)
    return None if found == catalog.stream(draft.stream).names else found


def _subjects(first: Draft, second: Draft) -> Draft:
    return replace(first, subjects=tuple(dict.fromkeys((*first.subjects, *second.subjects))))


def _beside_windows(draft: Draft) -> Draft:
    return replace(draft, allow=frozenset(), window=(), implied=True)


def _windows(first: Draft, second: Draft) -> Draft | None:
    plain, windowed = (first, second) if second.window else (second, first)
    if plain.window or not windowed.window or not plain.allow or not windowed.allow:
        return None
    # `read` without its aggregates, and these in windows: one grant says that, two could not.
    if READ not in plain.allow or plain.implied or READ in windowed.allow:
        return None
    allow = plain.allow | windowed.allow
    return replace(plain, allow=allow, window=windowed.window, implied=allow >= frozenset(PRIVILEGES))


def _beside_denies(draft: Draft) -> Draft:
    return replace(draft, allow=frozenset(), deny=frozenset(), window=(), min_group=None, implied=True)


def _denies(first: Draft, second: Draft) -> Draft | None:
    denies, permits = (first, second) if second.allow else (second, first)
    if denies.allow or permits.deny or not denies.deny or not permits.allow:
        return None
    return replace(permits, deny=denies.deny)
