"""The words of Spark Connect that are let in: kinds of requests, and what relations and expressions may be in them.

The lists are closed: what a newer Spark adds is refused until somebody has looked at it.
"""

from __future__ import annotations

REQUESTS = (
    *(f"ExecutePlanRequest.{kind}" for kind in ("root", "command.sql_command", "command.create_dataframe_view")),
    *(
        f"ExecutePlanRequest.command.{kind}"
        for kind in (
            "write_operation",
            "write_operation_v2",
            "write_stream_operation_start",
            "streaming_query_manager_command.active",
            "streaming_query_manager_command.get_query",
            "streaming_query_manager_command.await_any_termination",
            "streaming_query_manager_command.reset_terminated",
            "streaming_query_manager_command.list_listeners",
            "get_resources_command",
            "streaming_query_command.status",
            "streaming_query_command.stop",
            "streaming_query_command.process_all_available",
            "streaming_query_command.exception",
            "streaming_query_command.last_progress",
            "streaming_query_command.recent_progress",
            "streaming_query_command.await_termination",
            "remove_cached_remote_relation_command",
            "checkpoint_command",
            "ml_command.fit",
            "ml_command.evaluate",
            "ml_command.fetch",
            "ml_command.create_summary",
            "ml_command.delete",
            "ml_command.clean_cache",
            "ml_command.get_cache_info",
            "ml_command.get_model_size",
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
"""Requests that are let in. The plan of a running stream and the names of files show what is hidden; artifacts and
listeners are code. Users are shown plans and progress as far as they are theirs (`Shown.scala`, `Progress.scala`).
What requests about models may name is in `learning.py`; no checkpoint is one in files (`Writes.scala`)."""

WORDS = {
    # A compressed plan is unpacked by Spark after the guard has looked at the request.
    "Plan": ("root", "command"),
    "Relation": (
        "read",
        "project",
        "filter",
        "join",
        "set_op",
        "sort",
        "limit",
        "aggregate",
        "sql",
        "local_relation",
        "sample",
        "offset",
        "deduplicate",
        "range",
        "subquery_alias",
        "repartition",
        "to_df",
        "with_columns_renamed",
        "show_string",
        "drop",
        "tail",
        "with_columns",
        "hint",
        "unpivot",
        "to_schema",
        "repartition_by_expression",
        "map_partitions",
        "collect_metrics",
        "parse",
        "group_map",
        "co_group_map",
        "with_watermark",
        "html_string",
        "cached_remote_relation",
        "ml_relation",
        "as_of_join",
        "with_relations",
        "transpose",
        "unresolved_table_valued_function",
        "lateral_join",
        "fill_na",
        "drop_na",
        "replace",
        "summary",
        "crosstab",
        "describe",
        "cov",
        "corr",
        "approx_quantile",
        "freq_items",
        "sample_by",
        "catalog",
    ),
    "Expression": (
        "literal",
        "unresolved_attribute",
        "unresolved_function",
        "expression_string",
        "unresolved_star",
        "alias",
        "cast",
        "unresolved_regex",
        "sort_order",
        "lambda_function",
        "window",
        "unresolved_extract_value",
        "update_fields",
        "unresolved_named_lambda_variable",
        "common_inline_user_defined_function",
        "call_function",
        "named_argument_expression",
        "subquery_expression",
    ),
    # Python's functions are only carried until a plan is permitted that names them; Java's are objects at once.
    "CommonInlineUserDefinedFunction": ("python_udf",),
    "MlRelation": ("transform", "fetch"),
    "MlRelation.Transform": ("obj_ref", "transformer"),
    "Fetch.Method.Args": ("param", "input"),
    "Catalog": (
        "current_database",
        "set_current_database",
        "list_databases",
        "list_tables",
        "list_functions",
        "list_columns",
        "list_views",
        "get_database",
        "get_table",
        "get_function",
        "database_exists",
        "table_exists",
        "function_exists",
        "drop_temp_view",
        "is_cached",
        "cache_table",
        "current_catalog",
        "set_current_catalog",
        "list_catalogs",
    ),
}
"""Of these messages, wherever they are in a request, the choices that are let in. Plans are decided on after that."""

CODE = (
    "foreach_batch",
    "foreach_writer",
    "common_inline_user_defined_table_function",
    "common_inline_user_defined_data_source",
    "python_data_source",
    "python_udtf",
    "scalar_scala_udf",
    "typed_aggregate_expression",
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

_FILES = "models are not kept in files here: fit them again, or write what they make of a frame"

FORBIDDEN = {
    **dict.fromkeys(CODE, "brings code to the server"),
    **dict.fromkeys(EVERYBODYS, "concerns what all sessions share"),
    "predicates": "has a database asked before the guard has looked; use `where`",
    **dict.fromkeys(
        ("AnalyzePlanRequest.same_semantics", "AnalyzePlanRequest.semantic_hash"),
        "tells whether a guess of what a lasting view is made of is right",
    ),
    "compressed_operation": "cannot be looked at; send the plan as it is",
    # To read one, Spark makes objects of the classes that its files name.
    **{f"ExecutePlanRequest.command.ml_command.{kind}": _FILES for kind in ("write", "read")},
}
"""What no request may contain or be, and why."""
