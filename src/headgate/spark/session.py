"""Spark sessions: the one a command starts, and the engine's own beside a user's."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
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

_LONGEST = 60
"""Characters in the name of a folder for sockets: with the name of a file in it, systems allow about a hundred."""

_FEW = 2

_SAYINGS = {"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS", "SPARK_CONF_DIR"}
"""By which Java is told something, or Spark what to tell it."""

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
    master = master or "local[*]"
    builder = SparkSession.builder.appName("headgate").master(master)
    options = java_options(os.cpu_count() or 1 if master.startswith("local") else None, os.environ)
    quiet = {**_QUIET, "spark.driver.extraJavaOptions": options}
    near = _through_files() if master.startswith("local") and SparkSession.getActiveSession() is None else {}
    for name, value in {**quiet, **near, **(settings or {})}.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def java_options(cores: int | None, environment: Mapping[str, str]) -> str:
    """What Java is told; `cores` of this machine, if all of Spark runs on it.

    Java's usual collector works beside the program, which on two cores takes time from epochs: with the one that does
    not they took 7 to 16 % less. Whoever says something to Java themselves, chooses themselves: it does not start if it
    is told of two collectors.
    """
    logging = f"-Dlog4j2.configurationFile=file:{LOGGING}"
    few = cores is not None and cores <= _FEW
    return logging if not few or _SAYINGS & set(environment) else f"{logging} -XX:+UseSerialGC"


def _through_files() -> dict[str, str]:
    """Have Spark and its Python workers talk through sockets that are files, where all of them are on this machine.

    Through TCP each task waits 40 ms for its first rows: one side does not send before it has an answer, the other does
    not answer before it has more. An epoch has two such tasks, one after the other.
    """
    # Who can open these files can tell the workers what to do: they are for this user only.
    folder = tempfile.mkdtemp(prefix="headgate-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if len(folder) > _LONGEST:
        return {}
    return {"spark.python.unix.domain.socket.enabled": "true", "spark.python.unix.domain.socket.dir": folder}


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
    package = "org.apache.spark.sql.execution.streaming" + (
        "" if session.version.startswith("4.0.") else ".checkpointing"
    )
    session.conf.set(
        "spark.sql.streaming.checkpointFileManagerClass", f"{package}.FileSystemBasedCheckpointFileManager"
    )
