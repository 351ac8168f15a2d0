"""CQL: what can be written, what it means, and what is refused with its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.algebra.block import block_of
from headgate.algebra.operators import Project, Union, blocks_of
from headgate.algebra.spelling.cql import parse_cql, print_cql
from headgate.algebra.window import RangeWindow, RowsWindow
from headgate.errors import InputError, ParseError, WindowError
from headgate.model.datatype import DataType
from headgate.model.expression.print import quote_name, to_text
from headgate.model.instant import SECOND
from headgate.model.schema import Column, StreamCatalog, StreamSchema

T = DataType
MINUTE, HOUR = 60 * SECOND, 3600 * SECOND
ODD = [
    "odd name",
    "select",
    "größe",
    'a"b',
    "a`b",
    "x'y",
    "range",
    "日本",
    "a.b",
    "a]b",
    "[NOW]",
    "end",
    "--x",
    "/*x",
    "\\",
]


def stream(name: str, **columns: DataType) -> StreamSchema:
    return StreamSchema(name, (Column("ts", T.TIMESTAMP), *(Column(one, kind) for one, kind in columns.items())))


CATALOG = StreamCatalog(
    [
        stream("S", id=T.STRING, x=T.INT, d=T.DOUBLE),
        stream("T", id=T.STRING, y=T.INT),
        *(stream(name, **{name: T.INT}) for name in ODD),
    ]
)


def block(text: str):
    (only,) = blocks_of(parse_cql(text, CATALOG))
    return block_of(only)


def texts(expressions) -> list[str]:
    return [to_text(one) for one in expressions]


def test_the_clauses_of_a_block() -> None:
    read = block(
        "SELECT s.id, avg(x) AS mean FROM S AS s [RANGE 5 MIN, SLIDE 1 MIN] "
        "WHERE x > 1 AND d < 2 GROUP BY s.id HAVING count(*) > 3 AND avg(x) > 4;"
    )
    assert [(one.stream.name, one.alias) for one in read.sources] == [("S", "s")]
    assert texts(read.where) == ["s.x > 1", "s.d < 2"]
    assert read.window == RangeWindow(5 * MINUTE, MINUTE)
    assert (texts(read.keys), texts(read.calls)) == (["s.id"], ["avg(s.x)", "count(*)"])
    assert texts(read.having) == ["count(*) > 3", "avg(s.x) > 4"]
    assert [(one.name, to_text(one.expression)) for one in read.outputs] == [("id", "s.id"), ("mean", "avg(s.x)")]


@pytest.mark.parametrize(
    ("window", "read"),
    [
        ("[RANGE 5 MIN]", RangeWindow(5 * MINUTE, 5 * MINUTE)),
        ("[RANGE 5 MIN SLIDE 1 MIN]", RangeWindow(5 * MINUTE, MINUTE)),
        ("[RANGE 5min, SLIDE 60 s]", RangeWindow(5 * MINUTE, MINUTE)),
        ("[range 1.5 Hours]", RangeWindow(HOUR * 3 // 2, HOUR * 3 // 2)),
        ("[RANGE 5 m]", RangeWindow(5 * MINUTE, 5 * MINUTE)),
        ("[ROWS 5]", RowsWindow(5, 5)),
        ("[ROWS 5, SLIDE 2]", RowsWindow(5, 2)),
        ("[ROWS 2 SLIDE 5]", RowsWindow(2, 5)),
        ("[ RANGE\n5 MIN ]", RangeWindow(5 * MINUTE, 5 * MINUTE)),
    ],
)
@pytest.mark.parametrize("alias", ["", " AS s", " s"])
def test_windows_of_an_aggregate(window: str, read, alias: str) -> None:
    assert block(f"SELECT count(*) FROM S{alias} {window}").window == read


def test_windows_of_a_join() -> None:
    read = block("SELECT x FROM S [RANGE 5 MIN, SLIDE 9 MIN], T AS t [NOW] JOIN T AS u ON u.y = x WHERE t.y = x")
    assert read.ranges == (5 * MINUTE, 0, 0)
    assert texts(read.where) == ["u.y = S.x", "t.y = S.x"]
    assert block("SELECT x FROM S [RANGE 0 s], T [NOW]").ranges == (0, 0)


def test_a_window_on_a_plain_selection_has_no_effect() -> None:
    assert block("SELECT x FROM S [ROWS 5]") == block("SELECT x FROM S")


@pytest.mark.parametrize(
    ("select", "names"),
    [
        ("x", ["x"]),
        ("X", ["x"]),
        ("S.x", ["x"]),
        ("x AS Y", ["Y"]),
        ("x y", ["y"]),
        ("x + 1", ["x + 1"]),
        ("*", ["ts", "id", "x", "d"]),
        ("S.*, x + 1 AS more", ["ts", "id", "x", "d", "more"]),
        ("upper(S.id)", ["upper(id)"]),
    ],
)
def test_names_of_outputs(select: str, names: list[str]) -> None:
    assert [one.name for one in block(f"SELECT {select} FROM S").outputs] == names


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("AVG(S.x)", "avg(x)"),
        ("lastval(x)", "lastval(x)"),
        ("last(x)", "last(x)"),
        ("COUNT(*)", "count(*)"),
        ("SUM(x+1)", "sum(x + 1)"),
    ],
)
def test_a_function_keeps_the_name_it_was_called_by(call: str, name: str) -> None:
    assert block(f"SELECT {call} FROM S [ROWS 5]").outputs[0].name == name


def test_star_over_several_streams_is_qualified() -> None:
    names = [one.name for one in block("SELECT * FROM S AS a [NOW], T [NOW]").outputs]
    assert names == ["a.ts", "a.id", "a.x", "a.d", "T.ts", "T.id", "T.y"]


def test_a_union_is_flat() -> None:
    query = parse_cql("SELECT x FROM S UNION ALL (SELECT y AS x FROM T UNION ALL SELECT x FROM S)", CATALOG)
    assert isinstance(query, Union)
    assert len(query.inputs) == 3
    assert parse_cql(print_cql(query), CATALOG) == query


def test_a_stream_is_named_by_itself_where_its_alias_is_the_only_one() -> None:
    assert block("SELECT S.x FROM S AS a") == block("SELECT a.x FROM S AS a")
    with pytest.raises(InputError, match="unknown stream or alias `S`"):
        block("SELECT S.x FROM S AS a [NOW], S AS b [NOW]")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT s1.id, s1.x FROM S AS s1 [RANGE 5 MIN], T AS s2 [RANGE 10 MIN] WHERE s1.id = s2.id AND s1.ts > 6:00am",
        "SELECT id, count(*) AS n FROM S [ROWS 5, SLIDE 2] GROUP BY id HAVING n > 1",
        "SELECT x % 2 AS half, max(d) FROM S [RANGE 1 h] GROUP BY x % 2",
        "SELECT id FROM S WHERE x BETWEEN 1 AND 2 OR NOT (d > 1 AND x IN (1, 2))",
        "SELECT CASE WHEN x > 1 THEN 'a' ELSE 'b' END AS c FROM S WHERE id LIKE 'it''s%'",
        'SELECT x AS "odd ""name" FROM S',
        "SELECT avg(x) FROM S [RANGE 5 MIN], T [RANGE 5 MIN] WHERE S.id = T.id",
    ],
)
def test_a_printed_query_reads_back(text: str) -> None:
    if "HAVING n" in text:  # an output's name is not a column
        with pytest.raises(InputError, match="unknown column `n`"):
            parse_cql(text, CATALOG)
        return
    query = parse_cql(text, CATALOG)
    assert parse_cql(print_cql(query), CATALOG) == query
    assert print_cql(parse_cql(print_cql(query), CATALOG)) == print_cql(query)


@pytest.mark.parametrize("name", ODD)
def test_odd_names_read_back_in_every_place(name: str) -> None:
    quoted = quote_name(name)
    query = parse_cql(
        f"SELECT {quoted} AS {quoted}, max({quoted}.{quoted}) FROM {quoted} AS {quoted} [RANGE 5 s] "
        f"WHERE {quoted} > 1 GROUP BY {quoted}",
        CATALOG,
    )
    assert isinstance(query, Project)
    assert query.outputs[0].name == name
    assert query.sources[0].alias == name
    assert parse_cql(print_cql(query), CATALOG) == query


@pytest.mark.parametrize(
    ("text", "kind", "said", "place"),
    [
        ("SELECT x\nFROM R", InputError, "unknown stream `R`", (2, 6)),
        ("SELECT x FROM S\nWHERE z = 1", InputError, "unknown column `z`", (2, 7)),
        ("SELECT x FROM S [RANGE 5 parsec]", InputError, "unknown unit of time `parsec`", (1, 17)),
        ("SELECT x FROM S [RANGE MIN]", WindowError, "`MIN` is not a length of time", (1, 17)),
        ("SELECT x FROM S [RANGE -5 s]", WindowError, "is not a length of time", (1, 17)),
        ("SELECT x FROM S [RANGE 5 s SLIDE]", WindowError, "`SLIDE` has no length", (1, 17)),
        ("SELECT x FROM S [ROWS five]", WindowError, "`five` is not a number of rows", (1, 17)),
        ("SELECT x FROM S [ROWS 5 s]", WindowError, "`5 s` is not a number of rows", (1, 17)),
        ("SELECT x FROM S [ROWS 5.5]", WindowError, "`5.5` is not a number of rows", (1, 17)),
        ("SELECT x FROM S [NOW 5]", WindowError, "`NOW` takes no size", (1, 17)),
        ("SELECT x FROM S [NOW", ParseError, "the window is not closed", (1, 17)),
        ("SELECT x [NOW] FROM S", WindowError, "a window stands where no stream is", (1, 8)),
        ("SELECT x FROM S [NOW] AS a [NOW]", InputError, "stream `S` has two windows", (1, 15)),
        ("SELECT x FROM S [5 MIN]", InputError, "", None),
        ("SELECT x FROM", ParseError, "", None),
        ("SELECT FROM S", InputError, "", None),
        ("SELECT x", ParseError, "there is no FROM", (1, 1)),
        ("", ParseError, "the text is empty", (1, 1)),
        (";", ParseError, "", None),
        ("SELECT x FROM S S2 S3", ParseError, "", None),
        ("SELECT x FROM db.S", ParseError, "is not understood", None),
        ("SELECT x FROM S TABLESAMPLE (5 ROWS)", InputError, "", None),
        ("SELECT x FROM S JOIN T USING (id)", ParseError, "joins are not supported", None),
        ("SELECT x FROM S NATURAL JOIN T", ParseError, "joins are not supported", None),
        ("SELECT x FROM S FULL OUTER JOIN T ON x = y", ParseError, "joins are not supported", None),
        ("SELECT x FROM S, LATERAL (SELECT 1)", InputError, "", None),
        ("SELECT DISTINCT x FROM S", ParseError, "DISTINCT is not supported", (1, 1)),
        ("SELECT x FROM S LIMIT 5", ParseError, "LIMIT is not supported", (1, 1)),
        ("SELECT x FROM S OFFSET 5", ParseError, "", None),
        ("SELECT x FROM S FOR UPDATE", ParseError, "", None),
        ("SELECT x INTO t FROM S", ParseError, "", None),
        ("SELECT x FROM S QUALIFY x > 1", InputError, "", None),
        ("WITH a AS (SELECT x FROM S) SELECT x FROM a", ParseError, "WITH is not supported", (1, 1)),
        ("SELECT x FROM S EXCEPT SELECT y AS x FROM T", ParseError, "", None),
        ("SELECT x FROM S UNION ALL BY NAME SELECT y AS x FROM T", InputError, "", None),
        ("SELECT x FROM S UNION ALL SELECT y FROM T", InputError, "have different columns", None),
        ("SELECT x FROM S UNION ALL SELECT id AS x FROM T", InputError, "have different columns", None),
        ("SELECT * EXCEPT (x) FROM S", InputError, "", None),
        ("SELECT count(*) FROM S [ROWS 5] GROUP BY 1", ParseError, "GROUP BY a constant", None),
        ("SELECT id, count(*) FROM S [ROWS 5] GROUP BY ROLLUP (id)", InputError, "", None),
        ("SELECT x FROM S WHERE count(*) > 1", ParseError, "`count` cannot be used here", None),
        ("SELECT count(*) FROM S [ROWS 5] GROUP BY count(*)", ParseError, "`count` cannot be used here", None),
        ("SELECT ts, ts FROM S", InputError, "two outputs are called `ts`", None),
        ("SELECT x, d AS X FROM S", InputError, "two outputs are called `X`", None),
        ("SELECT 5min AS m FROM S", InputError, "a duration cannot be an output", None),
        ("SELECT x FROM S, S", InputError, "have the same name", None),
        ("SELECT x FROM S AS a, T AS A", InputError, "have the same name", None),
        ("INSERT INTO S SELECT x FROM S", ParseError, "this is not a SELECT", (1, 1)),
        ("EXPLAIN SELECT x FROM S", InputError, "", None),
        ("SET x = 1", InputError, "", None),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, kind: type, said: str, place) -> None:
    with pytest.raises(kind) as raised:
        parse_cql(text, CATALOG)
    assert said in raised.value.message
    if place:
        assert (raised.value.place.line, raised.value.place.column) == place


def test_a_second_window_does_not_replace_the_first_in_silence() -> None:
    with pytest.raises(InputError, match="two windows"):
        parse_cql("SELECT count(*) FROM S [RANGE 5 s] [RANGE 10 s]", CATALOG)


WORDS = """
SELECT SELECT FROM FROM WHERE GROUP BY HAVING UNION ALL JOIN ON AS S S T x y id d ts s. S. * , ( ) [ ] [NOW] [RANGE 5 s]
[ROWS 5] [RANGE SLIDE 5 min 5min 1.5 = > + - 'a' " ' ` ; -- /* */ count(*) avg( AND NOT NULL IN LIMIT ORDER DISTINCT
WITH LATERAL VALUES PIVOT TABLESAMPLE NATURAL USING CROSS LEFT WINDOW INTO FOR INSERT CREATE SET USE SHOW DESCRIBE
MERGE ALTER . .. : ? @ $ ² é
"""
VALID = [
    "SELECT s.id, avg(x) AS mean FROM S AS s [RANGE 5 MIN, SLIDE 1 MIN] WHERE x > 1 GROUP BY s.id HAVING count(*) > 3",
    "SELECT * FROM S [RANGE 5 MIN] JOIN T [NOW] ON S.id = T.id WHERE S.ts > 6:00am AND x IN (1, 2)",
    "SELECT x FROM S UNION ALL SELECT y AS x FROM T",
]


@st.composite
def _damaged(draw: st.DrawFn) -> str:
    """A valid query with a few pieces taken out, put in or moved."""
    text = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.integers(0, 10)))
        text = text[:begin] + draw(st.sampled_from(WORDS.split()) | st.text(max_size=3)) + text[end:]
    return text


@given(_damaged() | st.lists(st.sampled_from(WORDS.split()), max_size=15).map(" ".join) | st.text(max_size=40))
def test_property_any_text_is_a_query_or_an_input_error(text: str) -> None:
    try:
        query = parse_cql(text, CATALOG)
    except InputError as error:
        assert_told(error)
    else:
        assert parse_cql(print_cql(query), CATALOG) == query


def assert_told(error: InputError) -> None:
    assert error.message
    assert error.place.line
