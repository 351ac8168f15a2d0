"""Which policies can concern a user on a stream: a look-up by subject and object, not a scan.

Each policy is filed once for every stream it names under each of its subjects' most telling part: the user, else the
role, else the stream alone. A look-up collects the few lists that a user's id and roles lead to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from headgate.model.subject import User
from headgate.policy.model import Policy, PolicySet, Subject

_Key = tuple[str, str, str]


class PolicyIndex:
    """An index over one policy set."""

    def __init__(self, policies: PolicySet) -> None:
        self._filed: dict[_Key, list[tuple[int, Policy]]] = defaultdict(list)
        self._named: set[str] = set()
        for position, policy in enumerate(policies.policies):
            for key in dict.fromkeys(_keys(policy)):
                self._filed[key].append((position, policy))
            self._named.update(policy.streams)

    def names(self, stream: str) -> bool:
        """Whether any policy at all names the stream; one that none names is closed to all but its owner."""
        return stream in self._named

    def policies_for(self, user: User, stream: str) -> tuple[Policy, ...]:
        """The policies that concern this user on this stream, in the order of their ids."""
        found: dict[int, Policy] = {}
        for key in _lookups(user, stream):
            found.update(self._filed.get(key, ()))
        return tuple(found[position] for position in sorted(found) if found[position].concerns(user))


def _keys(policy: Policy) -> Iterator[_Key]:
    for stream in policy.streams:
        for subject in policy.subjects:
            yield _key(subject, stream)


def _key(subject: Subject, stream: str) -> _Key:
    if subject.user is not None:
        return (stream, "user", subject.user)
    if subject.role is not None:
        return (stream, "role", subject.role)
    return (stream, "anyone", "")


def _lookups(user: User, stream: str) -> Iterator[_Key]:
    yield (stream, "user", user.id)
    for role in user.roles:
        yield (stream, "role", role)
    yield (stream, "anyone", "")
