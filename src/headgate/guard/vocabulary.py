"""The words the guard understands: plan nodes, expressions, commands, sources and settings.

The lists are closed. What is not on one of them is refused, never passed on because it was not understood.
"""

from __future__ import annotations

import re
from importlib.resources import files

from headgate.model.expression.nodes import AGGREGATES
from headgate.model.privilege import READ

PASSING = frozenset(
    [
        "Filter",
        "Sort",
        "LocalLimit",
        "GlobalLimit",
        "Offset",
        "Tail",
        "SubqueryAlias",
        "View",
        "Distinct",
        "Deduplicate",
        "DeduplicateWithinWatermark",
        "Repartition",
        "RepartitionByExpression",
        "RebalancePartitions",
        "Sample",
        "ResolvedHint",
        "EventTimeWatermark",
        "Window",
        "Generate",
        "GuardBarrier",
        "WithWindowDefinition",
        "LimitAll",
    ]
)
"""Nodes that hand on the columns of their only child, some with more beside them."""

BRANCHING = frozenset(
    ["Project", "Aggregate", "Join", "LateralJoin", "AsOfJoin", "Union", "Except", "Intersect", "Expand"]
)
SHARED = frozenset(["WithCTE", "CTERelationDef", "CTERelationRef", "UnionLoop", "UnionLoopRef"])
COMPARING = frozenset(["Distinct", "Except", "Intersect"])
"""Nodes that compare whole rows: every column of theirs assists."""

OWN_DATA = frozenset(
    [
        "LocalRelation",
        "LogicalRDD",
        "OneRowRelation",
        "Range",
        "CommandResult",
        "MemoryPlan",
        "ExternalRDD",
        "EmptyRelation",
    ]
)
"""Leaves that hold what the user brought along, or what was already decided on."""

GOVERNED = frozenset(
    [
        "LogicalRelation",
        "HiveTableRelation",
        "DataSourceV2Relation",
        "DataSourceV2ScanRelation",
        "StreamingDataSourceV2ScanRelation",
        "StreamingDataSourceV2Relation",
    ]
)
"""Leaves that read somebody's data."""

HANDING_OVER = frozenset(
    [
        "DeserializeToObject",
        "WriteToMicroBatchDataSource",
        "WriteToMicroBatchDataSourceV1",
        "WriteToDataSourceV2",
        "WriteFiles",
    ]
)
"""Roots that give the rows of their child to the user's program or to a sink."""

NODES = PASSING | BRANCHING | SHARED | OWN_DATA | GOVERNED | HANDING_OVER

COMMANDS = frozenset(
    [
        "SetCommand",
        "ResetCommand",
        "CreateViewCommand",
        "ShowTables",
        "ShowTablesCommand",
        "ShowNamespaces",
        "ShowNamespacesCommand",
        "ShowColumns",
        "ShowColumnsCommand",
        "ShowViews",
        "ShowViewsCommand",
        "DescribeRelation",
        "DescribeTableCommand",
        "DescribeQueryCommand",
        "DropTempViewCommand",
        "SetCatalogAndNamespace",
        "ShowCurrentNamespace",
        "ShowCurrentNamespaceCommand",
        "SetNamespaceCommand",
        "ShowFunctions",
        "ShowFunctionsCommand",
        "DescribeFunction",
        "DescribeFunctionCommand",
        "CacheTableAsSelect",
        "CacheTable",
        "UncacheTable",
        "ClearCacheCommand",
        "ResolvedNamespace",
        "ResolvedTable",
        "ResolvedPersistentView",
        "ResolvedTempView",
        "NoopCommand",
    ]
)
"""Commands that show names or concern the user's own session; each is looked at again where it names something."""

ADMINISTRATORS_ONLY = frozenset(("ExplainCommand", "StreamingExplainCommand"))
WRITES = frozenset(["InsertIntoHadoopFsRelationCommand"])
"""Commands that write what their child gives."""

SINKS = frozenset(
    f"org.apache.spark.sql.execution.{name}"
    for name in (
        "streaming.sources.MemorySink",
        "streaming.ConsoleTable",
        "streaming.sources.ConsoleTable",
        "streaming.sources.ForeachBatchSink",
        "datasources.noop.NoopTable",
    )
)
"""Sinks that a stream may be written to without a grant: they show it to the user, or throw it away. `foreachBatch`
gets frames of the user's; through Connect it is not let in."""

FILE_SINKS = frozenset(
    f"org.apache.spark.sql.execution.streaming.{name}" for name in ("FileStreamSink", "sinks.FileStreamSink")
)
STREAM_START = "StreamStart"
"""A stream that is about to be started; what it reads is decided on in each micro-batch."""

FUSING = {
    "Count": "count",
    "CountIf": "count",
    "Sum": "sum",
    "Average": "avg",
    "Min": "min",
    "Max": "max",
    "First": "first",
    "AnyValue": "first",
    "Last": "last",
}
"""Aggregate functions that have a privilege of their own name."""

PICKING = frozenset(("first", "last"))
"""Those of them that give out the value of one row, however many there are."""

COMPUTE = "compute"
COMPUTING = frozenset(
    [
        "StddevPop",
        "StddevSamp",
        "VariancePop",
        "VarianceSamp",
        "Corr",
        "CovPopulation",
        "CovSample",
        "Skewness",
        "Kurtosis",
        "HyperLogLogPlusPlus",
        "RegrAvgX",
        "RegrAvgY",
        "RegrCount",
        "RegrIntercept",
        "RegrR2",
        "RegrSXX",
        "RegrSXY",
        "RegrSYY",
        "RegrSlope",
        "RegrReplacement",
        "PearsonCorrelation",
        "BoolAnd",
        "BoolOr",
        "TrySum",
        "TryAverage",
        "org.apache.spark.ml.stat.SummaryBuilderImpl$MetricsAggregate",
    ]
)
"""Functions that fuse many values into one and have no privilege of their own: every aggregate must be allowed."""

