"""The user query of eXACML+: figure 4(a) as given, what it refuses, and that it reads back what it prints."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_laws import CORE_LAW
from headgate.algebra.spelling.cql import parse_cql
from headgate.algebra.spelling.draft import MAX_BYTES
from headgate.algebra.spelling.user_query_xml import parse_user_query_xml, print_user_query_xml
from headgate.algebra.window import MAX_OVERLAP
from headgate.errors import InputError, ParseError, TypeMismatchError, UnknownNameError, WindowError
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema

WEATHER = StreamSchema(
    "weather",
    (
        Column("samplingtime", DataType.TIMESTAMP),
        Column("rainrate", DataType.DOUBLE),
        Column("windspeed", DataType.DOUBLE),
        Column("station", DataType.STRING),
        Column("odd name", DataType.INT),
        Column("time", DataType.INT),
    ),
    time="samplingtime",
)
OTHER = StreamSchema("Odd Stream", (Column("ts", DataType.TIMESTAMP), Column("a<b&", DataType.INT)))
CATALOG = StreamCatalog([WEATHER, OTHER])

FIGURE_AS_PRINTED = """\
<UserQuery>
  <Stream name="weather" />
  <Filter>
     <FilterCondition>
     RainRate > 50
     </FilterCondition>
  </Filter>
  <Map>
     <Attribute>RainRate</Attribute>
  </Map>
  <Aggregation>
     <WindowType>tuple</WindowType>
     <WindowSize>10<WindowSize>
     <WindowStep>2<WindowStep>
     <Attribute>avg(RainRate)</Attribute>
  </Aggregation>
