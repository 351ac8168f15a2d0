"""The cost model of section 6.1, as printed.

Every operator is charged for every input tuple: an upper bound, since selects let fewer tuples through. Times are
kept as whole tenths of a millisecond, the unit of the paper's constants. So sums are exact, and results do not depend
on the order in which networks were simulated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from headgate.errors import InputError
from headgate.network.graph import Network
from headgate.network.vertex import Kind

PER_MILLISECOND = 10
"""Units of time in a millisecond."""

_PRINTED = MappingProxyType({Kind.SELECT: 1, Kind.PROJECT: 1, Kind.JOIN: 3})


@dataclass(frozen=True, slots=True)
class CostModel:
    """Costs in tenths of a millisecond."""

    per_tuple: Mapping[Kind, int] = field(default_factory=lambda: _PRINTED)
    per_punctuation: int = 1
    tuples: int = 1_000
    tuples_per_punctuation: int = 100

    @property
    def rounds(self) -> int:
        """How often each user's punctuations show up."""
        return self.tuples // self.tuples_per_punctuation

    def by_queries(self, network: Network) -> dict[int, int]:
        """The cost of the operators that serve each set of queries; sets as bitmaps, as in `Network.served`."""
        costs: dict[int, int] = {}
        for id_, vertex in network.vertices.items():
            if vertex.kind not in self.per_tuple:
                raise InputError(
                    f"the paper gives no cost for {vertex.kind} `{id_}`", hint="use select, project or join"
                )
            served = network.served[id_]
            costs[served] = costs.get(served, 0) + self.per_tuple[vertex.kind] * self.tuples
        return costs


PRINTED_COSTS = CostModel()
