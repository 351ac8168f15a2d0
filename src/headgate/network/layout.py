"""Places for the nodes of a network: a small layered layout, from streams on the left to queries on the right.

The classic four steps: each node goes one layer after its latest producer; an edge that skips layers gets a bend in
each of them; a few sweeps order every layer by the mean place of its neighbours, which removes most crossings; then
nodes are shifted towards their neighbours as far as their layer allows. Everything is decided by order and
arithmetic, so the same network always looks the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from headgate.network.graph import Network
from headgate.network.vertex import Edge

_SWEEPS = 8


class Node(NamedTuple):
    """A thing with a place: `role` is stream, vertex, query or bend."""

    role: str
    name: str


class Point(NamedTuple):
    """Layer from the left, and height in rows (fractions allowed)."""

    layer: int
    row: float


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each node is, and the nodes and bends that each edge runs through."""

    places: dict[Node, Point]
    routes: dict[Edge, tuple[Node, ...]]

    @property
    def layers(self) -> int:
        return max(point.layer for point in self.places.values()) + 1

    @property
    def rows(self) -> float:
        return max(point.row for point in self.places.values()) + 1


def lay_out(network: Network) -> Layout:
    """Places for all streams, operators and queries of a network."""
    layer_of = _layers(network)
    routes = {edge: _route(edge, layer_of) for edge in network.edges()}
    layers = _members(layer_of)
    before, after = _neighbours(routes)
    for sweep in range(_SWEEPS):
        neighbours = before if sweep % 2 == 0 else after
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            _sort_by_neighbours(layer, neighbours, _ranks(layers))
    rows = _rows(layers, before, after)
    places = {node: Point(layer_of[node], rows[node]) for layer in layers for node in layer}
    return Layout(places, routes)


def _layers(network: Network) -> dict[Node, int]:
    layer_of = {Node("stream", name): 0 for name in network.streams}
    for id_ in network.order:
        inputs = [layer_of[Node("vertex", name)] for name in network.vertices[id_].inputs]
        layer_of[Node("vertex", id_)] = max(inputs, default=0) + 1
    last = max(layer_of.values(), default=0) + 1
    return layer_of | {Node("query", query): last for query in network.outputs}


def _route(edge: Edge, layer_of: dict[Node, int]) -> tuple[Node, ...]:
    """The nodes an edge runs through; its bends are added to `layer_of`."""
    start = Node("stream" if edge.from_stream else "vertex", edge.producer)
    end = Node("query" if edge.to_query else "vertex", edge.consumer)
    bends = []
    for layer in range(layer_of[start] + 1, layer_of[end]):
        bend = Node("bend", f"{start.role} {start.name} / {end.role} {end.name} / {layer}")
        layer_of[bend] = layer
        bends.append(bend)
    return (start, *bends, end)


def _members(layer_of: dict[Node, int]) -> list[list[Node]]:
    layers: list[list[Node]] = [[] for _ in range(max(layer_of.values(), default=-1) + 1)]
    for node, layer in layer_of.items():
        layers[layer].append(node)
    return layers


def _neighbours(routes: dict[Edge, tuple[Node, ...]]) -> tuple[dict[Node, list[Node]], dict[Node, list[Node]]]:
    before: dict[Node, list[Node]] = {}
    after: dict[Node, list[Node]] = {}
    for route in routes.values():
        for left, right in pairwise(route):
            before.setdefault(right, []).append(left)
            after.setdefault(left, []).append(right)
    return before, after


def _ranks(layers: list[list[Node]]) -> dict[Node, int]:
    return {node: rank for layer in layers for rank, node in enumerate(layer)}


def _sort_by_neighbours(layer: list[Node], neighbours: dict[Node, list[Node]], ranks: dict[Node, int]) -> None:
    def mean(node: Node) -> float:
        near = neighbours.get(node)
        return sum(ranks[other] for other in near) / len(near) if near else ranks[node]

    layer.sort(key=mean)


def _rows(layers: list[list[Node]], before: dict[Node, list[Node]], after: dict[Node, list[Node]]) -> dict[Node, float]:
    tallest = max((len(layer) for layer in layers), default=0)
    rows = {node: rank + (tallest - len(layer)) / 2 for layer in layers for rank, node in enumerate(layer)}
    for sweep in range(_SWEEPS):
        neighbours = before if sweep % 2 == 0 else after
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = [_mean_row(node, neighbours, rows) for node in layer]
            for node, row in zip(layer, _spread(wanted), strict=True):
                rows[node] = row
    top = min(rows.values(), default=0.0)
    return {node: row - top for node, row in rows.items()}


def _mean_row(node: Node, neighbours: dict[Node, list[Node]], rows: dict[Node, float]) -> float:
    near = neighbours.get(node)
    return sum(rows[other] for other in near) / len(near) if near else rows[node]


def _spread(wanted: list[float]) -> list[float]:
    """Rows in the given order, at least one apart, as near as possible to the wanted ones.

    >>> _spread([1.0, 1.0, 5.0])
    [0.5, 1.5, 5.0]
    """
    blocks: list[tuple[float, int]] = []  # the sum of (wanted - offset) and the size of each run of touching nodes
    for index, row in enumerate(wanted):
        total, size = row - index, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / size:
            previous, length = blocks.pop()
            total, size = total + previous, size + length
        blocks.append((total, size))
    places = [total / size for total, size in blocks for _ in range(size)]
    return [place + index for index, place in enumerate(places)]
