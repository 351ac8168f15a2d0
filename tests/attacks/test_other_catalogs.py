"""A table of another catalog is not the one of the same name that the policies know (ways in 6 and 7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from guarded import DERBY, EMPLOYEES, database_catalog, policy, refused, rows, started_with

from headgate.guard.objects import Objects
from headgate.guard.plan import Node


@pytest.fixture(scope="module")
def other(world, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """`other.APP.emp` in a database of its own, beside `app.emp`, which everybody may read."""
    url = f"jdbc:derby:{tmp_path_factory.mktemp('other') / 'database'};create=true"
    spark = world.spark
    spark.sparkContext._jvm.java.lang.System.setProperty("derby.stream.error.field", "java.lang.System.err")
    columns = "id int, name string, dept string, salary int, since string"
    spark.createDataFrame(EMPLOYEES, columns).write.option("driver", DERBY).jdbc(url, 'APP."emp"')
    spark.sql("CREATE DATABASE IF NOT EXISTS app")
    world.table("app.emp", EMPLOYEES[:1], columns)
    with started_with(spark, database_catalog("other", url)):
        yield world
    spark.sql("DROP DATABASE app CASCADE")


def allowed(table: str) -> str:
    return policy("some", "object: {tables: [TABLE], where: 'id < 3'}, allow: [read]", table=f"'{table}'")


def test_a_name_in_another_catalog_is_not_taken_for_one_of_ours(other) -> None:
    ann = other.session("ann", allowed("app.emp"), tables=("app.emp",))
    assert len(rows(ann.table("app.emp"))) == 1
    for query in ("SELECT name FROM other.APP.emp", "SELECT count(*) FROM IDENTIFIER('other.APP.emp')"):
        with refused("the table `other.APP.emp` is not known"):
            ann.sql(query).collect()


def test_a_table_of_another_catalog_is_governed_by_its_whole_name(other) -> None:
    ann = other.session("ann", allowed("other.APP.emp"), tables=("other.APP.emp", "app.emp"))
    assert [one.id for one in ann.sql("SELECT id FROM other.APP.emp").collect()] == [1, 2]
    with refused():
        ann.table("app.emp").collect()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dbtable", '(SELECT 1 AS "id", CAST("salary" AS VARCHAR(20)) AS "name" FROM APP."emp") x'),
        ("url", "jdbc:derby:memory:elsewhere;create=true"),
        ("user", "root"),
        ("query", "SELECT 1"),
        ("prepareQuery", "SELECT 1"),
    ],
)
def test_what_a_catalog_says_of_a_database_is_not_the_users_to_say(other, key, value) -> None:
    ann = other.session("ann", allowed("other.APP.emp"), tables=("other.APP.emp",))
    assert [one.id for one in ann.read.option("fetchsize", "1").table("other.APP.emp").select("id").collect()] == [1, 2]
    with refused(f"the option `{key.lower()}` is not allowed for `other.APP.emp`"):
        ann.read.option(key, value).table("other.APP.emp").select("id", "name").collect()
    text = value.replace("'", "''")
    with refused(f"the option `{key.lower()}` is not allowed for `other.APP.emp`"):
        ann.sql(f"SELECT id, name FROM other.APP.emp WITH ({key} = '{text}')").collect()


@pytest.mark.parametrize(
    ("parts", "table"),
    [
        (["spark_catalog", "ns", "emp"], "ns.emp"),
        (["spark_catalog", "NS", "Emp"], "ns.emp"),
        (["other", "ns", "emp"], None),
        (["ns", "emp"], None),
        (["", "ns", "emp"], None),
        (["spark_catalog", "other", "ns", "emp"], None),
        (["third", "a", "b", "emp"], "third.a.b.emp"),
        (["a", "b", "emp"], None),
    ],
)
def test_names_are_compared_whole(parts, table) -> None:
    """`ns.emp` is one of ours, and the table `emp` of a catalog `ns` that has no namespaces is not."""
    leaf = Node(0, "DataSourceV2Relation", (1,), (), {"source": "v2", "table": ".".join(parts), "parts": parts})
    assert Objects(("ns.emp", "third.a.b.emp")).object_of(leaf) == table
