"""The Spark Connect endpoint: unmodified clients, each request bound to the user of its token.

The server is a Spark of this process, started with the hook in every session. A session is decided on for the user
whose token opened it; one that belongs to nobody runs nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from headgate.errors import HeadgateError, InputError
from headgate.guard.build import ensure_jar
from headgate.guard.gateway import attach, enrol
from headgate.guard.guard import Guard
from headgate.guard.learning import NAMED
from headgate.guard.protocol import FORBIDDEN, REQUESTS, WORDS
from headgate.guard.session import settle_tables
from headgate.guard.tokens import TokenBook
from headgate.guard.vocabulary import settable
from headgate.model.subject import User
from headgate.policy.model import PolicySet

Prepare = Callable[[SparkSession], None]
"""What an administrator does before anybody is let in: makes tables, say."""

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

_LASTING = {"spark.executor.killOnFatalError.depth": "0"}
"""A task that takes all of the stack, or of the memory, fails its query. Spark would end the task's process with it,
which has the tasks of all users in it, and with a local master the endpoint."""


class ConnectEndpoint:
    """A running endpoint."""

    def __init__(self, spark: SparkSession, guard: Guard) -> None:
        self.spark = spark
        self.guard = guard
        self.port = 0

    @property
    def running(self) -> bool:
        """Whether Spark is still there. It ends without us if it is killed, or gets a signal that we get as well."""
        gateway: Any = self.spark.sparkContext._gateway
        return gateway.proc is None or gateway.proc.poll() is None  # None: somebody else has started it

    def replace(self, policies: PolicySet | None, users: Mapping[str, User], tokens: TokenBook) -> None:
        """Put other policies, users and tokens in force; a token that is gone opens nothing any more."""
        self.guard.replace_policies(policies, users)
        try:
            self.admit(tokens)
        except (Py4JNetworkError, ConnectionError) as error:
            raise HeadgateError("Spark has ended, and the endpoint with it") from error

    def admit(self, tokens: TokenBook) -> None:
        """Let in whoever has one of these tokens, and nobody else."""
        digests = (f"{digest} {user}" for digest, user in tokens.digests.items())
        self._door.Tokens.start(_array(self.spark, digests), _array(self.spark, self.guard.users))

    def open(self) -> None:
        """Listen."""
        limits = self.guard.settings.limits
        self.port = int(
            self._door.ConnectGuard.start(
                self.spark._jsparkSession,
                self.guard.id,
                _array(self.spark, REQUESTS),
                _array(self.spark, (f"{message} {word}" for message, words in WORDS.items() for word in words)),
                _array(self.spark, (f"{part} {why}" for part, why in FORBIDDEN.items())),
                _array(self.spark, (f"{kind} {name}" for kind, names in NAMED.items() for name in names)),
                _array(self.spark, settable()),
                limits.seconds,
                limits.queries,
                limits.streams,
                limits.analyses,
                limits.sessions,
            )
        )

    def stop(self) -> None:
        """Close the endpoint and Spark with it, if it is still there."""
        with suppress(Py4JNetworkError, ConnectionError):
            self._door.ConnectGuard.stop()
            self.spark.stop()

    @property
    def _door(self) -> Any:
        jvm: Any = self.spark.sparkContext._jvm
        return jvm.org.apache.spark.sql.connect.headgate


def serve(
    guard: Guard,
    tokens: TokenBook,
    port: int = 15002,
    host: str = "127.0.0.1",
    config: Mapping[str, str] | None = None,
    prepare: Prepare | None = None,
) -> ConnectEndpoint:
    """Start the endpoint. It must be the first Spark of the process; `config` is more of Spark's configuration.

    `prepare` is given a session that is not guarded, before anybody is let in.
    """
    if SparkSession.getActiveSession() is not None:
        raise InputError("this process already runs Spark", hint="start the endpoint in a process of its own")
    spark = _started(port, host, config or {})
    try:
        hook = attach(spark)
        enrol(guard)
        _shut_models_in(spark)
        if prepare is not None:
            prepare(SparkSession(spark.sparkContext, hook.unguarded(spark._jsparkSession)))
        settle_tables(guard, spark)
        endpoint = ConnectEndpoint(spark, guard)
        endpoint.admit(tokens)
        endpoint.open()
    except BaseException:
        spark.stop()
        raise
    return endpoint


def _started(port: int, host: str, config: Mapping[str, str]) -> SparkSession:
    """A Spark in which every session is guarded, and the first one acts for nobody."""
    builder = SparkSession.builder.appName("headgate").config("spark.ui.enabled", "false")
    # Nothing stops a loop of a script that runs no query: `BEGIN l: LOOP ITERATE l; END LOOP; END`.
    builder = builder.config("spark.sql.scripting.enabled", "false")
    for key, value in {**_MODELS, **_LASTING, **_loopback(config), **config}.items():
        builder = builder.config(key, value)
    return (
        builder.config("spark.driver.extraClassPath", str(ensure_jar()))
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
        # They ask as well from what size on rows are sent as artifacts, which are refused; messages have 128 MB.
        .config("spark.sql.session.localRelationCacheThreshold", str(2**31 - 1))
        .config("spark.scheduler.mode", "FAIR")
        .getOrCreate()
    )


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


def _array(spark: SparkSession, given: Iterable[str]) -> Any:
    texts = tuple(given)
    gateway: Any = spark.sparkContext._gateway
    made = gateway.new_array(gateway.jvm.java.lang.String, len(texts))
    for place, text in enumerate(texts):
        made[place] = text
    return made
