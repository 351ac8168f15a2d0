"""Live epochs: watermarks, lateness and idle streams as the reference interpreter has them, whatever the cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from spark_combined import combined

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.model.datatype import DataType
from headgate.model.element import Tuple
from headgate.model.instant import SECOND
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.policy.model import Defaults
from headgate.reference.interpreter import Interpreter
from headgate.scenario.system import System
from headgate.spark.beats import Beats
from headgate.spark.engine import Engine, Settings
from headgate.spark.replay import delivered
from headgate.spark.sources import SourceSpec, StreamSources
from headgate.testing.systems import GeneratedSystem, systems


@st.composite
def shuffled(draw: st.DrawFn) -> tuple[System, list[list[tuple[str, object]]]]:
    """Systems whose streams allow some lateness and are not waited for for long, and epochs in which elements come in
    any order, some of them without any."""
    drawn = [draw(systems(with_policies=False, max_queries=2)) for _ in range(8)]
    group = combined([GeneratedSystem(draw(_patient(one.system)), one.elements) for one in drawn], Defaults())
    elements = [(name, one) for name, own in group.elements.items() for one in own]
    # Some streams come back when others are at their end, so that there are idle ones.
    elements.sort(key=lambda one: hash_of(one[0]) % 3 if draw(st.booleans()) else draw(st.integers(0, 2)))
    size = -(-len(elements) // 3)
    epochs = [elements[begin : begin + size] for begin in range(0, len(elements), size)]
    return group.system, [one for epoch in epochs for one in (epoch, [])]


def hash_of(name: str) -> int:
    return sum(map(ord, name))


@st.composite
def _patient(draw: st.DrawFn, system: System) -> System:
    waiting = st.sampled_from([0, 0, 5, 20])
    streams = [
        replace(one, lateness=draw(waiting) * SECOND, idle_timeout=draw(st.sampled_from([None, 5 * SECOND])))
        for one in system.streams
    ]
    return replace(system, streams=StreamCatalog(streams))


@settings(
    max_examples=3,
    derandomize=True,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_property_live_epochs_equal_the_reference(spark: SparkSession, tmp_path_factory, data: st.DataObject) -> None:
    system, epochs = data.draw(shuffled())
    root: Path = tmp_path_factory.mktemp("live")
    now = [0]
    engine = Engine(spark, str(root), system, settings=Settings(live=True, files_per_epoch=1), clock=lambda: now[0])
    reference = Interpreter(system, live=True)
    for number, elements in enumerate(epochs):
        now[0] += data.draw(st.sampled_from([0, 3 * SECOND, 6 * SECOND]), "time that passes")
        if elements:
            engine.push_folder.put_lines(engine.lines_of(elements), f"{number:010d}")
        else:
            engine.push_folder.put_nothing()
        engine.drain()
        reference.epoch(elements, processing_time=now[0])
    engine.finish()
    reference.finish()
    rows = delivered(engine)
    assert engine.totals.rejected == len(reference.rejected)
    for key, outcome in reference.outcomes.items():
        wanted = sorted(repr((one.time, sorted(one.row.items()))) for one in outcome.results)
        assert sorted(repr((at, sorted(row.items()))) for at, row in rows.get(key, [])) == wanted, key


BEGIN = 1_767_254_400 * SECOND
COUNTS = "SELECT count(*) AS n FROM A [RANGE 10 s]"
PAIRS = "SELECT count(*) AS n FROM A [RANGE 10 s], B [RANGE 10 s]"


def _counting(text: str) -> System:
    columns = (Column("k", DataType.BIGINT), Column("ts", DataType.TIMESTAMP))
    streams = StreamCatalog([StreamSchema("A", columns), StreamSchema("B", columns, idle_timeout=5 * SECOND)])
    return System(streams, {"ann": User("ann")}, (Query("q", "ann", ("ann",), parse_cql(text, streams)),))


def _at(seconds: int) -> Tuple:
    return Tuple(BEGIN + seconds * SECOND, (1, BEGIN + seconds * SECOND))


def test_a_window_that_has_ended_is_given_out_though_nothing_more_comes(spark: SparkSession, tmp_path: Path) -> None:
    engine = Engine(spark, str(tmp_path), _counting(COUNTS), settings=Settings(live=True), clock=lambda: 0)
    engine.push("A", [_at(1), _at(2), _at(11)])
    engine.start()
    try:
        assert engine.await_epoch(1), "an epoch without elements"
        assert delivered(engine) == {("q", "ann"): [(BEGIN + 10 * SECOND, {"n": 2})]}
        assert engine._overdue() is None, "there is nothing more to give"
    finally:
        engine.stop()


def test_a_window_that_ended_before_the_first_tuple_is_not_due(spark: SparkSession, tmp_path: Path) -> None:
    """The first tuple's own time is the end of such a window, and there is an epoch for nothing if it counts."""
    engine = Engine(spark, str(tmp_path), _counting(COUNTS), settings=Settings(live=True), clock=lambda: 0)
    engine.push("A", [_at(0)])
    engine.drain()
    assert not engine._runner.overdue(engine.state, 0)
    engine.push("A", [_at(10)])
    engine.drain()
    assert engine._runner.overdue(engine.state, 0), "but the first tuple's own window is"


