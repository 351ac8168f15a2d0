"""The cost model and the three cases, checked by hand and against the network's own pruning."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.network import Kind, Network, Pruner, Vertex
from headgate.simulator import PRINTED_COSTS, Parameters, Sample, generate, measure
from headgate.simulator.experiments import losses

UNHURRIED = settings(deadline=None)
"""No time limit per example: the machine may be busy with other work."""


@pytest.fixture
def small() -> Sample:
    """A shared select feeds a project of q1, and for q2 a join with a second stream and a project."""
    vertices = [
        Vertex("shared", Kind.SELECT, "", streams=("s",)),
        Vertex("p1", Kind.PROJECT, "", ("shared",)),
        Vertex("j2", Kind.JOIN, "", ("shared",), ("t",)),
        Vertex("p2", Kind.PROJECT, "", ("j2",)),
    ]
    users = {"q1": frozenset({"u1", "u2"}), "q2": frozenset({"u2"})}
    return Sample(Network.build(vertices, {"q1": "p1", "q2": "p2"}), users)


def test_costs_are_those_printed(small: Sample) -> None:
    """1,000 tuples; 0.1 ms for selects and projects, 0.3 ms for joins; times in tenths of a millisecond."""
    totals = measure(small, losses(2), PRINTED_COSTS)
    assert totals.shared == 1000 * (1 + 1 + 3 + 1)
    assert totals.no_sharing == 2 * 1000 * (1 + 1) + 1 * 1000 * (1 + 3 + 1), "two users of q1, one of q2"
    assert (totals.operators, totals.shared_operators, totals.shared_joins, totals.stream_reads) == (4, 1, 0, 3)


def test_switches_pay_for_punctuations_every_100_tuples(small: Sample) -> None:
    totals = measure(small, (), PRINTED_COSTS)
    assert (totals.switches, totals.initial_switches, totals.in_network_switches) == (5, 1, 2)
    assert totals.assignments == 3
    assert totals.punctuations == 10 * 3 * 5, "ten rounds of three punctuations, at five switches"
    assert totals.punctuations_matching == 10 * (2 * 2 + 1 * 3), "q1 has two switches, q2 three"
    assert totals.punctuations_batched == 10 * 5


def test_losses_shut_off_what_serves_only_lost_queries(small: Sample) -> None:
    totals = measure(small, ((), (0,), (1,), (0, 1)), PRINTED_COSTS)
    assert totals.starved == (6000, 5000, 2000, 1000)
    assert totals.pruned == (6000, 5000, 2000, 0)


def test_operators_without_a_printed_cost_are_refused() -> None:
    network = Network.build([Vertex("a", Kind.AGGREGATE, "", streams=("s",))], {"q": "a"})
    with pytest.raises(InputError, match="no cost for aggregate `a`"):
        measure(Sample(network, {"q": frozenset({"u"})}), (), PRINTED_COSTS)


@UNHURRIED
@given(st.integers(1, 5), st.integers(0, 100), st.integers(0, 10_000))
def test_property_times_are_those_of_the_vertices_that_pruning_keeps(queries: int, sharing: int, seed: int) -> None:
    sample = generate(Parameters(queries=queries, operators=20, sharing=sharing), Random(seed))
    network, tried = sample.network, losses(queries)
    totals = measure(sample, tried, PRINTED_COSTS)
    cost = {id_: 3000 if vertex.kind is Kind.JOIN else 1000 for id_, vertex in network.vertices.items()}
    pruner = Pruner(network)
    for number, loss in enumerate(tried):
        on = set(network.queries) - {network.queries[lost] for lost in loss}
        assert totals.pruned[number] == sum(cost[id_] for id_ in pruner.running(on))
        assert totals.starved[number] == totals.shared - sum(cost[id_] for id_ in pruner.starved(on))
