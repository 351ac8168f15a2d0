"""What makes a set of vertices a network: each check says what is wrong to the person who built it.

A graph that passes is acyclic, names only what exists, gives every query one output, and has no operator whose work
nobody asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from headgate.errors import InputError, UnknownNameError
from headgate.model.closest import closest
from headgate.network.vertex import Vertex


def index_by_id(vertices: Iterable[Vertex], taken: Collection[str] = ()) -> dict[str, Vertex]:
    """The vertices by id; an id that occurs twice, or is in `taken`, is refused."""
    by_id: dict[str, Vertex] = {}
    for vertex in vertices:
        if vertex.id in by_id or vertex.id in taken:
            raise InputError(
                f"two vertices have the id `{vertex.id}`", hint="rename one, or merge them into one vertex"
            )
        by_id[vertex.id] = vertex
    return by_id


def check_inputs(vertices: Iterable[Vertex], known: Mapping[str, Vertex]) -> None:
    """Every input names a vertex in `known`."""
    for vertex in vertices:
        for name in vertex.inputs:
            if name not in known:
                raise UnknownNameError(
                    f"vertex `{vertex.id}` reads the unknown vertex `{name}`", hint=closest(name, sorted(known))
                )


def check_outputs(outputs: Mapping[str, str], queries: Iterable[str], known: Mapping[str, Vertex]) -> None:
    """Every query has an output, and every output is a vertex in `known`."""
    for query in queries:
        if query not in outputs:
            raise InputError(f"query `{query}` has no output", hint="name the vertex whose results are its answer")
    for query, output in outputs.items():
        if output not in known:
            raise UnknownNameError(
                f"the output of query `{query}` is the unknown vertex `{output}`", hint=closest(output, sorted(known))
            )


def topological_order(vertices: Mapping[str, Vertex]) -> tuple[str, ...]:
    """The ids, each after the inputs it has among `vertices`; a cycle is refused and shown.

    Inputs outside `vertices` are taken to come first: that is how a query is added to a network.
    """
    waiting = {id_: len({name for name in vertex.inputs if name in vertices}) for id_, vertex in vertices.items()}
    readers: dict[str, list[str]] = {id_: [] for id_ in vertices}
    for id_, vertex in vertices.items():
        for name in dict.fromkeys(vertex.inputs):
            if name in vertices:
                readers[name].append(id_)
    order = [id_ for id_, count in waiting.items() if count == 0]
    for id_ in order:  # grows while it is walked
        for reader in readers[id_]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                order.append(reader)
    if len(order) < len(vertices):
        raise InputError(
            f"the network has a cycle: {_show_cycle(vertices, waiting)}", hint="an operator cannot read its own results"
        )
    return tuple(order)


def _show_cycle(vertices: Mapping[str, Vertex], waiting: Mapping[str, int]) -> str:
    """One cycle among the vertices that still wait, in the direction in which results flow."""
    at = min(id_ for id_, count in waiting.items() if count)
    trail: list[str] = []
    while at not in trail:
        trail.append(at)
        at = next(name for name in vertices[at].inputs if waiting.get(name))
    cycle = [at, *reversed(trail[trail.index(at) :])]
    return " -> ".join(f"`{id_}`" for id_ in cycle)


def check_needed(served: Mapping[str, int]) -> None:
    """No vertex works for nobody: its results would cost time and be governed by no switch."""
    idle = sorted(id_ for id_, queries in served.items() if not queries)
    if idle:
        raise InputError(
            f"vertex `{idle[0]}` serves no query", hint="remove it, or make it an input of a query's output"
        )
