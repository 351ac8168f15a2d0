"""Tables of Hive under the guard: read by Hive's own reader, converted to Spark's, and by their place."""

from __future__ import annotations

from typing import Any

import pytest
from guarded import printed

PROGRAM = """
import json, sys
from pathlib import Path
from pyspark.sql import SparkSession
from headgate.errors import InputError
from headgate.guard import Guard, catalog_of, session
from headgate.guard.tables import make_tables
from headgate.model.subject import User
from headgate.policy.yaml_file import parse_policies
from headgate.scenario.load import load_scenario

folder = sys.argv[1]
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").enableHiveSupport()
builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1")
builder = builder.config("spark.sql.warehouse.dir", folder + "/warehouse")
metastore = "jdbc:derby:;databaseName=" + folder + "/metastore;create=true"
spark = builder.config("spark.hadoop.javax.jdo.option.ConnectionURL", metastore).getOrCreate()
TABLES = ("lines", "columns", "hidden")
for name, stored in zip(TABLES, ("TEXTFILE", "PARQUET", "TEXTFILE")):
    spark.sql(f"CREATE TABLE {name} (id INT, name STRING, salary INT) PARTITIONED BY (dept STRING) STORED AS {stored}")
    for dept, rows in (("A", "(1, 'Ann', 50), (2, 'Bob', 60)"), ("B", "(3, 'Cid', 100)")):
        spark.sql(f"INSERT INTO {name} PARTITION (dept = '{dept}') VALUES {rows}")
catalog = catalog_of(spark, TABLES)
policies = "version: 1\\npolicies:\\n" + "".join(
    f"  - {{id: {name}-{column}, subject: {{role: r}}, object: {{tables: [{name}], attributes: [{column}], "
    f"where: '{where}'}}, allow: [read]}}\\n"
    for name in TABLES[:2]
    for column, where in (("id", "TRUE"), ("name", "TRUE"), ("dept", "TRUE"), ("salary", "salary < 90"))
)
guard = Guard(catalog, parse_policies(policies, catalog), {"ann": User("ann", frozenset(["r"]))})
ann = session("ann", guard, spark)
read = ann.read.schema("id int, salary int")

def answer(make):
    try:
        return sorted(map(list, make().collect()), key=str)
    except Exception as error:
        return str(error)

answers = {
    name: {
        "cells": answer(lambda: ann.sql(f"SELECT id, salary FROM {name}")),
        "partition": answer(lambda: ann.sql(f"SELECT id, salary FROM {name} WHERE dept = 'B'")),
        "error": answer(lambda: ann.sql(f"SELECT id FROM {name} WHERE 1 / (salary - 100) < 5")),
        "files": answer(lambda: read.parquet(f"{folder}/warehouse/{name}").select("id", "salary")),
    }
    for name in TABLES
}

def served(stream):
    path = Path(folder) / "scenario.yaml"
    declared = "{columns: {ts: timestamp, id: int}, elements: [{ts: '2026-01-01T00:00:00Z', id: 7}]}"
    path.write_text(f"version: 1\\nstreams: {{{stream}: {declared}}}\\n")
    try:
        return make_tables(spark, load_scenario(path), (), Path(folder))
    except InputError as error:
        return [error.message]

answers["served"] = {"known": served("lines"), "new": served("others"), "count": spark.table("lines").count()}
print("answers " + json.dumps(answers))
spark.stop()
"""

SEEN = [[1, 50], [2, 60], [3, None]]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Whether Spark's catalog is Hive's is settled when Spark starts, so this has a Spark of its own."""
    folder = tmp_path_factory.mktemp("hive")
    found: dict[str, Any] = printed(PROGRAM, folder, str(folder))
    return found


@pytest.mark.parametrize("table", ["lines", "columns"])
def test_cells_of_hive_tables_are_guarded(answers: dict[str, Any], table: str) -> None:
    assert answers[table]["cells"] == SEEN
    assert answers[table]["partition"] == [[3, None]]


@pytest.mark.parametrize("table", ["lines", "columns"])
def test_a_predicate_does_not_meet_withheld_cells_of_hive_tables(answers: dict[str, Any], table: str) -> None:
    assert answers[table]["error"] == [[1], [2]]


def test_files_of_a_hive_table_are_the_table(answers: dict[str, Any]) -> None:
    assert answers["columns"]["files"] == SEEN
    assert "are not read as `parquet`" in answers["lines"]["files"]


def test_a_hive_table_without_a_policy_is_closed(answers: dict[str, Any]) -> None:
    assert all("refused by the guard" in one for one in answers["hidden"].values())


def test_a_catalog_that_lasts_is_used_as_it_is(answers: dict[str, Any]) -> None:
    """The elements of a scenario go when the endpoint does, and so are none of its tables."""
    assert answers["served"]["known"] == ["`lines` is in the catalog already, and is used as it is"]
    assert answers["served"]["count"] == 3
    assert answers["served"]["new"] == ["the elements of stream `others` have no place in a catalog that lasts"]
