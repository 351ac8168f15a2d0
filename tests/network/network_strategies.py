"""Hypothesis strategies for networks of any shape, valid by construction of the draw."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from headgate.network import Kind, Network, Vertex

UNHURRIED = settings(deadline=None)
"""No time limit per example: the machine may be busy with other work."""

_UNARY = (Kind.SELECT, Kind.PROJECT, Kind.AGGREGATE, Kind.OUTPUT)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Up to twelve operators and five queries. Outputs may be any vertex, also one that others read or deliver."""
    streams = [f"s{number}" for number in range(draw(st.integers(1, 3)))]
    vertices: dict[str, Vertex] = {}
    for number in range(draw(st.integers(1, 12))):
        sources = [*streams, *vertices]
        count = draw(st.integers(1, 3))
        reads = [draw(st.sampled_from(sources)) for _ in range(count)]
        kind = draw(st.sampled_from(_UNARY)) if count == 1 else draw(st.sampled_from((Kind.JOIN, Kind.UNION)))
        inputs = tuple(name for name in reads if name in vertices)
        vertices[f"v{number}"] = Vertex(
            f"v{number}", kind, f"{kind} {number}", inputs, tuple(name for name in reads if name in streams)
        )
    outputs = {f"q{number}": draw(st.sampled_from(sorted(vertices))) for number in range(draw(st.integers(1, 5)))}
    needed = set().union(*(behind(vertices, output) for output in outputs.values()))
    kept = draw(st.permutations([vertex for id_, vertex in vertices.items() if id_ in needed]))
    return Network.build(kept, outputs)


def behind(vertices: dict[str, Vertex], output: str) -> set[str]:
    """The vertices that one depends on, by plain recursion."""
    return {output}.union(*(behind(vertices, name) for name in vertices[output].inputs))


@st.composite
def networks_with_state(draw: st.DrawFn) -> tuple[Network, frozenset[str]]:
    """A network and the queries that are on."""
    network = draw(networks())
    return network, frozenset(draw(st.sets(st.sampled_from(network.queries))))
