"""Which policies can concern a user on a stream: a look-up that finds exactly what a scan would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.decision.index import PolicyIndex
from headgate.model.subject import User
from headgate.policy.model import Policy, PolicySet, Subject

USERS = ["u1", "u2"]
ROLES = ["r1", "r2", "r3"]
STREAMS = ["S", "T", "V"]


def a_policy(identifier: str, *subjects: Subject, streams=("S",)) -> Policy:
    return Policy(identifier, subjects, tuple(streams), frozenset(), allow=("read",))


def found(index: PolicyIndex, user: User, stream: str = "S") -> list[str]:
    return [policy.id for policy in index.policies_for(user, stream)]


def test_a_policy_is_found_by_user_by_role_and_by_profile() -> None:
    index = PolicyIndex(
        PolicySet(
            (
                a_policy("by-user", Subject(user="u1")),
                a_policy("by-role", Subject(role="r1")),
                a_policy("by-profile", Subject(profile=(("level", 3),))),
                a_policy("by-all", Subject(user="u1", role="r1", profile=(("level", 3),))),
                a_policy("anyone", Subject()),
            )
        )
    )
    assert found(index, User("u1", frozenset(["r1"]), {"level": 3})) == [
        "anyone",
        "by-all",
        "by-profile",
        "by-role",
        "by-user",
    ]
    assert found(index, User("u1", frozenset(), {"LEVEL": 3})) == ["anyone", "by-profile", "by-user"]
    assert found(index, User("u2", frozenset(["r1"]), {"level": 4})) == ["anyone", "by-role"]
    assert found(index, User("u1"), "T") == []


def test_a_policy_found_in_two_ways_is_given_once_in_the_order_of_ids() -> None:
    twice = a_policy("b", Subject(user="u1"), Subject(role="r1"), Subject(role="r2"))
    index = PolicyIndex(PolicySet((twice, a_policy("c", Subject(role="r2")), a_policy("a", Subject(role="r1")))))
    assert found(index, User("u1", frozenset(["r1", "r2"]))) == ["a", "b", "c"]


def test_a_flag_is_not_a_number() -> None:
    index = PolicyIndex(PolicySet((a_policy("p", Subject(profile=(("cleared", True),))),)))
    assert found(index, User("u", frozenset(), {"cleared": True})) == ["p"]
    assert found(index, User("u", frozenset(), {"cleared": 1})) == []
    assert found(index, User("u", frozenset(), {"cleared": None})) == []


def test_a_stream_that_no_policy_names_is_known() -> None:
    index = PolicyIndex(PolicySet((a_policy("p", Subject(user="u1"), streams=("S", "T")),)))
    assert [index.names(stream) for stream in STREAMS] == [True, True, False]


SUBJECTS = st.builds(
    Subject,
    user=st.none() | st.sampled_from(USERS),
    role=st.none() | st.sampled_from(ROLES),
    profile=st.just(()) | st.integers(0, 1).map(lambda level: (("level", level),)),
)
POLICIES = st.lists(
    st.tuples(
        st.lists(SUBJECTS, min_size=1, max_size=3),
        st.lists(st.sampled_from(STREAMS), min_size=1, max_size=2, unique=True),
    ),
    max_size=8,
).map(
    lambda drawn: PolicySet(tuple(a_policy(f"p{i}", *subjects, streams=on) for i, (subjects, on) in enumerate(drawn)))
)


@given(
    POLICIES, st.sampled_from(USERS), st.frozensets(st.sampled_from(ROLES)), st.integers(0, 1), st.sampled_from(STREAMS)
)
def test_property_the_index_finds_what_a_scan_finds(policies: PolicySet, name, roles, level, stream) -> None:
    user = User(name, roles, {"level": level})
    scanned = [policy for policy in policies.policies if stream in policy.streams and policy.concerns(user)]
    assert list(PolicyIndex(policies).policies_for(user, stream)) == scanned
