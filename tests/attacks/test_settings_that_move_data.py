"""Way in 7: settings of a user's by which a policy's condition would see other values than are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from guarded import policy, refused, rows

from headgate.guard.vocabulary import settable, setting_allowed

CASE = "spark.sql.caseSensitive"
ZONE = "spark.sql.session.timeZone"
PARSER = "spark.sql.legacy.timeParserPolicy"
PADDING = "spark.sql.readSideCharPadding"
CODEC = "spark.sql.streaming.stateStore.compression.codec"


def all_but(table: str, where: str) -> str:
    """Everything of a table is allowed, but for the rows of which this holds."""
    some = f'object: {{tables: [TABLE], where: "{where}"}}, deny: [read, assist, compute]'
    return policy("all", "object: {tables: [TABLE]}, allow: [read]", table=table) + policy("no", some, table=table)


def only(table: str, where: str) -> str:
    return policy("some", f'object: {{tables: [TABLE], where: "{where}"}}, allow: [read]', table=table)


def made(world: Any, name: str, columns: str, how: str) -> None:
    world.spark.sql(f"DROP TABLE IF EXISTS {name}")
    world.spark.sql(f"CREATE TABLE {name} ({columns}) {how}")


# Names of columns in files.


@pytest.fixture(scope="module", params=["parquet", "orc"])
def cased(world, tmp_path_factory: pytest.TempPathFactory, request) -> Any:
    """A table whose files spell a column in another way."""
    folder = str(tmp_path_factory.mktemp("cased") / "files")
    frame = world.spark.createDataFrame([(1, "A", 50), (3, "B", 100)], "id int, Dept string, salary int")
    frame.coalesce(1).write.format(request.param).save(folder)
    made(world, "spelt", "id INT, dept STRING, salary INT", f"USING {request.param} LOCATION '{folder}'")
    return world


def test_how_names_are_compared_is_for_administrators(cased) -> None:
    ann = cased.session("ann", all_but("spelt", "dept = 'B'"), tables=("spelt",))
    assert rows(ann.sql("SELECT id, salary FROM spelt")) == [(1, 50)]
    ann.conf.set(CASE, "true")
    with refused(f"the setting `{CASE}` may not be changed"):
        ann.sql("SELECT id, salary FROM spelt").collect()
    with refused(f"the setting `{CASE}` may not be changed"):
        ann.sql(f"SET {CASE}=true").collect()


def test_a_setting_that_is_changed_after_planning(cased) -> None:
    ann = cased.session("ann", all_but("spelt", "dept = 'B'"), tables=("spelt",))
    planned = ann.sql("SELECT id, salary FROM spelt")
    planned.explain()
    run = ann.table("spelt").select("id", "salary")
    assert rows(run) == [(1, 50)]
    made_rows = ann.table("spelt").select("id", "salary").rdd
    ann.conf.set(CASE, "true")
    for frame in (planned, run):
        with refused(f"the setting `{CASE}` may not be changed"):
            frame.collect()
    with pytest.raises(Exception, match=r"refused by the guard"):
        made_rows.collect()
    ann.conf.unset(CASE)
    assert rows(planned) == rows(run) == [(1, 50)]


# Times without a zone.

NIGHT = "2026-01-01 03:00:00"
"""In Tokyo this is before midnight in Greenwich."""

BEFORE = "ts < TIMESTAMP '2026-01-01T00:00:00Z'"
TIMES = {
    "json": f'{{"id": 1, "ts": "{NIGHT}"}}\n',
    "csv": f"1,{NIGHT}\n",
    "xml": f"<rows><row><id>1</id><ts>{NIGHT}</ts></row></rows>",
}


@pytest.fixture(params=TIMES)
def log(world, tmp_path: Path, request) -> tuple[Any, str, Path]:
    folder = tmp_path / "log"
    folder.mkdir()
    (folder / f"a.{request.param}").write_text(TIMES[request.param])
    options = "OPTIONS (rowTag 'row')" if request.param == "xml" else ""
    made(world, "log", "id INT, ts TIMESTAMP", f"USING {request.param} {options} LOCATION '{folder}'")
    return world, request.param, folder


@pytest.fixture(autouse=True)
def greenwich(spark) -> Any:
    """Guarded sessions begin with the zone that Spark was started with."""
    settings = spark.sparkContext._jsc.sc().conf()
    before = spark.conf.get(ZONE)
    settings.set(ZONE, "UTC")
    spark.conf.set(ZONE, "UTC")
    yield
    settings.remove(ZONE)
    spark.conf.set(ZONE, before)


def test_times_in_files_are_those_of_the_guards_zone(log) -> None:
    world, _, _ = log
    ann = world.session("ann", only("log", BEFORE), tables=("log",))
    for zone in ("UTC", "Asia/Tokyo"):
        ann.conf.set(ZONE, zone)
        assert rows(ann.sql("SELECT id FROM log")) == [], zone
    ann = world.session("ann", all_but("log", "ts >= TIMESTAMP '2026-01-01T00:00:00Z'"), tables=("log",))
    ann.conf.set(ZONE, "Asia/Tokyo")
    assert rows(ann.sql("SELECT id FROM log")) == []


def test_times_are_shown_in_the_users_zone(log) -> None:
    world, _, _ = log
    ann = world.session("ann", only("log", "id = 1"), tables=("log",))
    ann.conf.set(ZONE, "Asia/Tokyo")
    assert rows(ann.sql("SELECT CAST(ts AS STRING) FROM log")) == [("2026-01-01 12:00:00",)]


def test_a_zone_that_is_set_after_planning(log) -> None:
    world, _, _ = log
    ann = world.session("ann", only("log", BEFORE), tables=("log",))
    frame = ann.sql("SELECT id FROM log")
    frame.explain()
    ann.conf.set(ZONE, "Asia/Tokyo")
    assert rows(frame) == []


def test_files_of_a_table_by_path(log) -> None:
    world, kind, folder = log
    ann = world.session("ann", only("log", BEFORE), tables=("log",))
    ann.conf.set(ZONE, "Asia/Tokyo")
    read = ann.read.schema("id int, ts timestamp")
    if kind == "xml":
        with refused("are not read as"):
            read.option("rowTag", "row").xml(str(folder)).collect()
        return
    assert rows(read.format(kind).load(str(folder)).select("id")) == []
    with refused("the option `timezone` is not allowed"):
        read.format(kind).option("timeZone", "Asia/Tokyo").load(str(folder)).collect()


def test_a_table_that_has_a_zone_of_its_own(world, tmp_path) -> None:
    (tmp_path / "a.json").write_text(TIMES["json"])
    made(world, "log", "id INT, ts TIMESTAMP", f"USING json OPTIONS (timeZone 'Asia/Tokyo') LOCATION '{tmp_path}'")
    ann = world.session("ann", only("log", BEFORE), tables=("log",))
    for zone in ("UTC", "Asia/Tokyo"):
        ann.conf.set(ZONE, zone)
        assert rows(ann.sql("SELECT id FROM log")) == [(1,)], zone


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_times_in_a_stream_of_files(world, tmp_path, kind) -> None:
    (tmp_path / f"a.{kind}").write_text(TIMES[kind])
    made(world, "log", "id INT, ts TIMESTAMP", f"USING {kind} LOCATION '{tmp_path}'")
    ann = world.session("ann", only("log", BEFORE), tables=("log",))
    ann.conf.set(ZONE, "Asia/Tokyo")
    stream = ann.readStream.schema("id int, ts timestamp").format(kind).load(str(tmp_path)).select("id")
    query = stream.writeStream.format("memory").queryName(f"moved_{kind}").trigger(availableNow=True).start()
    query.awaitTermination(120)
    assert rows(ann.table(f"moved_{kind}")) == []


@pytest.fixture
def hours(world, tmp_path: Path) -> tuple[Any, str]:
    """A table that is divided by a time."""
    folder = str(tmp_path / "hours")
    frame = world.spark.createDataFrame([(1, NIGHT)], "id int, ts string").selectExpr("id", "CAST(ts AS timestamp) ts")
    world.spark.sql("DROP TABLE IF EXISTS hours")
    frame.write.partitionBy("ts").option("path", folder).saveAsTable("hours")
    return world, folder


MOVED = "times.* another time zone moves"


def test_times_in_the_names_of_folders(hours) -> None:
    world, folder = hours
    ann = world.session("ann", only("hours", BEFORE), tables=("hours",))
    assert rows(ann.sql("SELECT id FROM hours")) == []
    assert rows(ann.read.parquet(folder).select("id")) == []
    ann.conf.set(ZONE, "Asia/Tokyo")
    for frame in (ann.sql("SELECT id FROM hours"), ann.read.parquet(folder).select("id")):
        with refused(MOVED):
            frame.collect()


def test_a_frame_that_was_made_in_another_zone(hours) -> None:
    """Spark reads the names of folders when it finds a table's columns, and keeps what it read."""
    world, folder = hours
    ann = world.session("ann", only("hours", BEFORE), tables=("hours",))
    ann.conf.set(ZONE, "Asia/Tokyo")
    by_path, by_name = ann.read.parquet(folder).select("id"), ann.sql("SELECT id FROM hours")
    ann.conf.set(ZONE, "UTC")
    with refused("a table is divided by times"):
        by_path.collect()
    assert rows(by_name) == [], "of a table of the catalog they are read later"


