"""Ways in 6 and 18: options beside the name of a table, by which its name would stand for other files.

Spark puts the place of a table beside the user's options, and whichever comes last in a map is where it looks; and it
keeps the files that it found for whoever named the table first in a session, which is why it is enough to ask for
columns.
"""

from __future__ import annotations

import json
import os

import pytest
from guarded import ALL, drained, policy, refused, rows
from pyspark.errors import AnalysisException

from headgate.guard import session

COLUMNS = "id INT, name STRING, pay INT"
OPEN = policy("open", "object: {tables: [beside_open]}, allow: [read]")
MANY = "latestFirst='true', mergeSchema='false', maxFileAge='1d'"
"""With as many options as these, Spark's map of them is ordered by hashes."""


@pytest.fixture(scope="module")
def tables(world):
    """Where a closed table is, beside an open one that has a place of its own and one of Spark's."""
    for name, row in {"beside_open": "(7, 'Ann', 10)", "beside_closed": "(1, 'secret', 4711)"}.items():
        world.spark.sql(f"DROP TABLE IF EXISTS {name}")
        world.spark.sql(
            f"CREATE TABLE {name} ({COLUMNS}) USING csv OPTIONS (header 'true') LOCATION '{world.folder / name}'"
        )
        world.spark.sql(f"INSERT INTO {name} VALUES {row}")
    return world


def asking(tables, policies: str = OPEN, *names: str):
    return session("ann", tables.guard(policies, tables=("beside_open", "beside_closed", *names)), tables.spark)


def asked(form: str, ann, key: str, value: str):
    """The rows of the open table, with one option more."""
    match form:
        case "WITH":
            return ann.sql(f"SELECT id, name, pay FROM beside_open WITH (`{key}`='{value}')")
        case "WITH many":
            return ann.sql(f"SELECT id, name, pay FROM beside_open WITH (`{key}`='{value}', {MANY})")
        case "IDENTIFIER":
            return ann.sql(f"SELECT id FROM IDENTIFIER('beside_open') WITH (`{key}`='{value}', {MANY})")
        case "whole name":
            return ann.sql(f"SELECT id FROM spark_catalog.default.beside_open WITH (`{key}`='{value}', {MANY})")
        case "subquery":
            return ann.sql(f"SELECT (SELECT max(id) FROM beside_open WITH (`{key}`='{value}', {MANY}))")
        case "read":
            many = {"latestFirst": "true", "mergeSchema": "false", "maxFileAge": "1d"}
            return ann.read.options(**many).option(key, value).table("beside_open")
        case "readStream":
            return ann.readStream.option(key, value).table("beside_open")
        case _:
            return ann.sql(f"SELECT * FROM STREAM beside_open WITH (`{key}`='{value}')")


FORMS = ["WITH", "WITH many", "IDENTIFIER", "whole name", "subquery", "read", "readStream", "STREAM"]


@pytest.mark.parametrize("form", FORMS)
def test_a_name_with_another_place_beside_it(tables, form) -> None:
    for key in ("path", "pAth", "PATH", "paths", "basePath", "__globPaths__"):
        with refused(f"the option `{key.lower()}` is not allowed for"):
            asked(form, asking(tables), key, str(tables.folder / "beside_closed")).columns  # noqa: B018 - asks


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("recursiveFileLookup", "true"),
        ("pathGlobFilter", "part*"),
        ("modifiedBefore", "2022-01-01T00:00:00"),
        ("modifiedAfter", "2022-01-01T00:00:00"),
        ("ignoredPathSegmentRegex", "a"),
        ("archivePathFilter", "*"),
        ("ignoreInvalidPartitionPaths", "true"),
        ("cleanSource", "delete"),
    ],
)
def test_a_name_with_a_choice_of_files_beside_it(tables, form, key, value) -> None:
    with refused(f"the option `{key.lower()}` is not allowed for"):
        asked(form, asking(tables), key, value).columns  # noqa: B018 - asks for the schema


def test_what_chooses_no_files_goes_on(tables) -> None:
    ann = asking(tables)
    for one in (f"{MANY}, header='true'", "maxFilesPerTrigger='1'"):
        assert rows(ann.sql(f"SELECT id FROM beside_open WITH ({one})")) == [(7,)]
    assert rows(ann.read.option("header", True).table("beside_open").select("id")) == [(7,)]
    stream = ann.readStream.option("maxFilesPerTrigger", 1).table("beside_open").select("id")
    drained(stream.writeStream.format("memory").queryName("beside_open_read").trigger(availableNow=True).start())
    assert rows(ann.table("beside_open_read")) == [(7,)]


def test_two_spellings_of_one_option(tables) -> None:
    ann, place = asking(tables), tables.folder / "beside_open"
    with refused("the option `mergeschema` is given in two spellings"):
        ann.sql("SELECT id FROM beside_open WITH (mergeSchema='true', mergeschema='false')").columns  # noqa: B018 - asks
    with refused("the option `basepath` is given in two spellings"):
        ann.sql(f"SELECT * FROM text.`{place}` WITH (basePath='{place}', basepath='/etc')").columns  # noqa: B018 - asks


