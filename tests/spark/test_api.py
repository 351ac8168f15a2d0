"""The Python API: what a PySpark program does with Headgate, while queries run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headgate.errors import ConflictError, InputError, StoreError, UnknownNameError
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamSchema
from headgate.model.subject import User
from headgate.policy.store.catalog import Catalog
from headgate.policy.store.change import Change
from headgate.spark.api import Headgate

SID, TS = Column("SID", DataType.STRING), Column("ts", DataType.TIMESTAMP)
COLUMNS = {"SID": "string", "Pos": "int", "ts": "timestamp"}


def at(second: int) -> str:
    return f"2026-01-01T08:00:{second:02d}Z"


def tuples(*seconds: int) -> list[dict[str, object]]:
    return [{"SID": f"p{second}", "Pos": second, "ts": at(second)} for second in seconds]


def shown(rows: list[dict[str, object]]) -> list[object]:
    return [row["SID"] for row in rows]


@pytest.fixture
def catalog() -> Catalog:
    return Catalog.open()


def test_policies_change_while_a_query_runs(spark: SparkSession, catalog: Catalog) -> None:
    with Headgate(spark, catalog) as hg:
        hg.stream("Position", COLUMNS)
        hg.user("ann", roles=["Doctor"])
        hg.policies.apply("GRANT READ ON STREAM Position TO ROLE Doctor;")
        near = hg.query("SELECT SID, Pos FROM Position WHERE Pos < 50", user="ann")
        assert near.verdict.outcome.value == "granted"
        hg.push("Position", tuples(1, 2))
        hg.drain()
        assert shown(near.rows()) == ["p1", "p2"]
        hg.policies.apply("DENY READ, ASSIST ON STREAM Position WHERE Pos > 3 TO ROLE Doctor;")
        hg.push("Position", tuples(3, 4))
        hg.drain()
        rows = near.rows()
        assert [(row["SID"], row["Pos"]) for row in rows] == [("p3", 3)]
        assert near.verdict.outcome.value == "partial"
        frame = near.dataframe()
        assert frame.columns == ["SID", "Pos", "_ts"]
        assert sorted(row["SID"] for row in frame.collect()) == ["p1", "p2", "p3"]


def test_a_policy_that_forbids_everything_closes_the_handle(spark: SparkSession, catalog: Catalog) -> None:
    with Headgate(spark, catalog) as hg:
        hg.stream("Position", COLUMNS)
        hg.user("ann", roles=["Doctor"])
        refused = hg.query("SELECT SID FROM Position", user="ann", id="refused")
        assert refused.verdict.denied
        assert "Position" in str(refused.closed)
        hg.policies.apply("GRANT READ ON STREAM Position TO ROLE Doctor;")
        near = hg.query("SELECT SID FROM Position", user="ann", id="near")
        assert near.closed is None
        hg.policies.apply("version: 1\npolicies: []\n")
        assert "withdrawn" in str(near.closed)
        hg.push("Position", tuples(1))
        hg.drain()
        assert near.rows() == []


def test_queries_come_and_go_without_a_restart(spark: SparkSession, catalog: Catalog) -> None:
    with Headgate(spark, catalog) as hg:
        hg.stream("Position", COLUMNS, governed=True)
        hg.user("ann", roles=["Doctor"])
        hg.user("ben", roles=["Nurse"])
        hg.policies.apply("GRANT READ ON STREAM Position TO ROLE Doctor; GRANT READ ON STREAM Position TO ROLE Nurse;")
        hg.punctuate(f"PUNCTUATE STREAM Position ON (*, *) TO ROLE Doctor, Nurse GRANT AT TIMESTAMP '{at(0)}'")
        first = hg.query("SELECT SID FROM Position", user="ann")
        joined = hg.query(
            "SELECT a.SID FROM Position AS a [RANGE 5 s], Position AS b [RANGE 5 s] WHERE a.Pos = b.Pos", user="ann"
        )
        hg.push("Position", tuples(1))
        hg.drain()
        second = hg.query("SELECT SID FROM Position", user="ben", access="punctuated", id="late")
        hg.punctuate(
            {"pt": "qsp", "query": "late", "srp": {"model": "dac", "subjects": ["ben"]}, "sign": "+", "ts": at(2)}
        )
        hg.push("Position", tuples(2, 3))
        hg.drain()
        first.stop()
        hg.punctuate(f"PUNCTUATE STREAM Position ON (*, *) TO ROLE Doctor DENY AT TIMESTAMP '{at(4)}'")
        hg.push("Position", tuples(5))
        hg.drain()
        assert shown(first.rows()) == ["p1", "p2", "p3"]
        assert shown(second.rows()) == ["p3", "p5"], "from registration on, and after the punctuation that gives access"
        assert shown(joined.rows()) == ["p1", "p2", "p3"], "a doctor sees nothing after the punctuation"


def test_rows_can_be_awaited_while_the_engine_runs(spark: SparkSession, catalog: Catalog) -> None:
    with Headgate(spark, catalog) as hg:
        hg.stream("Position", COLUMNS, owner="ann")
        hg.user("ann")
        mine = hg.query("SELECT SID, max(Pos) AS far FROM Position [RANGE 2 s] GROUP BY SID", user="ann")
        hg.start()
        hg.push("Position", tuples(0, 1, 9))
        assert hg.engine.await_epoch(0)
        hg.push("Position", tuples(10))
        assert [row["far"] for row in mine.await_rows(2)] == [0, 1]
        mine.stop()
        assert list(mine) == []


def test_an_engine_goes_on_where_the_last_one_left_off(spark: SparkSession, catalog: Catalog, tmp_path: Path) -> None:
    root = str(tmp_path / "data")
    with Headgate(spark, catalog, root=root) as hg:
        hg.stream("Position", COLUMNS, owner="ann")
        hg.user("ann")
        hg.query("SELECT count(*) AS n FROM Position [ROWS 3]", user="ann", id="rows")
        hg.push("Position", tuples(1, 2))
        hg.drain()
    with Headgate(spark, catalog, root=root) as hg:
        rows = hg.handle("rows")
        hg.push("Position", tuples(3, 4))
        hg.drain()
        hg.push("Position", tuples(5))
        hg.drain()
        assert [row["n"] for row in rows.rows()] == [3]


def test_a_stream_is_added_without_losing_anything(spark: SparkSession, catalog: Catalog, tmp_path: Path) -> None:
    extra = tmp_path / "extra"
    extra.mkdir()
    with Headgate(spark, catalog) as hg:
        hg.stream("Position", COLUMNS, owner="ann")
        hg.user("ann")
        old = hg.query("SELECT SID FROM Position", user="ann", id="old")
        hg.push("Position", tuples(1))
        hg.drain()
        hg.stream(
            "Health",
            {"SID": "string", "Pulse": "int", "ts": "timestamp"},
            owner="ann",
            source={"format": "json", "path": str(extra)},
        )
        new = hg.query("SELECT SID, Pulse FROM Health", user="ann", id="new")
        (extra / "one.json").write_text(f'{{"SID": "p1", "Pulse": 80, "ts": "{at(2)}"}}\nnot json\n')
        hg.push("Position", tuples(3))
        hg.drain()
        assert shown(old.rows()) == ["p1", "p3"]
        assert [row["Pulse"] for row in new.rows()] == [80]
        assert hg.engine.totals.rejected == 1
        letters = list(Path(hg.root, "dead-letter").glob("*.ndjson"))
        assert "not JSON" in letters[0].read_text()


def test_typed_sources_bring_their_punctuations_beside_them(
    spark: SparkSession, catalog: Catalog, tmp_path: Path
) -> None:
    data, said = tmp_path / "data", tmp_path / "said"
    said.mkdir()
    rows = [("p1", 1, at(1)), ("p2", 2, at(2)), ("p3", None, at(3)), ("p4", 4, None)]
    frame = spark.createDataFrame(rows, "SID string, Pos int, ts string")
    frame.selectExpr("SID", "Pos", "cast(ts as timestamp) as ts").coalesce(1).write.parquet(str(data))
    sp = {"pt": "dsp", "srp": {"model": "rbac", "subjects": ["Doctor"]}, "sign": "+", "ts": at(1)}
    (said / "one.json").write_text(json.dumps({"sp": sp}) + "\n")
    with Headgate(spark, catalog) as hg:
        hg.stream(
            "Position",
            COLUMNS,
            governed=True,
            source={"format": "parquet", "path": str(data)},
            punctuations={"format": "json", "path": str(said)},
        )
        hg.user("ann", roles=["Doctor"])
        hg.policies.apply("GRANT READ ON STREAM Position TO ROLE Doctor;")
        seen = hg.query("SELECT SID, Pos FROM Position", user="ann")
        hg.drain()
        assert [(row["SID"], row["Pos"]) for row in seen.rows()] == [("p2", 2), ("p3", None)]
        assert hg.engine.totals.rejected == 1


def test_mistakes_are_told_to_the_person_who_made_them(spark: SparkSession, catalog: Catalog, tmp_path: Path) -> None:
    root = str(tmp_path / "data")
    with Headgate(spark, catalog, root=root) as hg:
        hg.stream("Position", COLUMNS, owner="ann")
        hg.user("ann")
        hg.query("SELECT SID FROM Position", user="ann", id="q")
        with pytest.raises(ConflictError, match="there already"):
            hg.query("SELECT SID FROM Position", user="ann", id="q")
        with pytest.raises(UnknownNameError, match="unknown user"):
            hg.query("SELECT SID FROM Position", user="bob")
        with pytest.raises(UnknownNameError, match="no query"):
            hg.handle("nothing")
        with pytest.raises(InputError, match="format"):
            hg.stream("Position", source={"path": "x"})
        hg.push("Position", tuples(1))
        hg.drain()
    with pytest.raises(StoreError, match="unknown stream `Position`"):
        Headgate(spark, Catalog.open(), root=root)
    other = Catalog.open()
    wider = StreamSchema("Position", (SID, Column("Pos", DataType.BIGINT), TS))
    other.apply(Change().put(wider, User("ann")), "me", "a test")
    with Headgate(spark, other, root=root) as hg, pytest.raises(StoreError, match="had other columns"):
        hg.drain()
