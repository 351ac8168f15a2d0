"""An engine that was started many times is as large as one that was started once."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.scenario.system import System
from headgate.spark.callback import callback_client
from headgate.spark.engine import Engine, Settings

TIMES = 6


def _system() -> System:
    streams = StreamCatalog([StreamSchema("A", (Column("x", DataType.BIGINT), Column("ts", DataType.TIMESTAMP)))])
    return System(streams, {"u": User("u")}, (Query("q", "u", ("u",), parse_cql("SELECT x FROM A", streams)),))


def _push(engine: Engine, number: int) -> None:
    engine.push("A", [{"x": number, "ts": f"2026-01-01T08:00:{number:02d}Z"}])


def _drained(engine: Engine, number: int) -> None:
    _push(engine, number)
    engine.drain()


def _started_and_stopped(engine: Engine, number: int) -> None:
    engine.start()
    _push(engine, number)
    assert engine.await_epoch(number)
    engine.stop()


@pytest.mark.parametrize("run", [_drained, _started_and_stopped])
def test_streams_that_are_over_leave_no_connections_behind(spark: SparkSession, tmp_path: Path, run) -> None:
    engine = Engine(spark, str(tmp_path), _system(), settings=Settings(live=False))
    run(engine, 0)
    client = callback_client(spark)
    before, kept = _listening(), _kept(client)
    for number in range(1, TIMES):
        run(engine, number)
    assert engine.epoch == TIMES - 1
    new = set(_listening()) - set(before)
    for one in sorted(new, key=lambda one: one.name)[1:]:
        one.join(10)  # py4j ends a thread once it notices that the other side has gone
    # Java's thread that collects what is gone has one, from when it first tells Python of something.
    assert len(_listening()) <= len(before) + 1
    assert _kept(client) <= kept + 1


def _listening() -> list[threading.Thread]:
    """Threads that wait for what the JVM calls."""
    return [one for one in threading.enumerate() if getattr(getattr(one, "_target", None), "__name__", "") == "run"]


def _kept(client) -> int:
    """How many connections the JVM has."""
    field = client.getClass().getSuperclass().getDeclaredField("connections")
    field.setAccessible(True)
    return int(field.get(client).size())
