"""Streams of a scenario as tables: files, elements, sources without files, and what is there already."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from guarded import rows
from pyspark.errors import AnalysisException

from headgate.errors import InputError
from headgate.guard import Guard, Settings, Source, session
from headgate.guard.tables import make_tables, sources_of
from headgate.scenario.load import Scenario, load_scenario

HEAD = """
version: 1
users: {ann: {roles: [analyst]}}
policies: [{id: all, subject: {role: analyst}, object: {streams: ["NAME"], where: "pay < 100"}, allow: [read]}]
streams:
  NAME:
    columns: {ts: timestamp, id: int, dept: string, pay: double}
"""

LINES = """\
{"ts": "2026-01-01T08:00:00Z", "id": 1, "dept": "A", "pay": 50.5}
{"ts": "2026-01-01T08:00:00.000001+01:00", "id": 2, "dept": "B", "pay": 100}
"""


@pytest.fixture
def name(spark) -> Iterator[str]:
    """A name that no other test uses; a table of it is dropped."""
    made = f"served_{uuid4().hex[:8]}"
    yield made
    spark.sql(f"DROP TABLE IF EXISTS {made}")


def scenario_of(folder: Path, name: str, stream: str) -> Scenario:
    """A scenario of one stream, that is described by more lines."""
    (folder / "own").mkdir(exist_ok=True)
    path = folder / "own" / "scenario.yaml"
    path.write_text(HEAD.replace("NAME", name) + f"    {stream}\n", encoding="utf-8")
    return load_scenario(path)


def made(spark, scenario: Scenario, folder: Path, settings: Settings | None = None) -> list[str]:
    (folder / "kept").mkdir(exist_ok=True)
    return make_tables(spark, scenario, (settings or Settings()).sources, folder / "kept")


def ann(spark, scenario: Scenario):
    system = scenario.system
    settings = Settings(sources_of(scenario))
    return session("ann", Guard(system.streams, system.policies, system.users, settings), spark)


def test_files_are_a_table_under_the_policies(spark, tmp_path, name) -> None:
    """Their path counts from the scenario's folder, and what is read by path is the table as well."""
    scenario = scenario_of(tmp_path, name, "source: {format: json, path: ../data}")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "part.json").write_text(LINES, encoding="utf-8")
    assert made(spark, scenario, tmp_path) == []
    user = ann(spark, scenario)
    assert rows(user.table(name).select("id", "dept", "pay")) == [(1, "A", 50.5)]
    schema = spark.table(name).schema
    assert rows(user.read.schema(schema).json(str(tmp_path / "data")).select("id")) == [(1,)]
    assert dict(spark.table(name).dtypes) == {"ts": "timestamp", "id": "int", "dept": "string", "pay": "double"}


def test_options_of_files_are_the_tables(spark, tmp_path, name) -> None:
    scenario = scenario_of(tmp_path, name, "source: {format: csv, path: pay.csv, header: true, sep: ;}")
    (tmp_path / "own" / "pay.csv").write_text("ts;id;dept;pay\n2026-01-01T08:00:00Z;1;A;7\n", encoding="utf-8")
    made(spark, scenario, tmp_path)
    user = ann(spark, scenario)
    assert rows(user.sql(f"SELECT id, dept, pay FROM {name}")) == [(1, "A", 7.0)]
    with pytest.raises(AnalysisException, match="the option `sep` is not allowed"):
        user.read.option("sep", ",").table(name).collect()


def test_folders_that_are_called_by_a_column(spark, tmp_path, name) -> None:
    scenario = scenario_of(tmp_path, name, "source: {format: parquet, path: parts}")
    frame = spark.sql("SELECT timestamp'2026-01-01' ts, 1 id, 'A' dept, 5.0D pay UNION ALL SELECT null, 2, 'B', 6.0D")
    frame.write.partitionBy("dept").parquet(str(tmp_path / "own" / "parts"))
    made(spark, scenario, tmp_path)
    assert rows(ann(spark, scenario).sql(f"SELECT id, dept FROM {name} WHERE dept = 'B'")) == [(2, "B")]


def test_elements_are_a_table_without_the_punctuations_among_them(spark, tmp_path, name) -> None:
    punctuation = '{"sp": {pt: dsp, srp: {model: rbac, subjects: [x]}, sign: "+", ts: "2026-01-01T00:00:00Z"}}'
    elements = ", ".join([punctuation, *LINES.splitlines()])
    scenario = scenario_of(tmp_path, name, f"elements: [{elements}]")
    (note,) = made(spark, scenario, tmp_path)
    assert "are left out: the guard decides by standing policies" in note
    assert rows(ann(spark, scenario).sql(f"SELECT id, pay FROM {name}")) == [(1, 50.5)]
    moments = [row[0] for row in spark.sql(f"SELECT unix_micros(ts) FROM {name} ORDER BY id").collect()]
    assert moments == [1_767_254_400_000_000, 1_767_250_800_000_001]


