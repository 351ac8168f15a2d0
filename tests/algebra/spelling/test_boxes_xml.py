"""Graphs of boxes: figure 2 of ACStream as given, what each box means, what is refused, and that graphs read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_laws import CORE_LAW
from headgate.algebra.operators import Operator
from headgate.algebra.spelling.boxes_xml import PARAMETERS, parse_boxes_xml, print_boxes_xml
from headgate.algebra.spelling.cql import parse_cql
from headgate.errors import InputError, ParseError, TypeMismatchError, UnknownNameError, WindowError
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


class TestReading:
    def test_figure_2(self) -> None:
        expected = cql("SELECT * FROM Position WHERE pos > 100")
        assert parse_boxes_xml(FIGURE, CATALOG) == expected
        assert parse_boxes_xml(boxes(FIGURE).encode(), CATALOG) == expected

    def test_the_order_of_boxes_does_not_matter(self) -> None:
        lines = [
            box("map", "b", "c", expression_0="pos"),
            box("filter", "a", "b", expression_0="pos &lt; 9"),
            box("filter", "position", "A", expression_0="pos > 1"),
        ]
        assert read(*lines) == cql("SELECT pos FROM Position WHERE pos > 1 AND pos < 9")

    def test_a_map_names_what_it_gives(self) -> None:
        found = read(box("map", "Position", "a", expression_0="pos * 2", name_0="double", expression_1="sid"))
        assert found == cql("SELECT pos * 2 AS double, sid FROM Position")

    def test_expressions_come_by_number(self) -> None:
        found = read(box("map", "Position", "a", expression_10="sid", expression_9="pos"))
        assert found == cql("SELECT pos, sid FROM Position")

    def test_a_map_below_is_written_out(self) -> None:
        found = read(
            box("map", "Position", "a", expression_0="pos * 2", name_0="double", expression_1="ts", name_1="when"),
            box("filter", "a", "b", expression_0="double > 5 AND Position.when > 6:00am"),
            box("map", "b", "c", expression_0="DOUBLE + 1", name_0="more"),
        )
        assert found == cql("SELECT pos * 2 + 1 AS more FROM Position WHERE pos * 2 > 5 AND ts > 6:00am")

    def test_a_duration_counts_in_the_unit_of_the_column_behind_a_name(self) -> None:
        found = read(
            box("map", "Position", "a", expression_0="stay", name_0="here"),
            box("filter", "a", "b", expression_0="here > 2d"),
        )
        assert found == cql("SELECT stay AS here FROM Position WHERE stay > 48")

    def test_a_filter_after_an_aggregate_is_having(self) -> None:
        found = read(
            box("aggregate", "Position", "a", **HOUR, group_by_0="sid", expression_0="sid", expression_1="avg(pos)"),
            box("filter", "a", "b", expression_0="avg(pos) > 5 AND sid &lt;> 'x'"),
        )
        window = "[RANGE 1 HOUR, SLIDE 5 MIN]"
        assert found == cql(
            f"SELECT sid, avg(pos) FROM Position {window} GROUP BY sid HAVING avg(pos) > 5 AND sid <> 'x'"
        )

    def test_what_reads_an_aggregate_may_use_its_names(self) -> None:
        found = read(
            box("aggregate", "Position", "a", **HOUR, group_by_0="sid", expression_0="lastval(pos)", name_0="pos"),
            box("filter", "a", "b", expression_0="pos > 5"),
            box("map", "b", "c", expression_0="pos + 1", name_0="x", expression_1="Position.sid"),
            box("filter", "c", "d", expression_0="x &lt; 9"),
        )
        assert found == cql(
            "SELECT last(pos) + 1 AS x, sid FROM Position [RANGE 1 HOUR, SLIDE 5 MIN] GROUP BY sid"
            " HAVING last(pos) > 5 AND last(pos) + 1 < 9"
        )

    def test_an_aggregate_without_expressions_gives_its_keys(self) -> None:
        found = read(box("aggregate", "Position", "a", window_type="tuple", window_size="5", group_by_0="sid"))
        assert found == cql("SELECT sid FROM Position [ROWS 5] GROUP BY sid")

    def test_default_names_are_those_of_cql(self) -> None:
        found = read(box("aggregate", "Position", "a", **HOUR, expression_0="LastVal(pos)"))
        assert [field.name for field in found.schema] == ["lastval(pos)"]

    def test_a_join_of_filtered_streams(self) -> None:
        found = read(
            box("filter", "Position", "a", expression_0="pos > 1"),
            box("join", "a Health", "b", range_1="5min", range_2="0s", alias_1="p", expression_0="p.sid = Health.sid"),
        )
        assert found == cql(
            "SELECT * FROM Position AS p [RANGE 5 MIN], Health [NOW] WHERE p.pos > 1 AND p.sid = Health.sid"
        )

    def test_a_stream_joined_with_itself(self) -> None:
        found = read(
            box("map", "Position", "a", alias_1="p", expression_0="pos + 1", name_0="x"),
            box("join", "a a", "b", range_1="1s", range_2="1s", alias_1="l", alias_2="r", expression_0="l.x > r.x"),
        )
        assert found == cql(
            'SELECT l.pos + 1 AS "l.x", r.pos + 1 AS "r.x" FROM Position AS l [RANGE 1 s], Position AS r [RANGE 1 s]'
            " WHERE l.pos + 1 > r.pos + 1"
        )

    def test_an_aggregate_of_a_join(self) -> None:
        found = read(
            box("join", "Position Health", "a", range_1="1h", range_2="60min"),
            box("aggregate", "a", "b", **HOUR, expression_0="max(pos)"),
        )
        window = "[RANGE 1 HOUR, SLIDE 5 MIN]"
        assert found == cql(f"SELECT max(pos) FROM Position {window}, Health {window}")

    def test_unions_of_unions_are_one(self) -> None:
        found = read(
            box("union", "Position Position", "a", alias_2="p"),
            box("filter", "Position", "b", expression_0="pos > 1"),
            box("union", "b a", "c"),
        )
        assert found == cql(
            "SELECT * FROM Position WHERE pos > 1 UNION ALL SELECT * FROM Position UNION ALL SELECT * FROM Position p"
        )


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


class TestPrinting:
    def test_a_query_of_every_box_but_union(self) -> None:
        query = cql(
            "SELECT p.sid, avg(pos) AS mean FROM Position AS p [RANGE 1 HOUR], Health [RANGE 1 HOUR]"
            " WHERE p.sid = Health.sid GROUP BY p.sid HAVING avg(pos) > 5"
        )
        assert print_boxes_xml(query) == (
            """\
