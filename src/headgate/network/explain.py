"""A network in plain text: what the command line, the console and golden tests show."""

from __future__ import annotations

from collections.abc import Iterable

from headgate.network.prefix import is_common_prefix
from headgate.network.vertex import Vertex
from headgate.network.view import NetworkView


def explain_network(view: NetworkView) -> str:
    """Counts first, then queries, operators (producers first) and switches, one line each."""
    network = view.network
    shut = len(view.shut_off)
    head = (
        f"network: {_count(len(network.vertices), 'operator')} over {_count(len(network.streams), 'stream')}, "
        f"{_count(len(network.outputs), 'query', 'queries')} ({len(view.on)} on), "
        f"{_count(len(view.switches), 'switch', 'switches')}\n"
        f"shut off: {shut} of {_count(len(network.vertices), 'operator')}\n"
    )
    sections = (
        ("queries", (_query(view, query) for query in network.outputs)),
        ("operators", (_operator(view, network.vertices[id_]) for id_ in network.order)),
        ("switches", ((_on(view.is_on(it)), it.type, it.query, str(it.edge)) for it in view.switches)),
    )
    return head + "".join(f"\n{title}\n{_table(rows)}" for title, rows in sections)


def _query(view: NetworkView, query: str) -> tuple[str, ...]:
    return _on(query in view.on), query, _count(view.users[query], "user"), f"output of {view.network.outputs[query]}"


def _operator(view: NetworkView, vertex: Vertex) -> tuple[str, ...]:
    network = view.network
    reads = [f"stream {stream}" for stream in vertex.streams] + list(vertex.inputs)
    serves = ", ".join(query for query in network.outputs if network.served[vertex.id] >> network.bit_of[query] & 1)
    mark = "common prefix" if is_common_prefix(network, vertex.id) else ""
    state = "runs" if vertex.id in view.running else "shut"
    return state, vertex.id, vertex.kind, vertex.label, f"reads {', '.join(reads)}", f"serves {serves}", mark


def _on(value: bool) -> str:
    return "on" if value else "off"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    """Columns as wide as their widest cell, without trailing blanks."""
    table = list(rows)
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table)
    return "".join(f"  {line.rstrip()}\n" for line in lines)
