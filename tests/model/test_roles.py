"""Roles that include other roles."""

from __future__ import annotations

import pytest

from headgate.errors import InputError, UnknownNameError
from headgate.model.roles import close_roles


def test_a_role_brings_all_it_includes() -> None:
    includes = {"chief": ["doctor", "nurse"], "doctor": ["staff"], "nurse": ["staff"], "staff": [], "guest": []}
    assert close_roles(["chief"], includes) == {"chief", "doctor", "nurse", "staff"}
    assert close_roles(["nurse", "guest"], includes) == {"nurse", "staff", "guest"}
    assert close_roles([], includes) == frozenset()


def test_where_no_role_is_declared_any_will_do() -> None:
    assert close_roles(["a", "b", "a"], {}) == {"a", "b"}


@pytest.mark.parametrize(
    ("includes", "circle"),
    [
        ({"a": ["a"]}, "a -> a"),
        ({"a": ["b"], "b": ["c"], "c": ["b"]}, "b -> c -> b"),
        ({"x": [], "a": ["x", "b"], "b": ["x", "a"]}, "a -> b -> a"),
    ],
)
def test_a_circle_is_refused_and_shown(includes, circle: str) -> None:
    with pytest.raises(InputError, match=f"in a circle: {circle}") as raised:
        close_roles(["a"], includes)
    assert raised.value.hint == "take one of them out"


@pytest.mark.parametrize(("roles", "includes"), [(["docter"], {"doctor": []}), (["doctor"], {"doctor": ["docter"]})])
def test_an_unknown_role_is_refused_where_roles_are_declared(roles, includes) -> None:
    with pytest.raises(UnknownNameError, match="unknown role `docter`") as raised:
        close_roles(roles, includes)
    assert raised.value.hint == "did you mean `doctor`?"


def test_many_ways_to_one_role_are_gone_once() -> None:
    # Without a memory this would be 2^60 ways.
    includes = {f"r{i}": [f"r{i + 1}", f"r{i + 1}"] for i in range(60)} | {"r60": []}
    assert len(close_roles(["r0"], includes)) == 61


def test_a_long_chain_is_no_mistake() -> None:
    includes = {f"r{i}": [f"r{i + 1}"] for i in range(5_000)} | {"r5000": []}
    assert len(close_roles(["r0"], includes)) == 5_001
