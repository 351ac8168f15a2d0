"""Where elements come from: any streaming source of Spark, brought to one schema.

(`stream`, `line`, slots): a line of JSON that is a tuple or a punctuation, or, where there is no line, a tuple whose
columns are typed already, each in its slot. Streams share the slots: with columns of its own for each of them, every
row had a NULL for every column of every other stream, and Spark took half of its time to write these down.

The push folder is always among the sources, and the first: programs put elements and punctuations there, as lines that
begin with the number of their stream.
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
    TimestampNTZType,
    TimestampType,
)

from headgate.columnar.column import arrow_type
from headgate.columnar.slots import slot_type, slots_of, slots_together
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


def read_streams(
    spark: SparkSession,
    streams: Sequence[StreamSchema],
    sources: Mapping[str, StreamSources],
    push_path: str,
    files_per_epoch: int | None = None,
) -> DataFrame:
    """The union of all sources."""
    slots = slots_together(one.types for one in streams if _typed(sources.get(one.name)))
    frames = [_pushed(spark, push_path, slots, files_per_epoch)]
    for place, stream in enumerate(streams):
        own = sources.get(stream.name, StreamSources())
        if own.elements is not None:
            frames.append(_elements(spark, stream, place, own.elements, slots))
        if own.punctuations is not None:
            frames.append(with_lines(_load(spark, own.punctuations), place, slots))
    whole = frames[0]
    for one in frames[1:]:
        whole = whole.unionAll(one)
    return whole


def names_in_order(streams: Sequence[StreamSchema], sources: Mapping[str, StreamSources]) -> list[str]:
    """The sources as Spark numbers them: the push folder, then those of each stream."""
    found = [PUSH]
    for stream in streams:
        own = sources.get(stream.name, StreamSources())
        found += [stream.name] if own.elements is not None else []
        found += [f"{stream.name} punctuations"] if own.punctuations is not None else []
    return found


def places_of_lines(streams: Sequence[StreamSchema], sources: Mapping[str, StreamSources]) -> tuple[int, ...] | None:
    """The numbers of the sources that have lines. None if that cannot be said: a frame of the user's comes before one,
    and may be made of any number of sources."""
    found, number = [0], 1
    sure = True
    for stream in streams:
        own = sources.get(stream.name, StreamSources())
        for source, lines in ((own.elements, not _typed(own)), (own.punctuations, True)):
            if source is None:
                continue
            if lines and not sure:
                return None
            found += [number] if lines else []
            sure = sure and isinstance(source, SourceSpec)
            number += 1
    return tuple(found)


def _typed(own: StreamSources | None) -> bool:
    if own is None or own.elements is None:
        return False
    return own.elements.typed if isinstance(own.elements, SourceSpec) else True


def _pushed(spark: SparkSession, path: str, slots: Sequence[str], files_per_epoch: int | None) -> DataFrame:
    # What an epoch has taken in is not needed once the next one begins; files that stay would be listed each time.
    reader = spark.readStream.format("text").option("cleanSource", "delete")
    if files_per_epoch is not None:
        reader = reader.option("maxFilesPerTrigger", files_per_epoch)
    parts = F.split(F.col("value"), "\t", 2)
    pushed = reader.load(path).select(parts[0].cast("int").alias("stream"), parts[1].alias("value"))
    return with_lines(pushed, F.col("stream"), slots)


def with_lines(given: DataFrame, stream: Column | int, slots: Sequence[str]) -> DataFrame:
    """Records that are lines, as elements of a stream."""
    line = F.col("value").cast("string")
    number = F.lit(stream) if isinstance(stream, int) else stream
    # INVARIANT: only a typed tuple has no line. A record without a value, such as Kafka has them, is no element.
    return given.where(line.isNotNull()).select(
        number.alias("stream"), line.alias("line"), *[_nothing(slot) for slot in slots]
    )


def _nothing(slot: str) -> Column:
    return F.lit(None).cast(spark_type(slot_type(slot))).alias(slot)


def _elements(
    spark: SparkSession,
    stream: StreamSchema,
    place: int,
    source: SourceSpec | DataFrame,
    slots: Sequence[str],
) -> DataFrame:
    if isinstance(source, SourceSpec) and not source.typed:
        return with_lines(_load(spark, source), place, slots)
    given = _load(spark, source, stream) if isinstance(source, SourceSpec) else source
    columns = [_converted(given, stream, one.name, one.type) for one in stream.columns]
    own = dict(zip(slots_of(stream.types), columns, strict=True))
    cells = [own[slot].alias(slot) if slot in own else _nothing(slot) for slot in slots]
    return given.select(F.lit(place).alias("stream"), F.lit(None).cast("string").alias("line"), *cells)


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