def test_a_path_beside_a_path(tables) -> None:
    """Spark refuses a second place, or does not look there; were it to look there, it would be no table."""
    ann, closed, place = asking(tables), str(tables.folder / "beside_closed"), str(tables.folder / "beside_open")
    read = ann.read.schema(COLUMNS).option("header", True).option("pAth", closed)
    for found in (read.load, read.csv, lambda path: read.format("csv").load([path, path])):
        with pytest.raises(AnalysisException):
            found(place).collect()
    with refused("no use of `beside_closed` is allowed"):
        read.format("csv").load().collect()


# What is recognised: a name with other files than its own is nothing, however it came about.


def leaf(**facts: object) -> dict[str, object]:
    text = {"id": 0, "node": "LogicalRelation", "out": [0], "table": "spark_catalog.default.emp", "source": "files"}
    return {**text, "format": "ParquetFileFormat", "options": {}, **facts}


def decided(guard, **facts: object) -> str:
    text = {"guard": guard.id, "user": "ann", "plan": leaf(**facts), "attributes": {"0": ["id", "int"]}, "settings": {}}
    return guard.answer(json.dumps(text))


STRAYS = "what would be read as the table `spark_catalog.default.emp` is not where the catalog has its files"


def test_a_name_stands_for_the_files_in_its_own_place(world) -> None:
    guard = world.guard(ALL)
    own, other = str(world.folder / "emp"), str(world.folder / "dept")
    guard.settle("emp", own, "parquet")
    assert "refuse" not in decided(guard, paths=[own], home=f"file:{own}")
    assert "refuse" not in decided(guard, paths=[f"{own}/part-0"], home=own)
    assert "refuse" not in decided(guard, paths=["/parts/a"], home=own, elsewhere=["/parts/a"])
    for roots in ([other], [own, other], [f"{own}2"], [f"{own}/../dept"], [world.folder.as_posix()]):
        assert STRAYS in decided(guard, paths=roots, home=own)
    assert STRAYS in decided(guard, paths=[own])
    assert STRAYS in decided(guard, paths=["/parts/a/b"], home=own, elsewhere=["/parts/a"])


def test_nor_for_those_of_a_table_that_lies_in_it(world) -> None:
    guard = world.guard(ALL)
    guard.settle("emp", "/data/outer", "parquet")
    guard.settle("dept", "/data/outer/inner", "parquet")
    assert "refuse" not in decided(guard, paths=["/data/outer/part-0"], home="/data/outer")
    assert STRAYS in decided(guard, paths=["/data/outer/inner/part-0"], home="/data/outer")


# What a session remembers of a table.


TEAM = policy("sums", "object: {tables: [beside_team], attributes: [pay]}, allow: [sum], min_group: 5") + policy(
    "ids", "object: {tables: [beside_team], attributes: [id]}, allow: [read, assist]"
)


def test_who_asks_first_does_not_choose_the_files_of_a_table(tables) -> None:
    """Without one of its files, the same question would be about all but one person."""
    place = tables.folder / "beside_team"
    tables.spark.sql("DROP TABLE IF EXISTS beside_team")
    tables.spark.sql(f"CREATE TABLE beside_team ({COLUMNS}) USING csv LOCATION '{place}'")
    place.mkdir(exist_ok=True)
    (place / "a.csv").write_text("".join(f"{number},n{number},{100 + number}\n" for number in range(10)))
    (place / "b.csv").write_text("99,Zoe,4711\n")
    os.utime(place / "a.csv", (1.6e9, 1.6e9))
    guard = tables.guard(TEAM, tables=("beside_team",))
    question = "SELECT sum(pay) FROM beside_team"
    assert rows(session("ann", guard, tables.spark).sql(question)) == [(5756,)]
    late = session("ann", guard, tables.spark)
    with refused("the option `modifiedbefore` is not allowed"):
        late.sql("SELECT * FROM beside_team WITH (modifiedBefore='2022-01-01T00:00:00')").columns  # noqa: B018 - asks
    assert rows(late.sql(question)) == [(5756,)]


def test_nor_tables_that_lie_in_it(tables) -> None:
    outer = tables.folder / "beside_outer"
    for name, place, row in (("beside_outer", outer, "1,Open,1"), ("beside_inner", outer / "inner", "2,secret,4711")):
        tables.spark.sql(f"DROP TABLE IF EXISTS {name}")
        tables.spark.sql(f"CREATE TABLE {name} ({COLUMNS}) USING csv LOCATION '{place}'")
        place.mkdir(exist_ok=True)
        (place / "part.csv").write_text(f"{row}\n")
    words = policy("open", "object: {tables: [beside_outer]}, allow: [read]")
    ann = session("ann", tables.guard(words, tables=("beside_outer", "beside_inner")), tables.spark)
    with refused("the option `recursivefilelookup` is not allowed"):
        ann.sql("SELECT * FROM beside_outer WITH (recursiveFileLookup='true')").columns  # noqa: B018 - asks
    assert rows(ann.table("beside_outer").select("name")) == [("Open",)]
