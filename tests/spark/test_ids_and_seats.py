"""What hangs on the id of a query, or on the bit of a class, is not inherited by the next one that gets it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.errors import ConflictError
from headgate.model.datatype import DataType
from headgate.model.element import Tuple
from headgate.model.instant import SECOND
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.policy.model import Policy, PolicySet, Subject
from headgate.policy.store.catalog import Catalog
from headgate.scenario.system import System
from headgate.spark.api import Headgate
from headgate.spark.engine import Engine, Settings
from headgate.spark.planning import Seat, without_forgotten
from headgate.spark.replay import delivered

COLUMNS = {"SID": "string", "Pos": "int", "ts": "timestamp"}
QUERY = "SELECT SID FROM Position"


def at(second: int) -> str:
    return f"2026-01-01T08:00:{second:02d}Z"


def flows(hg: Headgate, *seconds: int) -> None:
    hg.push("Position", [{"SID": f"p{second}", "Pos": second, "ts": at(second)} for second in seconds])
    hg.drain()


def opened(spark: SparkSession, catalog: Catalog, root: Path) -> Headgate:
    hg = Headgate(spark, catalog, root=str(root))
    hg.stream("Position", COLUMNS, governed=True)
    hg.user("ann")
    hg.user("mallory")
    hg.policies.apply("GRANT READ ON STREAM Position TO USER ann; GRANT READ ON STREAM Position TO USER mallory;")
    return hg


def as_surgeon(hg: Headgate, query: str) -> None:
    hg.punctuate(
        {"pt": "qsp", "query": query, "srp": {"model": "rbac", "subjects": ["Surgeon"]}, "sign": "+", "ts": at(1)},
        stream="Position",
    )


def test_no_query_inherits_the_roles_of_one_that_was_stopped(spark: SparkSession, tmp_path: Path) -> None:
    catalog, root = Catalog.open(), tmp_path / "data"
    with opened(spark, catalog, root) as hg:
        hg.punctuate(f"PUNCTUATE STREAM Position ON (*, *) TO ROLE Surgeon GRANT AT TIMESTAMP '{at(0)}'")
        first = hg.query(QUERY, user="ann")
        named = hg.query(QUERY, user="ann", id="named")
        as_surgeon(hg, first.id)
        as_surgeon(hg, named.id)
        flows(hg, 2)
        assert [row["SID"] for row in first.rows()] == ["p2"]
        first.stop()
        named.stop()
        second = hg.query(QUERY, user="mallory")
        flows(hg, 3)
        assert second.rows() == []
        for spent in (first.id, "named"):
            with pytest.raises(ConflictError, match=f"`{spent}` was used before"):
                hg.query(QUERY, user="mallory", id=spent)
        second.stop()
    with opened(spark, catalog, root) as hg:
        third = hg.query(QUERY, user="mallory")
        assert third.id not in (first.id, second.id)
        with pytest.raises(ConflictError, match="was used before"):
            hg.query(QUERY, user="mallory", id="named")
        flows(hg, 4)
        assert third.rows() == []


def test_the_next_id_is_free_whatever_was_stopped(spark: SparkSession, tmp_path: Path) -> None:
    with opened(spark, Catalog.open(), tmp_path / "data") as hg:
        hg.query(QUERY, user="ann", id="q4")
        first, second = hg.query(QUERY, user="ann"), hg.query(QUERY, user="ann")
        first.stop()
        assert [first.id, second.id] == ["q1", "q2"]
        assert [hg.query(QUERY, user="ann").id for _ in range(2)] == ["q3", "q5"]


def test_ids_of_a_folder_that_did_not_keep_them_are_found_in_its_plans(spark: SparkSession, tmp_path: Path) -> None:
    catalog, root = Catalog.open(), tmp_path / "data"
    with opened(spark, catalog, root) as hg:
        kept, gone, named = (hg.query(QUERY, user="ann", id=one) for one in ("q1", "q2", "named"))
        flows(hg, 1)
        gone.stop()
        named.stop()
    saved = json.loads((root / "queries.json").read_text())
    (root / "queries.json").write_text(json.dumps(saved["queries"]))  # as it was written before
    with opened(spark, catalog, root) as hg:
        assert hg.handle(kept.id).closed is None
        assert hg.query(QUERY, user="ann").id == "q3"
        with pytest.raises(ConflictError, match="was used before"):
            hg.query(QUERY, user="ann", id="named")


# Seats of classes -----------------------------------------------------------------------------------------------------

BEGIN = 1_767_254_400 * SECOND
STREAMS = StreamCatalog(
    StreamSchema(name, (Column("k", DataType.BIGINT), Column("ts", DataType.TIMESTAMP))) for name in "AB"
)
COUNTED = "SELECT count(*) AS n FROM A [ROWS 3]"
HOLDING = "SELECT x.k FROM B AS x [RANGE 50 s], B AS y [RANGE 50 s]"


def system(**queries: str) -> System:
    made = (Query(name, "ann", ("ann",), parse_cql(text, STREAMS)) for name, text in queries.items())
    return System(STREAMS, {"ann": User("ann")}, tuple(made))


def engine_of(spark: SparkSession, root: Path, **queries: str) -> Engine:
    return Engine(spark, str(root), system(**queries), settings=Settings(live=True), clock=lambda: 0)


def goes_on(engine: Engine, stream: str, *seconds: int) -> None:
    times = [BEGIN + second * SECOND for second in seconds]
    engine.push(stream, [Tuple(time, (1, time)) for time in times])
    engine.drain()


def given(engine: Engine, query: str) -> list[object]:
    return [row["n"] for _, row in delivered(engine).get((query, "ann"), [])]


def test_another_query_under_the_same_id_begins_with_empty_windows(spark: SparkSession, tmp_path: Path) -> None:
    engine = engine_of(spark, tmp_path, q=COUNTED, r="SELECT count(*) AS n FROM A [RANGE 10 s]")
    goes_on(engine, "A", 1, 2)
    engine.change(system(q=f"{COUNTED} WHERE k > 0", r="SELECT count(*) AS n FROM A [RANGE 10 s] WHERE k > 0"))
    goes_on(engine, "A", 3)
    goes_on(engine, "A", 14, 15)
    goes_on(engine, "A", 26)
    goes_on(engine, "A", 27)
    assert delivered(engine)["q", "ann"][0][0] == BEGIN + 15 * SECOND, "of those at 3, 14 and 15"
    assert given(engine, "r") == [1, 2]


def test_the_same_query_keeps_its_windows_when_another_comes(spark: SparkSession, tmp_path: Path) -> None:
    engine = engine_of(spark, tmp_path, q=COUNTED)
    goes_on(engine, "A", 1, 2)
    engine.change(system(q=COUNTED, other="SELECT k FROM A"))
    goes_on(engine, "A", 3)
    assert given(engine, "q") == [3]


@pytest.mark.parametrize("stream", ["A", "B"])
def test_a_bit_that_was_freed_brings_no_count_along(spark: SparkSession, tmp_path: Path, stream: str) -> None:
    engine = engine_of(spark, tmp_path, first=COUNTED, holding=HOLDING)
    goes_on(engine, "A", 1, 2)
    bit = next(one.bit for one in engine.planned.seats if one.query == "first")
    engine.change(system(holding=HOLDING))
    goes_on(engine, "B", 3)
    assert engine.state.counted == {}
    assert not list(tmp_path.glob("data/*/*/part=counted*")), "nor are its tuples kept"
    engine.change(system(holding=HOLDING, second=f"SELECT count(*) AS n FROM {stream} [ROWS 3]"))
    goes_on(engine, stream, 4)
    assert next(one.bit for one in engine.planned.seats if one.query == "second") == bit
    assert given(engine, "second") == []
    goes_on(engine, stream, 5, 6)
    assert given(engine, "second") == [3], "of those at 4, 5 and 6"


def test_a_bit_that_was_freed_is_nobodys_parent() -> None:
    gone, stays = Seat(0, "q", ("ann", "ben"), left_at=2), Seat(1, "q", ("ann",), parents=(0,))
    assert without_forgotten([gone, stays], 1) == (gone, stays)
    assert without_forgotten([gone, stays], 2) == (replace(stays, parents=()),)
    assert without_forgotten([gone, stays], None) == (replace(stays, parents=()),)
    assert without_forgotten([gone, stays], None, frozenset({1})) == (gone, stays), "its window of rows has tuples"


def test_seats_written_before_plans_were_named_keep_their_bits(spark: SparkSession, tmp_path: Path) -> None:
    engine = engine_of(spark, tmp_path, q=COUNTED)
    goes_on(engine, "A", 1, 2)
    path = tmp_path / "manifest" / "0000000000.json"
    manifest = json.loads(path.read_text())
    for one in manifest["classes"]:
        del one["plan"]
    path.write_text(json.dumps(manifest))
    engine = engine_of(spark, tmp_path, q=COUNTED)
    goes_on(engine, "A", 3)
    assert given(engine, "q") == [3]


ROWS = "SELECT count(*) AS n, sum(k) AS total FROM A [ROWS 5]"
TIMES = "SELECT count(*) AS n FROM A [RANGE 60 s]"
PAIRS = "SELECT x.k AS n FROM A AS x [RANGE 60 s], B AS y [RANGE 60 s]"


def _with_roles(**roles: str) -> System:
    """Three queries with the same subscribers; each role may read, by a policy of its own."""
    made = tuple(
        Query(name, "ann", tuple(roles), parse_cql(text, STREAMS))
        for name, text in {"rows": ROWS, "times": TIMES, "pairs": PAIRS}.items()
    )
    policies = tuple(
        Policy(
            f"{role}-{stream}",
            (Subject(role=role),),
            (stream,),
            frozenset({(stream, "k"), (stream, "ts")}),
            min_group=size,
            allow=("read",),
        )
        for role, size in (("r", 1), ("s", 2), ("t", 3))
        for stream in "AB"
    )
    users = {name: User(name, frozenset({role})) for name, role in roles.items()}
    return System(STREAMS, users, made, PolicySet(policies))


@pytest.mark.parametrize("restarted", [False, True])
def test_nothing_is_lost_when_subscribers_no_longer_have_equal_rights(
    spark: SparkSession, tmp_path: Path, restarted: bool
) -> None:
    """One class becomes two and then three while windows are open: each goes on with what it had."""

    def started(system: System) -> Engine:
        return Engine(spark, str(tmp_path), system, settings=Settings(live=True), clock=lambda: 0)

    engine = started(_with_roles(ann="r", ben="r", cid="r"))
    goes_on(engine, "A", 1, 2)
    for second, role in ((3, "r"), (4, "t")):
        changed = _with_roles(ann="r", ben="s", cid=role)
        if restarted:
            engine = started(changed)
        else:
            engine.change(changed)
        goes_on(engine, "A", second)
    assert len(engine.planned.seated()) == 9
    goes_on(engine, "B", 5)
    goes_on(engine, "A", 6)
    goes_on(engine, "A", 61)
    goes_on(engine, "B", 61)
    engine.push_folder.put_nothing()
    engine.drain()
    rows = delivered(engine)
    for user in ("ann", "ben", "cid"):
        assert [row for _, row in rows["rows", user]] == [{"n": 5, "total": 5}], user
        assert [row for _, row in rows["times", user]] == [{"n": 5}], user
        assert len(rows["pairs", user]) == 4 + 1 + 1 + 6, user
