"""What a network costs to run, and the choices that follow: where a shield goes, and what is worth materialising.

The constants are those of the Privacy Switches paper (section 6.1), in milliseconds per tuple; a benchmark of an engine
can put its own in their place. Rates follow the selectivities from the streams upwards, shared operators counted once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headgate.network.change import ancestors
from headgate.network.merge import MergedNetwork
from headgate.network.selectivity import combined
from headgate.network.vertex import Kind

_PER_TUPLE: Mapping[Kind, float] = {
    Kind.SELECT: 0.1,
    Kind.PROJECT: 0.1,
    Kind.UNION: 0.1,
    Kind.OUTPUT: 0.0,
    Kind.JOIN: 0.3,
    Kind.AGGREGATE: 0.3,
}


@dataclass(frozen=True)
class CostModel:
    """Milliseconds per tuple, and per cell written to or read from a materialised result."""

    per_tuple: Mapping[Kind, float] = field(default_factory=lambda: _PER_TUPLE)
    shield: float = 0.1
    write: float = 0.2
    read: float = 0.05


def rates(network: MergedNetwork, stream_rates: Mapping[str, float]) -> dict[str, float]:
    """Tuples that leave each vertex, for so many that enter by each stream (one, where a stream is not given)."""
    leaving: dict[str, float] = {}
    graph = network.graph
    for id_ in graph.order:
        vertex = graph.vertices[id_]
        entering = [leaving[name] for name in vertex.inputs]
        entering += [stream_rates.get(stream, 1.0) for stream in vertex.streams]
        leaving[id_] = _leaving(network, id_, vertex.kind, entering)
    return leaving


def _leaving(network: MergedNetwork, id_: str, kind: Kind, entering: list[float]) -> float:
    if kind is Kind.UNION:
        return sum(entering)
    if kind is Kind.SELECT:
        feeder = network.fed.get(id_)
        share = combined(network.steps[id_].conditions)
        # What a selection reads from another has passed that one's conditions already.
        return entering[0] * share / (combined(network.steps[feeder].conditions) if feeder else 1.0)
    if kind is Kind.JOIN:
        return (
            min(entering) * combined(network.steps[id_].conditions) if network.steps[id_].conditions else max(entering)
        )
    return entering[0]


def cost(
    network: MergedNetwork,
    stream_rates: Mapping[str, float],
    running: Iterable[str] | None = None,
    model: CostModel | None = None,
) -> float:
    """Milliseconds for these many tuples, of the vertices that run (all, by default)."""
    model = model or CostModel()
    leaving = rates(network, stream_rates)
    graph = network.graph
    total = 0.0
    for id_ in graph.order if running is None else running:
        vertex = graph.vertices[id_]
        entering = sum(leaving[name] for name in vertex.inputs)
        entering += sum(stream_rates.get(stream, 1.0) for stream in vertex.streams)
        total += entering * model.per_tuple[vertex.kind]
    return total


def shield_first(shield_share: float, select_share: float, model: CostModel | None = None) -> bool:
    """Whether a shield (FENCE's SS+) goes before a selection: whichever drops more for its cost goes first.

    Both are filters, so the order changes the cost and not the result: the lesser `cost / (1 - share)` first.

    >>> shield_first(shield_share=0.1, select_share=0.9), shield_first(shield_share=0.9, select_share=0.1)
    (True, False)
    """
    model = model or CostModel()
    return _rank(model.shield, shield_share) <= _rank(model.per_tuple[Kind.SELECT], select_share)


def _rank(price: float, share: float) -> float:
    return float("inf") if share >= 1 else price / (1 - share)


def place_shields(
    network: MergedNetwork, shield_shares: Mapping[str, float], model: CostModel | None = None
) -> dict[str, bool]:
    """For each selection that reads a governed stream, whether the shield stands before it (else after it)."""
    return {
        id_: shield_first(shield_shares[step.stream], combined(step.conditions), model)
        for id_, step in network.steps.items()
        if step.stream is not None and step.stream in shield_shares
    }


def worth_materialising(
    network: MergedNetwork, id_: str, stream_rates: Mapping[str, float], model: CostModel | None = None
) -> bool:
    """Whether computing a shared result once, writing and reading it costs less than computing it for each reader."""
    model = model or CostModel()
    graph = network.graph
    readers = len(graph.readers[id_]) + len(graph.delivers.get(id_, ()))
    if readers < 2:
        return False
    behind = ancestors(graph.vertices, id_)
    once = cost(network, stream_rates, behind, model)
    leaving = rates(network, stream_rates)[id_]
    return once + leaving * (model.write + readers * model.read) < readers * once
