"""Switch placement: the paper's example, the cases its pseudo-code leaves open, and completeness."""

from __future__ import annotations

from hypothesis import given
from network_strategies import UNHURRIED, networks, networks_with_state

from headgate.network import Edge, Kind, Network, Pruner, Switch, SwitchType, Vertex, is_common_prefix, place_switches
from headgate.network.placement import switches_of

INITIAL, IN_NETWORK, TERMINAL = SwitchType.INITIAL, SwitchType.IN_NETWORK, SwitchType.TERMINAL


def places(network: Network) -> list[tuple[SwitchType, str, str, str]]:
    switches = place_switches(network)
    found = [(it.type, it.query, it.edge.producer, it.edge.consumer) for it in switches]
    assert len(set(found)) == len(found)
    return sorted(found)


def test_figure6_has_exactly_the_switches_of_the_text(figure6: Network) -> None:
    """Terminal ones at both outputs, in-network ones right after the common prefixes, an initial one at stream 3."""
    assert places(figure6) == [
        (IN_NETWORK, "Q1", "daytime", "join1"),
        (IN_NETWORK, "Q1", "slow", "join1"),
        (IN_NETWORK, "Q2", "daytime", "workday"),
        (IN_NETWORK, "Q2", "slow", "still"),
        (INITIAL, "Q2", "stream3", "screen"),
        (TERMINAL, "Q1", "project1", "Q1"),
        (TERMINAL, "Q2", "project2", "Q2"),
    ]


def test_losing_q2_shuts_off_six_of_the_ten_operators_of_figure6(figure6: Network) -> None:
    assert len(figure6.vertices) == 10
    shut = Pruner(figure6).starved({"Q1"})
    assert shut == {"workday", "still", "screen", "join2", "join3", "project2"}
    assert len(shut) == 6


def test_a_network_of_one_query_has_initial_switches_at_all_its_inputs() -> None:
    vertices = [
        Vertex("a", Kind.SELECT, "", streams=("s",)),
        Vertex("b", Kind.JOIN, "", ("a",), ("t",)),
    ]
    assert places(Network.build(vertices, {"q": "b"})) == [
        (INITIAL, "q", "s", "a"),
        (INITIAL, "q", "t", "b"),
        (TERMINAL, "q", "b", "q"),
    ]


def test_a_diamond_gets_each_switch_once() -> None:
    vertices = [
        Vertex("a", Kind.SELECT, "", streams=("s",)),
        Vertex("b", Kind.SELECT, "", ("a",)),
        Vertex("c", Kind.SELECT, "", ("a",)),
        Vertex("d", Kind.JOIN, "", ("b", "c")),
    ]
    assert places(Network.build(vertices, {"q": "d"})) == [(INITIAL, "q", "s", "a"), (TERMINAL, "q", "d", "q")]


def test_a_leaf_that_is_a_common_prefix_gets_switches_behind_it_only() -> None:
    vertices = [
        Vertex("leaf", Kind.SELECT, "", streams=("s",)),
        Vertex("b1", Kind.SELECT, "", ("leaf",)),
        Vertex("b2", Kind.SELECT, "", ("leaf",)),
    ]
    assert places(Network.build(vertices, {"q1": "b1", "q2": "b2"})) == [
        (IN_NETWORK, "q1", "leaf", "b1"),
        (IN_NETWORK, "q2", "leaf", "b2"),
        (TERMINAL, "q1", "b1", "q1"),
        (TERMINAL, "q2", "b2", "q2"),
    ]


def test_a_common_prefix_that_feeds_another_has_no_switch_in_between() -> None:
    vertices = [
        Vertex("a", Kind.SELECT, "", streams=("s",)),
        Vertex("b", Kind.SELECT, "", ("a",)),
        Vertex("c1", Kind.SELECT, "", ("b",)),
        Vertex("c2", Kind.SELECT, "", ("b",)),
        Vertex("c3", Kind.SELECT, "", ("a",)),
    ]
    network = Network.build(vertices, {"q1": "c1", "q2": "c2", "q3": "c3"})
    assert [it for it in places(network) if it[0] is not TERMINAL] == [
        (IN_NETWORK, "q1", "b", "c1"),
        (IN_NETWORK, "q2", "b", "c2"),
        (IN_NETWORK, "q3", "a", "c3"),
    ]
    pruner = Pruner(network)
    assert pruner.starved({"q3"}) == {"c1", "c2"}, "the paper's switches let `b` run for nobody"
    assert pruner.shut_off({"q3"}) == {"b", "c1", "c2"}


def test_a_query_whose_output_feeds_another_query_keeps_running_without_it() -> None:
    vertices = [Vertex("a", Kind.SELECT, "", streams=("s",)), Vertex("b", Kind.PROJECT, "", ("a",))]
    network = Network.build(vertices, {"q1": "a", "q2": "b"})
    assert places(network) == [
        (IN_NETWORK, "q2", "a", "b"),
        (TERMINAL, "q1", "a", "q1"),
        (TERMINAL, "q2", "b", "q2"),
    ]


@UNHURRIED
@given(networks())
def test_property_every_path_to_an_output_passes_a_switch_of_its_query(network: Network) -> None:
    """Exactly one before the terminal one; none only where the query has no operator of its own."""
    for query, output in network.outputs.items():
        switches = switches_of(network, query)
        assert [it.edge for it in switches if it.type is TERMINAL] == [Edge(output, query, to_query=True)]
        own = {it.edge for it in switches if it.type is not TERMINAL}
        passed = {sum(edge in own for edge in path) for path in paths_to(network, output)}
        assert passed == ({0} if is_common_prefix(network, output) else {1})


def paths_to(network: Network, id_: str) -> list[list[Edge]]:
    """Every path from a stream to a vertex, by plain recursion."""
    vertex = network.vertices[id_]
    paths = [[Edge(stream, id_, from_stream=True)] for stream in vertex.streams]
    return paths + [[*path, Edge(name, id_)] for name in vertex.inputs for path in paths_to(network, name)]


@UNHURRIED
@given(networks())
def test_property_a_switch_stands_where_only_its_own_query_flows(network: Network) -> None:
    for switch in place_switches(network):
        if switch.type is not TERMINAL:
            assert network.queries_of(switch.edge.consumer) == {switch.query}


@UNHURRIED
@given(networks_with_state())
def test_property_closed_switches_starve_what_pruning_says(case: tuple[Network, frozenset[str]]) -> None:
    """Let tuples flow from the streams past open switches, and see which operators get any."""
    network, on = case
    closed = {it.edge: it for it in place_switches(network) if it.query not in on}
    fed = reached(network, closed)
    assert set(network.vertices) - fed == Pruner(network).starved(on)


def reached(network: Network, closed: dict[Edge, Switch]) -> set[str]:
    fed: set[str] = set()
    for id_ in network.order:
        vertex = network.vertices[id_]
        edges = [Edge(stream, id_, from_stream=True) for stream in vertex.streams]
        edges += [Edge(name, id_) for name in vertex.inputs if name in fed]
        if any(edge not in closed for edge in edges):
            fed.add(id_)
    return fed
