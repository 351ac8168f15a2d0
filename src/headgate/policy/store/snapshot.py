"""One version of the catalog, ready for decisions: every name looked up, every predicate typed, all of it or nothing.

Resolving 10,000 policies takes seconds, and most changes touch one. So what a version shares with one that is already
resolved is taken over: an unchanged text whose streams and events are unchanged too resolves to the same policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from headgate.errors import ConflictError, InputError, Place, UnknownNameError
from headgate.model.closest import closest
from headgate.model.expression.nodes import EventRef, walk
from headgate.model.roles import close_roles
from headgate.model.schema import StreamCatalog
from headgate.model.subject import User
from headgate.policy.model import Defaults, NamedEvent, Policy, PolicySet
from headgate.policy.resolve import resolve_policy
from headgate.policy.store import codec
from headgate.policy.store.content import Content, Kind
from headgate.policy.store.frozen import FrozenMapping
from headgate.policy.store.role import Role, check_roles, included_by, require_declared

Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Snapshot:
    """All of one version. It never changes: whoever holds it sees exactly that version, whatever is written meanwhile.

    `users` have the roles that their declared roles include; what was declared is in `content`.
    """

    version: int
    content: Content = field(repr=False)
    streams: StreamCatalog = field(compare=False, repr=False)
    roles: Mapping[str, Role] = field(compare=False, repr=False)
    users: Mapping[str, User] = field(compare=False, repr=False)
    policies: PolicySet = field(compare=False, repr=False)

    def user(self, identifier: str) -> User:
        """The user of that id, with all its roles, or an error with the closest one as a hint."""
        if identifier not in self.users:
            raise UnknownNameError(f"unknown user `{identifier}`", hint=closest(identifier, self.users))
        return self.users[identifier]


def resolve_content(content: Content, version: int, like: Snapshot | None = None) -> Snapshot:
    """The snapshot of a content, or an InputError; `like` is one to take over from what is the same."""
    shared = _Shared(content, like)
    streams = shared.part(Kind.STREAMS, lambda one: one.streams, lambda: _streams(content))
    roles = shared.part(Kind.ROLES, lambda one: one.roles, lambda: _roles(content))
    users = shared.part(Kind.USERS, lambda one: one.users, lambda: _users(content, roles), also=Kind.ROLES)
    events = _each(content, Kind.EVENTS, codec.decode_event)
    policies = _policies(content, streams, events, shared)
    if not shared.same(Kind.ROLES, Kind.POLICIES):
        _check_policy_roles(policies, roles)
    in_force = PolicySet(tuple(policies), events, _defaults(content))
    return Snapshot(version, content, streams, roles, users, in_force)


class _Shared:
    """What a content has in common with a snapshot that is already resolved."""

    def __init__(self, content: Content, like: Snapshot | None) -> None:
        self.content = content
        self.like = like
        # A stream whose spelling changed in case only is still there.
        there = {name.lower() for name in content.items(Kind.STREAMS)}
        before = like.content.items(Kind.STREAMS) if like is not None else ()
        self.dropped_streams = {name.lower(): name for name in before if name.lower() not in there}

    def same(self, *kinds: Kind) -> bool:
        like = self.like
        return like is not None and all(
            self.content.parts[kind].digest == like.content.parts[kind].digest for kind in kinds
        )

    def part(
        self, kind: Kind, take: Callable[[Snapshot], Thing], make: Callable[[], Thing], also: Kind | None = None
    ) -> Thing:
        """What the snapshot has of this kind where nothing it depends on changed, else made anew."""
        return take(self.like) if self.like is not None and self.same(kind, also or kind) else make()

    def touched(self, kind: Kind) -> frozenset[str]:
        """The ids of this kind that were changed or removed; what was added concerns no policy that resolved."""
        if self.like is None or self.same(kind):
            return frozenset()
        before, after = self.like.content.items(kind), self.content.items(kind)
        return frozenset(name for name, text in before.items() if after.get(name) != text)


def _streams(content: Content) -> StreamCatalog:
    streams = _each(content, Kind.STREAMS, lambda text, _: codec.decode_stream(text))
    return StreamCatalog(streams.values())


def _roles(content: Content) -> Mapping[str, Role]:
    roles = _each(content, Kind.ROLES, lambda text, _: codec.decode_role(text))
    check_roles(roles)
    return roles


def _users(content: Content, roles: Mapping[str, Role]) -> Mapping[str, User]:
    declared = _each(content, Kind.USERS, lambda text, _: codec.decode_user(text))
    includes = included_by(roles)
    users = {}
    for user in declared.values():
        require_declared(user.roles, roles, f"user `{user.id}` has")
        users[user.id] = User(user.id, close_roles(user.roles, includes), user.profile)
    return FrozenMapping(users)


def _defaults(content: Content) -> Defaults:
    stored = _each(content, Kind.DEFAULTS, lambda text, _: codec.decode_defaults(text))
    return stored.get(codec.DEFAULTS_ID, Defaults())


def _each(content: Content, kind: Kind, decode: Callable[[str, str], Thing]) -> Mapping[str, Thing]:
    found = {}
    for name, text in content.items(kind).items():
        try:
            found[name] = decode(text, name)
        except InputError as error:
            raise error.at(_place(kind, name)) from None
    return FrozenMapping(found)


def _place(kind: Kind, name: str) -> Place:
    return Place(file=f"{kind.one} `{name}`")


def _policies(
    content: Content, streams: StreamCatalog, events: Mapping[str, NamedEvent], shared: _Shared
) -> list[Policy]:
    reusable = _reusable(shared)
    known = dict(events)
    policies = []
    for name, text in content.items(Kind.POLICIES).items():
        policy = reusable.get(name)
        if policy is None:
            place = _place(Kind.POLICIES, name)
            _check_dropped(name, text, shared.dropped_streams)
            try:
                policy = resolve_policy(codec.decode_policy(text), streams, known, lambda *_, at=place: at)
            except InputError as error:
                raise error.at(place) from None
        policies.append(policy)
    return policies


def _reusable(shared: _Shared) -> dict[str, Policy]:
    """The policies that need not be resolved again.

    INVARIANT: a policy is a function of its text, the streams it names and the events it names, and of nothing else.
    """
    if shared.like is None:
        return {}
    before, after = shared.like.content.items(Kind.POLICIES), shared.content.items(Kind.POLICIES)
    streams, events = shared.touched(Kind.STREAMS), shared.touched(Kind.EVENTS)
    return {
        policy.id: policy
        for policy in shared.like.policies.policies
        if after.get(policy.id) == before[policy.id]
        and (not streams or streams.isdisjoint(policy.streams))
        and (not events or events.isdisjoint(_events_named(policy)))
    }


def _events_named(policy: Policy) -> frozenset[str]:
    mask = policy.mask.expression if policy.mask else None
    expressions = (policy.where, policy.when, policy.during.start, policy.during.end, mask)
    nodes = (node for expression in expressions if expression is not None for node in walk(expression))
    return frozenset(node.event for node in nodes if isinstance(node, EventRef))


def _check_dropped(name: str, text: str, dropped: Mapping[str, str]) -> None:
    """Say of a policy that names a dropped stream what the matter is; an unknown name would be half the truth."""
    target = codec.decode_policy(text).object if dropped else None
    for stream in (*target.streams, *target.tables) if target else ():
        if stream.lower() in dropped:
            raise ConflictError(
                f"stream `{dropped[stream.lower()]}` cannot be removed: policy `{name}` names it; "
                "remove or change the policy in the same change"
            )


def _check_policy_roles(policies: Iterable[Policy], roles: Mapping[str, Role]) -> None:
    for policy in policies:
        named = (subject.role for subject in policy.subjects if subject.role is not None)
        require_declared(named, roles, f"policy `{policy.id}` names")
