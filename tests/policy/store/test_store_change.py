"""What a change may say, and what is refused of it: all or nothing, and the version in force stays."""

from __future__ import annotations

import pytest
from store_samples import policy, stream

from headgate.errors import ConflictError, InputError, UnknownNameError
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamSchema
from headgate.model.subject import User
from headgate.policy.model import AssistDenied, Defaults, NamedEvent, PolicySet
from headgate.policy.store import Catalog, Change, Kind, Role
from headgate.policy.yaml_file import parse_policies

ME = ("me", "a test")


@pytest.fixture
def filled(catalog: Catalog) -> Catalog:
    """Version 1: two streams, two roles, a user and a policy."""
    change = Change().add(
        stream(), stream("Health", "Pulse"), Role("Doctor"), Role("Chief", frozenset({"Doctor"})), policy()
    )
    catalog.apply(change.add(User("u1", frozenset({"Chief"}), {"Platoon": 7})), *ME)
    return catalog


def refused(catalog: Catalog, change: Change, error: type[Exception], match: str) -> None:
    before = catalog.current()
    with pytest.raises(error, match=match):
        catalog.apply(change, *ME)
    assert catalog.version() == before.version
    assert catalog.current() == before


def test_everything_reads_back_as_it_was_put(catalog: Catalog) -> None:
    columns = (Column("T", DataType.TIMESTAMP), Column("tid", DataType.STRING), Column("n", DataType.BIGINT, "hours"))
    whole = StreamSchema("Ödd name", columns, "T", "tid", "o'wner", True, True, "Asia/Singapore", 5, 7_000_000)
    user = User("u", frozenset({"a", "b"}), {"i": 1, "f": 1.0, "b": True, "n": None, "s": "x\ud800\0"})
    event = NamedEvent(-1, 1_500_001, "t")
    defaults = Defaults(AssistDenied.REMOVE)
    entry = policy("q", ("Ödd name",), where="n > 2h", during={"from": "start(e)", "to": "end(e)"}, mask="hash")
    catalog.apply(Change().put(whole, user, entry).put_event("e", event).put_defaults(defaults), *ME)
    found = catalog.current()
    assert list(found.streams) == [whole]
    assert found.users == {"u": user}
    assert [type(value) for value in found.user("u").profile.values()] == [bool, float, int, type(None), str]
    assert found.policies.events == {"e": event}
    assert found.policies.defaults == defaults
    assert found.policies.policies[0].during.start is not None


def test_a_user_has_the_roles_that_its_roles_include(filled: Catalog) -> None:
    assert filled.current().user("u1").roles == {"Chief", "Doctor"}


def test_a_user_that_did_not_change_follows_its_roles(filled: Catalog) -> None:
    filled.apply(Change().put(Role("Nurse"), Role("Chief", frozenset({"Nurse"}))), *ME)
    assert filled.current().user("u1").roles == {"Chief", "Nurse"}
    refused(filled, Change().remove(Kind.ROLES, "Chief"), UnknownNameError, "user `u1` has the unknown role `Chief`")


def test_a_policy_file_replaces_all_policies_at_once(filled: Catalog) -> None:
    text = """
version: 1
events: {a: {target: 120}}
policies:
  - {id: p, subject: {role: Doctor}, object: {streams: [Position], where: Pos < target(a)}, allow: [read]}
  - {id: r, subject: [{role: Chief, b: 1, a: 2}], object: {streams: [Health, Position]}, deny: [avg]}
"""
    policies = parse_policies(text, filled.current().streams)
    version = filled.apply(Change().replace_policies(policies), *ME)
    assert filled.current().policies == policies
    assert version.summary[Kind.POLICIES].changed == ("p",)
    assert version.summary[Kind.POLICIES].added == ("r",)
    filled.apply(Change().replace_policies(PolicySet()), *ME)
    assert filled.current().policies == PolicySet()


def test_a_policy_read_against_other_streams_is_refused(filled: Catalog) -> None:
    filled.apply(Change().put(stream("Position", "Pos", "Platoon", "Extra")), *ME)
    text = "version: 1\npolicies: [{id: n, subject: {role: Doctor}, object: {streams: [Position]}, allow: [read]}]"
    old = parse_policies(text, filled.snapshot(1).streams)
    refused(filled, Change().put(*old.policies), InputError, "does not mean the same")


