"""Networks: what they know of themselves, what they refuse, and how they change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from network_strategies import UNHURRIED, behind, networks

from headgate.errors import ConflictError, InputError, UnknownNameError
from headgate.network import (
    Kind,
    Network,
    Vertex,
    common_prefixes,
    is_common_prefix,
    shared_vertices,
    with_query,
    without_query,
)


def select(id_: str, *inputs: str, stream: str | None = None) -> Vertex:
    return Vertex(id_, Kind.SELECT, f"select {id_}", inputs, (stream,) if stream else ())


def test_vertices_know_the_queries_they_serve(figure6: Network) -> None:
    assert figure6.queries_of("daytime") == {"Q1", "Q2"}
    assert figure6.queries_of("join1") == {"Q1"}
    assert figure6.queries_of("screen") == {"Q2"}
    assert figure6.streams == ("stream1", "stream2", "stream3")
    assert figure6.readers["daytime"] == ("join1", "workday")


def test_common_prefixes_of_figure6_feed_operators_of_both_queries(figure6: Network) -> None:
    assert set(common_prefixes(figure6)) == {"daytime", "slow"} == set(shared_vertices(figure6))


def test_a_shared_operator_with_one_reader_is_no_common_prefix() -> None:
    vertices = [select("a", stream="s"), select("b", "a"), select("c1", "b"), select("c2", "b")]
    network = Network.build(vertices, {"q1": "c1", "q2": "c2"})
    assert shared_vertices(network) == ("a", "b")
    assert common_prefixes(network) == ("b",)


def test_two_readers_of_one_query_make_no_common_prefix() -> None:
    join = Vertex("c", Kind.JOIN, "", ("a", "b"))
    network = Network.build([select("a", stream="s"), select("b", "a"), join], {"q": "c"})
    assert common_prefixes(network) == ()


def test_delivery_counts_as_a_use() -> None:
    network = Network.build([select("a", stream="s"), select("b", "a")], {"q1": "a", "q2": "b"})
    assert is_common_prefix(network, "a")
    assert is_common_prefix(Network.build([select("a", stream="s")], {"q1": "a", "q2": "a"}), "a")


def test_a_cycle_is_shown() -> None:
    vertices = [Vertex("a", Kind.JOIN, "", ("c",), ("s",)), select("b", "a"), select("c", "b")]
    with pytest.raises(InputError, match="cycle: `a` -> `b` -> `c` -> `a`"):
        Network.build(vertices, {"q": "c"})


def test_a_vertex_that_reads_itself_is_a_cycle() -> None:
    with pytest.raises(InputError, match="cycle: `a` -> `a`"):
        Network.build([select("a", "a")], {"q": "a"})


def test_duplicate_ids_are_refused() -> None:
    with pytest.raises(InputError, match="two vertices have the id `a`"):
        Network.build([select("a", stream="s"), select("a", stream="t")], {"q": "a"})


def test_unknown_inputs_are_refused_with_a_hint() -> None:
    with pytest.raises(UnknownNameError, match="did you mean `daytime`"):
        Network.build([select("daytime", stream="s"), select("b", "daytimes")], {"q": "b"})


def test_a_query_without_an_output_is_refused() -> None:
    with pytest.raises(InputError, match="query `q2` has no output"):
        Network.build([select("a", stream="s")], {"q1": "a"}, queries=["q1", "q2"])
    with pytest.raises(UnknownNameError, match="the output of query `q` is the unknown vertex `z`"):
        Network.build([select("a", stream="s")], {"q": "z"})


def test_an_operator_that_serves_nobody_is_refused() -> None:
    with pytest.raises(InputError, match="vertex `b` serves no query"):
        Network.build([select("a", stream="s"), select("b", "a")], {"q": "a"})


@pytest.mark.parametrize(
    ("kind", "inputs", "message"),
    [
        (Kind.SELECT, (), "select `v` reads 0 inputs"),
        (Kind.PROJECT, ("a", "b"), "project `v` reads 2 inputs"),
        (Kind.JOIN, ("a",), "join `v` reads 1 input"),
        (Kind.UNION, (), "union `v` reads 0 input"),
    ],
)
def test_operators_with_the_wrong_number_of_inputs_are_refused(
    kind: Kind, inputs: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Vertex("v", kind, "", inputs)


def test_an_empty_id_is_refused() -> None:
    with pytest.raises(InputError, match="empty id"):
        select("", stream="s")


def test_questions_about_unknown_names_are_refused(figure6: Network) -> None:
    with pytest.raises(UnknownNameError, match="unknown vertex `join9`"):
        figure6.queries_of("join9")
    with pytest.raises(UnknownNameError, match="unknown query `Q3`"):
        figure6.bits(["Q1", "Q3"])


def test_a_network_cannot_be_changed_in_place(figure6: Network) -> None:
    with pytest.raises(TypeError):
        figure6.vertices["x"] = select("x", stream="s")  # type: ignore[index]


def test_adding_a_query_refuses_what_building_refuses(figure6: Network) -> None:
    with pytest.raises(ConflictError, match="`Q1` is already"):
        with_query(figure6, "Q1", "slow")
    with pytest.raises(InputError, match="two vertices have the id `slow`"):
        with_query(figure6, "Q3", "slow", [select("slow", stream="s")])
    with pytest.raises(UnknownNameError, match="unknown vertex `z`"):
        with_query(figure6, "Q3", "x", [select("x", "z")])
    with pytest.raises(UnknownNameError, match="the output of query `Q3`"):
        with_query(figure6, "Q3", "z")
    with pytest.raises(InputError, match="cycle"):
        with_query(figure6, "Q3", "x", [select("x", "y"), select("y", "x")])
    with pytest.raises(InputError, match="vertex `y` serves no query"):
        with_query(figure6, "Q3", "x", [select("x", "slow"), select("y", "slow")])


def test_removing_an_unknown_query_is_refused(figure6: Network) -> None:
    with pytest.raises(UnknownNameError, match="unknown query `Q3`"):
        without_query(figure6, "Q3")


def test_a_freed_bit_is_used_again(figure6: Network) -> None:
    network = with_query(without_query(figure6, "Q1"), "Q3", "slow")
    assert sorted(network.bit_of.values()) == [0, 1]
    assert network.queries_of("slow") == {"Q2", "Q3"}


@UNHURRIED
@given(networks())
def test_property_a_vertex_serves_exactly_the_queries_that_depend_on_it(network: Network) -> None:
    vertices = dict(network.vertices)
    for id_ in vertices:
        expected = {query for query, output in network.outputs.items() if id_ in behind(vertices, output)}
        assert network.queries_of(id_) == expected


@UNHURRIED
@given(networks())
def test_property_producers_come_before_consumers(network: Network) -> None:
    place = {id_: number for number, id_ in enumerate(network.order)}
    assert sorted(place) == sorted(network.vertices)
    assert all(place[name] < place[id_] for id_, vertex in network.vertices.items() for name in vertex.inputs)


@UNHURRIED
@given(networks(), st.data())
def test_property_a_changed_network_equals_one_built_afresh(network: Network, data: st.DataObject) -> None:
    """Take a query away and put it back with the operators that went with it."""
    query = data.draw(st.sampled_from(network.queries))
    smaller = without_query(network, query)
    left = {name: output for name, output in network.outputs.items() if name != query}
    needed = set().union(*(behind(dict(network.vertices), output) for output in left.values()))
    assert_same(smaller, Network.build([network.vertices[id_] for id_ in network.order if id_ in needed], left))
    gone = [vertex for id_, vertex in network.vertices.items() if id_ not in needed]
    assert_same(with_query(smaller, query, network.outputs[query], gone), network)


def assert_same(one: Network, other: Network) -> None:
    assert one == other
    assert set(one.order) == set(other.order)
    for id_ in one.vertices:
        assert one.queries_of(id_) == other.queries_of(id_)
        assert set(one.readers[id_]) == set(other.readers[id_])
        assert set(one.delivers.get(id_, ())) == set(other.delivers.get(id_, ()))
