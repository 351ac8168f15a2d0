"""Queries come and go while the network runs: each change touches only what it must.

Both functions return a new network, equal to one built afresh, without walking the vertices of other queries. What
other queries' operators do is never changed here; a merger that widens a shared operator builds the network anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headgate.errors import ConflictError
from headgate.network import validate
from headgate.network.graph import Network
from headgate.network.vertex import Vertex


def with_query(network: Network, query: str, output: str, vertices: Iterable[Vertex] = ()) -> Network:
    """The network with one more query, whose new operators are `vertices`; they may read those already there."""
    if query in network.outputs:
        raise ConflictError(f"query `{query}` is already in the network")
    new = validate.index_by_id(vertices, taken=network.vertices)
    known = dict(network.vertices) | new
    validate.check_inputs(new.values(), known)
    validate.check_outputs({query: output}, (query,), known)
    order = network.order + validate.topological_order(new)
    readers = dict(network.readers) | dict.fromkeys(new, ())
    for id_, vertex in new.items():
        for name in dict.fromkeys(vertex.inputs):
            readers[name] = (*readers[name], id_)
    bit = _free_bit(network)
    served = dict(network.served) | dict.fromkeys(new, 0)
    for id_ in ancestors(known, output):
        served[id_] |= 1 << bit
    validate.check_needed({id_: served[id_] for id_ in new})
    outputs = dict(network.outputs) | {query: output}
    return Network.assemble(known, outputs, order, readers, served, dict(network.bit_of) | {query: bit})


def without_query(network: Network, query: str) -> Network:
    """The network without that query, and without the operators that served it alone."""
    behind = ancestors(network.vertices, network.output(query))
    bit = network.bit_of[query]
    served = dict(network.served)
    gone = set()
    for id_ in behind:
        served[id_] &= ~(1 << bit)
        if not served[id_]:
            del served[id_]
            gone.add(id_)
    vertices = {id_: vertex for id_, vertex in network.vertices.items() if id_ not in gone}
    readers = {id_: those for id_, those in network.readers.items() if id_ not in gone}
    for id_ in gone:
        for name in network.vertices[id_].inputs:
            if name in readers:
                readers[name] = tuple(reader for reader in readers[name] if reader != id_)
    order = tuple(id_ for id_ in network.order if id_ not in gone)
    outputs = {name: output for name, output in network.outputs.items() if name != query}
    bit_of = {name: number for name, number in network.bit_of.items() if name != query}
    return Network.assemble(vertices, outputs, order, readers, served, bit_of)


def ancestors(vertices: Mapping[str, Vertex], output: str) -> set[str]:
    """The vertices that `output` depends on, itself included."""
    seen = {output}
    stack = [output]
    while stack:
        for name in vertices[stack.pop()].inputs:
            if name not in seen:
                seen.add(name)
                stack.append(name)
    return seen


def _free_bit(network: Network) -> int:
    """The lowest bit that no query has, so that bitmaps stay short however many queries have come and gone."""
    used = 0
    for bit in network.bit_of.values():
        used |= 1 << bit
    return (~used & (used + 1)).bit_length() - 1
