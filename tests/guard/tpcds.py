"""TPC-DS: data from the generator that DuckDB's extension carries, its 99 queries, and two sets of policies."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_tpcds
from pyspark.sql import DataFrame, SparkSession

SHORT = (3, 27, 35, 38, 44, 67, 93)
"""Queries for every run: three of the paper's four, and others with set operations, rollups, windows, subqueries."""


def generate(folder: Path, scale: float) -> list[str]:
    """Writes all tables as Parquet; the names of the tables."""
    package = Path(duckdb_extension_tpcds.__file__).parent
    extension = next(package.rglob("*.duckdb_extension"))
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        connection.execute(f"LOAD '{extension}'")
        connection.execute(f"CALL dsdgen(sf={scale})")
        names = sorted(name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall())
        for name in names:
            connection.execute(f"COPY {name} TO '{folder / name}.parquet' (FORMAT parquet)")
    return names


def queries() -> dict[int, str]:
    """The queries by number, in Spark's spelling of quoted names."""
    extension = next(Path(duckdb_extension_tpcds.__file__).parent.rglob("*.duckdb_extension"))
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        connection.execute(f"LOAD '{extension}'")
        found = connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall()
    return {number: text.replace('"', "`") for number, text in found}


def create_tables(spark: SparkSession, folder: Path, names: Iterable[str]) -> None:
    """The tables of Spark's catalog over the files, in a database of their own that the session then uses."""
    spark.sql("DROP DATABASE IF EXISTS tpcds CASCADE")
    spark.sql(f"CREATE DATABASE tpcds LOCATION '{folder / 'database'}'")
    for name in names:
        spark.sql(f"CREATE TABLE tpcds.{name} USING parquet LOCATION '{folder / name}.parquet'")


def open_policies(names: Iterable[str]) -> str:
    """Nothing is withheld."""
    return "".join(
        f"  - {{id: {name}, subject: {{role: analyst}}, object: {{tables: [tpcds.{name}]}}, allow: [read]}}\n"
        for name in names
    )


WITHHELD = {
    # table: (rows that are there, {column: where its cells are})
    "store_sales": ("ss_quantity <= 60", {}),
    "customer": (None, {"c_last_name": "c_birth_year < 1970", "c_current_cdemo_sk": "c_birth_month <> 6"}),
    "item": ("i_manufact_id <> 7", {"i_current_price": "i_category <> 'Books'"}),
    "web_sales": (None, {"ws_ext_sales_price": "ws_quantity > 5"}),
    "store": (None, {"s_state": "s_market_id <> 4"}),
}
"""What the second set masks and filters, in words that mean the same in policies and in SQL."""


def closing_policies(spark: SparkSession, names: Iterable[str]) -> str:
    """The second set: rows filtered, cells masked with NULL."""
    text = ""
    for name in names:
        rows, cells = WITHHELD.get(name, (None, {}))
        where = f', where: "{rows}"' if rows else ""
        others = [one for one in spark.table(f"tpcds.{name}").columns if one not in cells]
        target = f"tables: [tpcds.{name}], attributes: [{', '.join(others)}]{where}"
        text += f"  - {{id: {name}, subject: {{role: analyst}}, object: {{{target}}}, allow: [read]}}\n"
        for column, condition in cells.items():
            both = f"({rows}) AND ({condition})" if rows else condition
            target = f'tables: [tpcds.{name}], attributes: [{column}], where: "{both}"'
            text += f"  - {{id: {name}-{column}, subject: {{role: analyst}}, object: {{{target}}}, allow: [read]}}\n"
    return text


def prepare_by_hand(spark: SparkSession, names: Iterable[str]) -> SparkSession:
    """A plain session in which views hold what the second set lets through."""
    prepared = spark.newSession()
    for name in names:
        rows, cells = WITHHELD.get(name, (None, {}))
        columns = [
            f"CASE WHEN {cells[one]} THEN {one} END AS {one}" if one in cells else one
            for one in spark.table(f"tpcds.{name}").columns
        ]
        prepared.sql(
            f"CREATE TEMPORARY VIEW {name} AS SELECT {', '.join(columns)} FROM tpcds.{name}"
            + (f" WHERE {rows}" if rows else "")
        )
    return prepared


def same(left: DataFrame, right: DataFrame) -> bool:
    """Whether two answers are equal, in any order, doubles up to the order they were added in."""
    found, wanted = (_sorted(frame.collect()) for frame in (left, right))
    return len(found) == len(wanted) and all(
        len(one) == len(other) and all(map(_close, one, other)) for one, other in zip(found, wanted, strict=True)
    )


def _sorted(rows: list[Any]) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in rows), key=lambda row: [_shown(one) for one in row])


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return bool(one == other)
