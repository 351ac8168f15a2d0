"""Where privacy switches go: algorithm 2 of the Privacy Switches paper.

From each query's output the network is walked backwards. The output gets a *terminal* switch; where the walk meets a
common prefix, the edge it came along gets an *in-network* switch, and the walk stops there; where it reaches a
stream, that input gets an *initial* switch.

What the pseudo-code leaves open, and what is done here:

- "At the outgoing edge from v" means the edges that the walk came along: v has others, which belong to other queries.
- A vertex that is reached twice (a diamond) gets its switches once.
- A vertex that reads a stream *and* another operator gets an initial switch on the stream, and the walk goes on along
  the other input. The printed test ("no adjacent edges") would leave that stream open.
- A leaf that is a common prefix gets in-network switches behind it and no initial switch: its input is another
  query's too.
- A query whose output is a common prefix has no operator of its own. Its terminal switch stands on the very edge
  where the in-network switch would, and is its only one.
- A common prefix that feeds another common prefix has no switch in between, since the paper's switch speaks for one
  query and that edge belongs to several. `pruning` stops what lies before it once all of those queries are off.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headgate.network.graph import Network
from headgate.network.prefix import is_common_prefix
from headgate.network.vertex import Edge


class SwitchType(StrEnum):
    """Where in the network a switch stands."""

    INITIAL = "initial"
    IN_NETWORK = "in-network"
    TERMINAL = "terminal"


@dataclass(frozen=True, slots=True)
class Switch:
    """A privacy switch: lets results pass along `edge` on behalf of `query`."""

    type: SwitchType
    query: str
    edge: Edge

    def __str__(self) -> str:
        return f"{self.type} switch of {self.query} on {self.edge}"


def place_switches(network: Network) -> tuple[Switch, ...]:
    """The switches of every query, in the order of the queries."""
    return tuple(switch for query in network.outputs for switch in switches_of(network, query))


def switches_of(network: Network, query: str) -> tuple[Switch, ...]:
    """The switches of one query: the terminal one first, then those found on the way back to the streams."""
    output = network.output(query)
    switches = [Switch(SwitchType.TERMINAL, query, Edge(output, query, to_query=True))]
    if is_common_prefix(network, output):
        return tuple(switches)
    # INVARIANT: every vertex on the stack serves this query alone, so no switch stands where another's results flow.
    stack, seen = [output], {output}
    while stack:
        vertex = network.vertices[stack.pop()]
        for stream in dict.fromkeys(vertex.streams):
            switches.append(Switch(SwitchType.INITIAL, query, Edge(stream, vertex.id, from_stream=True)))
        for name in dict.fromkeys(vertex.inputs):
            if is_common_prefix(network, name):
                switches.append(Switch(SwitchType.IN_NETWORK, query, Edge(name, vertex.id)))
            elif name not in seen:
                seen.add(name)
                stack.append(name)
    return tuple(switches)