@pytest.mark.parametrize(("kind", "column"), [("json", "ts TIMESTAMP"), ("csv", "ts DATE")])
def test_how_texts_become_times_is_for_administrators(world, tmp_path, kind, column) -> None:
    (tmp_path / f"a.{kind}").write_text(TIMES[kind])
    made(world, "log", f"id INT, {column}", f"USING {kind} LOCATION '{tmp_path}'")
    ann = world.session("ann", only("log", "id = 1"), tables=("log",))
    ann.conf.set(PARSER, "LEGACY")
    with refused(f"the setting `{PARSER}` may not be changed"):
        ann.sql("SELECT id FROM log").collect()
    ann.conf.unset(PARSER)
    assert rows(ann.sql("SELECT id FROM log")) == [(1,)]


def test_a_view_that_makes_days_of_texts(world) -> None:
    """What a view says is fixed when it is made, but not how it takes a text for a day."""
    world.table("noted", [(1, "2020-01-01"), (2, "2020-01-01 and more")], "id int, day string")
    conf, before = world.spark.conf, world.spark.conf.get("spark.sql.ansi.enabled")
    conf.set("spark.sql.ansi.enabled", "false")
    world.spark.sql("DROP VIEW IF EXISTS days")
    world.spark.sql("CREATE VIEW days AS SELECT id, to_date(day, 'yyyy-MM-dd') AS day FROM noted")
    conf.set("spark.sql.ansi.enabled", before)
    both = policy("all", "object: {tables: [noted]}, allow: [read]") + only("days", "day IS NOT NULL")
    ann = world.session("ann", both, tables=("noted", "days"))
    ann.conf.set(PARSER, "CORRECTED")  # what it is anyway
    assert rows(ann.sql("SELECT id FROM days")) == [(1,)]
    ann.conf.set(PARSER, "LEGACY")
    with refused(f"the setting `{PARSER}` may not be changed"):
        ann.sql("SELECT id FROM days").collect()


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_a_view_that_makes_days_of_times(world, zone) -> None:
    moments = world.spark.range(2).selectExpr("id", "timestamp_seconds(id * 43200 + 14400) AS ts")
    moments.write.mode("overwrite").option("path", str(world.folder / "moments")).saveAsTable("moments")
    world.spark.sql("DROP VIEW IF EXISTS days")
    world.spark.sql("CREATE VIEW days AS SELECT id, CAST(ts AS DATE) AS day FROM moments")
    both = policy("all", "object: {tables: [moments]}, allow: [read]") + only("days", "day > DATE '1970-01-01'")
    ann = world.session("ann", both, tables=("moments", "days"))
    ann.conf.set(ZONE, zone)
    assert rows(ann.sql("SELECT id FROM days")) == []


