"""The types of columns as Spark has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from pyspark.sql import types as spark_types

from headgate.model.datatype import DataType

SPARK_TYPES: Final[Mapping[DataType, spark_types.DataType]] = {
    DataType.STRING: spark_types.StringType(),
    DataType.INT: spark_types.IntegerType(),
    DataType.BIGINT: spark_types.LongType(),
    DataType.DOUBLE: spark_types.DoubleType(),
    DataType.BOOLEAN: spark_types.BooleanType(),
    DataType.TIMESTAMP: spark_types.TimestampType(),
    DataType.DATE: spark_types.DateType(),
}


def struct_of(fields: Iterable[tuple[str, DataType]]) -> spark_types.StructType:
    """The schema of rows with these columns."""
    return spark_types.StructType([spark_types.StructField(name, SPARK_TYPES[kind]) for name, kind in fields])
