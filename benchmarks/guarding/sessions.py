"""Spark with the tables of TPC-DS: two plain sessions and two guarded ones, by the policies of the paper's table 1."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from headgate.guard import Guard, catalog_of, session
from headgate.model.subject import User
from headgate.policy.yaml_file import parse_policies

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "guard"))

import tpcds

ANN = User("ann", frozenset({"analyst"}))

JAVA = "-XX:ReservedCodeCacheSize=1g"
"""After 85 queries 4 % of the room was left that Java has for compiled code by default. From 10 % on it throws out what
was not used lately, the planner's code among it, and whoever comes next is slow."""

TABLE_1 = {
    "date_dim": {"d_week_seq": "d_week_seq > 0"},
    "store_sales": {"ss_list_price": "ss_list_price > 0", "ss_customer_sk": "ss_customer_sk <> -1"},
    "customer_demographics": {"cd_gender": "cd_gender <> 'no'"},
}
"""Columns 5, 13, 4 and 2 of these tables, and for which values they may be used: for all that there are."""

PLAIN = ("plain", "plain again")
GUARDED = ("guarded", "guarded again")
KINDS = ("plain", "guarded", "plain again", "guarded again")


OTHERS, OWN, DENIALS = "other users'", "the user's own, beside wider ones", "the user's own, each of which withholds"
"""Whose rules there may be beside those of table 1: on whole tables, or on some rows of one column after the other."""


def policies(names: list[str], spark: SparkSession, more: int = 0, whose: str = OTHERS) -> str:
    """The policies of table 1, everything else open, and as many rules beside as are asked for."""
    lines = []
    for name in names:
        cells = TABLE_1.get(name, {})
        others = [one for one in spark.table(f"tpcds.{name}").columns if one not in cells]
        head = f"subject: {{role: analyst}}, object: {{tables: [tpcds.{name}], attributes: "
        lines.append(f"  - {{id: {name}, {head}[{', '.join(others)}]}}, allow: [read]}}")
        for column, where in cells.items():
            lines.append(f'  - {{id: {name}-{column}, {head}[{column}], where: "{where}"}}, allow: [read]}}')
    columns = [(name, *one) for name in names for one in spark.table(f"tpcds.{name}").dtypes] if whose != OTHERS else []
    for number in range(more):
        who, what, does = f"user: user{number}", f"tables: [tpcds.{names[number % len(names)]}]", "allow"
        if whose != OTHERS:
            table, column, kind = columns[number % len(columns)]
            some = f"{column} IS NOT NULL" if whose == OWN else _one_value(column, kind, number)
            who, what = "role: analyst", f'tables: [tpcds.{table}], attributes: [{column}], where: "{some}"'
            does = "allow" if whose == OWN else "deny"
        lines.append(f"  - {{id: rule-{number}, subject: {{{who}}}, object: {{{what}}}, {does}: [read]}}")
    return "version: 1\npolicies:\n" + "\n".join(lines)


def _one_value(column: str, kind: str, number: int) -> str:
    """A condition that is another one for each number."""
    if kind == "date":
        return f"{column} = DATE '{2100 + number // 365}-01-01'"
    return f"{column} = '{number}'" if kind == "string" else f"{column} = -{number + 10}"


def generated(data: Path, scale: float) -> list[str]:
    """The names of the tables in a folder, which are made if they are not there."""
    names = sorted(one.stem for one in data.glob("*.parquet"))
    if names:
        return names
    data.mkdir(parents=True, exist_ok=True)
    return tpcds.generate(data, scale)


@contextmanager
def started(data: Path, partitions: int) -> Iterator[SparkSession]:
    """A Spark of its own, in which a query's code stays warm."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(partitions))
        .config("spark.driver.memory", "10g")
        .config("spark.sql.debug.maxToStringFields", "1000")  # so that plans that read the same are the same
        .config("spark.sql.maxMetadataStringLength", "10000")
        .config("spark.sql.codegen.cache.maxEntries", "5000")  # what was warm stays warm,
        .config("spark.driver.extraJavaOptions", JAVA)  # and there is room for all of it
        .config("spark.sql.warehouse.dir", str(data / "warehouse"))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    tpcds.create_tables(spark, data, generated(data, 0))
    try:
        yield spark
    finally:
        spark.stop()


def opened(spark: SparkSession, names: list[str]) -> dict[str, SparkSession]:
    """By kind. There are two of each, because what equal ones differ by is what the machine can tell, and because Java
    makes better code of what it has seen more often: that of plain queries would be seen twice as often."""
    guard = guard_of(spark, names)
    sessions = {kind: spark.newSession() if kind in PLAIN else session("ann", guard, spark) for kind in KINDS}
    for one in sessions.values():
        one.catalog.setCurrentDatabase("tpcds")
    return sessions


def guard_of(spark: SparkSession, names: list[str], more: int = 0, whose: str = OTHERS) -> Guard:
    catalog = catalog_of(spark, [f"tpcds.{name}" for name in names])
    return Guard(catalog, parse_policies(policies(names, spark, more, whose), catalog), {"ann": ANN})
