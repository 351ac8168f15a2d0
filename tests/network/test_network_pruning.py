"""Pruning: what runs is what serves a query that is on."""

from __future__ import annotations

import pytest
from hypothesis import given
from network_strategies import UNHURRIED, behind, networks_with_state

from headgate.errors import UnknownNameError
from headgate.network import Network, Pruner


@UNHURRIED
@given(networks_with_state())
def test_property_pruned_vertices_are_exactly_those_that_serve_no_query_that_is_on(
    case: tuple[Network, frozenset[str]],
) -> None:
    network, on = case
    needed = set().union(*(behind(dict(network.vertices), network.outputs[query]) for query in on))
    pruner = Pruner(network)
    assert pruner.running(on) == needed
    assert pruner.shut_off(on) == set(network.vertices) - needed


@UNHURRIED
@given(networks_with_state())
def test_property_switches_never_stop_what_pruning_keeps(case: tuple[Network, frozenset[str]]) -> None:
    network, on = case
    pruner = Pruner(network)
    assert pruner.starved(on) <= pruner.shut_off(on)


def test_all_and_none(figure6: Network) -> None:
    pruner = Pruner(figure6)
    assert pruner.running(["Q1", "Q2"]) == set(figure6.vertices)
    assert pruner.running([]) == frozenset()
    assert pruner.starved([]) == set(figure6.vertices) - {"daytime", "slow"}


def test_unknown_queries_are_refused(figure6: Network) -> None:
    with pytest.raises(UnknownNameError, match="unknown query `Q9`"):
        Pruner(figure6).running(["Q9"])
