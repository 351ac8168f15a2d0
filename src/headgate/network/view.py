"""What there is to show of a network at one time: its switches, who has access, and what runs.

Every rendering starts from the same view, so text, pictures and JSON cannot disagree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.model.instant import Instant
from headgate.network.graph import Network
from headgate.network.placement import Switch, place_switches
from headgate.network.pruning import Pruner
from headgate.network.switch import SwitchState
from headgate.network.vertex import Edge


@dataclass(frozen=True, slots=True)
class NetworkView:
    """A network with the state of its switches."""

    network: Network
    switches: tuple[Switch, ...]
    users: Mapping[str, int]
    """For each query how many users have access."""
    on: frozenset[str]
    running: frozenset[str]

    @property
    def shut_off(self) -> tuple[str, ...]:
        """The operators that do not run, producers first."""
        return tuple(id_ for id_ in self.network.order if id_ not in self.running)

    def is_on(self, switch: Switch) -> bool:
        return switch.query in self.on

    def flows(self, edge: Edge) -> bool:
        """Whether results pass along an edge: both of its ends work."""
        if edge.to_query:
            return edge.consumer in self.on
        return edge.consumer in self.running

    def by_edge(self) -> dict[Edge, Switch]:
        """The switches by the edge they stand on, which is theirs alone."""
        return {switch.edge: switch for switch in self.switches}


def view_network(network: Network, state: SwitchState, at: Instant) -> NetworkView:
    """The network as it works for tuples of time `at`. Every query of the network has switches in `state`."""
    users = {query: len(state.users(query, at)) for query in network.outputs}
    on = frozenset(query for query in network.outputs if state.is_on(query, at))
    return NetworkView(network, place_switches(network), users, on, Pruner(network).running(on))
