"""Queries as graphs of boxes, as in figure 2 of the ACStream paper: each box reads streams and writes one.

    <box name="filter_pos" type="filter">
      <input port="1" stream="Position"/>
      <output port="1" stream="out:filter_pos_1"/>
      <param name="expression.0" value="pos>100"/>
    </box>

The figure shows a filter; four more kinds, inside one `<boxes>`, say every query (`PARAMETERS`). The one stream that is
written and not read is the result. Names in a box are the columns of the stream it reads. What reads an aggregate may
also write its keys and calls out again; a qualified name, as `Position.pos`, is there a column from below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

from lxml import etree

from headgate.algebra.block import Block, block_of, default_name
from headgate.algebra.operators import Operator, Output, Source, Union, blocks_of
from headgate.algebra.spelling.draft import (
    Budget,
    Draft,
    DraftScope,
    attributes_of,
    children_of,
    depth_of,
    joined,
    placed_at,
    read_output,
    root_of,
    writing_xml,
)
from headgate.algebra.window import RangeWindow, RowsWindow, Window
from headgate.errors import ParseError, UnknownNameError
from headgate.model.closest import closest
from headgate.model.duration import format_duration, parse_duration
from headgate.model.expression.nodes import AggregateCall, walk
from headgate.model.expression.parse import MAX_DEPTH
from headgate.model.expression.print import to_text
from headgate.model.expression.transform import conjunction
from headgate.model.safe_xml import place_of
from headgate.model.schema import StreamCatalog

PARAMETERS = {
    "filter": ("expression.0", "alias.N"),
    "map": ("expression.N", "name.N", "alias.N"),
    "aggregate": ("window-type", "window-size", "window-step", "group-by.N", "expression.N", "name.N", "alias.N"),
    "join": ("range.N", "alias.N", "expression.0"),
    "union": ("alias.N",),
}
"""The kinds of boxes and their parameters. The N of `alias` and `range` is a port, that of `name` an expression."""

_NUMBERED = re.compile(r"(.+)\.(0|[1-9]\d{0,5})")
_NUMBER = re.compile(r"\d{1,30}")
_LENGTH = re.compile(r"\d{1,30}(\.\d{1,30})?\s*[A-Za-z]+")


@dataclass(frozen=True)
class Entry:
    """The stream of a port or the value of a parameter, and where it is written."""

    element: etree._Element
    text: str

    def error(self, message: str, hint: str) -> ParseError:
        return ParseError(message, place=place_of(self.element), hint=hint)


Entries = dict[str, Entry]


@dataclass(frozen=True)
class Box:
    """A box as it is written."""

    element: etree._Element
    kind: str
    inputs: tuple[Entry, ...]
    output: Entry
    params: Entries

    def numbered(self, name: str) -> list[tuple[str, Entry]]:
        """The numbers and entries of `name.0`, `name.1` and so on, in order."""
        found = [(match, entry) for key, entry in self.params.items() if (match := _NUMBERED.fullmatch(key))]
        return sorted(((m[2], entry) for m, entry in found if m[1] == name), key=lambda one: int(one[0]))

    def required(self, name: str) -> Entry:
        if name not in self.params:
            raise ParseError(
                f"the {self.kind} has no `{name}`",
                place=place_of(self.element),
                hint=f'add <param name="{name}" value="..."/>',
            )
        return self.params[name]


def parse_boxes_xml(text: str | bytes, catalog: StreamCatalog) -> Operator:
    """Read a graph of boxes; errors name the line of the element."""
    root = root_of(text)
    if root.tag not in ("boxes", "box"):
        raise ParseError(f"the document is a <{root.tag}>", place=place_of(root), hint="it starts with <boxes>")
    if root.tag == "boxes":
        attributes_of(root)
    elements = [root] if root.tag == "box" else children_of(root, "box")
    try:
        return _Graph([_read_box(element) for element in elements], catalog).query(root)
    except RecursionError:
        raise ParseError("nested too deeply", place=place_of(root), hint="simplify the expressions") from None


def _read_box(element: etree._Element) -> Box:
    kind = attributes_of(element, "name", "type")["type"]
    if kind not in PARAMETERS:
        raise ParseError(f"unknown type of box `{kind}`", place=place_of(element), hint=closest(kind, PARAMETERS))
    tables: dict[str, Entries] = {"input": {}, "output": {}, "param": {}}
    for child in children_of(element, *tables, "property"):
        if child.tag == "property":
            continue  # the state of the editor that drew the box
        key, value = ("name", "value") if child.tag == "param" else ("port", "stream")
        found, table = attributes_of(child, key, value), tables[str(child.tag)]
        children_of(child)
        entry = Entry(child, found[value])
        if found[key] in table:
            raise entry.error(f"a second <{child.tag}> has the {key} `{found[key]}`", "keep one")
        table[found[key]] = entry
    ports, outputs, params = tables.values()
    _check_ports(element, kind, ports, outputs)
    _check_params(kind, ports, params)
    return Box(element, kind, tuple(ports[str(i + 1)] for i in range(len(ports))), outputs["1"], params)


def _check_ports(element: etree._Element, kind: str, inputs: Entries, outputs: Entries) -> None:
    several = kind in ("join", "union")
    if set(inputs) != {str(i + 1) for i in range(len(inputs))} or (len(inputs) > 1) != several or not inputs:
        hint = "give it two or more, numbered from 1" if several else 'give it one, with port="1"'
        raise ParseError(f"the inputs of the {kind} do not fit", place=place_of(element), hint=hint)
    if set(outputs) != {"1"}:
        raise ParseError(
            f"the {kind} does not have exactly one output", place=place_of(element), hint='give it one, with port="1"'
        )


def _check_params(kind: str, ports: Entries, params: Entries) -> None:
    for name, entry in params.items():
        stem, number = m.groups() if (m := _NUMBERED.fullmatch(name)) else (name, "")
        if name not in PARAMETERS[kind] and (not number or f"{stem}.N" not in PARAMETERS[kind]):
            hint = f"its parameters are {', '.join(PARAMETERS[kind])}"
            raise entry.error(f"the {kind} has no parameter `{name}`", hint)
        if stem in ("alias", "range") and number not in ports:
            raise entry.error(f"`{name}` belongs to no port", "its number is that of an input")
        if stem == "name" and f"expression.{number}" not in params:
            raise entry.error(f"`{name}` belongs to no expression", f"add `expression.{number}`")


class _Graph:
    """Boxes connected by the names of their streams, which, as everywhere, case does not tell apart."""

    def __init__(self, boxes: Sequence[Box], catalog: StreamCatalog) -> None:
        self.boxes, self.catalog, self.budget = boxes, catalog, Budget()
        self.drafts: dict[str, tuple[Draft, ...]] = {}
        self.writers: dict[str, int] = {}
        for number, box in enumerate(boxes):
            name = box.output.text
            if name.lower() in self.writers:
                raise box.output.error(f"two boxes write `{name}`", "rename one of them, or join them by a union")
            if catalog.find(name):
                raise box.output.error(f"`{name}` is an input stream already", "rename the output of the box")
            self.writers[name.lower()] = number

    def query(self, root: etree._Element) -> Operator:
        """The query whose result is the stream that nobody reads."""
        if not self.boxes:
            raise ParseError("there is no box", place=place_of(root), hint="add a <box> to <boxes>")
        order = self._order()
        read = {entry.text.lower() for box in self.boxes for entry in box.inputs}
        results = [box for box in self.boxes if box.output.text.lower() not in read]
        if len(results) > 1:
            names = " and ".join(f"`{box.output.text}`" for box in results[:2])
            raise results[1].output.error(f"{names} are both results", "connect one of them, or join them by a union")
        for box in order:
            with placed_at(box.element):
                self.drafts[box.output.text.lower()] = self._drafts(box)
        with placed_at(results[0].element):
            blocks = tuple(draft.build(self.budget) for draft in self.drafts[results[0].output.text.lower()])
            return blocks[0] if len(blocks) == 1 else Union(blocks)

    def _order(self) -> list[Box]:
        """Each box after those it reads from."""
        below: dict[int, list[int]] = {}
        for number, box in enumerate(self.boxes):
            names = [entry.text.lower() for entry in box.inputs]
            for entry in box.inputs:
                if entry.text.lower() not in self.writers and not self.catalog.find(entry.text):
                    known = [*self.catalog.names, *(other.output.text for other in self.boxes if other is not box)]
                    raise UnknownNameError(
                        f"nobody writes `{entry.text}`", place=place_of(entry.element), hint=closest(entry.text, known)
                    )
            below[number] = [self.writers[name] for name in names if name in self.writers]
        try:
            return [self.boxes[number] for number in TopologicalSorter(below).static_order()]
        except CycleError as error:
            circle = [self.boxes[number].output for number in error.args[1]]
            names_in = " and ".join(f"`{entry.text}`" for entry in circle[1:3])
            raise circle[0].error(f"the boxes go round in a circle through {names_in}", "break it") from None

    def _drafts(self, box: Box) -> tuple[Draft, ...]:
        ports = [self._port(box, number) for number in range(len(box.inputs))]
        if box.kind == "union":
            found = tuple(draft for port in ports for draft in port)
            self.budget.charge(draft.given[0].expression for draft in found)
            return found
        for entry, port in zip(box.inputs, ports, strict=True):
            if len(port) > 1:
                raise entry.error(f"a {box.kind} reads a union", "put it before the union, once for each input")
        drafts = [port[0] for port in ports]
        return (self._join(box, drafts) if box.kind == "join" else _STEPS[box.kind](self, box, drafts[0]),)

    def _port(self, box: Box, number: int) -> tuple[Draft, ...]:
        entry, alias = box.inputs[number], box.params.get(f"alias.{number + 1}")
        if entry.text.lower() not in self.drafts:
            stream = self.catalog.stream(entry.text)
            return (Draft.of_source(Source(stream, alias.text if alias else stream.name)),)
        if alias and box.kind != "join":
            raise alias.error(f"`{entry.text}` comes from a box", "name it where the input stream is read")
        return self.drafts[entry.text.lower()]

    def _join(self, box: Box, drafts: list[Draft]) -> Draft:
        ranges = tuple(_length(box.required(f"range.{number + 1}")) for number in range(len(drafts)))
        for number, draft in enumerate(drafts):
            alias = box.params.get(f"alias.{number + 1}")
            if alias and alias.text != draft.sources[0].alias and len(draft.sources) == 1:
                drafts[number] = draft.renamed(alias.text, self.budget)
        draft = joined(drafts, ranges)
        return self._filter(box, draft) if "expression.0" in box.params else draft

    def _filter(self, box: Box, draft: Draft) -> Draft:
        entry = box.required("expression.0")
        with placed_at(entry.element):
            return draft.filtered(self._read(entry, draft, aggregates=bool(draft.beneath)).expression)

    def _map(self, box: Box, draft: Draft) -> Draft:
        return self._give(box, draft, self._outputs(box, draft, aggregates=bool(draft.beneath)))

    def _aggregate(self, box: Box, draft: Draft) -> Draft:
        if draft.groups is not None:
            raise box.inputs[0].error("an aggregate reads what another has aggregated", "aggregate once")
        keys = tuple(self._read(entry, draft, aggregates=False).expression for _, entry in box.numbered("group-by"))
        outputs = self._outputs(box, draft, aggregates=True)
        grouped = draft.grouped(_window(box), keys, outputs)
        given = self._give(box, grouped, outputs) if outputs or not keys else grouped
        return replace(given, beneath=draft.given)

    def _outputs(self, box: Box, draft: Draft, aggregates: bool) -> tuple[Output, ...]:
        found = []
        for number, entry in box.numbered("expression"):
            name = box.params.get(f"name.{number}")
            found.append(self._read(entry, draft, aggregates, name.text if name else None))
        return tuple(found)

    def _give(self, box: Box, draft: Draft, outputs: tuple[Output, ...]) -> Draft:
        for (_, entry), output in zip(box.numbered("expression"), outputs, strict=True):
            with placed_at(entry.element):  # each alone first, so that an error gets its line
                draft.mapped((output,))
        return draft.mapped(outputs)

    def _read(self, entry: Entry, draft: Draft, aggregates: bool, name: str | None = None) -> Output:
        scope = DraftScope(draft, self.budget, aggregates)
        output = read_output(entry.element, entry.text, scope, name)
        if scope.writes_out and depth_of(output.expression) > MAX_DEPTH // 2:  # else it could be printed, but not read
            raise entry.error("nested too deeply once the boxes below are written out", "use fewer maps")
        computed = draft.groups.calls if draft.groups is not None else None
        for node in walk(output.expression):
            if isinstance(node, AggregateCall) and computed is not None and node not in computed:
                what = to_text(node, qualified=False)
                raise entry.error(f"the aggregate below does not compute `{what}`", "add it to its expressions")
        return output


_STEPS: dict[str, Callable[[_Graph, Box, Draft], Draft]] = {
    "filter": _Graph._filter,
    "map": _Graph._map,
    "aggregate": _Graph._aggregate,
}


def _window(box: Box) -> Window:
    kind, size = box.required("window-type"), box.required("window-size")
    step = box.params.get("window-step", size)
    with placed_at(size.element):
        if kind.text == "time":
            return RangeWindow(_length(size), _length(step))
        if kind.text == "tuple":
            return RowsWindow(_count(size), _count(step))
        raise kind.error(f"the window type is `{kind.text}`", "write time or tuple")


def _length(entry: Entry) -> int:
    if not _LENGTH.fullmatch(entry.text):
        raise entry.error(f"`{entry.text[:40]}` is not a length of time", "write a number and a unit, such as `5min`")
    with placed_at(entry.element):
        return parse_duration(entry.text)


def _count(entry: Entry) -> int:
    if not _NUMBER.fullmatch(entry.text):
        raise entry.error(f"`{entry.text[:40]}` is not a number of tuples", "write a number such as 10")
    return int(entry.text)


def print_boxes_xml(query: Operator) -> str:
    """The query as a graph of boxes; it reads back as the same query."""
    with writing_xml():
        writer = _Writer({source.stream.name.lower() for source in query.sources})
        results = [writer.block(block_of(block)) for block in blocks_of(query)]
        if len(results) > 1:
            writer.box("union", results, {})
        return str(etree.tostring(writer.root, encoding="unicode", pretty_print=True))


class _Writer:
    """Adds boxes, and numbers them by kind."""

    def __init__(self, taken: set[str]) -> None:
        self.root = etree.Element("boxes")
        self._taken = taken
        self._counts = dict.fromkeys(PARAMETERS, 0)

    def box(self, kind: str, inputs: Sequence[str], params: dict[str, str]) -> str:
        """Add a box; the stream that it writes."""
        self._counts[kind] += 1
        name = f"{kind}_{self._counts[kind]}"
        stream = f"out:{name}"
        while stream in self._taken:
            stream += "_"
        element = etree.SubElement(self.root, "box", name=name, type=kind)
        for port, one in enumerate(inputs):
            etree.SubElement(element, "input", port=str(port + 1), stream=one)
        etree.SubElement(element, "output", port="1", stream=stream)
        for key, value in params.items():
            etree.SubElement(element, "param", name=key, value=value)
        return stream

    def block(self, block: Block) -> str:
        """Add the boxes of a block. Above groups all names are qualified, as there they mean columns from below."""
        aliases = {
            f"alias.{port + 1}": source.alias
            for port, source in enumerate(block.sources)
            if source.alias != source.stream.name
        }
        at = [source.stream.name for source in block.sources]

        def add(kind: str, params: dict[str, str]) -> None:
            at[:] = [self.box(kind, at, params | aliases)]
            aliases.clear()  # they are said where the streams are read

        if block.joins:
            add("join", {f"range.{port + 1}": format_duration(size) for port, size in enumerate(block.ranges)})
        if block.where_condition is not None:
            add("filter", {"expression.0": to_text(block.where_condition, qualified=block.joins)})
        if block.window is not None:
            add("aggregate", _groups(block))
        if having := conjunction(block.having):
            add("filter", {"expression.0": to_text(having)})
        add("map", _outputs(block))
        return at[0]


def _groups(block: Block) -> dict[str, str]:
    window = block.window
    assert window is not None
    say: Callable[[int], str] = str if isinstance(window, RowsWindow) else format_duration
    params = {
        "window-type": "tuple" if isinstance(window, RowsWindow) else "time",
        "window-size": say(window.size),
        "window-step": say(window.slide),
    }
    for name, expressions in (("group-by", block.keys), ("expression", block.calls)):
        for number, one in enumerate(expressions):
            params[f"{name}.{number}"] = to_text(one, qualified=block.joins)
    return params


def _outputs(block: Block) -> dict[str, str]:
    params = {}
    for number, output in enumerate(block.outputs):
        params[f"expression.{number}"] = to_text(output.expression, qualified=block.joins or block.window is not None)
        if output.name != default_name(output.expression):
            params[f"name.{number}"] = output.name
    return params
