"""Spark sessions: the one a command starts, and the engine's own beside a user's."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

LOGGING = Path(__file__).with_name("log4j2.properties")
"""What Spark logs for a command: errors only."""

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
}

ENGINE_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    # A task's tuples are judged together: what a batch costs beside its rows is paid once.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "250000",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # An epoch's rows, tuples and notes go to folders of their own; sorting them first would cost more than writing.
    "spark.sql.maxConcurrentOutputFileWriters": "200",
    # Deciding anew after every stage costs more than epochs of this size have to gain.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.metricsEnabled": "false",
}


def start_session(master: str | None = None, settings: Mapping[str, str] | None = None) -> SparkSession:
    """A session for a command: without a user interface, its workers running this Python."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("headgate").master(master or "local[*]")
    quiet = {**_QUIET, "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{LOGGING}"}
    for name, value in {**quiet, **(settings or {})}.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def engine_session(spark: SparkSession) -> SparkSession:
    """The engine's own session on the same cluster: its settings are its own, and the user's stay theirs."""
    session = spark.newSession()
    for name, value in ENGINE_SETTINGS.items():
        session.conf.set(name, value)
    session.conf.set("spark.sql.shuffle.partitions", spark.conf.get("spark.sql.shuffle.partitions", "2") or "2")
    return session


def use_local_checkpoints(session: SparkSession) -> None:
    """Let Spark write checkpoints through Hadoop's older file interface, where that is as safe and quicker.

    On a local file system the newer one starts processes for links and permissions: 110 ms of an epoch's 430.
    """
    session.conf.set(
        "spark.sql.streaming.checkpointFileManagerClass",
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
    )
