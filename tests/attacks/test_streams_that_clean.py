"""Ways in 5, 6, 9 and 20: options of files on which Spark acts before there is a plan to decide on.

A stream that is gone on with puts away what it had read, as soon as it is started; folders are listed by the user's
patterns as soon as somebody asks for columns.
"""

from __future__ import annotations

import json

import pytest
from guarded import USERS, drained, policy, refused, rows
from live_files import LINES, POLICIES, SCHEMA, reader

from headgate.guard import Guard, Settings, Source, session, table_schema
from headgate.model.schema import StreamCatalog
from headgate.policy.yaml_file import parse_policies


@pytest.fixture
def live(world, tmp_path):
    """A guard of a folder with two files, and a folder that is writable."""
    (tmp_path / "in").mkdir()
    for number, line in enumerate(LINES):
        (tmp_path / "in" / f"{number}.json").write_text(json.dumps(line))
    return tmp_path


def guard_of(world, folder, **options: str) -> Guard:
    catalog = StreamCatalog([table_schema("live", world.spark.createDataFrame([], SCHEMA).schema)])
    settings = Settings({"live": Source(path=str(folder / "in"), options=options)}, writable=(str(folder / "out"),))
    return Guard(catalog, parse_policies(f"version: 1\npolicies:\n{POLICIES}", catalog), USERS, settings)


def started(ann, folder, **options: str):
    """A stream of one file a batch, whose state is kept."""
    source = ann.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).options(**options).json(str(folder / "in"))
    stream = source.select("id").writeStream.format("parquet").trigger(availableNow=True)
    return stream.options(path=str(folder / "out" / "ids"), checkpointLocation=str(folder / "out" / "state")).start()


def written(world, folder) -> list[tuple[int]]:
    return rows(world.spark.read.parquet(str(folder / "out" / "ids")))


def files(folder) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*.json"))


PUT_AWAY = {
    "deleted": {"cleanSource": "delete"},
    "another spelling": {"CLEANSOURCE": "DELETE"},
    "moved": {"cleanSource": "archive", "sourceArchiveDir": "ARCHIVE"},
}


@pytest.mark.parametrize("form", PUT_AWAY)
def test_a_stream_that_is_gone_on_with_puts_no_files_away(world, live, form) -> None:
    ann = session("ann", guard_of(world, live), world.spark)
    drained(started(ann, live))
    (live / "in" / "2.json").write_text(json.dumps({**LINES[0], "id": 5}))
    before = files(live)
    options = {key: value.replace("ARCHIVE", str(live / "out" / "a" / "b")) for key, value in PUT_AWAY[form].items()}
    with pytest.raises(Exception, match=r"`cleansource` is not allowed for `live`|may not put files away"):
        drained(started(ann, live, **options))
    assert files(live) == before
    drained(started(ann, live))
    assert written(world, live) == [(1,), (5,)]


def test_nor_are_they_by_a_table_that_streams_are_made_of(world, live) -> None:
    """Of a source whose files are to be put away, that is what its administrator wants."""
    ann = session("ann", guard_of(world, live, cleanSource="off"), world.spark)
    drained(started(ann, live, cleanSource="off"))
    assert written(world, live) == [(1,)]
    with refused("the option `cleansource` is not allowed"):
        started(ann, live, cleanSource="delete")


@pytest.mark.parametrize(("key", "value"), [("cleansource", "delete"), ("sourcearchivedir", "/a/b/c")])
def test_what_a_stream_was_made_of_is_looked_at_when_it_starts(world, live, key, value) -> None:
    """Where a reader of an early Spark asks nobody."""
    guard = guard_of(world, live)
    sink = "org.apache.spark.sql.execution.streaming.sources.MemorySink"
    node = {"id": 0, "node": "StreamStart", "out": [], "sink": sink}
    text = {"guard": guard.id, "user": "ann", "plan": node, "attributes": {}, "settings": {}}
    for options, said in (({key: value}, True), ({"header": "true"}, False)):
        answer = guard.answer(json.dumps({**text, "plan": {**node, "reads": [{"options": options}]}}))
        assert (f"leave the option `{key}` out" in answer) is said


# What Spark does with options while it looks for columns.


@pytest.mark.parametrize("name", ["parquet", "orc", "text", "json"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ignoredPathSegmentRegex", "^dept=(?!A).*"),
        ("archivePathFilter", "*"),
        ("ignoreInvalidPartitionPaths", "true"),
        ("ignoreMissingFiles", "true"),
        ("ignoreCorruptFiles", "true"),
        ("readerCaseSensitive", "true"),
        ("compression", "java.lang.Object"),
        ("paths", '["/etc"]'),
        ("__globPaths__", "false"),
    ],
)
def test_options_of_files_are_looked_at_before_they_are(world, lines, name, key, value) -> None:
    for read in (reader(world, lines), reader(world, lines)._spark.readStream):
        with refused(f"the option `{key.lower()}` is not allowed for `live`"):
            read.schema(SCHEMA).format(name).option(key, value).load(str(lines)).columns  # noqa: B018 - asks
    with refused(f"the option `{key.lower()}` is not allowed for `live`|give the schema"):
        query = f"SELECT * FROM {name}.`{lines}` WITH (`{key}` = '{value}')"
        reader(world, lines)._spark.sql(query).columns  # noqa: B018 - asks for the schema


DEPARTMENTS = policy("a", "object: {tables: [guessed], where: dept = 'A'}, allow: [read]")


def test_names_of_folders_are_not_guessed_by_asking_for_columns(world) -> None:
    """Whether any file is left, once a pattern has taken folders away, was told by whether there are columns."""
    place = world.folder / "guessed"
    frame = world.spark.createDataFrame([(1, "A"), (2, "Q-merger")], "id int, dept string")
    frame.write.mode("overwrite").partitionBy("dept").option("path", str(place)).saveAsTable("guessed")
    ann = world.session("ann", DEPARTMENTS, tables=("guessed",))
    for guess in ("Q", "R"):
        with refused("the option `ignoredpathsegmentregex` is not allowed"):
            found = ann.read.option("ignoredPathSegmentRegex", f"^dept=(?!{guess}).*")
            found.parquet(str(place)).columns  # noqa: B018 - asks for the schema


def test_no_folder_is_named(world, lines) -> None:
    with refused("no folder is named"):
        reader(world, lines).schema(SCHEMA).format("parquet").load().columns  # noqa: B018 - asks for the schema


def test_files_are_read_with_the_options_that_they_have(world, tmp_path) -> None:
    folder = tmp_path / "csv"
    folder.mkdir()
    written = ["id;dept;salary;value", *(";".join(map(str, one.values())) for one in LINES)]
    (folder / "part.csv").write_text("\n".join(written))
    read = reader(world, folder, "csv", sep=";", header="true").schema(SCHEMA).option("sep", ";")
    assert rows(read.option("header", True).csv(str(folder)).select("id")) == [(1,)]
    assert rows(read.option("basePath", str(folder)).csv(str(folder), header=True).select("id")) == [(1,)]
    assert rows(read.option("pathGlobFilter", "*.csv").csv(str(folder), header=True).select("id")) == [(1,)]
    stream = reader(world, folder, "csv", sep=";", header="true")._spark.readStream.schema(SCHEMA)
    stream = stream.options(sep=";", header=True, latestFirst=True, maxFilesPerTrigger=1).csv(str(folder))
    query = stream.select("id").writeStream.format("memory").queryName("csv_as_it_is").trigger(availableNow=True)
    drained(query.start())
    assert [tuple(row) for row in stream.sparkSession.table("csv_as_it_is").collect()] == [(1,)]