def test_only_the_first_epoch_looks_for_punctuations_where_none_can_be(spark: SparkSession, tmp_path: Path) -> None:
    """So that the first punctuation does not wait for what Spark has to compile for that look."""
    folder = tmp_path / "a"
    rows = spark.sql(f"SELECT 1L AS k, timestamp_micros({BEGIN}) AS ts").coalesce(1)
    rows.write.parquet(str(folder))
    sources = {"A": StreamSources(SourceSpec("parquet", path=str(folder)))}
    engine = Engine(spark, str(tmp_path / "engine"), _counting(COUNTS), sources, Settings(live=True), lambda: 0)
    engine.start()
    try:
        assert engine.await_epoch(0)
        rows.write.mode("append").parquet(str(folder))
        assert engine.await_epoch(1)
    finally:
        engine.stop()
    rows.write.mode("append").parquet(str(folder))
    engine.drain()
    assert ["split" in one["steps"] for one in engine.metrics] == [True, False, False]


def test_one_empty_file_is_enough_however_long_spark_takes_to_come_to_it() -> None:
    begun, looked = [], Event()
    looks = iter([None, 3, 3, 3, 3, 4, 4, 4])

    def due() -> int | None:
        found = next(looks, None)
        if found is None and begun:
            looked.set()
        return found

    beats = Beats(due, lambda: begun.append(len(begun)))
    assert looked.wait(30)
    beats.stop()
    assert len(begun) == 2, "one after epoch 3, one after epoch 4"


def test_a_stream_that_falls_silent_holds_nothing_back_for_long(spark: SparkSession, tmp_path: Path) -> None:
    now = [0]
    engine = Engine(spark, str(tmp_path), _counting(PAIRS), settings=Settings(live=True), clock=lambda: now[0])
    engine.push("B", [_at(1)])
    engine.push("A", [_at(2), _at(3), _at(21)])
    engine.start()
    try:
        assert engine.await_epoch(0)
        while engine._overdue() is not None:  # the files may have come as two epochs, or as one
            assert engine.await_epoch(engine.epoch + 1)
        assert delivered(engine) == {}, "something of the window may still come"
        now[0] = 5 * SECOND
        assert engine.await_epoch(engine.epoch + 1), "an epoch without elements"
        assert delivered(engine) == {("q", "ann"): [(BEGIN + 10 * SECOND, {"n": 2})]}
    finally:
        engine.stop()


def _idling(text: str, lateness: int = 0) -> System:
    system = _counting(text)
    streams = (replace(one, idle_timeout=5 * SECOND, lateness=lateness * SECOND) for one in system.streams)
    return replace(system, streams=StreamCatalog(streams))


@pytest.mark.parametrize("restarted", [False, True])
def test_streams_that_were_all_silent_are_heard_again(spark: SparkSession, tmp_path: Path, restarted: bool) -> None:
    now = [0]

    def started() -> Engine:
        return Engine(spark, str(tmp_path), _idling(COUNTS), settings=Settings(live=True), clock=lambda: now[0])

    engine = started()
    engine.push("A", [_at(1)])
    engine.drain()
    now[0] += 5 * SECOND
    engine.push_folder.put_nothing()
    engine.drain()
    assert delivered(engine) == {("q", "ann"): [(BEGIN + 10 * SECOND, {"n": 1})]}
    if restarted:
        engine = started()
    engine.push("A", [_at(5), _at(21)])
    engine.drain()
    now[0] += 5 * SECOND
    engine.push_folder.put_nothing()
    engine.drain()
    rows = [(BEGIN + 10 * SECOND, {"n": 1}), (BEGIN + 30 * SECOND, {"n": 1})]
    assert delivered(engine) == {("q", "ann"): rows}, "a window gives its result once"


def test_results_wait_again_once_silent_streams_are_heard(spark: SparkSession, tmp_path: Path) -> None:
    now = [0]
    system = _idling("SELECT k FROM A", lateness=20)
    engine = Engine(spark, str(tmp_path), system, settings=Settings(live=True), clock=lambda: now[0])
    engine.push("A", [_at(1)])
    engine.drain()
    assert delivered(engine) == {}
    now[0] += 5 * SECOND
    engine.push_folder.put_nothing()
    engine.drain()
    assert len(delivered(engine)["q", "ann"]) == 1
    engine.push("A", [_at(9)])
    engine.drain()
    assert len(delivered(engine)["q", "ann"]) == 1, "it may be overtaken still"
