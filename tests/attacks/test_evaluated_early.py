"""Way in 5: what Spark evaluates while it analyses, before there is a plan to decide on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest
from guarded import ALL, refused, rows, since
from pyspark.errors import AnalysisException
from pyspark.sql.functions import expr, from_json, lit
from pyspark.sql.types import IntegerType, StructField, StructType


class _Noting(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_error(404)

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Nothing is said."""


@pytest.fixture
def fetching() -> Iterator[str]:
    """A function that fetches something when it is evaluated, as text of SQL; in the end nothing must have been."""
    server = HTTPServer(("127.0.0.1", 0), _Noting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    _Noting.asked.clear()
    options = f"map('rowValidationXSDPath', 'http://127.0.0.1:{server.server_port}/x.xsd')"
    yield f"from_xml('<a/>', 'a STRING', {options})"
    server.shutdown()
    server.server_close()
    assert _Noting.asked == []


UNKNOWN = "`XmlToStructs` is not among the functions that the guard understands"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM VALUES (FUNCTION)",
        "SELECT * FROM VALUES (builtin.FUNCTION)",
        "SELECT * FROM VALUES (system.builtin.FUNCTION)",
        "SELECT (SELECT max(col1.a) FROM VALUES (FUNCTION))",
        "WITH v AS (SELECT * FROM VALUES (FUNCTION)) SELECT * FROM v",
        "SELECT * FROM IDENTIFIER(coalesce(FUNCTION.a, 'emp'))",
        "SELECT IDENTIFIER(coalesce(FUNCTION.a, 'id')) FROM emp",
        "SELECT * FROM emp LIMIT coalesce(length(FUNCTION.a), 1)",
        "SELECT * FROM range(coalesce(length(FUNCTION.a), 1))",
        "SELECT * FROM emp PIVOT (max(salary) FOR name IN (FUNCTION.a))",
        "SELECT from_json('{}', concat('a STRING', FUNCTION.a))",
        pytest.param(
            "EXECUTE IMMEDIATE coalesce(FUNCTION.a, 'SELECT 1')", marks=since("4.1", "queries that are computed")
        ),
        "DECLARE early STRING DEFAULT FUNCTION.a",
        "FROM range(1) |> SET id = from_json('{}', concat('a STRING', FUNCTION.a))",
        "SELECT * EXCEPT (id) FROM (SELECT id, from_json('{}', concat('a STRING', FUNCTION.a)) AS x FROM range(1))",
    ],
)
def test_a_function_that_is_not_known_is_not_evaluated(world, fetching, query) -> None:
    ann = world.session("ann", ALL)
    with pytest.raises(AnalysisException) as told:
        ann.sql(query.replace("FUNCTION", fetching)).schema  # noqa: B018 - asking is what is tried
    assert UNKNOWN in str(told.value)


@pytest.mark.parametrize(
    "name", ["IDENTIFIER('from_' || 'xml')", "IDENTIFIER('from_xml')", "IDENTIFIER(concat('from_', 'xml'))"]
)
def test_nor_one_whose_name_is_computed(world, fetching, name) -> None:
    ann = world.session("ann", ALL)
    with refused("the name of a function may not be computed|not among the functions"):
        ann.sql(f"SELECT * FROM VALUES ({fetching.replace('from_xml', name)})").schema  # noqa: B018 - asking is tried
    assert rows(ann.sql("SELECT IDENTIFIER('i' || 'd') FROM emp WHERE id = 1")) == [(1,)]


def test_nor_in_a_frame(world, fetching) -> None:
    ann = world.session("ann", ALL)
    with refused(UNKNOWN):
        ann.range(1).select(from_json(lit("{}"), expr(f"concat('a STRING', {fetching}.a)")))
    with refused(UNKNOWN):
        ann.sql("SELECT * FROM VALUES (:one)", args={"one": expr(fetching)})


def test_functions_of_users_are_not_evaluated_in_values(world) -> None:
    ann = world.session("ann", ALL)
    ann.udf.register("own", lambda: "a")
    with refused("`own` is not among the functions that the guard understands"):
        ann.sql("SELECT * FROM VALUES (own())")


def test_functions_that_are_known_are_evaluated(world) -> None:
    ann = world.session("ann", ALL)
    query = "SELECT * FROM VALUES (ceil(1.5), upper('a'), to_char(DATE'2026-01-01', 'yyyy'), lpad('a', 2, 'b'))"
    assert [tuple(map(str, row)) for row in rows(ann.sql(query))] == [("2", "A", "2026", "ba")]
    assert rows(ann.sql("SELECT max_by(id, salary), mode(dept) FROM emp LIMIT 1 + length('')")) == [(3, "B")]


DRIVER = '{"type": "udt", "class": "org.apache.derby.jdbc.EmbeddedDriver", "pyClass": null, "sqlType": "string"}'


@pytest.mark.parametrize(
    "query",
    [
        "SELECT from_json('{}', 'TYPE')",
        "SELECT from_csv('', 'TYPE')",
        "SELECT variant_get(parse_json('{}'), '$', 'TYPE')",
        """SELECT from_json('{}', '{"type": "struct", "fields": [{"name": "a", "metadata": {}, "type": TYPE}]}')""",
        """SELECT from_json('{}', '{"type": "struct", "type": "udt", "class": "java.util.Timer", "fields": []}')""",
        r"""SELECT from_json('{}', '{"type": "\\u0075dt", "class": "java.util.Timer"}')""",
    ],
)
def test_no_class_is_made_of_a_type(world, query) -> None:
    ann = world.session("ann", ALL)
    with refused("is not among the types that the guard understands"):
        ann.sql(query.replace("TYPE", DRIVER)).schema  # noqa: B018 - asking is what is tried


def test_nor_of_one_that_is_computed(world) -> None:
    ann = world.session("ann", ALL)
    with refused("the schema of `from_json` may not be computed"):
        ann.sql('SELECT from_json(\'{}\', concat(\'{"type": "\', \'udt", "class": "java.util.Timer"}\'))').schema  # noqa: B018
    with refused("the schema of `from_json` may not be computed|not among the types"):
        ann.sql("SELECT from_json('{}', :kind)", args={"kind": DRIVER}).schema  # noqa: B018 - asking is what is tried


def test_types_of_sparks_own_are_read(world) -> None:
    ann = world.session("ann", ALL)
    written = '{"type": "struct", "fields": [{"name": "a", "nullable": true, "metadata": {}, "type": "integer"}]}'
    for schema in (written, "a INT", "struct<a: int>"):
        assert rows(ann.sql(f"SELECT from_json('{{\"a\": 1}}', '{schema}').a")) == [(1,)]
    found = "SELECT from_json('{\"a\": 1}', schema_of_json('{\"a\": 1}')).a"
    assert rows(ann.sql(found)) == [(1,)]
    frame = ann.createDataFrame([('{"a": 1}',)], "x string")
    assert rows(frame.select(from_json("x", StructType([StructField("a", IntegerType())])).a)) == [(1,)]


def test_no_class_is_made_for_a_table_that_may_not_be(world) -> None:
    ann = world.session("ann", ALL)
    for query in (
        "(id int) USING java.util.concurrent.ForkJoinPool",
        "USING java.util.concurrent.ForkJoinPool AS SELECT 1",
    ):
        with refused("tables may not be made; write to a folder of `writable`"):
            ann.sql(f"CREATE TABLE made {query}")
    with refused("tables may not be made"):
        ann.range(1).writeTo("made").using("java.util.concurrent.ForkJoinPool").create()
