"""After every epoch: what nobody may see is in none of the engine's files, and in nothing that Spark logs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from at_rest import at_rest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from spark_combined import combined

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.columnar.strategy import Strategy
from headgate.model.datatype import DataType
from headgate.model.element import Element, Tuple
from headgate.model.expression.nodes import ColumnRef, Comparison, Constant
from headgate.model.instant import SECOND
from headgate.model.privilege import PRIVILEGES
from headgate.model.punctuation import Punctuation
from headgate.model.schema import StreamCatalog
from headgate.policy.model import AssistDenied, Defaults, Policy, PolicySet, Subject
from headgate.reference.interpreter import in_replay_order
from headgate.scenario.system import System
from headgate.spark.engine import Engine, Settings
from headgate.spark.session import LOGGING
from headgate.testing.canaries import TEXTS, may_use
from headgate.testing.streams import ROLES, USERS, punctuations
from headgate.testing.systems import GeneratedSystem, users
from headgate.testing.values import START

GOVERNED = replace(TEXTS, governed=True)
ALL = PolicySet(
    (Policy("all", (Subject(user="u1"),), ("S",), frozenset(("S", one) for one in TEXTS.names), allow=("read",)),)
)
QUERIES = (
    "SELECT x, y FROM S WHERE k >= 0",
    "SELECT a.x, b.y FROM S AS a [RANGE 10 s], S AS b [RANGE 20 s] WHERE a.k = b.k",
    "SELECT x, max(y) AS most, count(*) AS n FROM S [RANGE 10 s SLIDE 5 s] GROUP BY x",
    "SELECT k, count(y) AS n, min(x) AS least FROM S [ROWS 3] GROUP BY k",
)
CANARY = re.compile(rb"canary-of-(\d+)-([xy])(\d+)!")
COLUMNS = {"x": 2, "y": 3}


@st.composite
def columnwise(draw: st.DrawFn) -> PolicySet:
    """Each column of canaries to somebody, for something, for a part of the tuples; the others to all."""
    everybody = tuple(Subject(role=role) for role in ROLES)
    policies = [Policy("others", everybody, ("S",), frozenset({("S", "ts"), ("S", "k")}), allow=("read",))]
    time = ColumnRef("S", "ts", DataType.TIMESTAMP)
    for column in COLUMNS:
        subject = draw(st.sampled_from([(Subject(user=one),) for one in USERS] + [everybody]))
        sign, second = draw(st.sampled_from("<>")), draw(st.integers(0, 30))
        where = Comparison(sign, time, Constant(START + second * SECOND, DataType.TIMESTAMP))
        allow = draw(st.sampled_from([("read",), ("assist", "count"), ("max", "min")]))
        cells = frozenset({("S", column)})
        policies.append(Policy(f"some-{column}", subject, ("S",), cells, (column,), where=where, allow=allow))
    removing = AssistDenied.REMOVE
    return PolicySet(tuple(policies), defaults=Defaults(on_assist_denied=removing))


@st.composite
def worlds(draw: st.DrawFn, number: int) -> GeneratedSystem:
    """A stream in which every text is a canary, which tells which cell it came from. In the first, all may be seen."""
    stream = draw(st.sampled_from([TEXTS, GOVERNED])) if number else TEXTS
    times = draw(st.lists(st.integers(0, 30), min_size=3, max_size=8))
    flowing: list[Element] = [
        Tuple(START + at * SECOND, (START + at * SECOND, place % 3, *_canaries(number, place)))
        for place, at in enumerate(times)
    ]
    flowing += draw(st.lists(punctuations(stream), max_size=5)) if number else []
    subscribers = st.lists(st.sampled_from(USERS), min_size=1, max_size=2, unique=True).map(tuple)
    texts = draw(st.lists(st.sampled_from(QUERIES), min_size=1, max_size=3, unique=True)) if number else QUERIES
    catalog = StreamCatalog([stream])
    queries = tuple(
        Query(f"q{place}", "u1", draw(subscribers) if number else ("u1",), parse_cql(text, catalog))
        for place, text in enumerate(texts, start=1)
    )
    policies = draw(columnwise()) if number else ALL
    return GeneratedSystem(System(catalog, draw(users()), queries, policies), {"S": flowing})


def _canaries(world: int, place: int) -> Iterator[str]:
    return (f"canary-of-{world}-{column}{place}!" for column in COLUMNS)


def permitted(world: GeneratedSystem) -> set[str]:
    """The texts of cells that some subscriber may use for something at some time: section 4, read aloud."""
    system = world.system
    elements = [element for _, element in in_replay_order(system, world.elements)]
    spoken = [element for element in elements if isinstance(element, Punctuation)]
    return {
        element.values[position]
        for element in elements
        if isinstance(element, Tuple)
        for column, position in COLUMNS.items()
        if any(
            may_use(element, column, query, system, user, spoken[:heard], PRIVILEGES)
            for query in system.queries
            for user in query.subscribers
            for heard in range(len(spoken) + 1)
        )
    }


@contextmanager
def logged(spark: SparkSession, path: Path) -> Iterator[Path]:
    """A file with all that Spark says at the level that it has by default."""
    configuration = path.with_suffix(".properties")
    configuration.write_text(
        "rootLogger.level = info\n"
        "rootLogger.appenderRef.file.ref = file\n"
        "appender.file.type = File\n"
        "appender.file.name = file\n"
        f"appender.file.fileName = {path}\n"
        "appender.file.layout.type = PatternLayout\n"
        "appender.file.layout.pattern = %p %c: %m%n%ex\n"
    )
    jvm = spark._jvm
    configurator = jvm.org.apache.logging.log4j.core.config.Configurator
    configurator.reconfigure(jvm.java.io.File(str(configuration)).toURI())
    try:
        yield path
    finally:
        configurator.reconfigure(jvm.java.io.File(str(LOGGING)).toURI())


@settings(
    max_examples=5,
    derandomize=True,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_property_what_nobody_may_see_is_not_at_rest(
    spark: SparkSession, tmp_path_factory, data: st.DataObject
) -> None:
    """Runs of twelve systems each, or of two where Spark joins and shuffles."""
    folder = tmp_path_factory.mktemp("at-rest")
    spread = data.draw(st.booleans(), "spread over tasks")
    drawn = [data.draw(worlds(number)) for number in range(2 if spread else 12)]
    allowed = set().union(*map(permitted, drawn))
    group = combined(drawn, Defaults(on_assist_denied=AssistDenied.REMOVE))
    chosen = Settings(
        data.draw(st.sampled_from(Strategy), "strategy"),
        live=False,
        files_per_epoch=1,
        one_task=0 if spread else 1_000_000,
        carried=data.draw(st.booleans(), "carried by Spark"),
    )
    kept: set[str] = set()
    with logged(spark, folder / "spark.log") as log:
        engine = Engine(spark, str(folder / "root"), group.system, settings=chosen)
        ordered = in_replay_order(group.system, group.elements)
        size = -(-len(ordered) // 3)
        for number, begin in enumerate(range(0, len(ordered), size)):
            engine.push_folder.put_lines(engine.lines_of(ordered[begin : begin + size]), f"{number:010d}")
            engine.drain()
            kept |= _found(folder / "root", log)
            assert kept <= allowed
        engine.finish()
        kept |= _found(folder / "root", log)
    assert kept <= allowed
    assert permitted(drawn[0]) <= kept, "what is not withheld can be found, or this test could not fail"
    assert "INFO" in log.read_text()


def _found(root: Path, log: Path) -> set[str]:
    texts = [content for _, content in at_rest(root)] + [log.read_bytes()]
    return {one.group().decode() for text in texts for one in CANARY.finditer(text)}