# Texts that are filled up with blanks.


@pytest.fixture
def coded(world, tmp_path: Path) -> tuple[Any, str]:
    """Spark writes blanks behind the codes; another program has not."""
    folder = str(tmp_path / "coded")
    made(world, "coded", "code CHAR(5), salary INT", f"USING parquet LOCATION '{folder}'")
    world.spark.sql("INSERT INTO coded VALUES ('B', 100), ('A', 50), (NULL, 10)")
    world.spark.createDataFrame([("B", 200), ("A", 60)], "code string, salary int").write.mode("append").parquet(folder)
    return world, folder


@pytest.mark.parametrize(
    "where", ["code = 'B'", "code = 'B    '", "code IN ('B ', 'C')", "code LIKE 'B'", "code > 'A'"]
)
def test_a_text_of_a_fixed_length_is_what_a_policy_says(coded, where) -> None:
    world, folder = coded
    ann = world.session("ann", all_but("coded", where), tables=("coded",))
    by_path = ann.read.schema("code string, salary int").parquet(folder)
    for frame in (ann.sql("SELECT salary FROM coded"), by_path.select("salary")):
        assert rows(frame) == [(10,), (50,), (60,)]
    assert rows(ann.sql("SELECT code, count(*) FROM coded WHERE code = 'A' GROUP BY code")) == [("A    ", 2)]
    assert rows(ann.sql("SELECT salary FROM coded WHERE code = 'B'")) == []


def test_masks_and_cells_of_a_text_of_a_fixed_length(coded) -> None:
    world, _ = coded
    salaries = policy("salaries", "object: {tables: [TABLE], attributes: [salary]}, allow: [read]", table="coded")
    codes = "object: {tables: [TABLE], attributes: [code], where: \"code = 'A'\"}, allow: [read]"
    ann = world.session("ann", salaries + policy("codes", codes, table="coded"), tables=("coded",))
    found = rows(ann.sql("SELECT salary, code FROM coded"))
    assert found == [(10, None), (100, None), (200, None), (50, "A    "), (60, "A    ")]


def test_what_is_done_about_blanks_is_for_administrators(coded) -> None:
    world, _ = coded
    ann = world.session("ann", all_but("coded", "code = 'B'"), tables=("coded",))
    ann.conf.set(PADDING, "false")
    with refused(f"the setting `{PADDING}` may not be changed"):
        ann.sql("SELECT salary FROM coded").collect()


# Classes that a setting names.


def test_only_codecs_that_spark_has_are_named(world) -> None:
    for value in ("lz4", "lzf", "snappy", "zstd"):
        assert setting_allowed(CODEC, value)
        assert f"{CODEC} {value}" in settable()
    assert CODEC not in settable()
    assert not setting_allowed(CODEC, "org.example.Codec")
    ann = world.session("ann", only("emp", "id = 1"))
    ann.conf.set(CODEC, "org.example.Codec")
    with refused(f"the setting `{CODEC}` may not be changed"):
        ann.sql("SELECT id FROM emp").collect()