SHOWING = frozenset(
    [
        "CollectList",
        "CollectSet",
        "ListAgg",
        "Percentile",
        "ApproximatePercentile",
        "Median",
        "Mode",
        "MaxBy",
        "MinBy",
        "PivotFirst",
        "PercentileCont",
        "PercentileDisc",
        "HistogramNumeric",
        "BitAndAgg",
        "BitOrAgg",
        "BitXorAgg",
    ]
)
"""Aggregate functions that give out single values: for policies they read."""

RANKING = frozenset(["Rank", "DenseRank", "RowNumber", "NTile", "PercentRank", "CumeDist", "Lag", "Lead", "NthValue"])

IDENTITIES = frozenset(("ToPrettyString", "KnownNotNull", "KnownNullable", "TempResolvedColumn", "ReadSidePadding"))
"""Functions that give their argument, in another dress."""

SETTINGS = frozenset(
    f"spark.sql.{name}"
    for name in [
        "shuffle.partitions",
        "session.timeZone",
        "ansi.enabled",
        "autoBroadcastJoinThreshold",
        "execution.arrow.pyspark.enabled",
        "execution.arrow.pyspark.fallback.enabled",
        "execution.arrow.maxRecordsPerBatch",
        "execution.arrow.pyspark.selfDestruct.enabled",
        "execution.arrow.enabled",
        "execution.pythonUDF.arrow.enabled",
        "repl.eagerEval.enabled",
        "repl.eagerEval.maxNumRows",
        "repl.eagerEval.truncate",
        "adaptive.enabled",
        "adaptive.coalescePartitions.enabled",
        "adaptive.applyFinalStageShuffleOptimizations",
        "sources.bucketing.autoBucketedScan.enabled",
        "streaming.internal.stateStore.partitions",
        "requireAllClusterKeysForDistribution",
        "streaming.offsetLog.formatVersion",
        "streaming.stateStore.checkpointFormatVersion",
        "streaming.stateStore.encodingFormat",
        "streaming.multipleWatermarkPolicy",
        "streaming.aggregation.stateFormatVersion",
        "streaming.flatMapGroupsWithState.stateFormatVersion",
        "streaming.join.stateFormatVersion",
        "streaming.stateStore.compression.codec",
        "streaming.stateStore.rocksdb.formatVersion",
        "streaming.statefulOperator.useStrictDistribution",
        "streaming.optimizeOneRowPlan.enabled",
        "streaming.stateStore.providerClass",
        "cbo.enabled",
        "optimizer.pruneFiltersCanPruneStreamingSubplan",
        "timestampType",
        "datetime.java8API.enabled",
        "crossJoin.enabled",
        "streaming.noDataMicroBatches.enabled",
    ]
) | {"spark.app.name"}
"""Settings that change speed or form and open nothing.

How names are compared is none of them: files that spell a column in another way would lose it, and a policy would see
NULL. Nor is what Spark does about the blanks behind a CHAR, or how it takes a text for a time: tasks look that up when
they run, after everything has been decided.
"""

OWN_PREFIX = "spark.headgate."

# Spark sets these for every streaming query; what a user writes there is a class to load.
_CHOICES = {
    "spark.sql.streaming.stateStore.providerClass": frozenset(
        f"org.apache.spark.sql.execution.streaming.state.{name}"
        for name in ("HDFSBackedStateStoreProvider", "RocksDBStateStoreProvider")
    ),
    "spark.sql.streaming.stateStore.compression.codec": frozenset(("lz4", "lzf", "snappy", "zstd")),
}


MOST_PARTITIONS = 100_000
"""For each partition Spark's scheduler, which is one for all users, makes a task in the driver's memory."""

NUMBERS_OF_PARTITIONS = frozenset(
    ("spark.sql.shuffle.partitions", "spark.sql.streaming.internal.stateStore.partitions")
)


def setting_allowed(key: str, value: str | None) -> bool:
    """Whether a user may change this setting, to this value where one is given."""
    if value is not None and key in _CHOICES:
        return value in _CHOICES[key]
    if value and key in NUMBERS_OF_PARTITIONS:  # without a value, Spark's own default holds
        return re.fullmatch(r"\s*[0-9]{1,9}\s*", value) is not None and int(value) <= MOST_PARTITIONS
    return key in SETTINGS


def settable() -> tuple[str, ...]:
    """Settings that users may change, for the endpoint's door: keys, each with a value if only some are allowed."""
    free = tuple(sorted(SETTINGS - _CHOICES.keys()))
    return (*free, *(f"{key} {value}" for key, values in _CHOICES.items() for value in sorted(values)))


ROW_EXPRESSIONS = frozenset(
    word
    for line in (files("headgate.guard") / "expressions.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
    for word in line.split()
)
"""Expressions that compute one value from one row."""

AGGREGATE_FUNCTIONS = frozenset(FUSING) | COMPUTING | SHOWING
FUNCTIONS = ROW_EXPRESSIONS | RANKING | AGGREGATE_FUNCTIONS


def privileges_of(function: str) -> tuple[str, ...]:
    """The privileges that an aggregate function needs on its arguments."""
    if function in FUSING:
        return (FUSING[function],)
    return AGGREGATES if function in COMPUTING else (READ,)
