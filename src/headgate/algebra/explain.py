"""One text form for query trees: the same for the command line, the console and the golden tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headgate.algebra.block import default_name
from headgate.algebra.operators import Aggregate, Join, Operator, Output, Project, Select, Source, Union
from headgate.model.duration import format_duration
from headgate.model.expression.print import quote_name, to_text


def explain(operator: Operator) -> str:
    """The tree of an operator, one line each."""
    return "\n".join(_lines(operator, "", ""))


def _lines(operator: Operator, first: str, rest: str) -> Iterator[str]:
    yield first + _LABELS[type(operator)](operator)
    for position, below in enumerate(operator.inputs):
        last = position == len(operator.inputs) - 1
        yield from _lines(below, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))


def label(operator: Operator) -> str:
    """One line on what the operator does."""
    return _LABELS[type(operator)](operator)


def _source(operator: Source) -> str:
    stream = operator.stream
    alias = "" if operator.alias == stream.name else f" AS {quote_name(operator.alias)}"
    return f"Source {quote_name(stream.name)}{alias}" + (" (governed)" if stream.governed else "")


def _join(operator: Join) -> str:
    ranges = ", ".join(
        f"{quote_name(source.alias)} {format_duration(size)}"
        for source, size in zip(operator.sources, operator.ranges, strict=True)
    )
    return f"Join within [{ranges}]" + (f" ON {to_text(operator.predicate)}" if operator.predicate else "")


def _aggregate(operator: Aggregate) -> str:
    calls = ", ".join(map(to_text, operator.calls)) or "groups"
    by = f" BY {', '.join(map(to_text, operator.keys))}" if operator.keys else ""
    return f"Aggregate {calls}{by} {operator.window}"


def _output(output: Output) -> str:
    text = to_text(output.expression)
    return text if output.name == default_name(output.expression) else f"{text} AS {quote_name(output.name)}"


_LABELS: dict[type[Operator], Callable[..., str]] = {
    Source: _source,
    Select: lambda operator: f"Select {to_text(operator.predicate)}",
    Join: _join,
    Aggregate: _aggregate,
    Project: lambda operator: f"Project {', '.join(map(_output, operator.outputs))}",
    Union: lambda _: "Union",
}
