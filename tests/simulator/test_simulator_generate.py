"""Random networks: valid, of the size and sharing asked for, with selects before joins."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.network import Kind, Network, shared_vertices
from headgate.simulator import Parameters, Sample, generate

parameters = st.builds(
    Parameters,
    streams=st.integers(1, 5),
    queries=st.integers(1, 6),
    users=st.integers(1, 8),
    operators=st.integers(1, 40),
    sharing=st.integers(0, 100),
)

UNHURRIED = settings(deadline=None)
"""No time limit per example: the machine may be busy with other work."""


@UNHURRIED
@given(parameters, st.integers(0, 10_000))
def test_property_networks_have_the_parameters_asked_for(asked: Parameters, seed: int) -> None:
    """Building checks that the network is acyclic and complete; the total may be higher, never lower."""
    sample = generate(asked, Random(seed))
    network = sample.network
    assert len(network.queries) == asked.queries
    assert len(network.streams) == asked.streams
    assert len(shared_vertices(network)) == asked.shared_operators
    own_least = sum(max(streams_read(network, query), 1) for query in network.queries)
    assert asked.operators <= len(network.vertices) <= max(asked.operators, asked.shared_operators + own_least)
    assert_users(sample, asked)


def streams_read(network: Network, query: str) -> int:
    """A query needs at most one join less than it reads streams, and a project."""
    bit = 1 << network.bit_of[query]
    leaves = [vertex for id_, vertex in network.vertices.items() if network.served[id_] & bit]
    return len({stream for vertex in leaves for stream in vertex.streams})


def assert_users(sample: Sample, asked: Parameters) -> None:
    everybody = {f"u{number}" for number in range(1, asked.users + 1)}
    assert set(sample.users) == set(sample.network.queries)
    assert all(users and users <= everybody for users in sample.users.values())
    assert set().union(*sample.users.values()) == everybody


@UNHURRIED
@given(parameters, st.integers(0, 10_000))
def test_property_selects_come_before_joins_and_joins_read_different_streams(asked: Parameters, seed: int) -> None:
    network = generate(asked, Random(seed)).network
    base: dict[str, list[str]] = {}
    joined: set[str] = set()
    for id_ in network.order:
        vertex = network.vertices[id_]
        base[id_] = sorted([*vertex.streams, *(name for input_ in vertex.inputs for name in base[input_])])
        assert len(set(base[id_])) == len(base[id_]), "a join of a stream with itself"
        if vertex.kind is Kind.JOIN or joined & set(vertex.inputs):
            joined.add(id_)
        assert vertex.kind is not Kind.SELECT or id_ not in joined
    assert {network.vertices[output].kind for output in network.outputs.values()} == {Kind.PROJECT}


@UNHURRIED
@given(parameters, st.integers(0, 10_000))
def test_property_the_same_seed_gives_the_same_network(asked: Parameters, seed: int) -> None:
    assert generate(asked, Random(seed)) == generate(asked, Random(seed))


def test_queries_that_would_have_no_stream_in_common_are_given_one() -> None:
    asked = Parameters(streams=8, queries=2, operators=30, sharing=40)
    assert {len(shared_vertices(generate(asked, Random(seed)).network)) for seed in range(200)} == {12}


def test_shared_selects_are_spread_over_the_streams() -> None:
    asked = Parameters(operators=20, sharing=80)
    read = set()
    for seed in range(20):
        network = generate(asked, Random(seed)).network
        shared = [network.vertices[id_] for id_ in shared_vertices(network)]
        read |= {stream for vertex in shared if vertex.kind is Kind.SELECT for stream in vertex.streams}
    assert read == {"s1", "s2", "s3"}


def test_networks_differ() -> None:
    asked = Parameters()
    assert len({str(generate(asked, Random(seed)).network) for seed in range(50)}) > 40


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"streams": 0}, "a network with `0` streams"),
        ({"queries": 0}, "a network with `0` queries"),
        ({"users": -1}, "a network with `-1` users"),
        ({"operators": 0}, "a network with `0` operators"),
        ({"sharing": 101}, "a degree of sharing of `101`"),
        ({"sharing": -1}, "a degree of sharing of `-1`"),
    ],
)
def test_impossible_parameters_are_refused(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Parameters(**wrong)
