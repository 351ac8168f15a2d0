"""Renderings: one view, shown as text, Mermaid, DOT, SVG and JSON."""

from __future__ import annotations

import json
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from network_strategies import UNHURRIED, networks_with_state

from headgate.network import (
    Kind,
    Network,
    NetworkView,
    SwitchPunctuation,
    SwitchState,
    Vertex,
    explain_network,
    to_document,
    to_dot,
    to_mermaid,
    to_svg,
    view_network,
)
from headgate.network.layout import lay_out

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def lost_q2(figure6: Network) -> NetworkView:
    """Figure 6 with two users on Q1 and nobody on Q2."""
    state = SwitchState({"Q1": ["ann", "bob"], "Q2": ["cy"]})
    state.apply([SwitchPunctuation("Q1", user, True, 1) for user in ("ann", "bob")])
    return view_network(figure6, state, at=2)


def nasty() -> NetworkView:
    """Labels as hostile as a user could write them."""
    label = 'name = "<script>]]>" & \\ #9; |x| `y`'
    network = Network.build([Vertex('v"<', Kind.SELECT, label, streams=('s"]-->',))], {"q&<": 'v"<'})
    return view_network(network, SwitchState({"q&<": ["ann"]}), at=0)


def test_text_explains_figure6(lost_q2: NetworkView) -> None:
    assert explain_network(lost_q2) == (
        """\
network: 10 operators over 3 streams, 2 queries (1 on), 7 switches
shut off: 6 of 10 operators

queries
  on   Q1  2 users  output of project1
  off  Q2  0 users  output of project2

operators
  runs  daytime   select   6:00 < s1.timestamp < 19:00         reads stream stream1  serves Q1, Q2  common prefix
  runs  slow      select   s2.speed < 30                       reads stream stream2  serves Q1, Q2  common prefix
  shut  screen    select   s3.screentime > 5 h                 reads stream stream3  serves Q2
  shut  workday   select   s1.timestamp > 8:00                 reads daytime         serves Q2
  runs  join1     join     s1.location = s2.location [5 min]   reads daytime, slow   serves Q1
  shut  still     select   s2.speed < 0                        reads slow            serves Q2
  runs  project1  project  s1.streamid, s1.heartRate           reads join1           serves Q1
  shut  join2     join     s1.location = s2.location [10 min]  reads workday, still  serves Q2
  shut  join3     join     s2.location = s3.location [10 min]  reads join2, screen   serves Q2
  shut  project2  project  s1.streamid, s1.heartRate           reads join3           serves Q2

switches
  on   terminal    Q1  project1 -> output of Q1
  on   in-network  Q1  daytime -> join1
  on   in-network  Q1  slow -> join1
  off  terminal    Q2  project2 -> output of Q2
  off  initial     Q2  stream stream3 -> screen
  off  in-network  Q2  slow -> still
  off  in-network  Q2  daytime -> workday
"""
    )


def test_json_says_the_same(lost_q2: NetworkView) -> None:
    document = json.loads(json.dumps(to_document(lost_q2)))
    assert document["counts"] == {"operators": 10, "shut_off": 6, "switches": 7, "queries": 2, "queries_on": 1}
    assert set(document["shut_off"]) == {"workday", "still", "screen", "join2", "join3", "project2"}
    assert document["queries"][0] == {"id": "Q1", "output": "project1", "on": True, "users": 2}
    assert [it["id"] for it in document["operators"] if it["common_prefix"]] == ["daytime", "slow"]
    assert all(
        it["on"] == (it["query"] == "Q1") and it["users"] == (2 if it["on"] else 0) for it in document["switches"]
    )


def test_mermaid_and_dot_have_every_node_edge_and_switch(lost_q2: NetworkView) -> None:
    edges = len(list(lost_q2.network.edges()))
    for text, arrow in ((to_mermaid(lost_q2), "->"), (to_dot(lost_q2), " -> ")):
        assert sum(arrow in line and "label=" not in line.split(arrow)[0] for line in text.splitlines()) == edges
        assert text.count("in-network Q1 on (2)") == 2
        assert text.count("in-network Q2 off (0)") == 2
        assert "initial Q2 off (0)" in text


def test_what_users_wrote_stays_text_in_mermaid_and_dot() -> None:
    mermaid, dot = to_mermaid(nasty()), to_dot(nasty())
    assert "<script>" not in mermaid
    assert "]-->" not in mermaid
    assert 'label="select\\nname = \\"<script>]]>\\" & \\\\ #9; |x| `y`"' in dot
    assert 'label="s\\"]-->"' in dot


def test_svg_shows_figure6(lost_q2: NetworkView) -> None:
    root = ElementTree.fromstring(to_svg(lost_q2))
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert titles[0] == "4 of 10 operators run, 1 of 2 queries are on"
    assert "in-network switch of Q1 on daytime -> join1: on, 2 with access" in titles
    assert "screen: select s3.screentime > 5 h" in titles
    shut = [group for group in root.iter(f"{SVG}g") if group.get("class") == "shut"]
    assert len(shut) == 7, "six operators, and the query that is off"
    assert len(list(root.iter(f"{SVG}path"))) == len(list(lost_q2.network.edges()))


def test_what_users_wrote_stays_text_in_svg() -> None:
    root = ElementTree.fromstring(to_svg(nasty()))
    assert not list(root.iter(f"{SVG}script"))
    assert any('"<script>]]>" &' in (title.text or "") for title in root.iter(f"{SVG}title"))


@UNHURRIED
@given(networks_with_state())
def test_property_no_two_nodes_of_a_picture_overlap(case: tuple[Network, frozenset[str]]) -> None:
    network, _ = case
    layout = lay_out(network)
    by_layer: dict[int, list[float]] = {}
    for point in layout.places.values():
        by_layer.setdefault(point.layer, []).append(point.row)
    for rows in by_layer.values():
        ordered = sorted(rows)
        assert ordered[0] > -1e-9
        assert all(below - above > 1 - 1e-9 for above, below in pairwise(ordered))
    for edge, route in layout.routes.items():
        layers = [layout.places[node].layer for node in route]
        assert layers == list(range(layers[0], layers[-1] + 1)), edge


@UNHURRIED
@given(networks_with_state())
def test_property_every_rendering_agrees_on_what_is_shut_off(case: tuple[Network, frozenset[str]]) -> None:
    network, on = case
    state = SwitchState({query: ["ann"] for query in network.queries})
    state.apply([SwitchPunctuation(query, "ann", True, 0) for query in on])
    view = view_network(network, state, at=1)
    shut = {id_ for id_ in network.vertices if not network.queries_of(id_) & on}
    assert set(view.shut_off) == shut
    assert f"shut off: {len(shut)} of" in explain_network(view)
    assert to_mermaid(view).count('"]:::shut') == len(shut)
    assert to_dot(view).count("filled,dashed") == len(shut)
    svg = ElementTree.fromstring(to_svg(view))
    grey = sum(group.get("class") == "shut" for group in svg.iter(f"{SVG}g"))
    assert grey == len(shut) + len(network.queries) - len(on)
