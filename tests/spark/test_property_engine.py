"""The engine on Spark gives what the reference interpreter gives: any cut, any strategy, in one task or spread."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from against_reference import QUICK, assert_equals_reference, by_reference, groups, lines
from hypothesis import given, settings
from hypothesis import strategies as st
from pushed import in_files
from pyspark.sql import SparkSession
from spark_combined import combined

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.columnar.strategy import Strategy
from headgate.model.datatype import DataType
from headgate.model.element import Tuple
from headgate.model.instant import SECOND
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User
from headgate.policy.model import AssistDenied, Defaults, Policy, PolicySet, Subject
from headgate.scenario.system import System
from headgate.spark.engine import Engine, Settings
from headgate.spark.replay import Rows, delivered
from headgate.testing.rewritten import rewritten
from headgate.testing.systems import GeneratedSystem, systems
from headgate.testing.values import START


@settings(max_examples=13, **QUICK)
@given(data=st.data())
def test_property_engine_equals_the_reference(spark: SparkSession, tmp_path_factory, data: st.DataObject) -> None:
    """Thirteen runs of twenty systems each; in some two hundred of them something is delivered or withheld."""
    _compare(spark, tmp_path_factory.mktemp("engine"), data, data.draw(groups(20)), one_task=1_000_000)


@settings(max_examples=5, **QUICK)
@given(data=st.data())
def test_property_spread_work_equals_the_reference(spark: SparkSession, tmp_path_factory, data: st.DataObject) -> None:
    """Joins and windows that Spark itself joins and shuffles, as it does with more tuples than one task takes."""
    _compare(spark, tmp_path_factory.mktemp("engine"), data, data.draw(groups(2)), one_task=0)


@settings(max_examples=3, **QUICK)
@given(data=st.data())
def test_property_rewritten_queries_run_on_spark_without_policies(
    spark: SparkSession, tmp_path_factory, data: st.DataObject
) -> None:
    """Twenty systems side by side, each query rewritten for one subscriber: what the original gives under policies."""
    drawn = [data.draw(systems(with_policies=True, max_queries=5)) for _ in range(20)]
    group = combined(drawn, Defaults(on_assist_denied=data.draw(st.sampled_from(AssistDenied))))
    secured, served = data.draw(rewritten(group.system))
    _, rows = _run(spark, tmp_path_factory.mktemp("engine"), data, replace(group, system=secured), one_task=1_000_000)
    for (query, user), outcome in by_reference(group).items():
        if served.get(query) == user:
            assert lines(rows.get((query, user), [])) == lines([(one.time, one.row) for one in outcome.results])


def _compare(spark: SparkSession, folder: Path, data: st.DataObject, group: GeneratedSystem, one_task: int) -> None:
    engine, _ = _run(spark, folder, data, group, one_task)
    assert_equals_reference(engine, group)


def _run(
    spark: SparkSession, folder: Path, data: st.DataObject, group: GeneratedSystem, one_task: int
) -> tuple[Engine, Rows]:
    """Each epoch comes in as many files, which as many tasks take in."""
    strategy = data.draw(st.sampled_from(Strategy), "strategy")
    epochs, files = data.draw(st.integers(1, 4), "epochs"), data.draw(st.integers(1, 3), "files")
    carried = data.draw(st.booleans(), "carried by Spark")
    chosen = Settings(strategy, live=False, files_per_epoch=files, one_task=one_task, carried=carried)
    engine = Engine(spark, str(folder), group.system, settings=chosen)
    engine.spark.conf.set("spark.sql.files.openCostInBytes", "1g")  # no two files for one task
    for elements in in_files(group, epochs, files):
        if elements:
            engine.push_folder.put_lines(engine.lines_of(elements))
        else:
            engine.push_folder.put_nothing()
    engine.drain()
    engine.finish()
    return engine, delivered(engine)


def test_tuples_that_different_tasks_take_in_are_counted_as_different(spark: SparkSession, tmp_path: Path) -> None:
    """Four tuples behind a value, in two files: each task has a first and a second one."""
    streams = StreamCatalog(
        [StreamSchema(one, (Column("k", DataType.INT), Column("ts", DataType.TIMESTAMP))) for one in ("A", "B")]
    )
    everybody = (Subject(user="ann"),)
    cells = {one: frozenset({(one, "k"), (one, "ts")}) for one in streams.names}
    policies = PolicySet(
        (
            Policy("a", everybody, ("A",), cells["A"], allow=("assist", "count"), min_group=4),
            Policy("b", everybody, ("B",), cells["B"], allow=("read",)),
        )
    )
    query = Query(
        "q", "ann", ("ann",), parse_cql("SELECT count(A.k) AS n FROM A [RANGE 10 s], B [RANGE 10 s]", streams)
    )
    system = System(streams, {"ann": User("ann")}, (query,), policies)
    engine = Engine(spark, str(tmp_path), system, settings=Settings(live=False, files_per_epoch=2))
    engine.spark.conf.set("spark.sql.files.openCostInBytes", "1g")
    moments = [START + second * SECOND for second in range(4)]
    tuples = [("A", Tuple(at, (number, at))) for number, at in enumerate(moments)]
    engine.push_folder.put_lines(engine.lines_of([*tuples[:2], ("B", tuples[0][1])]))
    engine.push_folder.put_lines(engine.lines_of(tuples[2:]))
    engine.drain()
    engine.finish()
    assert [row for _, row in delivered(engine)["q", "ann"]] == [{"n": 4}]