<boxes>
  <box name="join_1" type="join">
    <input port="1" stream="Position"/>
    <input port="2" stream="Health"/>
    <output port="1" stream="out:join_1"/>
    <param name="range.1" value="1h"/>
    <param name="range.2" value="1h"/>
    <param name="alias.1" value="p"/>
  </box>
  <box name="filter_1" type="filter">
    <input port="1" stream="out:join_1"/>
    <output port="1" stream="out:filter_1"/>
    <param name="expression.0" value="p.sid = Health.sid"/>
  </box>
  <box name="aggregate_1" type="aggregate">
    <input port="1" stream="out:filter_1"/>
    <output port="1" stream="out:aggregate_1"/>
    <param name="window-type" value="time"/>
    <param name="window-size" value="1h"/>
    <param name="window-step" value="1h"/>
    <param name="group-by.0" value="p.sid"/>
    <param name="expression.0" value="avg(p.pos)"/>
  </box>
  <box name="filter_2" type="filter">
    <input port="1" stream="out:aggregate_1"/>
    <output port="1" stream="out:filter_2"/>
    <param name="expression.0" value="avg(p.pos) &gt; 5"/>
  </box>
  <box name="map_1" type="map">
    <input port="1" stream="out:filter_2"/>
    <output port="1" stream="out:map_1"/>
    <param name="expression.0" value="p.sid"/>
    <param name="expression.1" value="avg(p.pos)"/>
    <param name="name.1" value="mean"/>
  </box>
