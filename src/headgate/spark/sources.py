"""Where elements come from: any streaming source of Spark, brought to one schema.

(`stream`, `line`, `typed0`, `typed1`, ...): a line of JSON that is a tuple or a punctuation, or a tuple whose columns
are typed already. The push folder is always among the sources: programs put elements and punctuations there, as lines
that begin with the number of their stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from headgate.columnar.column import arrow_type
from headgate.errors import InputError
from headgate.model.datatype import DataType
from headgate.model.schema import StreamSchema
from headgate.spark.layout import spark_type
from headgate.spark.types import struct_of

PUSH = "push"
LINE_FORMATS = frozenset({"json", "text", "kafka", "socket"})
"""Formats whose records are lines of JSON, one element each; all others have typed columns."""


@dataclass(frozen=True)
class SourceSpec:
    """A Spark source: its format and options. `typed` says that its records are columns, not lines."""

    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    path: str | None = None

    @property
    def typed(self) -> bool:
        return self.format not in LINE_FORMATS


@dataclass(frozen=True)
class StreamSources:
    """Where the elements of one stream come from, and (beside a typed source) its punctuations."""

    elements: SourceSpec | DataFrame | None = None
    punctuations: SourceSpec | None = None


def typed_struct(schema: StreamSchema) -> StructType:
    """The columns of a stream as the engine takes them in: times and days as whole numbers."""
    fields = [StructField(f"c{place}", spark_type(arrow_type(one.type))) for place, one in enumerate(schema.columns)]
    return StructType(fields)


def read_streams(
    spark: SparkSession,
    streams: Sequence[StreamSchema],
    sources: Mapping[str, StreamSources],
    push_path: str,
    files_per_epoch: int | None = None,
) -> DataFrame:
    """The union of all sources."""
    typed = {place: typed_struct(one) for place, one in enumerate(streams) if _typed(sources.get(one.name))}
    frames = [_pushed(spark, push_path, typed, files_per_epoch)]
    for place, stream in enumerate(streams):
        own = sources.get(stream.name, StreamSources())
        if own.elements is not None:
            frames.append(_elements(spark, stream, place, own.elements, typed))
        if own.punctuations is not None:
            frames.append(_lines(_load(spark, own.punctuations), place, typed))
    whole = frames[0]
    for one in frames[1:]:
        whole = whole.unionAll(one)
    return whole


def _typed(own: StreamSources | None) -> bool:
    if own is None or own.elements is None:
        return False
    return own.elements.typed if isinstance(own.elements, SourceSpec) else True


def _pushed(spark: SparkSession, path: str, typed: Mapping[int, StructType], files_per_epoch: int | None) -> DataFrame:
    reader = spark.readStream.format("text")
    if files_per_epoch is not None:
        reader = reader.option("maxFilesPerTrigger", files_per_epoch)
    parts = F.split(F.col("value"), "\t", 2)
    columns = [parts[0].cast("int").alias("stream"), parts[1].alias("line")]
    return reader.load(path).select(*columns, *_nothing(typed))


def _nothing(typed: Mapping[int, StructType], but: int | None = None) -> list[Column]:
    return [F.lit(None).cast(kind).alias(f"typed{place}") for place, kind in typed.items() if place != but]


def _elements(
    spark: SparkSession,
    stream: StreamSchema,
    place: int,
    source: SourceSpec | DataFrame,
    typed: Mapping[int, StructType],
) -> DataFrame:
    if isinstance(source, SourceSpec) and not source.typed:
        return _lines(_load(spark, source), place, typed)
    given = _load(spark, source, stream) if isinstance(source, SourceSpec) else source
    columns = [_converted(given, stream, one.name, one.type) for one in stream.columns]
    struct = F.struct(*[column.alias(f"c{number}") for number, column in enumerate(columns)])
    own = [
        struct.alias(f"typed{one}") if one == place else F.lit(None).cast(kind).alias(f"typed{one}")
        for one, kind in typed.items()
    ]
    return given.select(F.lit(place).alias("stream"), F.lit(None).cast("string").alias("line"), *own)


def _lines(given: DataFrame, place: int, typed: Mapping[int, StructType]) -> DataFrame:
    value = F.col("value").cast("string").alias("line")
    return given.select(F.lit(place).alias("stream"), value, *_nothing(typed))


def _load(spark: SparkSession, source: SourceSpec, stream: StreamSchema | None = None) -> DataFrame:
    # A file of JSON lines is read as text: what a line means is not for Spark to guess.
    reader = spark.readStream.format("text" if source.format == "json" else source.format)
    for name, value in source.options.items():
        reader = reader.option(name, value)
    if stream is not None and source.format in ("parquet", "orc", "csv", "avro"):
        reader = reader.schema(struct_of((one.name, one.type) for one in stream.columns))
    return reader.load(source.path) if source.path is not None else reader.load()


_TAKEN = {
    DataType.STRING: (StringType,),
    DataType.INT: (IntegerType, ShortType, ByteType, LongType),
    DataType.BIGINT: (LongType, IntegerType, ShortType, ByteType),
    DataType.DOUBLE: (DoubleType, FloatType, LongType, IntegerType, ShortType, ByteType),
    DataType.BOOLEAN: (BooleanType,),
    DataType.TIMESTAMP: (TimestampType, TimestampNTZType),
    DataType.DATE: (DateType,),
}


def _converted(given: DataFrame, stream: StreamSchema, name: str, kind: DataType) -> Column:
    found = next((one for one in given.schema.fields if one.name.lower() == name.lower()), None)
    if found is None:
        raise InputError(
            f"the source of stream `{stream.name}` has no column `{name}`",
            hint=f"its columns are {', '.join(given.columns)}",
        )
    if not isinstance(found.dataType, _TAKEN[kind]):
        raise InputError(
            f"column `{name}` of the source of stream `{stream.name}` is {found.dataType.simpleString()}, not {kind}",
            hint="cast it, or declare it as it is",
        )
    column = given[f"`{found.name}`"]
    if kind is DataType.TIMESTAMP:
        return F.unix_micros(column.cast("timestamp"))
    if kind is DataType.DATE:
        return F.unix_date(column).cast("long")
    return column.cast(spark_type(arrow_type(kind)))
