"""Graphs of boxes that are refused: with the line, what is wrong, and a hint."""

from __future__ import annotations

import pytest
from boxes_samples import CATALOG, FIGURE, HOUR, box, boxes

from headgate.algebra.spelling.boxes_xml import parse_boxes_xml
from headgate.errors import InputError, ParseError, TypeMismatchError, UnknownNameError, WindowError


def added(depth: int) -> list[str]:
    """Maps that each add to a column: `depth` levels once written out."""
    lines = [box("map", "Position", "m0", expression_0="pos", name_0="x")]
    lines += [box("map", f"m{i}", f"m{i + 1}", expression_0="x + 1", name_0="x") for i in range(depth)]
    return lines


def twice(depth: int) -> list[str]:
    """Maps that each double a column: 2 to the power of `depth` once written out."""
    lines = [box("map", "Position", "m0", expression_0="pos", name_0="x")]
    lines += [box("map", f"m{i}", f"m{i + 1}", expression_0="x + x", name_0="x") for i in range(depth)]
    return lines


PASS = box("filter", "Position", "a", expression_0="pos > 1")
GROUPS = box("aggregate", "Position", "a", **HOUR, group_by_0="sid", expression_0="max(pos)")
JOIN = box("join", "Position Health", "a", range_1="1s", range_2="1s")
UNION = box("union", "Position Position", "a")
REFUSED: dict[str, tuple[str, type[InputError], int, str]] = {
    "another document": ("<graph/>", ParseError, 1, "the document is a <graph>"),
    "no box": ("<boxes/>", ParseError, 1, "there is no box"),
    "an attribute of all boxes": ("<boxes version='1'/>", ParseError, 1, "unknown attribute `version`"),
    "an unknown element": (boxes("<bocks/>"), ParseError, 2, "<bocks> is not known in <boxes>"),
    "the figure's line of dots": (FIGURE.replace("</box>", "...\n</box>"), ParseError, 1, "holds the text `...`"),
    "an unknown type": (boxes(box("filtre", "Position", "a")), ParseError, 2, "unknown type of box `filtre`"),
    "an element inside an input": (
        FIGURE.replace('"Position"/>', '"Position"><x/></input>'),
        ParseError,
        3,
        "<x> is not known in <input>",
    ),
    "an unknown attribute": (FIGURE.replace('port="1"', 'port="1" x="y"', 1), ParseError, 3, "attribute `x`"),
    "no output": (
        FIGURE.replace('<output port="1" stream="out:filter_pos_1"/>', ""),
        ParseError,
        1,
        "the filter does not have exactly one output",
    ),
    "an output at another port": (FIGURE.replace('<output port="1"', '<output port="2"'), ParseError, 1, "output"),
    "no input": (boxes(box("map", "", "a", expression_0="1")), ParseError, 2, "the inputs of the map do not fit"),
    "a filter of two": (boxes(box("filter", "Position Health", "a")), ParseError, 2, "inputs of the filter"),
    "a join of one": (boxes(box("join", "Position", "a", range_1="1s")), ParseError, 2, "inputs of the join"),
    "a port too far": (FIGURE.replace('<input port="1"', '<input port="2"'), ParseError, 1, "inputs of the filter"),
    "a port twice": (
        FIGURE.replace("<output", '<input port="1" stream="Health"/>\n<output'),
        ParseError,
        4,
        "a second <input> has the port `1`",
    ),
    "a parameter twice": (
        FIGURE.replace("<output", '<param name="expression.0" value="x"/>\n<output'),
        ParseError,
        6,
        "a second <param> has the name `expression.0`",
    ),
    "an unknown parameter": (FIGURE.replace("expression.0", "expression.1"), ParseError, 5, "`expression.1`"),
    "a parameter of another box": (
        boxes(box("filter", "Position", "a", expression_0="pos > 1", window_size="1s")),
        ParseError,
        2,
        "the filter has no parameter `window-size`",
    ),
    "a number with a leading zero": (
        boxes(box("map", "Position", "a", expression_00="pos")),
        ParseError,
        2,
        "the map has no parameter `expression.00`",
    ),
    "an alias of no port": (
        boxes(PASS.replace("</box>", '<param name="alias.2" value="p"/></box>')),
        ParseError,
        2,
        "",
    ),
    "a name of no expression": (
        boxes(box("map", "Position", "a", expression_0="pos", name_1="x")),
        ParseError,
        2,
        "`name.1` belongs to no expression",
    ),
    "a filter without a condition": (boxes(box("filter", "Position", "a")), ParseError, 2, "has no `expression.0`"),
    "a map of nothing": (boxes(box("map", "Position", "a")), InputError, 2, "the result has no column"),
    "a join without ranges": (boxes(box("join", "Position Health", "a", range_1="1s")), ParseError, 2, "`range.2`"),
    "an aggregate without a window": (boxes(box("aggregate", "Position", "a")), ParseError, 2, "`window-type`"),
    "an aggregate of nothing": (boxes(box("aggregate", "Position", "a", **HOUR)), InputError, 2, "no column"),
    "an unknown type of window": (
        boxes(box("aggregate", "Position", "a", window_type="day", window_size="1", expression_0="max(pos)")),
        ParseError,
        2,
        "the window type is `day`",
    ),
    "a time window without a unit": (
        boxes(box("aggregate", "Position", "a", window_type="time", window_size="5", expression_0="max(pos)")),
        ParseError,
        2,
        "`5` is not a length of time",
    ),
    "a unit nobody knows": (boxes(JOIN.replace("1s", "1 fortnight")), ParseError, 2, "unknown unit of time"),
    "a length of thousands of digits": (boxes(JOIN.replace("1s", "9" * 5000 + "s")), ParseError, 2, "length of time"),
    "a tuple window in minutes": (
        boxes(box("aggregate", "Position", "a", window_type="tuple", window_size="5min", expression_0="max(pos)")),
        ParseError,
        2,
        "`5min` is not a number of tuples",
    ),
    "an empty window": (
        boxes(box("aggregate", "Position", "a", window_type="tuple", window_size="0", expression_0="max(pos)")),
        WindowError,
        2,
        "is empty",
    ),
    "a stream nobody writes": (FIGURE.replace('"Position"', '"Positron"'), UnknownNameError, 3, "`Positron`"),
    "an output written twice": (boxes(PASS, PASS.replace('stream="a"', 'stream="A"')), ParseError, 3, "write `A`"),
    "an output that hides an input": (
        boxes(box("filter", "Position", "HEALTH", expression_0="pos > 1")),
        ParseError,
        2,
        "`HEALTH` is an input stream already",
    ),
    "two results": (boxes(PASS, PASS.replace('"a"', '"b"')), ParseError, 3, "`a` and `b` are both results"),
    "a box that reads itself": (boxes(box("filter", "a", "a", expression_0="x > 1")), ParseError, 2, "in a circle"),
    "a circle": (
        boxes(
            PASS,
            box("union", "a c", "b"),
            box("filter", "b", "c", expression_0="pos > 1"),
            box("filter", "c", "d", expression_0="pos > 1"),
        ),
        ParseError,
        3,
        "the boxes go round in a circle",
    ),
    "an error in an expression, by its line": (FIGURE.replace("pos>100", "pso>100"), UnknownNameError, 5, "`pso`"),
    "an expression that does not parse": (FIGURE.replace("pos>100", "pos>"), ParseError, 5, ""),
    "a condition that is none": (FIGURE.replace("pos>100", "pos"), TypeMismatchError, 5, "is not a condition"),
    "an expression nested too deeply": (FIGURE.replace("pos>100", "(" * 5000), ParseError, 5, "nested too deeply"),
    "a column that a map has dropped": (
        boxes(box("map", "Position", "a", expression_0="pos"), box("filter", "a", "b", expression_0="sid = 'x'")),
        UnknownNameError,
        3,
        "unknown column `sid`",
    ),
    "an ambiguous column": (
        boxes(JOIN.replace("</box>", '<param name="expression.0" value="sid = \'x\'"/></box>')),
        UnknownNameError,
        2,
        "column `sid` is ambiguous",
    ),
    "an alias on a stream of a box": (
        boxes(PASS, box("filter", "a", "b", alias_1="p", expression_0="pos > 1")),
        ParseError,
        3,
        "`a` comes from a box",
    ),
    "an unknown alias": (FIGURE.replace("pos>100", "p.pos>100"), UnknownNameError, 5, "unknown stream or alias `p`"),
    "a join of a stream with itself under one name": (
        boxes(box("join", "Position Position", "a", range_1="1s", range_2="1s")),
        UnknownNameError,
        2,
        "two streams of a join have the same name",
    ),
    "a join of a join": (
        boxes(JOIN, box("join", "a Health", "b", range_1="1s", range_2="1s", alias_1="x", alias_2="h")),
        InputError,
        3,
        "a join reads the output of a join",
    ),
    "a join of an aggregate": (
        boxes(GROUPS, box("join", "a Health", "b", range_1="1s", range_2="1s")),
        InputError,
        3,
        "a join reads the output of an aggregate",
    ),
    "an aggregate of an aggregate": (
        boxes(GROUPS, box("aggregate", "a", "b", **HOUR, expression_0="count(*)")),
        InputError,
        3,
        "an aggregate reads what another has aggregated",
    ),
    "an aggregate of a join of other windows": (
        boxes(JOIN, box("aggregate", "a", "b", **HOUR, expression_0="count(*)")),
        WindowError,
        3,
        "the windows of an aggregated join differ",
    ),
    "a count of tuples over a join": (
        boxes(JOIN, box("aggregate", "a", "b", window_type="tuple", window_size="2", expression_0="count(*)")),
        WindowError,
        3,
        "a window of rows over a join",
    ),
    "a call that the aggregate does not compute": (
        boxes(GROUPS, box("filter", "a", "b", expression_0="min(pos) > 1")),
        InputError,
        3,
        "the aggregate below does not compute `min(pos)`",
    ),
    "a column that is not grouped by": (
        boxes(GROUPS, box("map", "a", "b", expression_0="pos")),
        UnknownNameError,
        3,
        "`Position.pos` is neither grouped by nor aggregated",
    ),
    "an output that is not grouped by, by its line": (
        GROUPS.replace("<param", "\n<param").replace("max(pos)", "pos"),
        UnknownNameError,
        6,
        "`Position.pos` is neither grouped by nor aggregated",
    ),
    "a map that uses nothing of its aggregate": (
        boxes(
            box("aggregate", "Position", "a", **HOUR, expression_0="max(pos)"),
            box("map", "a", "b", expression_0="1", name_0="one"),
        ),
        InputError,
        3,
        "nothing that the aggregate computes is used",
    ),
    "a call without groups": (FIGURE.replace("pos>100", "max(pos)>1"), ParseError, 5, "`max` cannot be used here"),
    "a filter of a union": (
        boxes(UNION, box("filter", "a", "b", expression_0="pos > 1")),
        ParseError,
        3,
        "a filter reads a union",
    ),
    "a union of different columns": (
        boxes(box("union", "Position Health", "a")),
        TypeMismatchError,
        2,
        "the queries of a union have different columns",
    ),
    "two outputs of one name": (
        boxes(box("map", "Position", "a", expression_0="pos", expression_1="sid", name_1="POS")),
        InputError,
        2,
        "two outputs are called `POS`",
    ),
    "maps that double forty times": (boxes(*twice(40)), ParseError, 19, "too large once its maps are written out"),
    "maps that add two hundred times": (boxes(*added(200)), ParseError, 102, "nested too deeply once the boxes below"),
    "maps that add four thousand times": (boxes(*added(4000)), ParseError, 102, "nested too deeply"),
    "unions that double forty times": (
        boxes(UNION.replace('"a"', '"u0"'), *(box("union", f"u{i} u{i}", f"u{i + 1}") for i in range(40))),
        ParseError,
        19,
        "too large",
    ),
    "a document type": ("<!DOCTYPE boxes>" + FIGURE, ParseError, 1, "a DOCTYPE is not accepted"),
    "broken XML": (FIGURE.replace("</box>", "</boxes>"), ParseError, 6, "the XML is broken"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_place_and_hint(case: str) -> None:
    text, kind, line, message = REFUSED[case]
    with pytest.raises(kind) as caught:
        parse_boxes_xml(text, CATALOG)
    assert message in caught.value.message
    assert caught.value.place.line == line
    assert caught.value.hint
