"""The finite inputs of a scenario that Spark reads: any format and its options."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headgate.errors import InputError
from headgate.model.element import Element, Rejected, parse_object
from headgate.model.instant import format_timestamp, from_datetime
from headgate.model.schema import StreamSchema
from headgate.scenario.entry import SourceEntry
from headgate.scenario.inputs import ReadOther


def reader(spark: SparkSession) -> ReadOther:
    """Reads a stream's source as a batch; relative paths are the scenario's."""

    def read(stream: StreamSchema, source: SourceEntry, base: Path) -> Iterator[Element | Rejected]:
        rows = _load(spark, stream, source, base)
        for number, row in enumerate(rows.toLocalIterator(), start=1):
            cells = {name: _as_json(value) for name, value in row.asDict().items() if value is not None}
            yield parse_object(cells, stream, f"row {number}")

    return read


def _load(spark: SparkSession, stream: StreamSchema, source: SourceEntry, base: Path) -> DataFrame:
    options = {name: str(value) for name, value in (source.model_extra or {}).items()}
    try:
        loading = spark.read.format(str(source.format)).options(**options)
        return loading.load(str(base / source.path)) if source.path is not None else loading.load()
    except PySparkException as error:
        raise InputError(
            f"the source of stream `{stream.name}` cannot be read: {str(error).splitlines()[0][:200]}",
            hint="check its format, path and options",
        ) from error


def _as_json(value: object) -> object:
    """A cell of Spark's as it would stand in a line of JSON."""
    if isinstance(value, datetime):
        return format_timestamp(from_datetime(value.astimezone(UTC)))
    return value.isoformat() if isinstance(value, date) else value
