"""The Spark Connect endpoint: unmodified clients, each request bound to the user of its token.

The server is a Spark of this process, started with the hook in every session. A session is decided on for the user
whose token opened it; one that belongs to nobody runs nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headgate.errors import InputError
from headgate.guard.build import ensure_jar
from headgate.guard.gateway import attach, enrol
from headgate.guard.guard import Guard
from headgate.guard.learning import NAMED
from headgate.guard.protocol import FORBIDDEN, REQUESTS, WORDS
from headgate.guard.session import settle_tables
from headgate.guard.tokens import TokenBook
from headgate.guard.vocabulary import settable

_MODELS = {
    f"spark.connect.session.connectML.mlCache.memoryControl.{key}": value
    for key, value in {
        "enabled": "true",
        "maxInMemorySize": "256m",
        "maxModelSize": "256m",
        "maxStorageSize": "1g",
    }.items()
}
"""How much each session keeps of its user's models, in memory and in files; no user can change it."""


class ConnectEndpoint:
    """A running endpoint."""

    def __init__(self, spark: SparkSession, port: int) -> None:
        self.spark = spark
        self.port = port

    def stop(self) -> None:
        """Close the endpoint and Spark with it."""
        self._server().stop()
        self.spark.stop()

    def _server(self) -> Any:
        jvm: Any = self.spark.sparkContext._jvm
        return jvm.org.apache.spark.sql.connect.headgate.ConnectGuard


def serve(
    guard: Guard, tokens: TokenBook, port: int = 15002, host: str = "127.0.0.1", config: Mapping[str, str] | None = None
) -> ConnectEndpoint:
    """Start the endpoint. It must be the first Spark of the process; `config` is more of Spark's configuration."""
    if SparkSession.getActiveSession() is not None:
        raise InputError("this process already runs Spark", hint="start the endpoint in a process of its own")
    builder = SparkSession.builder.appName("headgate").config("spark.ui.enabled", "false")
    # Nothing stops a loop of a script that runs no query: `BEGIN l: LOOP ITERATE l; END LOOP; END`.
    builder = builder.config("spark.sql.scripting.enabled", "false")
    for key, value in {**_MODELS, **_loopback(config or {}), **(config or {})}.items():
        builder = builder.config(key, value)
    jar = str(ensure_jar())
    spark = (
        builder.config("spark.driver.extraClassPath", jar)
        .config("spark.sql.extensions", "org.apache.spark.sql.headgate.GuardExtensions")
        .config("spark.connect.grpc.interceptor.classes", "org.apache.spark.sql.connect.headgate.ConnectGuard")
        .config("spark.connect.grpc.binding.address", host)
        .config("spark.connect.grpc.binding.port", str(port))
        .config("spark.sql.connect.serverStacktrace.enabled", "false")
        .config("spark.sql.legacy.allowUntypedScalaUDF", "false")
        # The parser would put the server's environment and settings into the text of a query.
        .config("spark.sql.variable.substitute", "false")
        # Clients ask how large a plan must be to be packed; a packed one is refused, as it cannot be looked at.
        .config("spark.connect.session.planCompression.threshold", "-1")
        .config("spark.scheduler.mode", "FAIR")
        .getOrCreate()
    )
    attach(spark)
    enrol(guard)
    settle_tables(guard, spark)
    _shut_models_in(spark)
    endpoint = ConnectEndpoint(spark, port)
    limits = guard.settings.limits
    endpoint.port = int(
        endpoint._server().start(
            spark._jsparkSession,
            guard.id,
            _array(spark, tuple(f"{digest} {user}" for digest, user in tokens.digests.items())),
            _array(spark, REQUESTS),
            _array(spark, tuple(f"{message} {word}" for message, words in WORDS.items() for word in words)),
            _array(spark, tuple(f"{part} {why}" for part, why in FORBIDDEN.items())),
            _array(spark, tuple(f"{kind} {name}" for kind, names in NAMED.items() for name in names)),
            _array(spark, settable()),
            limits.seconds,
            limits.queries,
            limits.streams,
            limits.analyses,
            limits.sessions,
        )
    )
    return endpoint


def _loopback(config: Mapping[str, str]) -> dict[str, str]:
    """Spark's own servers, beside the endpoint, ask nobody who it is; without executors elsewhere nobody needs them."""
    if not re.fullmatch(r"local(\[.*\])?", config.get("spark.master", "")):
        return {}
    return dict.fromkeys(("spark.driver.bindAddress", "spark.driver.host"), "127.0.0.1")


def _shut_models_in(spark: SparkSession) -> None:
    """Spark also keeps models in files of a folder whose name anybody can guess, and loads them from there."""
    jvm: Any = spark.sparkContext._jvm
    folder = Path(jvm.java.lang.System.getProperty("java.io.tmpdir")) / "spark_connect_model_cache"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        ours = not folder.is_symlink() and folder.stat().st_uid == os.getuid()
        if ours:
            folder.chmod(0o700)
    except OSError:
        ours = False
    if not ours:
        raise InputError(
            f"the folder `{folder}`, in which Spark keeps models, is somebody else's",
            hint="set `-Djava.io.tmpdir` in `spark.driver.extraJavaOptions` to a folder of your own",
        )


def _array(spark: SparkSession, texts: tuple[str, ...]) -> Any:
    gateway: Any = spark.sparkContext._gateway
    made = gateway.new_array(gateway.jvm.java.lang.String, len(texts))
    for place, text in enumerate(texts):
        made[place] = text
    return made