def test_a_table_that_is_there_is_used_as_it_is(spark, tmp_path, name) -> None:
    spark.sql(f"CREATE TABLE {name} USING parquet LOCATION '{tmp_path / 'old'}' AS SELECT 9 id, 1.5D pay")
    scenario = scenario_of(tmp_path, name, f"elements: [{LINES.splitlines()[0]}]")
    assert made(spark, scenario, tmp_path) == [f"`{name}` is in the catalog already, and is used as it is"]
    assert rows(ann(spark, scenario).table(name)) == [(9, 1.5)]


def test_a_stream_that_is_governed_is_closed(spark, tmp_path, name) -> None:
    """Its tuples need a punctuation beside a policy, and the guard has policies only."""
    scenario = scenario_of(tmp_path, name, f"governed: true\n    elements: [{LINES.splitlines()[0]}]")
    (note,) = made(spark, scenario, tmp_path)
    assert "nobody can read it here" in note
    assert not spark.catalog.tableExists(name)
    spark.sql(f"CREATE TABLE {name} USING parquet LOCATION '{tmp_path / 'old'}' AS SELECT 9 id, 1.5D pay")
    user = ann(spark, scenario)
    for asked in (f"SELECT id FROM {name}", f"SELECT count(*) FROM {name}"):
        with pytest.raises(AnalysisException, match=f"`{name}` is governed by punctuations"):
            user.sql(asked).collect()


def test_a_view_that_is_governed_is_closed(spark, tmp_path, name) -> None:
    scenario = scenario_of(tmp_path, name, "governed: true")
    spark.sql(f"CREATE VIEW {name} AS SELECT 9 id, 1.5D pay")
    try:
        with pytest.raises(AnalysisException, match=f"`{name}` is governed by punctuations"):
            ann(spark, scenario).table(name).collect()
    finally:
        spark.sql(f"DROP VIEW {name}")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "{format: kafka, kafka.bootstrap.servers: 'node:9092', subscribe: calls, startingOffsets: earliest}",
            Source(format="kafka", options={"kafka.bootstrap.servers": "node:9092", "subscribe": "calls"}),
        ),
        (
            "{format: jdbc, url: 'jdbc:h2:mem:x', dbtable: pay, user: reader, password: secret, driver: org.h2.Driver}",
            Source(url="jdbc:h2:mem:x", table="pay", options={"user": "reader", "driver": "org.h2.Driver"}),
        ),
        (
            "{format: socket, host: localhost, port: 9999}",
            Source(format="socket", options={"host": "localhost", "port": "9999"}),
        ),
    ],
)
def test_what_has_no_files_is_a_source(spark, tmp_path, name, source, expected) -> None:
    scenario = scenario_of(tmp_path, name, f"source: {source}")
    assert sources_of(scenario) == {name: expected}
    assert make_tables(spark, scenario, sources_of(scenario), tmp_path) == []
    assert not spark.catalog.tableExists(name)


def test_a_stream_of_nothing_is_told(spark, tmp_path, name) -> None:
    (note,) = made(spark, scenario_of(tmp_path, name, "owner: root"), tmp_path)
    assert note.startswith(f"there is no table `{name}`")


def test_a_source_of_the_settings_needs_no_table(spark, tmp_path, name) -> None:
    scenario = scenario_of(tmp_path, name, "source: {format: json, path: nowhere}")
    assert made(spark, scenario, tmp_path, Settings({name: Source(path="/data")})) == []


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ("source: {format: json, path: nowhere}", "is not there"),
        ("source: {format: json}", "has no `path`"),
        ("source: {format: json, path: 'data/*.json'}", "is a pattern"),
        ("source: {format: jdbc, url: 'jdbc:h2:mem:x'}", "names no table"),
        ("source: {format: json, path: ., samplingRatio: [1]}", "the option `samplingRatio` .* is not a text"),
        ("source: {format: json, path: ., schema: x}", "no table can be made of stream"),
        ("source: {format: nothing, path: .}", "no table can be made of stream .*: .*nothing"),
        ("elements: [{ts: '2026-01-01T08:00:00Z', id: many}]", "element 1 of stream .* cannot be served: column `id`"),
    ],
)
def test_what_is_no_table_is_said(spark, tmp_path, name, stream, message) -> None:
    scenario = scenario_of(tmp_path, name, stream)
    with pytest.raises(InputError, match=message):
        made(spark, scenario, tmp_path, Settings(sources_of(scenario)))


def test_a_name_that_is_none_of_a_table_is_said(spark, tmp_path) -> None:
    scenario = scenario_of(tmp_path, "no table", f"elements: [{LINES.splitlines()[0]}]")
    with pytest.raises(InputError, match="no table can be made of stream `no table`"):
        made(spark, scenario, tmp_path)


def test_a_name_in_a_database(spark, tmp_path, name) -> None:
    scenario = scenario_of(tmp_path, f"{name}_base.pay", f"elements: [{LINES.splitlines()[0]}]")
    try:
        made(spark, scenario, tmp_path)
        assert rows(ann(spark, scenario).table(f"{name}_base.pay").select("id")) == [(1,)]
    finally:
        spark.sql(f"DROP DATABASE {name}_base CASCADE")
