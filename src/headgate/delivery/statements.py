"""A merged query as statements, one for each operator: how figure 4(b) of eXACML+ shows it."""

from __future__ import annotations

from headgate.algebra.block import Block, block_of
from headgate.algebra.operators import Project
from headgate.algebra.window import RowsWindow, Window
from headgate.model.duration import format_duration
from headgate.model.expression.nodes import AggregateCall, ColumnRef, Expression, columns_of, walk
from headgate.model.expression.print import quote_name, to_text
from headgate.model.expression.transform import conjunction


def stream_statements(plan: Project) -> str:
    """The plan of one stream step by step: input, filter, map, window. For people: nothing runs these texts."""
    block = block_of(plan)
    stream = block.sources[0].stream
    columns = ", ".join(f"{quote_name(column.name)} {column.type}" for column in stream.columns)
    lines = [f"CREATE INPUT STREAM {quote_name(stream.name)} ({columns});"]
    reading = quote_name(stream.name)
    condition = conjunction(block.where)
    if condition is not None:
        passed = f"WHERE {to_text(condition, qualified=False)}"
        lines += ["CREATE STREAM internal_0;", _select("*", reading, passed, "internal_0")]
        reading = "internal_0"
    outputs = ", ".join(_output(one.name, one.expression) for one in block.outputs)
    if block.window is None:
        return "\n".join([*lines, "CREATE OUTPUT STREAM output;", _select(outputs, reading, "", "output")])
    mapped = _mapped(block)
    if mapped and len(mapped) < len(stream.columns):
        names = ", ".join(quote_name(name) for name in mapped)
        lines += ["CREATE STREAM internal_1;", _select(names, reading, "", "internal_1")]
        reading = "internal_1"
    name, made = _window(block.window)
    lines += ["CREATE OUTPUT STREAM output;", f"CREATE WINDOW {name} ({made});"]
    return "\n".join([*lines, _select(outputs, f"{reading}[{name}]", _groups(block), "output")])


def _select(what: str, source: str, rest: str, into: str) -> str:
    return " ".join(part for part in ("SELECT", what, "FROM", source, rest, "INTO", into) if part) + ";"


def _mapped(block: Block) -> list[str]:
    """The columns that the aggregate uses, in the order of the stream."""
    used = [*(one.expression for one in block.outputs), *block.having, *block.keys]
    names = {column.name for one in used for column in columns_of(one)}
    return [name for name in block.sources[0].stream.names if name in names]


def _window(window: Window) -> tuple[str, str]:
    if isinstance(window, RowsWindow):
        return f"_{window.size}tuple", f"SIZE {window.size} ADVANCE {window.slide} TUPLES"
    size, slide = format_duration(window.size), format_duration(window.slide)
    return f"_{size}", f"SIZE {size} ADVANCE {slide} TIME"


def _groups(block: Block) -> str:
    keys = ", ".join(to_text(key, qualified=False) for key in block.keys)
    having = conjunction(block.having)
    parts = [f"GROUP BY {keys}"] if keys else []
    parts += [f"HAVING {to_text(having, qualified=False)}"] if having is not None else []
    return " ".join(parts)


def _output(name: str, expression: Expression) -> str:
    text = to_text(expression, qualified=False)
    if isinstance(expression, ColumnRef) and expression.name == name:
        return text
    if any(isinstance(node, AggregateCall) for node in walk(expression)) and name == text:
        return text
    return f"{text} AS {quote_name(name)}"
