"""TPC-DS: data from the generator that DuckDB's extension carries, its 99 queries, and two sets of policies."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import duckdb_extension_tpcds
from pyspark.sql import DataFrame, SparkSession

SHORT = (12, 22, 27, 35, 38, 67, 81, 93)
"""Queries for every run: three of the paper's four, and others with set operations, rollups, windows, subqueries.

All but the paper's 93 have rows at the scale of the tests."""


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


MASKED = {"item": {"i_product_name": "hash"}, "customer": {"c_salutation": "zero"}}
"""Columns that the second set lets be used and never be seen, with their masks."""

_MASK_OF = {"best_performing": "hash", "worst_performing": "hash", "product_name": "hash"} | {
    column: mask for masks in MASKED.values() for column, mask in masks.items()
}
"""The same by what the queries call them."""

_BY_HAND: dict[str, Callable[[Any], Any]] = {
    "hash": lambda text: None if text is None else hashlib.sha256(text.encode()).hexdigest(),
    "zero": lambda _: "0",
}


def closing_policies(spark: SparkSession, names: Iterable[str]) -> str:
    """The second set: rows filtered, cells masked with NULL, columns masked altogether."""
    text = ""
    for name in names:
        rows, cells = WITHHELD.get(name, (None, {}))
        masks = MASKED.get(name, {})
        where = f', where: "{rows}"' if rows else ""
        others = [one for one in spark.table(f"tpcds.{name}").columns if one not in cells and one not in masks]
        target = f"tables: [tpcds.{name}], attributes: [{', '.join(others)}]{where}"
        text += f"  - {{id: {name}, subject: {{role: analyst}}, object: {{{target}}}, allow: [read]}}\n"
        for column, condition in cells.items():
            both = f"({rows}) AND ({condition})" if rows else condition
            target = f'tables: [tpcds.{name}], attributes: [{column}], where: "{both}"'
            text += f"  - {{id: {name}-{column}, subject: {{role: analyst}}, object: {{{target}}}, allow: [read]}}\n"
        for column, mask in masks.items():
            target = f"subject: {{role: analyst}}, object: {{tables: [tpcds.{name}], attributes: [{column}]{where}}}"
            text += f"  - {{id: {name}-{column}, {target}, allow: [assist, compute], mask: {mask}}}\n"
    return text


def prepare_by_hand(spark: SparkSession, names: Iterable[str]) -> SparkSession:
    """A plain session in which views hold what the second set lets through; for its masks see `masked_by_hand`."""
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


class Answer(NamedTuple):
    """What a query gave: names and types of its columns, its rows, and the places of the columns it sorts by."""

    columns: list[tuple[str, str]]
    rows: list[tuple[Any, ...]]
    sorted_by: list[int]

    @classmethod
    def of(cls, frame: DataFrame) -> Answer:
        return cls(frame.dtypes, [tuple(row) for row in frame.collect()], _sorted_by(frame))

    def masked_by_hand(self) -> Answer:
        """With the masks of the second set on what is shown of its columns; they were used as they are."""
        masks = [_BY_HAND.get(_MASK_OF.get(name, "")) for name, _ in self.columns]
        rows = [tuple(mask(one) if mask else one for mask, one in zip(masks, row, strict=True)) for row in self.rows]
        return self._replace(rows=rows)

    def same_as(self, other: Answer) -> bool:
        """Whether the columns are equal, the rows, and their order as far as the query says; the rest may differ.

        Doubles are equal up to the order in which they were added.
        """
        places = other.sorted_by
        keys, wanted = ([tuple(row[place] for place in places) for row in one.rows] for one in (self, other))
        return (
            self.columns == other.columns and _equal(keys, wanted) and _equal(_sorted(self.rows), _sorted(other.rows))
        )


_ABOVE_A_SORT = frozenset(("GlobalLimit", "LocalLimit", "Project", "SubqueryAlias", "WithCTE"))


def _sorted_by(frame: DataFrame) -> list[int]:
    """The places of the columns that the root sorts by, as far as all before them are among the columns, too."""
    plan = frame._jdf.queryExecution().analyzed()
    ids = [plan.output().apply(place).exprId() for place in range(plan.output().size())]
    while plan.nodeName() in _ABOVE_A_SORT:
        plan = plan.plan() if plan.nodeName() == "WithCTE" else plan.children().apply(0)
    places: list[int] = []
    order = plan.order() if plan.nodeName() == "Sort" else None
    for place in range(order.size() if order is not None else 0):
        key = order.apply(place).child()
        found = [
            other for other, one in enumerate(ids) if key.nodeName() == "AttributeReference" and one == key.exprId()
        ]
        if not found:
            break
        places += found[:1]
    return places


def _equal(found: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> bool:
    return len(found) == len(wanted) and all(
        len(one) == len(other) and all(map(_close, one, other)) for one, other in zip(found, wanted, strict=True)
    )


def _sorted(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: [_shown(one) for one in row])


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return bool(one == other)
