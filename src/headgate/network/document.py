"""A network as JSON, for the service and for other programs."""

from __future__ import annotations

from headgate.network.prefix import is_common_prefix
from headgate.network.view import NetworkView


def to_document(view: NetworkView) -> dict[str, object]:
    """Counts, queries, operators and switches, as values that JSON can hold."""
    network = view.network
    return {
        "counts": {
            "operators": len(network.vertices),
            "shut_off": len(view.shut_off),
            "switches": len(view.switches),
            "queries": len(network.outputs),
            "queries_on": len(view.on),
        },
        "streams": list(network.streams),
        "queries": [
            {"id": query, "output": output, "on": query in view.on, "users": view.users[query]}
            for query, output in network.outputs.items()
        ],
        "operators": [
            {
                "id": id_,
                "kind": network.vertices[id_].kind.value,
                "label": network.vertices[id_].label,
                "inputs": list(network.vertices[id_].inputs),
                "streams": list(network.vertices[id_].streams),
                "queries": sorted(network.queries_of(id_)),
                "common_prefix": is_common_prefix(network, id_),
                "runs": id_ in view.running,
            }
            for id_ in network.order
        ],
        "switches": [
            {
                "type": switch.type.value,
                "query": switch.query,
                "producer": switch.edge.producer,
                "consumer": switch.edge.consumer,
                "on": view.is_on(switch),
                "users": view.users[switch.query],
            }
            for switch in view.switches
        ],
        "shut_off": list(view.shut_off),
    }
