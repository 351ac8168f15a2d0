"""Which operators run for a switch state, and which are shut off.

An operator runs iff it serves a query that is on. This is what the switches bring about: the operators behind closed
switches get no input (`starved`), and a shared operator all of whose results run into closed switches need not run
either. The paper's switches do the first only: they have no switch before the shared part of the network.

Vertices are grouped by the bitmap of the queries they serve, once per network. A new state then costs one AND per
group, and there are few more groups than queries, however many vertices there are.
"""

from __future__ import annotations

from collections.abc import Iterable

from headgate.network.graph import Network


class Pruner:
    """Answers for one network; holds nothing that changes."""

    __slots__ = ("_groups", "_network")

    def __init__(self, network: Network) -> None:
        groups: dict[int, list[str]] = {}
        for id_ in network.order:
            groups.setdefault(network.served[id_], []).append(id_)
        self._network = network
        self._groups = tuple((bits, frozenset(ids)) for bits, ids in groups.items())

    def running(self, on: Iterable[str]) -> frozenset[str]:
        """The vertices to run when exactly the queries `on` are on."""
        bits = self._network.bits(on)
        return frozenset().union(*[ids for served, ids in self._groups if served & bits])

    def shut_off(self, on: Iterable[str]) -> frozenset[str]:
        """The others: those that serve no query that is on."""
        bits = self._network.bits(on)
        return frozenset().union(*[ids for served, ids in self._groups if not served & bits])

    def starved(self, on: Iterable[str]) -> frozenset[str]:
        """Those that the switches alone shut off, as the paper runs them: they serve one query only, and it is off."""
        bits = self._network.bits(on)
        return frozenset().union(*[ids for served, ids in self._groups if not served & (bits | (served - 1))])
