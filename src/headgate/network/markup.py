"""A network as Mermaid and as Graphviz DOT, for documents and for tools that lay graphs out themselves.

Ids and labels come from users' queries: nodes are numbered, and text is only ever put where it is quoted and escaped.
"""

from __future__ import annotations

import re

from headgate.network.placement import Switch
from headgate.network.prefix import is_common_prefix
from headgate.network.vertex import Edge
from headgate.network.view import NetworkView

_MERMAID_PLAIN = re.compile(r"[^A-Za-z0-9 .,=+*/()_-]")


def to_mermaid(view: NetworkView) -> str:
    """A Mermaid flowchart from streams on the left to queries on the right."""
    nodes = _Nodes(view)
    lines = ["flowchart LR"]
    for name in view.network.streams:
        lines.append(f'  {nodes.stream(name)}[("{_mermaid(name)}")]')
    for id_ in view.network.order:
        vertex = view.network.vertices[id_]
        lines.append(
            f'  {nodes.vertex(id_)}["{_mermaid(vertex.kind)}<br/>{_mermaid(vertex.label)}"]:::{_style(view, id_)}'
        )
    for query in view.network.outputs:
        lines.append(f'  {nodes.query(query)}(["{_mermaid(query)}"]):::{"runs" if query in view.on else "shut"}')
    switches = view.by_edge()
    for edge in view.network.edges():
        text = _switch_text(view, switches.get(edge))
        label = f'|"{_mermaid(text)}"|' if text else ""
        lines.append(f"  {nodes.producer(edge)} {'-->' if view.flows(edge) else '-.->'}{label} {nodes.consumer(edge)}")
    lines += [
        "  classDef runs fill:#ffffff,stroke:#2b5d8a,color:#10293f",
        "  classDef shared fill:#dcebf7,stroke:#2b5d8a,color:#10293f",
        "  classDef shut fill:#f3f3f3,stroke:#b0b0b0,color:#8a8a8a,stroke-dasharray:4 3",
    ]
    return "\n".join(lines) + "\n"


def to_dot(view: NetworkView) -> str:
    """A Graphviz digraph with the same content."""
    nodes = _Nodes(view)
    lines = [
        "digraph network {",
        "  rankdir=LR;",
        '  node [fontname="sans-serif", shape=box, style=filled, fillcolor=white];',
    ]
    for name in view.network.streams:
        lines.append(f"  {nodes.stream(name)} [label={_dot(name)}, shape=cylinder];")
    fill = {"runs": "white", "shared": '"#dcebf7"', "shut": '"#f3f3f3", fontcolor="#8a8a8a", style="filled,dashed"'}
    for id_ in view.network.order:
        vertex = view.network.vertices[id_]
        text = _dot(f"{vertex.kind}\n{vertex.label}")
        lines.append(f"  {nodes.vertex(id_)} [label={text}, fillcolor={fill[_style(view, id_)]}];")
    for query in view.network.outputs:
        lines.append(f"  {nodes.query(query)} [label={_dot(query)}, shape=ellipse];")
    switches = view.by_edge()
    for edge in view.network.edges():
        text = _switch_text(view, switches.get(edge))
        style = "solid" if view.flows(edge) else "dashed"
        lines.append(f"  {nodes.producer(edge)} -> {nodes.consumer(edge)} [label={_dot(text)}, style={style}];")
    return "\n".join([*lines, "}"]) + "\n"


class _Nodes:
    """Names for nodes that need no quoting: `s0`, `v0`, `q0`."""

    def __init__(self, view: NetworkView) -> None:
        self._streams = {name: f"s{number}" for number, name in enumerate(view.network.streams)}
        self._vertices = {id_: f"v{number}" for number, id_ in enumerate(view.network.order)}
        self._queries = {query: f"q{number}" for number, query in enumerate(view.network.outputs)}

    def stream(self, name: str) -> str:
        return self._streams[name]

    def vertex(self, id_: str) -> str:
        return self._vertices[id_]

    def query(self, name: str) -> str:
        return self._queries[name]

    def producer(self, edge: Edge) -> str:
        return (self._streams if edge.from_stream else self._vertices)[edge.producer]

    def consumer(self, edge: Edge) -> str:
        return (self._queries if edge.to_query else self._vertices)[edge.consumer]


def _style(view: NetworkView, id_: str) -> str:
    if id_ not in view.running:
        return "shut"
    return "shared" if is_common_prefix(view.network, id_) else "runs"


def _switch_text(view: NetworkView, switch: Switch | None) -> str:
    if switch is None:
        return ""
    return f"{switch.type} {switch.query} {'on' if view.is_on(switch) else 'off'} ({view.users[switch.query]})"


def _mermaid(text: str) -> str:
    """Text as Mermaid shows it literally: anything that could be markup becomes a character code."""
    return _MERMAID_PLAIN.sub(lambda match: f"#{ord(match.group())};", text)


def _dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
