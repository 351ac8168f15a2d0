"""Way in 7: what a database takes for equal is not what a policy says: Derby does not mind blanks, others not case."""

from __future__ import annotations

from typing import Any

import pytest
from guarded import DERBY, USERS, database_catalog, physical, policy, refused, rows, started_with

from headgate.guard import Guard, Settings, Source, session, table_schema
from headgate.model.schema import StreamCatalog
from headgate.policy.yaml_file import parse_policies

JAVA8 = "spark.sql.datetime.java8API.enabled"
ZONE = "spark.sql.session.timeZone"
CATALOG = "spark.sql.catalog.people"
COLUMNS = "ID int, DEPT string, SALARY int, TS timestamp"


@pytest.fixture(scope="module")
def database(spark, tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"jdbc:derby:{tmp_path_factory.mktemp('derby') / 'people'};create=true"
    spark.sparkContext._jvm.java.lang.System.setProperty("derby.stream.error.field", "java.lang.System.err")
    moments = [(1, "A", 50, 0), (2, "A ", 60, 3600), (3, "B", 100, 7200)]
    frame = spark.createDataFrame(moments, "id int, dept string, salary int, s int")
    person = frame.selectExpr("id AS ID", "dept AS DEPT", "salary AS SALARY", "timestamp_seconds(s) AS TS").coalesce(1)
    options = {"url": url, "dbtable": "person", "driver": DERBY, "createTableColumnTypes": "DEPT VARCHAR(10)"}
    person.write.format("jdbc").options(**options).save()
    return url


def guard(spark: Any, url: str, rest: str) -> Guard:
    catalog = StreamCatalog([table_schema("person", spark.createDataFrame([], COLUMNS).schema)])
    found = parse_policies(f"version: 1\npolicies:\n{rest}", catalog)
    source = Source(url=url.partition(";")[0], table="person", options={"driver": DERBY})
    return Guard(catalog, found, USERS, Settings({"person": source}))


def asked(spark: Any, url: str, rest: str) -> Any:
    ann = session("ann", guard(spark, url, rest), spark)
    return ann, ann.read.format("jdbc").options(url=url, dbtable="person", driver=DERBY).load()


def only(where: str, columns: str = "") -> str:
    return policy("some", f'object: {{tables: [person]{columns}, where: "{where}"}}, allow: [read]')


CONDITIONS = {"dept = 'A'": [1], "dept IN ('A', 'x')": [1], "dept <> 'A '": [1, 3], "dept < 'A '": [1]}


@pytest.mark.parametrize("where", CONDITIONS)
def test_a_policy_on_texts_means_what_it_says(spark, database, where) -> None:
    _, frame = asked(spark, database, only(where))
    assert [one for (one,) in rows(frame.select("id"))] == CONDITIONS[where]
    pushed = "PushedFilters: [*" in physical(frame)
    assert pushed == ("<" not in where), "the database leaves out what it can"


def test_cells_too(spark, database) -> None:
    rest = policy("ids", "object: {tables: [person], attributes: [id]}, allow: [read]")
    _, frame = asked(spark, database, rest + only("dept = 'A'", ", attributes: [salary]"))
    assert rows(frame.select("id", "salary")) == [(1, 50), (2, None), (3, None)]
    assert rows(frame.where("salary > 0").select("id")) == [(1,)]
    assert rows(frame.groupBy().sum("salary")) == [(50,)]


def test_a_time_is_written_for_the_database_in_the_users_zone(spark, database) -> None:
    ann, frame = asked(spark, database, only("ts < TIMESTAMP '1970-01-01T00:30:00Z'"))
    ann.conf.set(JAVA8, "true")
    for zone in ("UTC", "Asia/Tokyo", "America/Lima"):
        ann.conf.set(ZONE, zone)
        assert {one for (one,) in rows(frame.select("id"))} <= {1}, zone


@pytest.fixture
def second(spark, database) -> Any:
    """The same database as a catalog, which Spark leaves more to."""
    leaving = {f"{CATALOG}.pushDownAggregate": "true", f"{CATALOG}.pushDownLimit": "true"}
    with started_with(spark, database_catalog("people", database) | leaving):
        yield spark


def test_a_catalog_of_a_database(second) -> None:
    name = "people.APP.PERSON"
    catalog = StreamCatalog([table_schema(name, second.table(name).schema)])
    rest = policy("some", f"object: {{tables: [{name}], where: dept = 'A'}}, allow: [read]")
    found = Guard(catalog, parse_policies(f"version: 1\npolicies:\n{rest}", catalog), USERS)
    ann = session("ann", found, second)
    assert rows(ann.sql(f"SELECT id FROM {name}")) == [(1,)]
    assert rows(ann.sql(f"SELECT count(*), max(salary) FROM {name}")) == [(1, 50)]
    assert rows(ann.sql(f"SELECT id FROM {name} ORDER BY id DESC LIMIT 1")) == [(1,)]


def test_times_that_are_taken_for_another_type_are_not_the_policys(spark, database) -> None:
    catalog = guard(spark, database, only("ts < TIMESTAMP '1970-01-01T00:30:00Z'"))
    ann = session("ann", catalog, spark)
    ann.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    frame = ann.read.format("jdbc").options(url=database, dbtable="person", driver=DERBY).load()
    assert dict(frame.dtypes)["TS"] == "timestamp_ntz"
    with refused():
        frame.select("id").collect()
