"""What tests of the guard share: a Spark, small tables with a secret in them, and guards made from a few lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.types import BooleanType

from headgate.guard import Guard, Settings, catalog_of, session
from headgate.model.document import parse_document
from headgate.model.subject import User
from headgate.policy.yaml_file import parse_policies

ROOT = Path(__file__).resolve().parents[2]


def start_spark(warehouse: Path) -> SparkSession:
    """The running Spark of this process, or a small one of our own."""
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("guard tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(warehouse))
        .config("spark.executor.killOnFatalError.depth", "0")  # a task without stack fails, and not all of us
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")  # many small plans
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


USERS = {
    "root": User("root"),
    "ann": User("ann", frozenset({"analyst"}), {"dept": "A"}),
    "bea": User("bea", frozenset({"boss"}), {"dept": "B"}),
    "nil": User("nil"),
}

EMPLOYEES = [
    (1, "Ann", "A", 50, "2026-01-01"),
    (2, "Bob", "A", 60, "2026-01-02"),
    (3, "Cid", "B", 100, "2026-01-03"),
    (4, "Dan", "B", 70, "2026-01-04"),
    (5, "Eve", "C", None, "2026-01-05"),
]
"""Row 3 is the secret of most tests: salary 100, department B."""


class World:
    """The unguarded session with its tables."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.table("emp", EMPLOYEES, "id int, name string, dept string, salary int, since string")
        self.table("dept", [("A", "Accounts"), ("B", "Board"), ("C", "Care")], "code string, title string")

    def table(self, name: str, rows: list[tuple[Any, ...]], schema: str) -> None:
        """A table in files of our own, whatever warehouse the running Spark has."""
        writer = self.spark.createDataFrame(rows, schema).coalesce(1).write.mode("overwrite")
        writer.option("path", str(self.folder / name)).saveAsTable(name)

    def guard(
        self,
        policies: str | None,
        tables: tuple[str, ...] = ("emp", "dept"),
        settings: Settings | None = None,
        users: Mapping[str, User] | None = None,
        **options: Any,
    ) -> Guard:
        """A guard by policies in YAML; a list of them, without the head of the file, will do."""
        catalog = catalog_of(self.spark, tables, options.pop("owners", None))
        found = None
        if policies is not None:
            text = policies if policies.lstrip().startswith("version") else f"version: 1\npolicies:\n{policies}"
            parse_document(text, "<test>")
            found = parse_policies(text, catalog)
        return Guard(catalog, found, users or USERS, settings or Settings(), **options)

    def session(self, user: str, policies: str | None, **options: Any) -> SparkSession:
        return session(user, self.guard(policies, **options), self.spark)


_worlds: list[World] = []


def the_world(spark: SparkSession, folder: Callable[[], Path]) -> World:
    """The world of this process, whichever folder of tests asks: a table can only lie in one place."""
    if not _worlds:
        _worlds.append(World(spark, folder()))
    return _worlds[0]


def as_spark_finds(given: SparkSession) -> SparkSession:
    """A guarded session as `SparkSession.getActiveSession()` gives it, which is not the one that was given out."""
    return SparkSession(given.sparkContext, given._jsparkSession)


def has(version: str) -> bool:
    """Whether Spark is of this version, or a later one."""
    return tuple(map(int, pyspark.__version__.split(".")[:2])) >= tuple(map(int, version.split(".")))


def since(version: str, what: str) -> Any:
    """What Spark itself can do from this version on."""
    return pytest.mark.skipif(not has(version), reason=f"Spark has {what} from {version} on")


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """The rows of a frame, in an order that does not depend on the run."""
    return sorted((tuple(row) for row in frame.collect()), key=lambda row: [(one is None, str(one)) for one in row])


def policy(identifier: str, rest: str, role: str = "analyst", table: str = "emp") -> str:
    """One policy on a table, as a line of a list."""
    return f"  - {{id: {identifier}, subject: {{role: {role}}}, {rest.replace('TABLE', table)}}}\n"


ALL = "  - {id: all, subject: {role: analyst}, object: {tables: [emp]}, allow: [read]}\n"
DEPARTMENTS = "  - {id: departments, subject: {role: analyst}, object: {tables: [dept]}, allow: [read]}\n"
FREE = policy("free", "object: {tables: [emp], attributes: [id, name, dept, since]}, allow: [read]")
OWN = '  - {id: own, subject: {role: analyst}, object: {tables: [emp], where: "dept = self.dept"}, allow: [read]}\n'


def refused(match: str = "refused by the guard") -> Any:
    """The query inside is refused, with these words."""
    return pytest.raises(AnalysisException, match=match)


@contextmanager
def started_with(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """As if Spark had been started with more settings: a guarded session has those, and not what others were set to."""
    first = spark.sparkContext._jsc.sc().conf()
    for key, value in settings.items():
        first.set(key, value)
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in settings:
            first.remove(key)
            spark.conf.unset(key)


DERBY = "org.apache.derby.iapi.jdbc.AutoloadedDriver"


def database_catalog(name: str, url: str) -> dict[str, str]:
    """The settings by which a Derby database is a catalog."""
    home = f"spark.sql.catalog.{name}"
    kind = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"
    return {home: kind, f"{home}.url": url, f"{home}.driver": DERBY}


def drained(query: Any) -> Any:
    """A streaming query that has worked off what there was."""
    query.awaitTermination(120)
    assert not query.isActive
    return query


def below_the_barrier(frame: DataFrame) -> str:
    """The part of the optimised plan that stands below the guard's fence, as text."""
    lines = frame._jdf.queryExecution().optimizedPlan().toString().splitlines()
    start = next(place for place, line in enumerate(lines) if "GuardBarrier" in line)
    depth = lines[start].index("GuardBarrier")
    below = []
    for line in lines[start + 1 :]:
        if len(line) - len(line.lstrip(" :+-")) <= depth:
            break
        below.append(line)
    return "\n".join(below)


def physical(frame: DataFrame) -> str:
    """The physical plan as text."""
    return frame._jdf.queryExecution().executedPlan().toString()


def spying_udf(path: Path) -> Any:
    """A function of the user's that writes down what it is called with."""

    def spy(value):
        with path.open("a") as file:
            file.write(f"{value}\n")
        return True

    return udf(spy, BooleanType())


def printed(program: str, folder: Path, *arguments: str) -> Any:
    """What a program with a Spark of its own prints, as JSON in a line that begins with `answers`."""
    file = folder / "program.py"
    file.write_text(program)
    done = subprocess.run(
        [sys.executable, str(file), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
    )
    found = next((line for line in done.stdout.splitlines() if line.startswith("answers ")), None)
    assert found is not None, done.stderr[-3000:]
    return json.loads(found.removeprefix("answers "))
