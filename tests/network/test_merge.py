"""Merging: what is shared, what is fed, what is refused."""

from __future__ import annotations

import pytest

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.decision.decide import Decider
from headgate.errors import ConflictError, InputError, UnknownNameError
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.network.classes import bitmap, classes_of, from_words, members_of, to_words
from headgate.network.cost import CostModel, cost, place_shields, rates, shield_first, worth_materialising
from headgate.network.merge import merge, merge_groups
from headgate.network.placement import SwitchType, place_switches
from headgate.network.prefix import common_prefixes
from headgate.network.pruning import Pruner
from headgate.network.switch import SwitchState
from headgate.network.vertex import Kind
from headgate.policy.yaml_file import parse_policies
from headgate.scenario.smart_health import smart_health


def stream(name: str, governed: bool = False) -> StreamSchema:
    columns = (Column("ts", DataType.TIMESTAMP), Column("k", DataType.INT), Column("x", DataType.INT))
    return StreamSchema(name, columns, governed=governed)


CATALOG = StreamCatalog([stream("A"), stream("B"), stream("C"), stream("G", governed=True)])


def query(name: str, text: str, *subscribers: str) -> Query:
    return Query(name, "u", subscribers or ("u",), parse_cql(text, CATALOG))


JOIN = "FROM A a [RANGE 5 s], B b [RANGE 5 s] WHERE a.k = b.k AND a.x > 3"


def test_equal_sub_expressions_become_one_operator():
    network = merge(
        [
            query("q1", f"SELECT a.x {JOIN}"),
            query("q2", "SELECT z.k FROM B y [RANGE 5 s] JOIN A z [RANGE 5 s] ON y.k = z.k WHERE 3 < z.x"),
        ]
    )
    kinds = sorted(vertex.kind for vertex in network.graph.vertices.values())
    assert kinds == [Kind.JOIN, Kind.PROJECT, Kind.PROJECT, Kind.SELECT]
    join = next(id_ for id_, vertex in network.graph.vertices.items() if vertex.kind is Kind.JOIN)
    assert network.graph.queries_of(join) == {"q1", "q2"}
    assert common_prefixes(network.graph) == (join,)


def test_a_longer_join_reads_the_shorter_one():
    network = merge(
        [
            query("two", "SELECT a.x FROM A a [RANGE 5 s], B b [RANGE 5 s] WHERE a.k = b.k"),
            query(
                "three",
                "SELECT a.x FROM A a [RANGE 5 s], B b [RANGE 5 s], C c [RANGE 5 s] WHERE a.k = b.k AND b.k = c.k",
            ),
        ]
    )
    joins = [vertex for vertex in network.graph.vertices.values() if vertex.kind is Kind.JOIN]
    assert len(joins) == 2
    assert any(one.inputs and one.streams == ("C",) for one in joins)


def test_a_narrower_selection_is_fed_from_a_wider_one():
    network = merge(
        [
            query("wide", "SELECT x FROM A WHERE x > 3"),
            query("narrow", "SELECT x FROM A WHERE x > 5 AND k = 1"),
            query("apart", "SELECT x FROM A WHERE k = 2"),
        ]
    )
    (narrow, wide), *others = network.fed.items()
    assert not others
    assert network.graph.vertices[narrow].inputs == (wide,)
    assert network.graph.vertices[narrow].streams == ()
    assert network.graph.queries_of(wide) == {"wide", "narrow"}
    assert network.remove("wide").fed == {}


def test_select_stands_before_join():
    network = merge([query("q", f"SELECT a.x {JOIN}")])
    join = next(one for one in network.graph.vertices.values() if one.kind is Kind.JOIN)
    assert [network.graph.vertices[id_].kind for id_ in join.inputs] == [Kind.SELECT]


def test_losing_a_query_shuts_off_only_what_is_its_own():
    network = merge([query("q1", f"SELECT a.x {JOIN}"), query("q2", f"SELECT a.k {JOIN}")])
    shut = Pruner(network.graph).shut_off({"q1"})
    assert shut == {network.paths["q2"].output}


def test_streams_that_no_query_connects_are_networks_of_their_own():
    groups = merge_groups([query("q1", f"SELECT a.x {JOIN}"), query("q2", "SELECT x FROM C")])
    assert set(groups) == {frozenset({"A", "B"}), frozenset({"C"})}


def test_a_query_over_streams_of_different_groups_is_refused():
    with pytest.raises(InputError, match="different groups: east, west") as caught:
        merge_groups([query("q1", f"SELECT a.x {JOIN}")], {"A": "east", "B": "west"})
    assert caught.value.hint


def test_declared_groups_keep_streams_together():
    groups = merge_groups(
        [query("q1", "SELECT x FROM A"), query("q2", "SELECT x FROM B")], {"A": "east", "B": "east", "C": "west"}
    )
    assert set(groups) == {frozenset({"A", "B"})}


