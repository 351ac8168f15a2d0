"""Requests to the endpoint as no official client would write them."""

from __future__ import annotations

BY_HAND = """
def executed(fill):
    request = spark.client._execute_plan_request_with_metadata()
    fill(request.plan)
    return list(spark.client._stub.ExecutePlan(request, metadata=spark.client._builder.metadata()))
def analysed(fill):
    request = spark.client._analyze_plan_request_with_metadata()
    fill(request.schema.plan)
    return spark.client._stub.AnalyzePlan(request, metadata=spark.client._builder.metadata())
def both(fill):
    return [outcome(lambda: executed(fill)), outcome(lambda: analysed(fill))]
"""

KINDS = [
    ("drop_table", "table_name"),
    ("drop_view", "view_name"),
    ("create_database", "db_name"),
    ("drop_database", "db_name"),
    ("list_partitions", "table_name"),
    ("get_table_properties", "table_name"),
    ("get_create_table_string", "table_name"),
    ("truncate_table", "table_name"),
    ("analyze_table", "table_name"),
]
"""Requests of Spark 4.3."""
