"""A network as a self-contained SVG picture: no graph library, no script, no font or image from elsewhere.

Operators are boxes (common prefixes tinted, shut-off ones grey and dashed), switches are marks on their edges that show
how many users have access. Every mark has a tooltip with the full text.
"""

from __future__ import annotations

from itertools import pairwise
from xml.sax.saxutils import escape

from headgate.network.layout import Layout, Node, Point, lay_out
from headgate.network.placement import Switch, SwitchType
from headgate.network.prefix import is_common_prefix
from headgate.network.vertex import Edge
from headgate.network.view import NetworkView

_BOX = (180, 44)
_STEP = (276, 68)
_MARGIN = 28
_HEAD = 58
_CHARACTERS = 24
_ALONG = (0.576, 0.648)  # the point of an edge's curve at parameter 0.6, as shares of its width and height

_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #10293f; }
.title { font-size: 14px; font-weight: 600; }
.kind { font-size: 10px; fill: #5b7388; }
.note { font-size: 11px; fill: #5b7388; }
.box { fill: #ffffff; stroke: #2b5d8a; stroke-width: 1.3; }
.shared { fill: #dcebf7; }
.end { fill: #f4f8ee; stroke: #5d8a2b; }
.shut .box { fill: #f3f3f3; stroke: #b0b0b0; stroke-dasharray: 4 3; }
.shut text { fill: #8a8a8a; }
.edge { fill: none; stroke: #2b5d8a; stroke-width: 1.3; }
.edge.dry { stroke: #b0b0b0; stroke-dasharray: 4 3; }
.on { fill: #2e8b57; stroke: #ffffff; }
.off { fill: #c0392b; stroke: #ffffff; }
.count { font-size: 10px; font-weight: 600; fill: #ffffff; text-anchor: middle; }
"""


def to_svg(view: NetworkView) -> str:
    """The picture, as one SVG document."""
    layout = lay_out(view.network)
    width = 2 * _MARGIN + (layout.layers - 1) * _STEP[0] + _BOX[0]
    height = round(_HEAD + 2 * _MARGIN + (layout.rows - 1) * _STEP[1] + _BOX[1])
    switches = view.by_edge()
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(_summary(view))}</title><style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text class="title" x="{_MARGIN}" y="{_MARGIN}">{escape(_summary(view))}</text>',
        *_legend(),
        *(_edge(view, layout, edge) for edge in layout.routes),
        *(_node(view, node, point) for node, point in layout.places.items() if node.role != "bend"),
        *(_switch(view, layout, switches[edge]) for edge in layout.routes if edge in switches),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _summary(view: NetworkView) -> str:
    total = len(view.network.vertices)
    return f"{len(view.running)} of {total} operators run, {len(view.on)} of {len(view.network.outputs)} queries are on"


def _legend() -> list[str]:
    """The three forms of switch, with the number of users that have access in each mark."""
    parts = []
    x, y = _MARGIN + 9, _MARGIN + 20
    for type_ in SwitchType:
        parts.append(_mark(type_, x, y, "on"))
        parts.append(f'<text class="note" x="{x + 14}" y="{y + 4}">{type_} switch</text>')
        x += 140
    parts.append(f'<circle class="off" cx="{x}" cy="{y}" r="6"/>')
    parts.append(f'<text class="note" x="{x + 14}" y="{y + 4}">off; the number counts users with access</text>')
    return parts


def _corner(point: Point) -> tuple[float, float]:
    return _MARGIN + point.layer * _STEP[0], _HEAD + _MARGIN + point.row * _STEP[1]


def _node(view: NetworkView, node: Node, point: Point) -> str:
    x, y = _corner(point)
    if node.role == "vertex":
        vertex = view.network.vertices[node.name]
        kind, label, shut = str(vertex.kind), vertex.label, vertex.id not in view.running
        style = "box shared" if is_common_prefix(view.network, vertex.id) else "box"
    else:
        kind, label, style = node.role, node.name, "box end"
        shut = node.role == "query" and node.name not in view.on
    radius = 6 if node.role == "vertex" else 20
    tooltip = f"{kind} {label}" if node.role != "vertex" else f"{node.name}: {kind} {label}"
    return (
        f'<g class="{"shut" if shut else "runs"}"><title>{escape(tooltip)}</title>'
        f'<rect class="{style}" x="{x:.1f}" y="{y:.1f}" width="{_BOX[0]}" height="{_BOX[1]}" rx="{radius}"/>'
        f'<text class="kind" x="{x + 12:.1f}" y="{y + 17:.1f}">{escape(kind)}</text>'
        f'<text x="{x + 12:.1f}" y="{y + 34:.1f}">{escape(_short(label))}</text></g>'
    )


def _edge(view: NetworkView, layout: Layout, edge: Edge) -> str:
    """A curve from column to column; a bend is crossed in a straight line, as wide as a box."""
    route = layout.routes[edge]
    x, y = _exit(layout.places[route[0]])
    path = f"M{x:.1f} {y:.1f}"
    for left, right in pairwise(route):
        (x1, y1), (x2, y2) = _exit(layout.places[left]), _entry(layout.places[right])
        middle = (x1 + x2) / 2
        path += f" L{x1:.1f} {y1:.1f} C{middle:.1f} {y1:.1f} {middle:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    return f'<path class="edge{"" if view.flows(edge) else " dry"}" d="{path}"/>'


def _exit(point: Point) -> tuple[float, float]:
    x, y = _corner(point)
    return x + _BOX[0], y + _BOX[1] / 2


def _entry(point: Point) -> tuple[float, float]:
    x, y = _corner(point)
    return x, y + _BOX[1] / 2


def _switch(view: NetworkView, layout: Layout, switch: Switch) -> str:
    """The mark sits on the last stretch of its edge, past the middle: where edges neither part, meet nor cross."""
    *_, before, end = layout.routes[switch.edge]
    (x1, y1), (x2, y2) = _exit(layout.places[before]), _entry(layout.places[end])
    x, y = x1 + _ALONG[0] * (x2 - x1), y1 + _ALONG[1] * (y2 - y1)
    state = "on" if view.is_on(switch) else "off"
    users = view.users[switch.query]
    return (
        f"<g><title>{escape(f'{switch}: {state}, {users} with access')}</title>{_mark(switch.type, x, y, state)}"
        f'<text class="count" x="{x:.1f}" y="{y + 3.5:.1f}">{users}</text></g>'
    )


def _mark(type_: SwitchType, x: float, y: float, state: str) -> str:
    if type_ is SwitchType.TERMINAL:
        return f'<rect class="{state}" x="{x - 8:.1f}" y="{y - 8:.1f}" width="16" height="16" rx="2"/>'
    if type_ is SwitchType.IN_NETWORK:
        return f'<circle class="{state}" cx="{x:.1f}" cy="{y:.1f}" r="9"/>'
    corners = f"{x:.1f},{y - 11:.1f} {x + 11:.1f},{y:.1f} {x:.1f},{y + 11:.1f} {x - 11:.1f},{y:.1f}"
    return f'<polygon class="{state}" points="{corners}"/>'


def _short(text: str) -> str:
    return text if len(text) <= _CHARACTERS else text[: _CHARACTERS - 1] + "…"
