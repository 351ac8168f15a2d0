"""Streams and boxes that the tests of the box XML share."""

from __future__ import annotations

from headgate.algebra.operators import Operator
from headgate.algebra.spelling.boxes_xml import parse_boxes_xml
from headgate.algebra.spelling.cql import parse_cql
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema

POSITION = StreamSchema(
    "Position",
    (
        Column("ts", DataType.TIMESTAMP),
        Column("pos", DataType.INT),
        Column("sid", DataType.STRING),
        Column("stay", DataType.INT, unit="hours"),
    ),
    timezone="Europe/Rome",
)
HEALTH = StreamSchema(
    "Health", (Column("ts", DataType.TIMESTAMP), Column("sid", DataType.STRING), Column("odd name", DataType.INT))
)
ODD = StreamSchema(
    'odd "<&> stream', (Column("ts", DataType.TIMESTAMP), Column("pos", DataType.INT), Column("max(pos)", DataType.INT))
)
TRAP = StreamSchema("out:map_1", (Column("ts", DataType.TIMESTAMP), Column("pos", DataType.INT)))
CATALOG = StreamCatalog([POSITION, HEALTH, ODD])

FIGURE = """\
<box name="filter_pos" type="filter">
  <property name="last-editor-tab" value="1"/>
  <input port="1" stream="Position"/>
  <output port="1" stream="out:filter_pos_1"/>
  <param name="expression.0" value="pos>100"/>
</box>
"""


def box(kind: str, inputs: str, output: str, /, **params: str) -> str:
    """A box on one line; `expression_0` stands for `expression.0`, `window_size` for `window-size`."""
    lines = [f'<input port="{port + 1}" stream="{stream}"/>' for port, stream in enumerate(inputs.split())]
    lines.append(f'<output port="1" stream="{output}"/>')
    for key, value in params.items():
        stem, _, number = key.rpartition("_")
        name = f"{stem.replace('_', '-')}.{number}" if number.isdigit() else key.replace("_", "-")
        lines.append(f'<param name="{name}" value="{value}"/>')
    return f'<box name="{output}" type="{kind}">{"".join(lines)}</box>'


def boxes(*lines: str) -> str:
    return "\n".join(["<boxes>", *lines, "</boxes>"])


def read(*lines: str) -> Operator:
    return parse_boxes_xml(boxes(*lines), CATALOG)


def cql(text: str) -> Operator:
    return parse_cql(text, CATALOG)


HOUR = {"window_type": "time", "window_size": "1 hour", "window_step": "5min"}
