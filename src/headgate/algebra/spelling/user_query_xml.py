"""The user query of eXACML+, figure 4(a): one stream, filtered, cut down to some attributes, aggregated.

    <UserQuery>
      <Stream name="weather"/>
      <Filter><FilterCondition>RainRate > 50</FilterCondition></Filter>
      <Map><Attribute>RainRate</Attribute></Map>
      <Aggregation>
        <WindowType>tuple</WindowType> <WindowSize>10</WindowSize> <WindowStep>2</WindowStep>
        <Attribute>avg(RainRate)</Attribute>
      </Aggregation>
    </UserQuery>

It says less than CQL does; a query that needs more is refused when printed, with the part that does not fit. Sizes of
`time` windows are seconds. A `Map` next to an `Aggregation` names what the aggregation may use, as it runs first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from lxml import etree

from headgate.algebra.block import Block, block_of, build_block, default_name
from headgate.algebra.operators import Operator, Output, Source, blocks_of
from headgate.algebra.scope import SourceScope
from headgate.algebra.spelling.draft import (
    attributes_of,
    children_of,
    output_of,
    placed_at,
    read_output,
    root_of,
    writing_xml,
)
from headgate.algebra.window import RangeWindow, RowsWindow, Window
from headgate.errors import InputError, ParseError, UnknownNameError, WindowError
from headgate.model.duration import Duration, scale
from headgate.model.expression.nodes import AggregateCall, ColumnRef, Expression, columns_of, require_conditions
from headgate.model.expression.print import quote_name, to_text
from headgate.model.instant import SECOND
from headgate.model.safe_xml import place_of
from headgate.model.schema import StreamCatalog

Parts = dict[str, etree._Element]

_SECONDS = re.compile(r"\d{1,30}(\.\d{1,6})?")
_COUNT = re.compile(r"\d{1,30}")


def parse_user_query_xml(text: str | bytes, catalog: StreamCatalog) -> Operator:
    """Read a user query; errors name the line of the element."""
    root = root_of(text)
    if root.tag != "UserQuery":
        raise ParseError(f"the document is a <{root.tag}>", place=place_of(root), hint="it starts with <UserQuery>")
    try:
        return _query(root, catalog)
    except RecursionError:
        raise ParseError("nested too deeply", place=place_of(root), hint="simplify the conditions") from None


def _query(root: etree._Element, catalog: StreamCatalog) -> Operator:
    parts = _parts(root, ("Stream",), ("Filter", "Map", "Aggregation"))
    children_of(parts["Stream"])
    with placed_at(parts["Stream"]):
        stream = catalog.stream(attributes_of(parts["Stream"], "name")["name"])
    source = Source(stream, stream.name)
    where = _condition(parts["Filter"], source) if "Filter" in parts else None
    outputs = _map(parts["Map"], source) if "Map" in parts else _all(source)
    window = None
    if "Aggregation" in parts:
        window, calls = _aggregation(parts["Aggregation"], source)
        _require_mapped(calls, outputs)
        outputs = [output for _, output in calls]
    with placed_at(parts.get("Aggregation", parts.get("Map", root))):
        return build_block([source], [window], outputs, where=where)


def _parts(element: etree._Element, required: tuple[str, ...], optional: tuple[str, ...]) -> Parts:
    """The elements inside by name, each at most once. Repeated <Attribute>s are read where they belong."""
    attributes_of(element)
    found: Parts = {}
    for child in children_of(element, *required, *optional):
        if child.tag in found and child.tag != "Attribute":
            raise ParseError(f"there is a second <{child.tag}>", place=place_of(child), hint="keep one")
        found[str(child.tag)] = child
    for name in required:
        if name not in found:
            raise ParseError(
                f"<{element.tag}> has no <{name}>", place=place_of(element), hint=f"add <{name}> to <{element.tag}>"
            )
    return found


def _text(element: etree._Element) -> str:
    attributes_of(element)
    if len(element):
        raise ParseError(
            f"<{element.tag}> holds <{element[0].tag}>", place=place_of(element[0]), hint="it holds text only"
        )
    text = (element.text or "").strip()
    if not text:
        raise ParseError(f"<{element.tag}> is empty", place=place_of(element), hint="fill it in, or remove it")
    return text


def _condition(element: etree._Element, source: Source) -> Expression:
    condition = _parts(element, ("FilterCondition",), ())["FilterCondition"]
    with placed_at(condition):
        output = read_output(condition, _text(condition), SourceScope([source]))
        require_conditions((output.expression,))
    return output.expression


def _all(source: Source) -> list[Output]:
    return [Output(one.name, ColumnRef(source.alias, one.name, one.type)) for one in source.stream.columns]


def _map(element: etree._Element, source: Source) -> list[Output]:
    _parts(element, ("Attribute",), ())
    outputs = []
    for attribute in element:
        output = read_output(attribute, _text(attribute), SourceScope([source]))
        if not isinstance(output.expression, ColumnRef):
            raise ParseError(
                f"`{_text(attribute)}` is not an attribute of the stream",
                place=place_of(attribute),
                hint="functions of a window go in <Aggregation>; for anything else write CQL",
            )
        outputs.append(output)
    return outputs


def _aggregation(element: etree._Element, source: Source) -> tuple[Window, list[tuple[etree._Element, Output]]]:
    parts = _parts(element, ("WindowType", "WindowSize", "Attribute"), ("WindowStep",))
    calls = []
    for attribute in element.iterchildren("Attribute"):
        output = read_output(attribute, _text(attribute), SourceScope([source], aggregates=True))
        if not isinstance(output.expression, AggregateCall):
            raise ParseError(
                f"`{_text(attribute)}` is not an aggregate function",
                place=place_of(attribute),
                hint="write a function of an attribute, such as `avg(RainRate)`",
            )
        calls.append((attribute, output))
    return _window(parts), calls


def _window(parts: Parts) -> Window:
    kind = _text(parts["WindowType"]).lower()
    size, step = parts["WindowSize"], parts.get("WindowStep", parts["WindowSize"])
    with placed_at(parts["WindowType"]):
        if kind == "tuple":
            return RowsWindow(_number(size, _COUNT, int), _number(step, _COUNT, int))
        if kind == "time":
            return RangeWindow(_number(size, _SECONDS, _duration), _number(step, _SECONDS, _duration))
        raise WindowError(f"the window type is `{kind}`", hint="write tuple or time")


def _number(element: etree._Element, pattern: re.Pattern[str], convert: Callable[[str], int]) -> int:
    text = _text(element)
    if not pattern.fullmatch(text):
        what = "a number of tuples" if pattern is _COUNT else "a number of seconds"
        raise WindowError(f"`{text[:40]}` is not {what}", place=place_of(element), hint="write a number such as 10")
    return convert(text)


def _duration(text: str) -> Duration:
    return scale(text, "s")


def _require_mapped(calls: list[tuple[etree._Element, Output]], outputs: list[Output]) -> None:
    mapped = [output.expression for output in outputs]
    for element, call in calls:
        for column in columns_of(call.expression):
            if column not in mapped:
                raise UnknownNameError(
                    f"`{column.name}` is aggregated but is not in <Map>",
                    place=place_of(element),
                    hint=f"add <Attribute>{quote_name(column.name)}</Attribute> to <Map>, or leave <Map> out",
                )


def print_user_query_xml(query: Operator) -> str:
    """The query as a user query; it reads back as the same query. One that says more is refused."""
    blocks = blocks_of(query)
    if len(blocks) > 1:
        raise _refusal("a union")
    block = block_of(blocks[0])
    for reason in _beyond(block):
        raise _refusal(reason)
    root = etree.Element("UserQuery")
    with writing_xml():
        etree.SubElement(root, "Stream", name=block.sources[0].stream.name)
        if block.where_condition is not None:
            filtering = etree.SubElement(root, "Filter")
            _add(filtering, "FilterCondition", to_text(block.where_condition, qualified=False))
        _add_map(root, block)
        if block.window is not None:
            _add_aggregation(root, block.window, block.outputs)
    return str(etree.tostring(root, encoding="unicode", pretty_print=True))


def _refusal(what: str) -> InputError:
    return InputError(f"a user query in XML cannot say {what}", hint="print the query as CQL, boxes or JSON")


def _beyond(block: Block) -> Iterator[str]:
    """What the block has that this spelling has no element for."""
    source = block.sources[0]
    if block.joins:
        yield "a join"
    if source.alias != source.stream.name:
        yield f"the alias `{source.alias}`"
    if block.keys:
        yield "GROUP BY"
    if block.having:
        yield "HAVING"
    for output in block.outputs:
        kind = ColumnRef if block.window is None else AggregateCall
        if not isinstance(output.expression, kind):
            yield f"the computed output `{output.name}`"
        if not _is_written(output, source):
            yield f"that an output is called `{output.name}`"


def _is_written(output: Output, source: Source) -> bool:
    """Whether the name is what reading gives: the default, or for `lastval(x)` the function as it was called."""
    if output.name == default_name(output.expression):
        return True
    try:
        return output_of(output.name, SourceScope([source], aggregates=True)) == output
    except InputError:
        return False


def _add(parent: etree._Element, name: str, text: str) -> None:
    etree.SubElement(parent, name).text = text


def _add_map(root: etree._Element, block: Block) -> None:
    """The columns that are shown, or that the aggregation uses; nothing where these are all, or none."""
    if block.window is None and list(block.outputs) == _all(block.sources[0]):
        return
    columns = dict.fromkeys(column for output in block.outputs for column in columns_of(output.expression))
    if columns:
        element = etree.SubElement(root, "Map")
        for column in columns:
            _add(element, "Attribute", quote_name(column.name))


def _add_aggregation(root: etree._Element, window: Window, outputs: tuple[Output, ...]) -> None:
    element = etree.SubElement(root, "Aggregation")
    rows = isinstance(window, RowsWindow)
    _add(element, "WindowType", "tuple" if rows else "time")
    _add(element, "WindowSize", str(window.size) if rows else _seconds(window.size))
    _add(element, "WindowStep", str(window.slide) if rows else _seconds(window.slide))
    for output in outputs:
        _add(element, "Attribute", output.name)  # a name that `_is_written` is the text of its expression


def _seconds(duration: Duration) -> str:
    """A decimal number of seconds, exact.

    >>> _seconds(90_000_000), _seconds(500_000)
    ('90', '0.5')
    """
    whole, micros = divmod(duration, SECOND)
    return f"{whole}.{micros:06}".rstrip("0") if micros else str(whole)
