"""What one simulated network costs in each of the paper's cases.

- *No sharing*: each user runs a network of their own for each of their queries.
- *Shared*: one network, and results are withheld at its end. The paper gives no cost for that filter: it is free here.
- *Shared with switches*: the same, plus what the switches spend on punctuations, less what they shut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from headgate.network.graph import Network
from headgate.network.placement import Switch, SwitchType, place_switches
from headgate.network.prefix import shared_vertices
from headgate.network.vertex import Kind
from headgate.simulator.cost import CostModel
from headgate.simulator.generate import Sample


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over networks; times in tenths of a millisecond. Adding is exact, so the order of adding does not matter."""

    networks: int = 0
    operators: int = 0
    shared_operators: int = 0
    shared_joins: int = 0
    stream_reads: int = 0
    """Pairs of a query and a stream it reads."""
    switches: int = 0
    initial_switches: int = 0
    in_network_switches: int = 0
    assignments: int = 0
    """Pairs of a user and a query."""
    no_sharing: int = 0
    shared: int = 0
    punctuations: int = 0
    """What the switches cost if each processes every punctuation: what the paper says."""
    punctuations_matching: int = 0
    """The same if only punctuations for the switch's own query cost time."""
    punctuations_batched: int = 0
    """The same if all punctuations that arrive together cost as much as one."""
    starved: tuple[int, ...] = ()
    """For each loss, the operators that still run behind the paper's switches."""
    pruned: tuple[int, ...] = ()
    """For each loss, the operators that serve a query that is on: what Headgate runs."""

    def __add__(self, other: Totals) -> Totals:
        if not self.networks or not other.networks:
            return self if self.networks else other
        sums: dict[str, object] = {}
        for item in fields(self):
            mine, others = getattr(self, item.name), getattr(other, item.name)
            is_vector = isinstance(mine, tuple)
            sums[item.name] = tuple(a + b for a, b in zip(mine, others, strict=True)) if is_vector else mine + others
        return Totals(**sums)  # type: ignore[arg-type]  # the fields' own types, summed


def measure(sample: Sample, losses: Sequence[tuple[int, ...]], model: CostModel) -> Totals:
    """The costs of one network; each of `losses` lists the queries lost, counted from zero."""
    network = sample.network
    costs = model.by_queries(network)
    switches = place_switches(network)
    shared = shared_vertices(network)
    assignments = sum(len(users) for users in sample.users.values())
    lost = [network.bits(network.queries[number] for number in loss) for loss in losses]
    unit = model.rounds * model.per_punctuation
    return Totals(
        networks=1,
        operators=len(network.vertices),
        shared_operators=len(shared),
        shared_joins=sum(network.vertices[id_].kind is Kind.JOIN for id_ in shared),
        stream_reads=_stream_reads(network),
        switches=len(switches),
        initial_switches=sum(switch.type is SwitchType.INITIAL for switch in switches),
        in_network_switches=sum(switch.type is SwitchType.IN_NETWORK for switch in switches),
        assignments=assignments,
        no_sharing=_no_sharing(sample, costs),
        shared=sum(costs.values()),
        punctuations=unit * assignments * len(switches),
        punctuations_matching=unit * _matching(sample, switches),
        punctuations_batched=unit * len(switches),
        starved=tuple(_still_running(costs, bits, by_switches=True) for bits in lost),
        pruned=tuple(_still_running(costs, bits, by_switches=False) for bits in lost),
    )


def _no_sharing(sample: Sample, costs: dict[int, int]) -> int:
    """Each user pays for all operators of each of their queries."""
    total = 0
    for query, users in sample.users.items():
        bit = 1 << sample.network.bit_of[query]
        total += len(users) * sum(cost for served, cost in costs.items() if served & bit)
    return total


def _stream_reads(network: Network) -> int:
    readers: dict[str, int] = {}
    for vertex in network.vertices.values():
        for stream in vertex.streams:
            readers[stream] = readers.get(stream, 0) | network.served[vertex.id]
    return sum(queries.bit_count() for queries in readers.values())


def _matching(sample: Sample, switches: Sequence[Switch]) -> int:
    return sum(len(sample.users[switch.query]) for switch in switches)


def _still_running(costs: dict[int, int], lost: int, *, by_switches: bool) -> int:
    """The cost of what runs without the `lost` queries.

    The paper's switches shut off an operator that serves a single, lost query; pruning also one whose queries are all
    lost (as `Pruner.starved` and `Pruner.shut_off` do, here on sums).
    """
    running = 0
    for served, cost in costs.items():
        is_shared = served & (served - 1) != 0
        if served & ~lost or (by_switches and is_shared):
            running += cost
    return running
