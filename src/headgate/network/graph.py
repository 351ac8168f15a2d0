"""The shared-operator network of definition 1: many queries, one directed acyclic graph.

A `Network` is immutable and valid once built. The queries a vertex serves are kept as a bitmap (a Python integer, one
bit per query), because placement and pruning ask for them by the thousand; `queries_of` spells them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from headgate.errors import UnknownNameError
from headgate.model.closest import closest
from headgate.network import validate
from headgate.network.vertex import Edge, Vertex


@dataclass(frozen=True, slots=True)
class Network:
    """Vertices by id, and the output vertex of each query; the rest is derived.

    Two networks are equal if they have the same vertices and outputs, however they came about. Build one with
    `Network.build`; add and take away queries with `network.change`.
    """

    vertices: Mapping[str, Vertex]
    outputs: Mapping[str, str]
    order: tuple[str, ...] = field(compare=False, repr=False)
    """Ids, producers before consumers."""
    readers: Mapping[str, tuple[str, ...]] = field(compare=False, repr=False)
    """For each vertex the vertices that read it, each once."""
    delivers: Mapping[str, tuple[str, ...]] = field(compare=False, repr=False)
    """For each vertex that is an output, the queries whose answer it is."""
    served: Mapping[str, int] = field(compare=False, repr=False)
    """For each vertex the bitmap of the queries it serves."""
    bit_of: Mapping[str, int] = field(compare=False, repr=False)
    """For each query the number of its bit."""

    __hash__ = None  # type: ignore[assignment]  # holds mappings: compared, never used as a key

    @classmethod
    def build(
        cls, vertices: Iterable[Vertex], outputs: Mapping[str, str], *, queries: Iterable[str] | None = None
    ) -> Network:
        """A network of these vertices; `outputs` gives each query's output vertex.

        `queries`, if given, are those that must have an output.

        >>> from headgate.network.vertex import Kind, Vertex
        >>> warm = Vertex("warm", Kind.SELECT, "temperature > 30", streams=("rooms",))
        >>> network = Network.build([warm], {"q1": "warm", "q2": "warm"})
        >>> sorted(network.queries_of("warm"))
        ['q1', 'q2']
        """
        by_id = validate.index_by_id(vertices)
        validate.check_inputs(by_id.values(), by_id)
        validate.check_outputs(outputs, outputs if queries is None else queries, by_id)
        order = validate.topological_order(by_id)
        bit_of = {query: bit for bit, query in enumerate(outputs)}
        served = _served(by_id, order, outputs, bit_of)
        validate.check_needed(served)
        return cls.assemble(by_id, dict(outputs), order, _readers(by_id), served, bit_of)

    @classmethod
    def assemble(
        cls,
        vertices: dict[str, Vertex],
        outputs: dict[str, str],
        order: tuple[str, ...],
        readers: dict[str, tuple[str, ...]],
        served: dict[str, int],
        bit_of: dict[str, int],
    ) -> Network:
        """A network of parts that are known to fit; for this package, which has checked them."""
        delivers: dict[str, tuple[str, ...]] = {}
        for query, output in outputs.items():
            delivers[output] = (*delivers.get(output, ()), query)
        seal = MappingProxyType
        return cls(seal(vertices), seal(outputs), order, seal(readers), seal(delivers), seal(served), seal(bit_of))

    @property
    def queries(self) -> tuple[str, ...]:
        return tuple(self.outputs)

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that are read, by name."""
        return tuple(sorted({stream for vertex in self.vertices.values() for stream in vertex.streams}))

    def vertex(self, id_: str) -> Vertex:
        if id_ not in self.vertices:
            raise UnknownNameError(f"unknown vertex `{id_}`", hint=closest(id_, sorted(self.vertices)))
        return self.vertices[id_]

    def output(self, query: str) -> str:
        """The vertex whose results are the query's answer."""
        if query not in self.outputs:
            raise UnknownNameError(f"unknown query `{query}`", hint=closest(query, sorted(self.outputs)))
        return self.outputs[query]

    def queries_of(self, id_: str) -> frozenset[str]:
        """The queries that a vertex serves: those whose output depends on it."""
        self.vertex(id_)
        bits = self.served[id_]
        return frozenset(query for query, bit in self.bit_of.items() if bits >> bit & 1)

    def bits(self, queries: Iterable[str]) -> int:
        """The bitmap of a set of queries; an unknown one is refused."""
        bits = 0
        for query in queries:
            try:
                bits |= 1 << self.bit_of[query]
            except KeyError:
                self.output(query)
                raise
        return bits

    def edges(self) -> Iterator[Edge]:
        """Every edge: from streams to leaves, between operators, and from outputs to their queries."""
        for id_ in self.order:
            vertex = self.vertices[id_]
            for stream in dict.fromkeys(vertex.streams):
                yield Edge(stream, id_, from_stream=True)
            for name in dict.fromkeys(vertex.inputs):
                yield Edge(name, id_)
            for query in self.delivers.get(id_, ()):
                yield Edge(id_, query, to_query=True)


def _readers(vertices: Mapping[str, Vertex]) -> dict[str, tuple[str, ...]]:
    readers: dict[str, list[str]] = {id_: [] for id_ in vertices}
    for id_, vertex in vertices.items():
        for name in dict.fromkeys(vertex.inputs):
            readers[name].append(id_)
    return {id_: tuple(those) for id_, those in readers.items()}


def _served(
    vertices: Mapping[str, Vertex], order: tuple[str, ...], outputs: Mapping[str, str], bit_of: Mapping[str, int]
) -> dict[str, int]:
    """Walk from outputs to leaves: an operator serves whom its readers serve, and whom it delivers to."""
    served = dict.fromkeys(vertices, 0)
    for query, output in outputs.items():
        served[output] |= 1 << bit_of[query]
    for id_ in reversed(order):
        for name in vertices[id_].inputs:
            served[name] |= served[id_]
    return served
