"""The Spark Connect endpoint: unmodified clients, each request bound to the user of its token.

The server is a Spark of this process, started with the hook in every session. A session is decided on for the user
whose token opened it; one that belongs to nobody runs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from headgate.errors import InputError
from headgate.guard.build import ensure_jar
from headgate.guard.gateway import POINT, attach, enrol
from headgate.guard.guard import Guard
from headgate.guard.session import settle_tables
from headgate.guard.tokens import TokenBook

REQUESTS = (
    *(f"ExecutePlanRequest.{kind}" for kind in ("root", "command.sql_command", "command.create_dataframe_view")),
    *(
        f"ExecutePlanRequest.command.{kind}"
        for kind in (
            "write_operation",
            "write_operation_v2",
            "write_stream_operation_start",
            "streaming_query_manager_command",
            "get_resources_command",
            "streaming_query_command.status",
            "streaming_query_command.stop",
            "streaming_query_command.process_all_available",
            "streaming_query_command.exception",
            "streaming_query_command.last_progress",
            "streaming_query_command.recent_progress",
            "streaming_query_command.await_termination",
            "remove_cached_remote_relation_command",
        )
    ),
    *(
        f"AnalyzePlanRequest.{kind}"
        for kind in (
            "schema",
            "explain",
            "tree_string",
            "is_local",
            "is_streaming",
            "spark_version",
            "ddl_parse",
            "same_semantics",
            "semantic_hash",
            "persist",
            "unpersist",
            "get_storage_level",
            "json_to_ddl",
        )
    ),
    *(f"ConfigRequest.{kind}" for kind in ("set", "get", "get_with_default", "get_option", "unset", "is_modifiable")),
    "InterruptRequest",
    "ReattachExecuteRequest",
    "ReleaseExecuteRequest",
    "ReleaseSessionRequest",
    "FetchErrorDetailsRequest",
    "ArtifactStatusesRequest",
    "GetStatusRequest",
)
"""Requests that are let in. The plan of a running stream and the names of files show what is hidden; artifacts are
code. Plans and progress are shown to users as far as they are theirs (`Shown.scala`, `Progress.scala`)."""

CODE = (
    "foreach_batch",
    "foreach_writer",
    "common_inline_user_defined_table_function",
    "common_inline_user_defined_data_source",
    "python_data_source",
    "python_udtf",
    "java_udf",
    "java_udaf",
)
"""Code of the user's, which would run before a plan is decided on, or beside it."""

EVERYBODYS = (
    "clear_cache",
    "uncache_table",
    "refresh_table",
    "refresh_by_path",
    "recover_partitions",
    "drop_global_temp_view",
)
"""What changes things that all sessions share, without a plan that could be decided on."""

FORBIDDEN = {
    **dict.fromkeys(CODE, "brings code to the server"),
    **dict.fromkeys(EVERYBODYS, "concerns what all sessions share"),
}
"""What no request may contain, and why."""


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
    for key, value in (config or {}).items():
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
        .config("spark.scheduler.mode", "FAIR")
        .getOrCreate()
    )
    attach(spark)
    enrol(guard)
    POINT.authenticators[guard.id] = tokens.user_of
    settle_tables(guard, spark)
    endpoint = ConnectEndpoint(spark, port)
    limits = guard.settings.limits
    endpoint.port = int(
        endpoint._server().start(
            spark._jsparkSession,
            guard.id,
            _array(spark, REQUESTS),
            _array(spark, tuple(f"{part} {why}" for part, why in FORBIDDEN.items())),
            limits.seconds,
            limits.queries,
            limits.streams,
        )
    )
    return endpoint


def _array(spark: SparkSession, texts: tuple[str, ...]) -> Any:
    gateway: Any = spark.sparkContext._gateway
    made = gateway.new_array(gateway.jvm.java.lang.String, len(texts))
    for place, text in enumerate(texts):
        made[place] = text
    return made
