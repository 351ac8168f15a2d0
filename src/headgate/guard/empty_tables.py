"""A small Spark in which the tables of a catalog are there, and empty: enough to analyse what somebody would ask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headgate.errors import InputError
from headgate.guard.objects import DEFAULT_NAMESPACE, normal_name
from headgate.guard.schema import exact_type
from headgate.guard.settings import NO_TIME
from headgate.model.schema import StreamCatalog, StreamSchema
from headgate.spark.session import start_session

_HERE = dict.fromkeys(("spark.driver.bindAddress", "spark.driver.host"), "127.0.0.1")


@contextmanager
def empty_tables(catalog: StreamCatalog) -> Iterator[SparkSession]:
    """A Spark of this process with an empty table for each of the catalog's, which is gone afterwards."""
    if SparkSession.getActiveSession() is not None:
        raise InputError("this process already runs Spark", hint="explain SQL in a process of its own")
    with TemporaryDirectory(prefix="headgate-") as folder:
        spark = start_session("local[1]", {"spark.sql.warehouse.dir": folder, **_HERE})
        try:
            spark.sparkContext.setLogLevel("OFF")
            for one in catalog:
                _create(spark, one)
            yield spark
        finally:
            spark.stop()


def _create(spark: SparkSession, schema: StreamSchema) -> None:
    home, namespace, *rest = normal_name(schema.name)
    if home != DEFAULT_NAMESPACE[0] or len(rest) != 1:
        raise InputError(f"the table `{schema.name}` is one of another catalog", hint="leave it out of the scenario")
    columns = [f"{_quoted(one.name)} {exact_type(one)}" for one in schema.columns if one.name != NO_TIME]
    try:
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {_quoted(namespace)}")
        spark.sql(f"CREATE TABLE {_quoted(namespace)}.{_quoted(rest[0])} ({', '.join(columns)}) USING parquet")
    except PySparkException as error:
        words = str(error).strip().partition("\n")[0]
        raise InputError(f"Spark cannot have a table like `{schema.name}`: {words}") from error


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