def test_the_same_id_twice_is_refused():
    one = query("q", "SELECT x FROM A")
    with pytest.raises(InputError, match="two queries have the id `q`"):
        merge([one, one])
    with pytest.raises(ConflictError, match="already in the network"):
        merge([one]).add(one)


def test_removing_an_unknown_query_is_refused():
    with pytest.raises(UnknownNameError, match="no query `p`"):
        merge([query("q", "SELECT x FROM A")]).remove("p")


def test_a_removed_querys_subscriber_is_known_no_more():
    state = SwitchState({"q": ["u"]})
    state.remove_query("q")
    with pytest.raises(UnknownNameError, match="no switches for query `q`"):
        state.users("q", 0)


def test_the_papers_queries_give_figure_6():
    """CQ1 and CQ2 as printed: ten operators, the switches of figure 6, and six shut off when CQ2 is lost."""
    network = merge(smart_health().queries).graph
    assert len(network.vertices) == 10
    placed = [switch.type for switch in place_switches(network)]
    assert {kind: placed.count(kind) for kind in SwitchType} == {
        SwitchType.INITIAL: 1,
        SwitchType.IN_NETWORK: 4,
        SwitchType.TERMINAL: 2,
    }
    assert len(Pruner(network).shut_off({"cq1"})) == 6


# Authorisation classes ------------------------------------------------------------------------------------------------

POLICIES = """
version: 1
policies:
  - {id: own, subject: {role: R}, object: {streams: [A], where: "k = self.team"}, allow: [read]}
"""


def users(teams: dict[str, int]) -> dict[str, User]:
    return {name: User(name, frozenset(["R"]), {"team": team}) for name, team in teams.items()}


def test_subscribers_of_equal_rights_share_a_class():
    people = users({"a": 1, "b": 2, "c": 1})
    decider = Decider(parse_policies(POLICIES, CATALOG), CATALOG)
    classes = classes_of([query("q", "SELECT x FROM A", "a", "b", "c")], people, decider)
    assert [one.members for one in classes] == [("a", "c"), ("b",)]


def test_roles_tell_classes_apart_where_a_stream_is_governed():
    people = {"a": User("a", frozenset(["R"])), "b": User("b", frozenset(["S"]))}
    open_decider = Decider(None, CATALOG)
    assert len(classes_of([query("q", "SELECT x FROM A", "a", "b")], people, open_decider)) == 1
    assert len(classes_of([query("q", "SELECT x FROM G", "a", "b")], people, open_decider)) == 2


def test_more_than_64_classes_work():
    people = users({f"u{team}": team for team in range(200)})
    decider = Decider(parse_policies(POLICIES, CATALOG), CATALOG)
    classes = classes_of([query("q", "SELECT x FROM A", *people)], people, decider)
    assert len(classes) == 200
    bits = bitmap(classes[::3])
    words = to_words(bits, len(classes))
    assert len(words) == 4
    assert all(0 <= word < 1 << 63 for word in words)
    assert members_of(from_words(words), classes) == classes[::3]


# Cost -----------------------------------------------------------------------------------------------------------------


def test_sharing_costs_less_than_running_apart():
    both = [query("q1", f"SELECT a.x {JOIN}"), query("q2", f"SELECT a.k {JOIN}")]
    tuples = {"A": 1_000.0, "B": 1_000.0}
    apart = sum(cost(merge([one]), tuples) for one in both)
    assert cost(merge(both), tuples) < 0.7 * apart


def test_a_pruned_network_costs_less():
    network = merge([query("q1", f"SELECT a.x {JOIN}"), query("q2", f"SELECT a.k {JOIN}")])
    tuples = {"A": 1_000.0, "B": 1_000.0}
    assert cost(network, tuples, Pruner(network.graph).running({"q1"})) < cost(network, tuples)


def test_a_selection_lets_its_share_through():
    network = merge([query("q", "SELECT x FROM A WHERE k = 1")])
    select = next(id_ for id_ in network.steps if id_.startswith("select"))
    assert rates(network, {"A": 1_000.0})[select] == pytest.approx(100)


def test_the_filter_that_drops_more_goes_first():
    network = merge([query("q", "SELECT x FROM A WHERE k = 1")])
    (placed,) = place_shields(network, {"A": 0.01}).values()
    assert placed is True
    (placed,) = place_shields(network, {"A": 0.99}).values()
    assert placed is False
    assert shield_first(0.5, 0.5, CostModel(shield=10.0)) is False


def test_materialising_pays_for_a_shared_join_and_not_for_a_lone_one():
    tuples = {"A": 1_000.0, "B": 1_000.0}
    shared = merge([query(f"q{n}", f"SELECT a.x + {n} AS y {JOIN}") for n in range(5)])
    join = next(id_ for id_ in shared.steps if id_.startswith("join"))
    assert worth_materialising(shared, join, tuples)
    alone = merge([query("q", f"SELECT a.x {JOIN}")])
    assert not worth_materialising(alone, join, tuples)
