"""Graphs of boxes: figure 2 of ACStream as given, what each box means, and that graphs read back."""

from __future__ import annotations

import pytest
from boxes_samples import CATALOG, FIGURE, HOUR, TRAP, box, boxes, cql, read
from hypothesis import given
from hypothesis import strategies as st

from core_laws import CORE_LAW
from headgate.algebra.spelling.boxes_xml import PARAMETERS, parse_boxes_xml, print_boxes_xml
from headgate.algebra.spelling.cql import parse_cql
from headgate.algebra.window import MAX_OVERLAP
from headgate.errors import InputError, TypeMismatchError
from headgate.model.schema import StreamCatalog


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
    slide = draw(st.integers(-(-size // MAX_OVERLAP), size))
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