</boxes>
"""
        )

    def test_every_kind_of_box_is_printed(self) -> None:
        query = cql(
            "SELECT max(pos) AS x FROM Position [RANGE 1 s], Health [RANGE 1 s] WHERE pos > 1"
            " UNION ALL SELECT pos AS x FROM Position"
        )
        assert all(f'type="{kind}"' in print_boxes_xml(query) for kind in PARAMETERS)

    def test_outputs_never_take_the_name_of_a_stream_that_is_read(self) -> None:
        catalog = StreamCatalog([TRAP])
        query = parse_cql('SELECT pos FROM "out:map_1"', catalog)
        assert parse_boxes_xml(print_boxes_xml(query), catalog) == query

    def test_a_character_that_xml_cannot_carry(self) -> None:
        with pytest.raises(InputError, match="character that XML cannot carry"):
            print_boxes_xml(cql("SELECT * FROM Position WHERE sid = '\x01'"))


@st.composite
def blocks(draw: st.DrawFn) -> str:
    """A block with the one output `n`, so that any two make a union."""
    column, key, source = draw(
        st.sampled_from(
            [
                ("pos", "sid", "Position {0}"),
                ("p.pos", "upper(p.sid)", "Position AS p {0}"),
                ('h."odd name"', "h.sid", 'Position AS "P <1>" {0}, Health AS h {0}'),
                ("a.pos + b.pos", "a.sid", "Position AS a {0}, Position AS b {0}, Health {0}"),
                ('"max(pos)"', '"max(pos)"', '"odd ""<&> stream" {0}'),
                ('"Select"."max(pos)"', '"Select"."max(pos)"', '"odd ""<&> stream" AS "Select" {0}'),
            ]
        )
    )
    joined = "," in source
    conditions = [f"{column} > 5", f"{column} IN (1, 2) OR NOT {column} = 3", f"{key} IS NULL AND {column} < 1.5"]
    if source.startswith("Position") and not joined:
        conditions += ["sid = 'it''s \t<\n> &amp; \"q\" '", "ts > 6:00am", "stay < 2d"]
    chosen = draw(st.lists(st.sampled_from(conditions), max_size=2))
    where = f" WHERE {' AND '.join(f'({one})' for one in chosen)}" if chosen else ""
    size, slide = draw(st.integers(1, 10**7)), 1
    if draw(st.booleans()):
        window = draw(st.sampled_from(["[NOW]", f"[RANGE {size} ms]"]))
        return f"SELECT {column} AS n FROM {source.format(window)}{where}"
    slide = draw(st.integers(1, size))
    windows = [f"[RANGE {size} us, SLIDE {slide} us]"] + [f"[ROWS {size}, SLIDE {slide}]"] * (not joined)
    output = draw(st.sampled_from([f"max({column})", f"last({column})", f"min({column}) + max({column})"]))
    having = draw(st.sampled_from(["", f" HAVING avg({column}) > 2", f" HAVING {output} > 1 AND count(*) < 9"]))
    group = draw(st.sampled_from(["", f" GROUP BY {key}", f" GROUP BY {column}, {key}"]))
    return f"SELECT {output} AS n FROM {source.format(draw(st.sampled_from(windows)))}{where}{group}{having}"


@CORE_LAW
@given(st.lists(blocks(), min_size=1, max_size=3))
def test_property_printed_graphs_read_back(texts: list[str]) -> None:
    try:
        query = cql(" UNION ALL ".join(texts))
    except TypeMismatchError:  # a union of an int and a bigint
        query = cql(texts[0])
    assert parse_boxes_xml(print_boxes_xml(query), CATALOG) == query


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM Position",
        "SELECT * FROM Position AS p, Health",
        'SELECT sid AS "odd ""name""", upper(sid), count(*) FROM Position [ROWS 3] GROUP BY sid, pos',
        'SELECT "max(pos)" AS k, max(pos) FROM "odd ""<&> stream" [ROWS 3] GROUP BY "max(pos)" HAVING "max(pos)" > 1',
        "SELECT lastval(pos), first(ts) FROM Position [RANGE 1 MIN]",
        "SELECT upper(sid) AS u FROM Position [ROWS 3] GROUP BY sid",
        "SELECT CASE WHEN max(stay) > 5h THEN 'a' ELSE sid END AS c FROM Position [ROWS 3] GROUP BY sid",
    ],
)
def test_printed_graphs_read_back(text: str) -> None:
    assert parse_boxes_xml(print_boxes_xml(cql(text)), CATALOG) == cql(text)