def test_one_bad_step_undoes_the_others(filled: Catalog) -> None:
    change = Change().put(User("u2")).remove(Kind.ROLES, "Doctor")
    refused(filled, change, UnknownNameError, "role `Chief` includes the unknown role `Doctor`")
    assert "u2" not in filled.current().users


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (Change(), InputError, "empty"),
        (Change().add(policy()), ConflictError, "policy `p` is already there"),
        (Change().add(User("u1")), ConflictError, "user `u1` is already there"),
        (Change().remove(Kind.POLICIES, "pp"), UnknownNameError, "did you mean `p`"),
        (Change().put(stream("POSITION")), InputError, "case does not tell names apart"),
        (Change().remove(Kind.STREAMS, "Position"), ConflictError, "stream `Position` cannot be removed: policy `p`"),
        (
            Change().put(stream("Position", "Other"), policy(attributes=["Pos"])),
            UnknownNameError,
            "policy `p`: unknown",
        ),
        (Change().put(User("u2", frozenset({"doctor"}))), UnknownNameError, "user `u2` .*\n.*did you mean `Doctor`"),
        (Change().put(policy("q", role="doctor")), UnknownNameError, "policy `q` .*\n.*did you mean `Doctor`"),
        (Change().put(policy("q", ("Positoin",))), UnknownNameError, "policy `q`: unknown stream"),
        (Change().put(policy("q", ("*",))), UnknownNameError, "unknown stream"),
        (Change().put(policy("q", where="Pos > 'x")), InputError, "policy `q`"),
        (Change().put(policy("q", where="Pos > target(a)")), UnknownNameError, "unknown event `a`"),
        (Change().put(Role("a", frozenset("b")), Role("b", frozenset("a"))), InputError, "a -> b -> a"),
        (Change().put(Role("x", frozenset("x"))), InputError, "x -> x"),
        (Change().put(Role("x", frozenset("y"))), UnknownNameError, "role `x` includes the unknown role `y`"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(
    filled: Catalog, change: Change, error: type[Exception], match: str
) -> None:
    refused(filled, change, error, match)


def test_a_stream_goes_together_with_its_policies(filled: Catalog) -> None:
    filled.apply(Change().remove(Kind.STREAMS, "Position").remove(Kind.POLICIES, "p"), *ME)
    assert filled.current().streams.names == ("Health",)


def test_a_stream_may_change_its_spelling(filled: Catalog) -> None:
    filled.apply(Change().remove(Kind.STREAMS, "Position").add(stream("position")), *ME)
    assert filled.current().policies.policies[0].streams == ("position",)


def test_roles_need_no_declaration_until_one_is_declared(catalog: Catalog) -> None:
    catalog.apply(Change().put(stream(), policy(role="anything"), User("u", frozenset({"free"}))), *ME)
    refused(catalog, Change().put(Role("free")), UnknownNameError, "policy `p` names the unknown role `anything`")
    catalog.apply(Change().put(Role("free"), Role("anything")), *ME)


def test_a_changed_stream_or_event_is_seen_by_policies_that_did_not_change(catalog: Catalog) -> None:
    entry = policy(where="Pos > target(a)", when="env.at < end(a)")
    event = NamedEvent(end=9, target=1)
    catalog.apply(Change().put(stream(), entry).put_event("a", event), *ME)
    catalog.apply(Change().put(stream("Position", "Pos", "More")), *ME)
    assert ("Position", "More") in catalog.current().policies.policies[0].cells
    refused(catalog, Change().put_event("a", NamedEvent(end=9)), UnknownNameError, "event `a` has no target")
    refused(catalog, Change().remove(Kind.EVENTS, "a"), UnknownNameError, "unknown event `a`")


@pytest.mark.parametrize(
    ("build", "match"),
    [
        (lambda: Change().put(policy(), policy()), "policy `p` is given twice"),
        (lambda: Change().put(User("u")).remove(Kind.USERS, "u"), "user `u` is given twice"),
        (lambda: Change().put(policy()).replace_policies(PolicySet()), "both replaced and changed"),
        (lambda: Change().put(User("u", profile={"x": float("nan")})), "user `u`"),
        (lambda: Change().put(User("u", profile={"x": [1]})), "user `u` cannot be stored"),  # type: ignore[dict-item]
        (lambda: Change().put(User("u", ["a"])), "user `u` does not read back"),  # type: ignore[arg-type]
        (lambda: Change().put_event("e", NamedEvent(1 << 62)), "event `e` cannot be stored"),
        (lambda: Change().put_event("e", NamedEvent(2, 1)), "ends before it starts"),
        (lambda: Change().put_event("", NamedEvent()), "empty name"),
        (lambda: Change().put(StreamSchema("S", (Column("ts", DataType.TIMESTAMP), Column("x", DataType.NULL)))), "S"),
        (lambda: Change().put("text"), "cannot be stored"),  # type: ignore[arg-type]
        (lambda: Role(""), "empty id"),
    ],
)
def test_what_cannot_be_stored_is_refused_before_it_is_applied(build: object, match: str) -> None:
    with pytest.raises(InputError, match=match):
        build()  # type: ignore[operator]


@pytest.mark.parametrize("who", [("", "why"), ("me", " "), ("me\0", "why"), ("me", "\ud800")])
def test_nobody_changes_anything_without_saying_who_and_why(catalog: Catalog, who: tuple[str, str]) -> None:
    with pytest.raises(InputError, match="of the change"):
        catalog.apply(Change().put(User("u")), *who)


def test_a_long_chain_of_roles_and_a_circle_at_its_end(catalog: Catalog) -> None:
    chain = [Role(f"r{i}", frozenset({f"r{i + 1}"})) for i in range(3000)]
    catalog.apply(Change().put(*chain, Role("r3000"), User("u", frozenset({"r0"}))), *ME)
    assert len(catalog.current().user("u").roles) == 3001
    with pytest.raises(InputError, match="in a circle: r2999 -> r3000 -> r2999"):
        catalog.apply(Change().put(Role("r3000", frozenset({"r2999"}))), *ME)
