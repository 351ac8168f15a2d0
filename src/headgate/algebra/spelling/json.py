"""Queries as JSON: the operator tree itself, expressions as text. For programs that store queries or send them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headgate.algebra.operators import Aggregate, Join, Operator, Output, Project, Select, Source, Union
from headgate.algebra.scope import SourceScope
from headgate.algebra.window import RangeWindow, RowsWindow, Window
from headgate.errors import InputError, ParseError
from headgate.model.duration import format_duration, parse_duration
from headgate.model.expression.nodes import AggregateCall, Expression
from headgate.model.expression.parse import parse_expression
from headgate.model.expression.print import to_text
from headgate.model.schema import StreamCatalog

Json = dict[str, Any]

MAX_DEPTH = 100


def query_to_json(query: Operator) -> Json:
    """The query as a JSON object; it reads back as the same query."""
    if type(query) not in _WRITERS:
        raise InputError("a rewritten query has no spelling", hint="write the query as it was asked")
    return _WRITERS[type(query)](query)


def query_from_json(value: object, catalog: StreamCatalog) -> Operator:
    """Read a query; an error names the path to the part that is wrong."""
    return _Reader(catalog).operator(value, "$")


def _window_to_json(window: Window) -> Json:
    if isinstance(window, RowsWindow):
        return {"rows": window.size, "slide": window.slide}
    return {"range": format_duration(window.size), "slide": format_duration(window.slide)}


_WRITERS: dict[type[Operator], Callable[..., Json]] = {
    Source: lambda one: {"operator": "source", "stream": one.stream.name, "alias": one.alias},
    Select: lambda one: {
        "operator": "select",
        "predicate": to_text(one.predicate),
        "input": query_to_json(one.input),
    },
    Join: lambda one: {
        "operator": "join",
        "ranges": [format_duration(size) for size in one.ranges],
        "predicate": to_text(one.predicate) if one.predicate else None,
        "inputs": [query_to_json(below) for below in one.inputs],
    },
    Aggregate: lambda one: {
        "operator": "aggregate",
        "window": _window_to_json(one.window),
        "keys": [to_text(key) for key in one.keys],
        "calls": [to_text(call) for call in one.calls],
        "input": query_to_json(one.input),
    },
    Project: lambda one: {
        "operator": "project",
        "outputs": [{"name": output.name, "expression": to_text(output.expression)} for output in one.outputs],
        "input": query_to_json(one.input),
    },
    Union: lambda one: {"operator": "union", "inputs": [query_to_json(below) for below in one.inputs]},
}


class _Reader:
    def __init__(self, catalog: StreamCatalog) -> None:
        self.catalog = catalog

    def operator(self, value: object, path: str) -> Operator:
        fields = _object(value, path)
        if path.count(".input") > MAX_DEPTH:
            raise ParseError("the query is nested too deeply", hint=f"the limit is {MAX_DEPTH} levels")
        kind = fields.get("operator")
        readers = {
            "source": self.source,
            "select": self.select,
            "join": self.join,
            "aggregate": self.aggregate,
            "project": self.project,
            "union": self.union,
        }
        if not isinstance(kind, str) or kind not in readers:
            raise ParseError(f"{path}.operator is `{kind}`", hint=f"the operators are {', '.join(readers)}")
        try:
            return readers[kind](fields, path)
        except InputError as error:
            if not error.message.startswith("$"):
                error.message = f"{path}: {error.message}"
            raise

    def source(self, fields: Mapping[str, object], path: str) -> Operator:
        _only(fields, path, "stream", "alias")
        stream = self.catalog.stream(_text(fields.get("stream"), f"{path}.stream"))
        return Source(stream, _text(fields.get("alias", stream.name), f"{path}.alias"))

    def select(self, fields: Mapping[str, object], path: str) -> Operator:
        _only(fields, path, "predicate", "input")
        below = self.operator(fields.get("input"), f"{path}.input")
        return Select(below, self.expression(fields.get("predicate"), below, f"{path}.predicate"))

    def join(self, fields: Mapping[str, object], path: str) -> Operator:
        _only(fields, path, "ranges", "predicate", "inputs")
        items = _list(fields.get("inputs"), f"{path}.inputs")
        inputs = tuple(self.operator(item, f"{path}.inputs[{i}]") for i, item in enumerate(items))
        sizes = tuple(parse_duration(_text(size, path)) for size in _list(fields.get("ranges"), f"{path}.ranges"))
        without = Join(inputs, sizes)
        if fields.get("predicate") is None:
            return without
        return Join(inputs, sizes, self.expression(fields["predicate"], without, f"{path}.predicate"))

    def aggregate(self, fields: Mapping[str, object], path: str) -> Operator:
        _only(fields, path, "window", "keys", "calls", "input")
        below = self.operator(fields.get("input"), f"{path}.input")
        keys = [self.expression(key, below, f"{path}.keys") for key in _list(fields.get("keys", []), f"{path}.keys")]
        calls = []
        for item in _list(fields.get("calls", []), f"{path}.calls"):
            call = self.expression(item, below, f"{path}.calls")
            if not isinstance(call, AggregateCall):
                raise ParseError(f"{path}.calls: `{item}` is not an aggregate function")
            calls.append(call)
        return Aggregate(below, _window(fields.get("window"), f"{path}.window"), tuple(keys), tuple(calls))

    def project(self, fields: Mapping[str, object], path: str) -> Operator:
        _only(fields, path, "outputs", "input")
        below = self.operator(fields.get("input"), f"{path}.input")
        outputs = []
        for position, item in enumerate(_list(fields.get("outputs"), f"{path}.outputs")):
            place = f"{path}.outputs[{position}]"
            output = _object(item, place)
            _only(output, place, "name", "expression")
            name = _text(output.get("name"), f"{place}.name")
            outputs.append(Output(name, self.expression(output.get("expression"), below, place)))
        return Project(below, tuple(outputs))

    def union(self, fields: Mapping[str, object], path: str) -> Operator:
        _only(fields, path, "inputs")
        items = _list(fields.get("inputs"), f"{path}.inputs")
        return Union(tuple(self.operator(item, f"{path}.inputs[{i}]") for i, item in enumerate(items)))

    def expression(self, value: object, below: Operator, path: str) -> Expression:
        try:
            return parse_expression(_text(value, path), SourceScope(below.sources, aggregates=True))
        except InputError as error:
            if not error.message.startswith("$"):
                error.message = f"{path}: {error.message}"
            raise


def _window(value: object, path: str) -> Window:
    fields = _object(value, path)
    slide = fields.get("slide")
    if "rows" in fields:
        _only(fields, path, "rows", "slide")
        size = _count(fields["rows"], f"{path}.rows")
        return RowsWindow(size, size if slide is None else _count(slide, f"{path}.slide"))
    _only(fields, path, "range", "slide")
    length = parse_duration(_text(fields.get("range"), f"{path}.range"))
    return RangeWindow(length, length if slide is None else parse_duration(_text(slide, f"{path}.slide")))


def _object(value: object, path: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise ParseError(f"{path} is not an object")
    return value


def _only(fields: Mapping[str, object], path: str, *keys: str) -> None:
    unknown = sorted(set(fields) - {*keys, "operator"})
    if unknown:
        raise ParseError(f"{path} has the unknown key `{unknown[0]}`", hint=f"the keys are {', '.join(keys)}")


def _list(value: object, path: str) -> Sequence[object]:
    if not isinstance(value, list):
        raise ParseError(f"{path} is not a list")
    return value


def _text(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise ParseError(f"{path} is not a text")
    return value


def _count(value: object, path: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ParseError(f"{path} is not a whole number")
    return value
