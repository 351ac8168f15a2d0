"""Versions: numbered, immutable, with a history; snapshots of them; going back."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest
from store_samples import ManualClock, policy, stream

from headgate.errors import ConflictError, UnknownNameError
from headgate.model.subject import User
from headgate.policy.model import PolicySet
from headgate.policy.store import Catalog, Change, Delta, Kind, Role
from headgate.policy.store.snapshot import resolve_content


@pytest.fixture
def opened(url: str) -> Iterator[Catalog]:
    with Catalog.open(url, clock=ManualClock()) as catalog:
        yield catalog


def test_a_new_catalog_is_version_0_and_empty(opened: Catalog) -> None:
    found = opened.current()
    assert (opened.version(), found.version, len(found.streams)) == (0, 0, 0)
    assert (found.users, found.roles, found.policies) == ({}, {}, PolicySet())


def test_history_says_who_changed_what_when_and_why(opened: Catalog) -> None:
    opened.apply(Change().put(stream(), policy("a"), policy("b")), "ann", "start")
    opened.apply(Change().put(policy("b", where="Pos > 1"), policy("c")).remove(Kind.POLICIES, "a"), "bob", "tidy")
    newest, first, empty = opened.history()
    assert (newest.number, newest.author, newest.reason, newest.at) == (2, "bob", "tidy", 4_000_000)
    assert newest.summary == {Kind.POLICIES: Delta(added=("c",), changed=("b",), removed=("a",))}
    assert set(first.summary) == {Kind.STREAMS, Kind.POLICIES}
    assert (empty.number, dict(empty.summary)) == (0, {})
    assert opened.history(limit=1) == [newest]
    assert opened.history(limit=0) == []
    assert opened.history(limit=99) == opened.history()


def test_a_value_of_another_type_is_a_change(opened: Catalog) -> None:
    opened.apply(Change().put(User("u", profile={"cleared": 1})), "me", "number")
    version = opened.apply(Change().put(User("u", profile={"cleared": True})), "me", "boolean")
    assert version.summary == {Kind.USERS: Delta(changed=("u",))}
    assert opened.current().user("u").profile["cleared"] is True


def test_a_snapshot_stays_as_it_was(opened: Catalog) -> None:
    opened.apply(Change().put(stream(), policy()), "me", "one")
    held = opened.current()
    opened.apply(Change().remove(Kind.POLICIES, "p"), "me", "two")
    assert held.policies.policy("p") is not None
    assert opened.current().policies.policy("p") is None
    assert opened.snapshot(1) == held
    with pytest.raises(UnknownNameError, match=r"no version `3`\n.*0 to 2"):
        opened.snapshot(3)
    with pytest.raises(UnknownNameError, match="no version `-1`"):
        opened.snapshot(-1)


def test_nobody_can_change_a_snapshot(opened: Catalog) -> None:
    opened.apply(Change().put(User("u", profile={"a": 1})), "me", "one")
    found = opened.current()
    for mapping in (found.users, found.roles, found.user("u").profile, found.policies.events):
        with pytest.raises(TypeError, match="does not support item assignment"):
            mapping["a"] = 2  # type: ignore[index]
    assert pickle.loads(pickle.dumps(found)) == found


def test_rolling_back_makes_a_new_version_of_the_old_content(opened: Catalog) -> None:
    opened.apply(Change().put(stream(), policy()), "me", "one")
    opened.apply(Change().put(User("u")).remove(Kind.POLICIES, "p"), "me", "two")
    version = opened.rollback(1, "ann", "two was wrong")
    assert (version.number, version.author) == (3, "ann")
    assert version.summary == {Kind.POLICIES: Delta(added=("p",)), Kind.USERS: Delta(removed=("u",))}
    assert opened.current().content == opened.snapshot(1).content
    with pytest.raises(UnknownNameError, match="no version `9`"):
        opened.rollback(9, "ann", "no such")
    with pytest.raises(ConflictError, match="at version 3, not 2"):
        opened.rollback(1, "ann", "stale", expected_version=2)


def test_a_stale_writer_is_refused(opened: Catalog) -> None:
    opened.apply(Change().put(User("u")), "me", "one", expected_version=0)
    with pytest.raises(ConflictError, match="at version 1, not 0"):
        opened.apply(Change().put(User("v")), "me", "late", expected_version=0)
    with pytest.raises(ConflictError, match="at version 1, not 2"):
        opened.apply(Change().put(User("v")), "me", "early", expected_version=2)
    assert set(opened.current().users) == {"u"}


def test_another_handle_sees_each_version_and_shares_nothing(opened: Catalog, url: str) -> None:
    with Catalog.open(url, create=False) as other:
        opened.apply(Change().put(stream(), Role("Doctor"), policy()), "me", "one")
        assert other.version() == 1
        assert other.current() == opened.current()
        other.apply(Change().put(stream("Position", "Pos")), "you", "two")
        assert [column for _, column in sorted(opened.current().policies.policies[0].cells)] == ["Pos", "ts"]
        assert opened.history() == other.history()


def test_documents_are_shared_between_versions(opened: Catalog) -> None:
    opened.apply(Change().put(stream(), policy()), "me", "one")
    opened.apply(Change().put(User("u")), "me", "two")
    newest, before, _ = opened.history()
    differing = {kind for kind in Kind if newest.documents[kind] != before.documents[kind]}
    assert differing == {Kind.USERS}


def test_current_is_resolved_once_and_policies_are_taken_over(opened: Catalog) -> None:
    opened.apply(Change().put(stream(), stream("Health", "Pulse"), policy("p"), policy("h", ("Health",))), "me", "one")
    first = opened.current()
    assert opened.current() is first
    opened.apply(Change().put(stream("Health", "Pulse", "Age")), "me", "two")
    second = opened.current()
    assert second.policies.policy("p") is first.policies.policy("p")
    assert second.policies == resolve_content(second.content, 2).policies
