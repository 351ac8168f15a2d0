"""Guarded sessions in process: a SparkSession in which everything runs as one user."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headgate.guard.gateway import attach, enrol
from headgate.guard.guard import Guard
from headgate.guard.outcome import Outcome
from headgate.guard.plan import Description, read_description


class GuardedSession(SparkSession):
    """A SparkSession in which everything runs as one user, by what is decided when it runs."""

    _headgate_guard: Guard
    """A guard lives as long as a session of its own does."""

    def sql(self, *query: Any, **arguments: Any) -> DataFrame:
        """As `SparkSession.sql`, of which Spark makes frames in another way than of everything else."""
        made = super().sql(*query, **arguments)
        return DataFrame(self._followed.frame(made._jdf), self)

    @cached_property
    def _followed(self) -> Any:
        """Found once: each part of the name is a question to Java."""
        jvm: Any = self.sparkContext._jvm
        return jvm.org.apache.spark.sql.headgate.Followed


def session(user: str, guard: Guard, spark: SparkSession | None = None) -> SparkSession:
    """A session in which every query is decided on for this user before it runs.

    A frame that runs again is decided on again if policies have changed. Tables are those of `spark`, which stays as it
    is: whoever holds it is not guarded. Temporary views and settings are the session's own. Python code in this process
    is trusted not to reach around Spark; for users whose code is not, there is the Connect endpoint.
    """
    guard.user(user)
    parent = spark if spark is not None else SparkSession.builder.getOrCreate()
    hook = attach(parent)
    enrol(guard)
    settle_tables(guard, parent)
    made = GuardedSession(parent.sparkContext, hook.open(parent._jsparkSession, guard.id, user))
    made._headgate_guard = guard
    return made


def settle_tables(guard: Guard, spark: SparkSession) -> None:
    """Tell the guard where the files of catalog tables are: read by path, they are still the table."""
    known = [quoted(name) for name in guard.catalog.names if name not in guard.settings.sources]
    found: Any = attach(spark).locations(spark._jsparkSession, json.dumps(known))
    for name, (location, provider, partitions, options, padded) in json.loads(found).items():
        guard.settle(name, location, provider, tuple(partitions), options, tuple(padded))


def quoted(name: str) -> str:
    """A table's name as Spark's parser takes it, whatever is in it."""
    return ".".join("`" + part.strip("`").replace("`", "``") + "`" for part in name.split("."))


def describe(frame: DataFrame) -> Description:
    """The plan of a DataFrame of a guarded session as the guard sees it; it is not run."""
    return read_description(_described(frame))


def explain(frame: DataFrame) -> Outcome:
    """What the guard decides on a DataFrame of a guarded session; it is not run, and nobody is told."""
    guard: Guard = frame.sparkSession._headgate_guard  # type: ignore[attr-defined]
    return guard.decide(_described(frame))


def _described(frame: DataFrame) -> str:
    spark = frame.sparkSession
    plan = frame._jdf.queryExecution().analyzed()
    return str(attach(spark).describe(spark._jsparkSession, plan))


def without_dropped(frame: DataFrame) -> DataFrame:
    """The DataFrame without the columns whose mask is `drop`.

    A Spark plan cannot lose columns after it was analysed, so in an ordinary answer such a column is there and NULL.
    """
    dropped = explain(frame).dropped
    kept = [place for place in range(len(frame.columns)) if place not in dropped]
    return frame.select(*(frame[place] for place in kept)) if dropped else frame
