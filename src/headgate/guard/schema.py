"""Tables of Spark as the policies know tables: names, typed columns, an owner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import types as spark_types

from headgate.errors import InputError
from headgate.guard.settings import NO_TIME
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema

_TYPES: dict[type[spark_types.DataType], DataType] = {
    spark_types.StringType: DataType.STRING,
    spark_types.CharType: DataType.STRING,
    spark_types.VarcharType: DataType.STRING,
    spark_types.ByteType: DataType.INT,
    spark_types.ShortType: DataType.INT,
    spark_types.IntegerType: DataType.INT,
    spark_types.LongType: DataType.BIGINT,
    spark_types.FloatType: DataType.DOUBLE,
    spark_types.DoubleType: DataType.DOUBLE,
    spark_types.DecimalType: DataType.DOUBLE,
    spark_types.BooleanType: DataType.BOOLEAN,
    spark_types.TimestampType: DataType.TIMESTAMP,
    spark_types.DateType: DataType.DATE,
}


@dataclass(frozen=True, slots=True)
class SparkColumn(Column):
    """A column of which it is known how Spark writes its type: files that are named by path must be read in it."""

    spark_type: str = ""


def catalog_of(spark: SparkSession, tables: Iterable[str], owners: Mapping[str, str] | None = None) -> StreamCatalog:
    """The tables of Spark's catalog by these names."""
    found = []
    for name in tables:
        if not spark.catalog.tableExists(name):
            raise InputError(f"there is no table `{name}`", hint="create it, or leave it out")
        found.append(table_schema(name, spark.table(name).schema, (owners or {}).get(name)))
    return StreamCatalog(found)


def table_schema(
    name: str, schema: spark_types.StructType, owner: str | None = None, time: str | None = None
) -> StreamSchema:
    """One table. A column of a type that policies have no word for is known by name, as text."""
    columns: list[Column] = [
        SparkColumn(one.name, _TYPES.get(type(one.dataType), DataType.STRING), spark_type=_text(one.dataType))
        for one in schema.fields
    ]
    if time is None:
        columns.append(Column(NO_TIME, DataType.TIMESTAMP))
    return StreamSchema(name, tuple(columns), time=time or NO_TIME, owner=owner)


def _text(kind: spark_types.DataType) -> str:
    """The type as Spark has it in plans, where texts of some length are texts."""
    fixed = isinstance(kind, spark_types.CharType | spark_types.VarcharType)
    return "string" if fixed else kind.simpleString()


def exact_type(column: Column) -> str:
    """What Spark must call the type of a column when its reader chose it.

    >>> exact_type(Column("id", DataType.INT)), exact_type(SparkColumn("id", DataType.INT, spark_type="tinyint"))
    ('int', 'tinyint')
    """
    return column.spark_type if isinstance(column, SparkColumn) else column.type.value