</UserQuery>
"""
FIGURE = FIGURE_AS_PRINTED.replace("10<WindowSize>", "10</WindowSize>").replace("2<WindowStep>", "2</WindowStep>")


def document(*parts: str) -> str:
    return "\n".join(["<UserQuery>", '<Stream name="weather"/>', *parts, "</UserQuery>"])


def aggregation(*attributes: str, kind: str = "time", size: str = "60", step: str | None = "30") -> str:
    sizes = f"<WindowType>{kind}</WindowType><WindowSize>{size}</WindowSize>"
    steps = "" if step is None else f"<WindowStep>{step}</WindowStep>"
    return f"<Aggregation>{sizes}{steps}{''.join(f'<Attribute>{one}</Attribute>' for one in attributes)}</Aggregation>"


def cql(text: str) -> object:
    return parse_cql(text, CATALOG)


class TestReading:
    def test_figure_4a(self) -> None:
        expected = cql("SELECT avg(rainrate) FROM weather [ROWS 10, SLIDE 2] WHERE rainrate > 50")
        assert parse_user_query_xml(FIGURE, CATALOG) == expected
        assert parse_user_query_xml(FIGURE.encode(), CATALOG) == expected

    def test_figure_4a_with_its_two_misspelt_closing_tags(self) -> None:
        with pytest.raises(ParseError) as caught:
            parse_user_query_xml(FIGURE_AS_PRINTED, CATALOG)
        assert (caught.value.place.line, caught.value.place.column) == (16, 5)
        assert caught.value.hint == "check that every element is closed"

    def test_only_a_stream_gives_all_columns(self) -> None:
        assert parse_user_query_xml(document(), CATALOG) == cql("SELECT * FROM weather")

    def test_a_map_gives_its_attributes(self) -> None:
        text = document('<Map><Attribute> windspeed </Attribute><Attribute>"odd name"</Attribute></Map>')
        assert parse_user_query_xml(text, CATALOG) == cql('SELECT windspeed, "odd name" FROM weather')

    def test_time_windows_count_seconds(self) -> None:
        text = document(aggregation("max(windspeed)", "count(*)", size="1.5", step="0.5"))
        expected = cql("SELECT max(windspeed), count(*) FROM weather [RANGE 1500 ms, SLIDE 500 ms]")
        assert parse_user_query_xml(text, CATALOG) == expected

    def test_without_a_step_windows_do_not_overlap(self) -> None:
        text = document(aggregation("sum(rainrate)", kind="tuple", size="5", step=None))
        assert parse_user_query_xml(text, CATALOG) == cql("SELECT sum(rainrate) FROM weather [ROWS 5]")

    def test_functions_keep_the_name_they_were_called_by(self) -> None:
        text = document(aggregation("lastval(samplingtime)", "FirstVal(rainrate)", "first(windspeed)"))
        query = parse_user_query_xml(text, CATALOG)
        assert [one.name for one in query.schema] == ["lastval(samplingtime)", "firstval(rainrate)", "first(windspeed)"]

    def test_comments_are_passed_over(self) -> None:
        text = document("<Filter><FilterCondition>rainrate <!-- mm/h --> > 5</FilterCondition></Filter><!-- end -->")
        assert parse_user_query_xml(text, CATALOG) == cql("SELECT * FROM weather WHERE rainrate > 5")


MAP = "<Map><Attribute>rainrate</Attribute></Map>"
REFUSED = {
    "another document": ("<Query/>", ParseError, 1, "the document is a <Query>"),
    "no stream": ("<UserQuery/>", ParseError, 1, "<UserQuery> has no <Stream>"),
    "a stream without a name": ("<UserQuery><Stream/></UserQuery>", ParseError, 1, "<Stream> has no `name`"),
    "an unknown stream": ('<UserQuery>\n<Stream name="whether"/></UserQuery>', UnknownNameError, 2, "`whether`"),
    "two filters": (document(MAP, MAP), ParseError, 4, "there is a second <Map>"),
    "an unknown element": (document("<Sort/>"), ParseError, 3, "<Sort> is not known in <UserQuery>"),
    "an element of another namespace": (document('<Map xmlns="x"/>'), ParseError, 3, "{x}Map"),
    "an unknown attribute": (document('<Map mode="x"/>'), ParseError, 3, "<Map> has the unknown attribute `mode`"),
    "an element in the stream": (
        "<UserQuery><Stream name='weather'><Map/></Stream></UserQuery>",
        ParseError,
        1,
        "<Map> is not known in <Stream>",
    ),
    "loose text": (document("and more"), ParseError, 1, "<UserQuery> holds the text `and more`"),
    "an empty filter": (document("<Filter/>"), ParseError, 3, "<Filter> has no <FilterCondition>"),
    "an empty condition": (
        document("<Filter><FilterCondition> </FilterCondition></Filter>"),
        ParseError,
        3,
        "<FilterCondition> is empty",
    ),
    "an element in a condition": (
        document("<Filter><FilterCondition><b>x</b></FilterCondition></Filter>"),
        ParseError,
        3,
        "<FilterCondition> holds <b>",
    ),
    "a condition that is none": (
        document("<Filter><FilterCondition>rainrate</FilterCondition></Filter>"),
        TypeMismatchError,
        3,
        "is not a condition",
    ),
    "an unknown column, by the line of its element": (
        document("<Filter>", "<FilterCondition>", "  rain > 5</FilterCondition></Filter>"),
        UnknownNameError,
        4,
        "unknown column `rain`",
    ),
    "an aggregate in a condition": (
        document("<Filter><FilterCondition>avg(rainrate) > 5</FilterCondition></Filter>"),
        ParseError,
        3,
        "`avg` cannot be used here",
    ),
    "an empty map": (document("<Map/>"), ParseError, 3, "<Map> has no <Attribute>"),
    "a computed attribute": (
        document("<Map><Attribute>rainrate * 2</Attribute></Map>"),
        ParseError,
        3,
        "`rainrate * 2` is not an attribute of the stream",
    ),
    "an attribute twice": (
        document(MAP.replace("</Map>", "<Attribute>RainRate</Attribute></Map>")),
        InputError,
        3,
        "two outputs are called `rainrate`",
    ),
    "an aggregate of what is not mapped": (
        document(MAP, aggregation("avg(windspeed)")),
        UnknownNameError,
        4,
        "`windspeed` is aggregated but is not in <Map>",
    ),
    "a plain attribute in an aggregation": (
        document(aggregation("rainrate")),
        ParseError,
        3,
        "`rainrate` is not an aggregate function",
    ),
    "an aggregation of nothing": (document(aggregation()), ParseError, 3, "<Aggregation> has no <Attribute>"),
    "an unknown type of window": (document(aggregation("avg(time)", kind="day")), WindowError, 3, "type is `day`"),
    "a window of half a tuple": (
        document(aggregation("avg(time)", kind="tuple", size="2.5")),
        WindowError,
        3,
        "`2.5` is not a number of tuples",
    ),
    "a size that is no number": (document(aggregation("avg(time)", size="1e3")), WindowError, 3, "number of seconds"),
    "a size of thousands of digits": (
        document(aggregation("avg(time)", size="9" * 5000)),
        WindowError,
        3,
        "number of seconds",
    ),
    "an empty window": (document(aggregation("avg(time)", size="0")), WindowError, 3, "leaves gaps"),
    "a step of nothing": (document(aggregation("avg(time)", step="0")), WindowError, 3, "is empty"),
    "a window with gaps": (document(aggregation("avg(time)", size="5", step="6")), WindowError, 3, "leaves gaps"),
    "two sizes": (
        document(aggregation("avg(time)").replace("<WindowStep>", "<WindowSize>1</WindowSize><WindowStep>")),
        ParseError,
        3,
        "there is a second <WindowSize>",
    ),
    "a condition nested too deeply": (
        document(f"<Filter><FilterCondition>{'(' * 5000}</FilterCondition></Filter>"),
        ParseError,
        3,
        "",
    ),
    "a document type": ("<!DOCTYPE x><UserQuery/>", ParseError, 1, "a DOCTYPE is not accepted"),
    "deep nesting": ("<a>" * 200 + "</a>" * 200, ParseError, 1, "nested deeper"),
    "a document too large": (" " * MAX_BYTES + "<a/>", ParseError, None, "larger than 1 MiB"),
    "no XML at all": ("SELECT 1", ParseError, 1, "the XML is broken"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_place_and_hint(case: str) -> None:
    text, kind, line, message = REFUSED[case]
    with pytest.raises(kind) as caught:
        parse_user_query_xml(text, CATALOG)
    assert message in caught.value.message
    assert caught.value.place.line == line
    assert caught.value.hint


class TestPrinting:
    def test_figure_4a(self) -> None:
        printed = print_user_query_xml(parse_user_query_xml(FIGURE, CATALOG))
        assert printed.split() == [
            "<UserQuery>",
            "<Stream",
            'name="weather"/>',
            "<Filter>",
            "<FilterCondition>rainrate",
            "&gt;",
            "50</FilterCondition>",
            "</Filter>",
            "<Map>",
            "<Attribute>rainrate</Attribute>",
            "</Map>",
            "<Aggregation>",
            "<WindowType>tuple</WindowType>",
            "<WindowSize>10</WindowSize>",
            "<WindowStep>2</WindowStep>",
            "<Attribute>avg(rainrate)</Attribute>",
            "</Aggregation>",
            "</UserQuery>",
        ]

    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("SELECT * FROM weather UNION ALL SELECT * FROM weather", "a union"),
            ('SELECT weather.time FROM weather, "Odd Stream"', "a join"),
            ("SELECT * FROM weather AS w", "the alias `w`"),
            ("SELECT count(*) FROM weather [ROWS 5] GROUP BY station", "GROUP BY"),
            ("SELECT count(*) FROM weather [ROWS 5] HAVING count(*) > 2", "HAVING"),
            ("SELECT time * 2 FROM weather", 'the computed output `"time" * 2`'),
            ("SELECT avg(time) * 2 FROM weather [ROWS 5]", "the computed output"),
            ("SELECT time AS hour FROM weather", "that an output is called `hour`"),
            ('SELECT rainrate AS "RainRate" FROM weather', "that an output is called `RainRate`"),
            ("SELECT max(time) AS top FROM weather [ROWS 5]", "that an output is called `top`"),
            ('SELECT max(rainrate) AS "min(rainrate)" FROM weather [ROWS 5]', "called `min(rainrate)`"),
        ],
    )
    def test_what_it_cannot_say_is_named(self, text: str, what: str) -> None:
        with pytest.raises(InputError) as caught:
            print_user_query_xml(parse_cql(text, CATALOG))
        assert caught.value.message.startswith("a user query in XML cannot say ")
        assert what in caught.value.message
        assert caught.value.hint

    def test_a_character_that_xml_cannot_carry(self) -> None:
        with pytest.raises(InputError, match="character that XML cannot carry"):
            print_user_query_xml(parse_cql("SELECT * FROM weather WHERE station = '\x01'", CATALOG))


NAMES = ["samplingtime", "rainrate", "windspeed", "station", '"odd name"', '"time"']
NUMBERS = ["rainrate", "windspeed", '"odd name"', '"time"', "rainrate * 2 + windspeed"]
CONDITIONS = [
    "rainrate > 50",
    "station = 'a ]]> & <b> ''q'' '",
    "station LIKE '%\t\r\n_'",
    "samplingtime > 6:00am OR NOT windspeed IS NULL",
    '"odd name" IN (1, 2) AND ("time" < -5 OR rainrate BETWEEN 0 AND 1.5)',
]


@st.composite
def queries(draw: st.DrawFn) -> str:
    """What the spelling can say, as CQL."""
    chosen = draw(st.lists(st.sampled_from(CONDITIONS), max_size=2, unique=True))
    where = f" WHERE {' AND '.join(f'({one})' for one in chosen)}" if chosen else ""
    if draw(st.booleans()):
        names = draw(st.just(["*"]) | st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
        return f"SELECT {', '.join(names)} FROM weather{where}"
    function = st.sampled_from(["avg", "min", "count", "first", "last", "lastval", "firstval", "maximum"])
    call = st.builds("{}({})".format, function, st.sampled_from(NUMBERS)) | st.just("count(*)")
    calls = draw(st.lists(call, min_size=1, max_size=3, unique=True))
    size = draw(st.integers(1, 10**7))
    slide = draw(st.integers(-(-size // MAX_OVERLAP), size))
    window = draw(st.sampled_from([f"ROWS {size}, SLIDE {slide}", f"RANGE {size} us, SLIDE {slide} us"]))
    return f"SELECT {', '.join(calls)} FROM weather [{window}]{where}"


@CORE_LAW
@given(queries())
def test_property_printed_queries_read_back(text: str) -> None:
    query = parse_cql(text, CATALOG)
    assert parse_user_query_xml(print_user_query_xml(query), CATALOG) == query


def test_odd_names_read_back() -> None:
    query = parse_cql('SELECT "a<b&" FROM "Odd Stream" WHERE "a<b&" <> 1', CATALOG)
    assert parse_user_query_xml(print_user_query_xml(query), CATALOG) == query
