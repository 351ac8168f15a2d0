"""Common prefixes: where the work that queries have in common ends and their own begins.

Definition 1 annotates a vertex as common prefix "if the results of o_i are used by more than one operator belonging
to different queries". An operator in the middle of shared work, which feeds a single (shared) operator, is therefore
shared without being a common prefix; what carries the annotation is "the last set of operators" (section 5.2), after
which switches go.

One case the paper leaves open: the results may also *be* a query's answer (q1 is a select, q2 projects that select).
The delivery then counts as a use. Otherwise algorithm 2 would walk past the vertex on behalf of q2 and close its
input when q2 is lost, and q1 would fall silent.
"""

from __future__ import annotations

from headgate.network.graph import Network


def is_shared(network: Network, id_: str) -> bool:
    """Whether a vertex serves more than one query."""
    bits = network.served[id_]
    return bits & (bits - 1) != 0


def is_common_prefix(network: Network, id_: str) -> bool:
    """Whether a vertex's results are used more than once, by different queries.

    Two uses and two queries suffice: whichever way the queries are spread over the uses, two of the uses then belong to
    different queries.
    """
    return is_shared(network, id_) and len(network.readers[id_]) + len(network.delivers.get(id_, ())) > 1


def common_prefixes(network: Network) -> tuple[str, ...]:
    """The annotated vertices, producers first."""
    return tuple(id_ for id_ in network.order if is_common_prefix(network, id_))


def shared_vertices(network: Network) -> tuple[str, ...]:
    """The whole zone of shared work (the dotted box of figure 6), producers first."""
    return tuple(id_ for id_ in network.order if is_shared(network, id_))
