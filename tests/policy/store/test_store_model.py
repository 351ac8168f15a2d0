"""The catalog against plain dicts: any sequence of changes, good and bad, by two handles, with reopening in between."""

from __future__ import annotations

import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from store_samples import policy, stream

from headgate.errors import ConflictError, InputError
from headgate.model.subject import User
from headgate.policy.store import Catalog, Change, Kind, Role, Snapshot
from headgate.policy.store.snapshot import resolve_content

State = dict[Kind, dict[str, Any]]
"""What the catalog should hold: columns of streams, roles of users, included roles, and (stream, column, role)."""

STREAMS, ROLES, COLUMNS = ("S", "T"), ("r", "s", "t"), ("a", "b")
SOME_ROLES = st.frozensets(st.sampled_from(ROLES), max_size=2)
PUTS = st.one_of(
    st.tuples(st.just(Kind.STREAMS), st.sampled_from(STREAMS), st.sampled_from([("a",), ("a", "b")])),
    st.tuples(st.just(Kind.USERS), st.sampled_from(["u", "v"]), SOME_ROLES),
    st.tuples(st.just(Kind.ROLES), st.sampled_from(ROLES), SOME_ROLES),
    st.tuples(
        st.just(Kind.POLICIES),
        st.sampled_from(["p", "q"]),
        st.tuples(st.sampled_from(STREAMS), st.sampled_from(COLUMNS), st.sampled_from(ROLES)),
    ),
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "put", "put", "add", "remove"]), PUTS),
    min_size=1,
    max_size=4,
    unique_by=lambda step: step[1][:2],
)


def thing(kind: Kind, name: str, value: Any) -> Any:
    match kind:
        case Kind.STREAMS:
            return stream(name, *value)
        case Kind.USERS:
            return User(name, value)
        case Kind.ROLES:
            return Role(name, value)
    return policy(name, (value[0],), value[2], attributes=[value[1]])


def closure(roles: frozenset[str], included: dict[str, frozenset[str]]) -> frozenset[str]:
    more = roles.union(*(included.get(role, frozenset()) for role in roles))
    return roles if more == roles else closure(more, included)


def makes_sense(state: State) -> bool:
    streams, roles = state[Kind.STREAMS], state[Kind.ROLES]
    named = [*state[Kind.USERS].values(), *roles.values(), *({one[2]} for one in state[Kind.POLICIES].values())]
    return (
        (not roles or all(set(one) <= set(roles) for one in named))
        and all(role not in closure(roles[role], roles) for role in roles)
        and all(column in streams.get(name, ()) for name, column, _ in state[Kind.POLICIES].values())
    )


def seen(snapshot: Snapshot) -> State:
    return {
        Kind.STREAMS: {one.name: one.names[1:] for one in snapshot.streams},
        Kind.USERS: {name: user.roles for name, user in snapshot.users.items()},
        Kind.ROLES: {name: role.includes for name, role in snapshot.roles.items()},
        Kind.POLICIES: {one.id: (*min(one.cells), one.subjects[0].role) for one in snapshot.policies.policies},
    }


def expected(state: State) -> State:
    users = {name: closure(roles, state[Kind.ROLES]) for name, roles in state[Kind.USERS].items()}
    return {**state, Kind.USERS: users}


class CatalogMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "catalog.db"
        self.handles = [Catalog.open(self.path), Catalog.open(self.path)]
        kinds = (Kind.STREAMS, Kind.USERS, Kind.ROLES, Kind.POLICIES)
        self.versions: list[State] = [{kind: {} for kind in kinds}]

    @rule(steps=STEPS, handle=st.integers(0, 1))
    def change(self, steps: list[Any], handle: int) -> None:
        change, after, allowed = Change(), deepcopy(self.versions[-1]), True
        for action, (kind, name, value) in steps:
            there = name in after[kind]
            if action == "remove":
                change = change.remove(kind, name)
                allowed &= there
                after[kind].pop(name, None)
            else:
                change = getattr(change, action)(thing(kind, name, value))
                allowed &= action == "put" or not there
                after[kind][name] = value
        if allowed and makes_sense(after):
            self.handles[handle].apply(change, "me", "a change")
            self.versions.append(after)
        else:
            with pytest.raises((InputError, ConflictError)):
                self.handles[handle].apply(change, "me", "nonsense")

    @rule(steps_back=st.integers(0, 5), handle=st.integers(0, 1))
    def roll_back(self, steps_back: int, handle: int) -> None:
        target = max(0, len(self.versions) - 1 - steps_back)
        self.handles[handle].rollback(target, "me", "back")
        self.versions.append(self.versions[target])

    @rule(handle=st.integers(0, 1), off=st.sampled_from([-1, 1]))
    def stale(self, handle: int, off: int) -> None:
        with pytest.raises(ConflictError):
            self.handles[handle].apply(Change().put(User("late")), "me", "stale", len(self.versions) - 1 + off)

    @rule(handle=st.integers(0, 1))
    def reopen(self, handle: int) -> None:
        self.handles[handle].close()
        self.handles[handle] = Catalog.open(self.path, create=False)

    @rule(data=st.data(), handle=st.integers(0, 1))
    def look_back(self, data: st.DataObject, handle: int) -> None:
        number = data.draw(st.integers(0, len(self.versions) - 1))
        assert seen(self.handles[handle].snapshot(number)) == expected(self.versions[number])

    @rule(handle=st.integers(0, 1))
    def read_history(self, handle: int) -> None:
        versions = self.handles[handle].history()[::-1]
        assert [version.number for version in versions] == list(range(len(self.versions)))
        for before, after, version in zip(self.versions, self.versions[1:], versions[1:], strict=False):
            added = {(kind, name) for kind in after for name in after[kind].keys() - before[kind].keys()}
            assert {(kind, name) for kind, delta in version.summary.items() for name in delta.added} == added
            removed = {(kind, name) for kind in after for name in before[kind].keys() - after[kind].keys()}
            assert {(kind, name) for kind, delta in version.summary.items() for name in delta.removed} == removed

    @invariant()
    def current_is_the_last_version(self) -> None:
        for handle in self.handles:
            found = handle.current()
            assert handle.version() == found.version == len(self.versions) - 1
            assert seen(found) == expected(self.versions[-1])
            assert found.policies == resolve_content(found.content, found.version).policies

    def teardown(self) -> None:
        for handle in getattr(self, "handles", ()):
            handle.close()
        if hasattr(self, "folder"):
            self.folder.cleanup()


CatalogMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
test_the_catalog_is_like_plain_dicts = CatalogMachine.TestCase
