"""What is committed to the catalog reaches the engine that runs: users and streams that go, threads that meet."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread, Timer
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from headgate.errors import ConflictError, StoreError, UnknownNameError
from headgate.model.schema import StreamSchema
from headgate.policy.store.catalog import Catalog
from headgate.policy.store.change import Change
from headgate.policy.store.content import Kind
from headgate.spark import api
from headgate.spark.api import Headgate
from headgate.spark.engine import Engine

COLUMNS = {"SID": "string", "Pos": "int", "ts": "timestamp"}
OPEN = "GRANT READ ON STREAM Position TO ROLE Doctor;"
NEAR_ONLY = "DENY READ, ASSIST ON STREAM Position WHERE Pos > 3 TO ROLE Doctor;"
LONG_ENOUGH = 0.5
"""Seconds in which a thread that nothing holds back comes to its end."""


def at(second: int) -> str:
    return f"2026-01-01T08:00:{second:02d}Z"


def tuples(*seconds: int) -> list[dict[str, object]]:
    return [{"SID": f"p{second}", "Pos": second, "ts": at(second)} for second in seconds]


def shown(rows: list[dict[str, object]]) -> list[object]:
    return [row["SID"] for row in rows]


def flows(hg: Headgate, *seconds: int) -> None:
    hg.push("Position", tuples(*seconds))
    hg.drain()


@pytest.fixture
def catalog() -> Catalog:
    return Catalog.open()


def opened(spark: SparkSession, catalog: Catalog, **options: Any) -> Headgate:
    hg = Headgate(spark, catalog, **options)
    hg.stream("Position", COLUMNS)
    hg.user("ann", roles=["Doctor"])
    hg.user("bob", roles=["Doctor"])
    hg.policies.apply(OPEN)
    return hg


# Users and streams that go --------------------------------------------------------------------------------------------


def test_a_user_who_is_gone_gets_nothing_more_and_the_others_go_on(spark: SparkSession, catalog: Catalog) -> None:
    with opened(spark, catalog) as hg:
        anns = hg.query("SELECT SID FROM Position", user="ann", id="shared", subscribers=["ann", "bob"])
        bobs = hg.handle("shared", "bob")
        own = hg.query("SELECT SID FROM Position", user="bob", id="own", subscribers=["bob", "ann"])
        of_bobs = hg.handle("own", "ann")
        flows(hg, 1)
        hg.policies.apply(Change().remove(Kind.USERS, "bob"))
        assert "`bob`" in str(bobs.closed)
        assert "`bob`" in str(own.closed)
        assert "`bob`" in str(of_bobs.closed)
        assert anns.closed is None
        flows(hg, 2)
        hg.policies.apply(NEAR_ONLY)
        flows(hg, 3, 4)
        assert shown(anns.rows()) == ["p1", "p2", "p3"]
        assert shown(bobs.rows()) == shown(own.rows()) == shown(of_bobs.rows()) == ["p1"]
        bobs.stop()
        assert anns.closed is None, "whoever is gone stops nobody's query"
        with pytest.raises(UnknownNameError, match="no query `own`"):
            hg.handle("own")


def test_a_user_who_came_back_has_no_subscriptions(spark: SparkSession, catalog: Catalog) -> None:
    with opened(spark, catalog) as hg:
        hg.query("SELECT SID FROM Position", user="ann", id="shared", subscribers=["ann", "bob"])
        hg.policies.apply(Change().remove(Kind.USERS, "bob"))
        hg.user("bob", roles=["Doctor"])
        with pytest.raises(UnknownNameError, match="`bob` does not subscribe"):
            hg.handle("shared", "bob")


def test_saved_queries_of_users_who_are_gone_are_taken_out(
    spark: SparkSession, catalog: Catalog, tmp_path: Path
) -> None:
    root = tmp_path / "data"
    with opened(spark, catalog, root=str(root)) as hg:
        hg.query("SELECT SID FROM Position", user="ann", id="shared", subscribers=["ann", "bob"])
        hg.query("SELECT SID FROM Position", user="bob", id="own")
        flows(hg, 1)
    catalog.apply(Change().remove(Kind.USERS, "bob"), "me", "a test")
    with Headgate(spark, catalog, root=str(root)) as hg:
        anns = hg.handle("shared")
        flows(hg, 2)
        assert shown(anns.rows()) == ["p2"]
        assert "bob" not in (root / "queries.json").read_text()


def test_a_rollback_brings_back_policies_and_nothing_else(spark: SparkSession, catalog: Catalog) -> None:
    with opened(spark, catalog) as hg:
        wanted = hg.policies.current
        before = catalog.version()
        near = hg.query("SELECT SID FROM Position", user="ann")
        hg.user("eve", roles=["Doctor"])
        hg.stream("Health", {"SID": "string", "ts": "timestamp"})
        hg.policies.apply(NEAR_ONLY)
        flows(hg, 3, 4)
        hg.policies.rollback(before)
        flows(hg, 5)
        assert hg.policies.current == wanted
        assert "eve" in catalog.current().users
        assert catalog.current().streams.find("Health") is not None
        assert shown(near.rows()) == ["p3", "p5"]


def test_a_stream_that_is_read_is_neither_removed_nor_changed(spark: SparkSession, catalog: Catalog) -> None:
    with opened(spark, catalog) as hg:
        health = hg.stream("Health", {"SID": "string", "ts": "timestamp"})
        near = hg.query("SELECT SID FROM Position", user="ann")
        flows(hg, 1)
        before = catalog.version()
        governed = StreamSchema(health.name, health.columns, governed=True)
        for change in (Change().remove(Kind.STREAMS, "Health"), Change().put(governed)):
            with pytest.raises(ConflictError, match="stream `Health`"):
                hg.policies.apply(change)
        with pytest.raises(ConflictError, match="stream `Health`"):
            hg.stream("Health", {"SID": "string", "ts": "timestamp"}, governed=True)
        assert catalog.version() == before
        flows(hg, 2)
        assert shown(near.rows()) == ["p1", "p2"]


@pytest.mark.parametrize("governed", [None, True])
def test_the_rest_is_enforced_when_somebody_else_removed_or_changed_a_stream(
    spark: SparkSession, catalog: Catalog, governed: bool | None
) -> None:
    with opened(spark, catalog) as hg:
        health = hg.stream("Health", COLUMNS, owner="ann")
        near = hg.query("SELECT SID FROM Position", user="ann")
        own = hg.query("SELECT SID FROM Health", user="ann")
        flows(hg, 1)
        other = Change().remove(Kind.STREAMS, "Health")
        if governed:
            other = Change().put(StreamSchema(health.name, health.columns, owner="ann", governed=True))
        catalog.apply(other, "somebody", "else")
        hg.policies.apply(NEAR_ONLY)
        assert "`Health`" in str(own.closed)
        hg.push("Health", tuples(2))
        flows(hg, 3, 4)
        hg.policies.apply("version: 1\npolicies: []\n")
        flows(hg, 5)
        assert shown(near.rows()) == ["p1", "p3"]
        assert own.rows() == [], "what it read is not what it was registered on"


def test_an_engine_that_cannot_be_told_does_not_go_on(
    spark: SparkSession, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(spark, catalog) as hg:
        near = hg.query("SELECT SID FROM Position", user="ann")
        flows(hg, 1)

        def broken() -> None:
            raise StoreError("the catalog is out of reach")

        apply, current = catalog.apply, catalog.current

        def applied(*given: Any) -> Any:
            version = apply(*given)
            monkeypatch.setattr(catalog, "current", broken)
            return version

        monkeypatch.setattr(catalog, "apply", applied)
        with pytest.raises(StoreError, match="out of reach"):
            hg.policies.apply(NEAR_ONLY)
        hg_drained = False
        with suppress(StoreError):
            flows(hg, 4)
            hg_drained = True
        assert not hg_drained, "under which policies?"
        monkeypatch.setattr(catalog, "current", current)
        flows(hg, 3, 5)
        assert shown(near.rows()) == ["p1", "p3"]


# Threads that meet ----------------------------------------------------------------------------------------------------


def beside(work: Callable[[], object]) -> Thread:
    """Do something in another thread, which comes to its end now unless something holds it back."""
    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(LONG_ENOUGH)
    return thread


def test_a_change_that_was_read_earlier_does_not_undo_a_later_one(
    spark: SparkSession, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(spark, catalog) as hg:
        hg.query("SELECT SID FROM Position", user="ann")
        current = catalog.current
        meanwhile: list[Thread] = []

        def read_slowly() -> Any:
            found = current()
            if not meanwhile:
                meanwhile.append(Thread())
                catalog.apply(Change().remove(Kind.POLICIES, found.policies.policies[0].id), "me", "a test")
                meanwhile.append(beside(hg.refresh))
            return found

        monkeypatch.setattr(catalog, "current", read_slowly)
        hg.refresh()
        meanwhile[1].join(30)
        assert hg.engine.system.policies == current().policies


def test_whoever_looks_while_a_stream_is_added_makes_no_second_engine(
    spark: SparkSession, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Thread] = []

    class Counted(api.Engine):
        def __init__(self, *given: Any) -> None:
            made.append(Thread())
            if len(made) == 2:
                meanwhile.append(beside(near.rows))
            super().__init__(*given)

    monkeypatch.setattr(api, "Engine", Counted)
    meanwhile: list[Thread] = []
    with opened(spark, catalog) as hg:
        near = hg.query("SELECT SID FROM Position", user="ann")
        flows(hg, 1)
        hg.stream("Health", {"SID": "string", "ts": "timestamp"})
        hg.engine.check()
        meanwhile[0].join(30)
        assert len(made) == 2


def test_who_iterates_goes_on_when_a_stream_is_added(spark: SparkSession, catalog: Catalog) -> None:
    with opened(spark, catalog) as hg:
        near = hg.query("SELECT SID FROM Position", user="ann")
        got: list[object] = []
        came, ended = {"p1": Event(), "p2": Event()}, Event()

        def look() -> None:
            for row in near:
                got.append(row["SID"])
                came[str(row["SID"])].set()
            ended.set()

        hg.start()
        Thread(target=look, daemon=True).start()
        hg.push("Position", tuples(1))
        assert came["p1"].wait(60)
        hg.stream("Health", {"SID": "string", "ts": "timestamp"})
        hg.push("Position", tuples(2))
        assert came["p2"].wait(60)
        assert not ended.is_set()
        hg.stop()
        assert ended.wait(60)
        assert got == ["p1", "p2"]


def test_who_looks_at_an_engine_that_is_about_to_start_waits_for_its_rows(
    spark: SparkSession, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[object] = []
    start, looking = Engine.start, Event()

    def look() -> None:
        looking.set()
        got.extend(row["SID"] for row in near.await_rows(1))

    def started_late(engine: Engine, available_now: bool = False) -> StreamingQuery:
        looker.start()
        assert looking.wait(30)
        looker.join(LONG_ENOUGH)  # it must not give up, now that the engine is there and does not run yet
        return start(engine, available_now)

    with opened(spark, catalog) as hg:
        near = hg.query("SELECT SID FROM Position", user="ann")
        looker = Thread(target=look, daemon=True)
        with monkeypatch.context() as patched:
            patched.setattr(Engine, "start", started_late)
            hg.start()
        hg.push("Position", tuples(1))
        looker.join(60)
        assert got == ["p1"]


def test_who_iterates_goes_on_when_an_epoch_is_cut_short(
    spark: SparkSession, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark interrupts the epoch that runs; what is left of it when its rows are there already may fail for that."""
    cleaning, stopping = Event(), Event()
    stop, clean = Engine.stop, Engine._clean

    def cut_short(engine: Engine, live: Collection[str]) -> None:
        clean(engine, live)
        if not cleaning.is_set():
            cleaning.set()
            while not stopping.is_set():
                engine.changed.wait(0.05)  # as if who iterates had looked just before it was locked
            raise InterruptedError("stopped")

    def told(engine: Engine) -> None:
        Timer(LONG_ENOUGH / 10, stopping.set).start()  # by then it is stopping, and nobody has noticed
        stop(engine)

    monkeypatch.setattr(Engine, "_clean", cut_short)
    with opened(spark, catalog) as hg:
        near = hg.query("SELECT SID FROM Position", user="ann")
        came = {"p1": Event(), "p2": Event()}

        def look() -> None:
            for row in near:
                came[str(row["SID"])].set()

        hg.start()
        Thread(target=look, daemon=True).start()
        hg.push("Position", tuples(1))
        assert came["p1"].wait(60)
        assert not came["p2"].wait(LONG_ENOUGH)  # and it waits for more
        monkeypatch.setattr(Engine, "stop", told)
        hg.stream("Health", {"SID": "string", "ts": "timestamp"})
        hg.push("Position", tuples(2))
        assert came["p2"].wait(60)


# Queries that are taken out -------------------------------------------------------------------------------------------


def test_a_query_that_was_refused_or_withdrawn_can_be_taken_out(
    spark: SparkSession, catalog: Catalog, tmp_path: Path
) -> None:
    root = tmp_path / "data"
    with opened(spark, catalog, root=str(root)) as hg:
        near = hg.query("SELECT SID FROM Position", user="ann", id="near")
        hg.policies.apply("version: 1\npolicies: []\n")
        refused = hg.query("SELECT SID FROM Position", user="bob", id="refused")
        for one, reason in ((near, "withdrawn"), (refused, "denied")):
            one.stop()
            one.stop()
            assert reason in str(one.closed)
        with pytest.raises(UnknownNameError, match="no query"):
            hg.handle("refused")
    with Headgate(spark, catalog, root=str(root)) as hg, pytest.raises(UnknownNameError, match="no query"):
        hg.handle("near")
    assert "SELECT" not in json.dumps(json.loads((root / "queries.json").read_text()))
