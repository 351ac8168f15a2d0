"""The case studies of GuardSpark++, section 6.4, but for streams: SQL, machine learning, graphs, a database."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from guarded import DERBY, USERS, physical, policy, refused, rows
from pyspark.ml.clustering import KMeans
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from sklearn.datasets import load_iris

from headgate.guard import Guard, Settings, Source, session, table_schema
from headgate.guard.build import compile_jar
from headgate.model.schema import StreamCatalog
from headgate.policy.yaml_file import parse_policies

MEASURES = ["first", "second", "third", "fourth"]
CLUSTERS = (2, 3, 4, 5, 6)

# 6.4.2: K-means on Iris. What may not be computed with is not there, as if it had been deleted by hand.


@pytest.fixture(scope="module")
def iris(world) -> DataFrame:
    world.table(
        "iris", [tuple(map(float, row)) for row in load_iris().data], ", ".join(f"{one} double" for one in MEASURES)
    )
    return world.spark.table("iris")


def squared_errors(frame: DataFrame, clusters: tuple[int, ...] = CLUSTERS) -> list[float]:
    """The within-set sum of squared errors for each number of clusters, of the rows whose measures are all there."""
    assembler = VectorAssembler(inputCols=MEASURES, outputCol="features", handleInvalid="skip")
    vectors = assembler.transform(frame).select("features").coalesce(1)
    return [KMeans(k=k, seed=7, maxIter=5).fit(vectors).summary.trainingCost for k in clusters]


@pytest.fixture(scope="module")
def without_small_sepals(iris) -> list[float]:
    """The errors after the rows were deleted by hand."""
    return squared_errors(iris.where("first > 5.5"))


def test_k_means_on_iris_without_the_first_measure_of_small_sepals(world, iris, without_small_sepals) -> None:
    """Figure 9(a): the other measures are used without restriction, and what is left is as if deleted by hand."""
    others = policy("others", "object: {tables: [iris], attributes: [second, third, fourth]}, allow: [read]")
    large = policy("large", "object: {tables: [iris], attributes: [first], where: first > 5.5}, allow: [read]")
    guarded = world.session("ann", others + large, tables=("iris",)).table("iris")
    small = iris.where("first <= 5.5").select("second", "third", "fourth")
    assert rows(guarded.where("first IS NULL").select("second", "third", "fourth")) == rows(small)
    found = squared_errors(guarded)
    assert found == pytest.approx(without_small_sepals)
    for one, plain in zip(found, squared_errors(iris), strict=True):
        assert one != pytest.approx(plain)


def test_k_means_on_iris_without_the_rows_of_small_sepals(world, iris, without_small_sepals) -> None:
    large = policy("large", "object: {tables: [iris], where: first > 5.5}, allow: [read]")
    guarded = world.session("ann", large, tables=("iris",)).table("iris")
    assert guarded.count() == iris.where("first > 5.5").count()
    assert squared_errors(guarded, CLUSTERS[:1]) == pytest.approx(without_small_sepals[:1])


# 6.4.3: PageRank on a graph whose most influential node is withheld.

HUB, SECOND_HUB = 5935, 5876


@pytest.fixture(scope="module")
def edges(world) -> DataFrame:
    chance = random.Random(3)
    nodes = list(range(100))
    made = {(one, HUB) for one in nodes} | {(one, SECOND_HUB) for one in nodes[:60]}
    made |= (
        {(one, chance.choice(nodes)) for one in nodes}
        | {(HUB, one) for one in nodes}
        | {(SECOND_HUB, one) for one in nodes}
    )
    world.table("edges", sorted(one for one in made if one[0] != one[1]), "src int, dst int")
    return world.spark.table("edges")


def page_rank(edges: DataFrame, iterations: int = 4) -> list[tuple[int, float]]:
    """PageRank in DataFrames, as GraphFrames computes it by messages along edges: rank, shared out, gathered."""
    degrees = edges.groupBy("src").count()
    nodes = edges.select("src").union(edges.select("dst")).distinct().toDF("id")
    ranks = nodes.withColumn("rank", f.lit(1.0))
    for _ in range(iterations):
        sent = edges.join(ranks, f.col("src") == f.col("id")).join(degrees, "src")
        gathered = sent.groupBy("dst").agg(f.sum(f.col("rank") / f.col("count")).alias("got"))
        ranks = nodes.join(gathered, nodes.id == gathered.dst, "left").select(
            "id", (0.15 + 0.85 * f.coalesce("got", f.lit(0.0))).alias("rank")
        )
    return [tuple(row) for row in ranks.orderBy(f.desc("rank"), "id").limit(5).collect()]


def test_page_rank_without_the_most_influential_node(world, edges) -> None:
    others = policy("others", f"object: {{tables: [edges], where: 'dst <> {HUB} AND src <> {HUB}'}}, allow: [read]")
    ann = world.session("ann", others, tables=("edges",))
    guarded = page_rank(ann.table("edges"))
    assert page_rank(edges)[0][0] == HUB
    assert guarded[0][0] == SECOND_HUB
    by_hand = page_rank(edges.where(f"dst <> {HUB} AND src <> {HUB}"))
    assert [one for one, _ in guarded] == [one for one, _ in by_hand]
    assert [rank for _, rank in guarded] == pytest.approx([rank for _, rank in by_hand])


@pytest.fixture(scope="module")
def graph_engine(spark, tmp_path_factory) -> Any:
    """Spark's own graph engine, which GraphFrames stands on, behind one function of the tests."""
    source = Path(__file__).parent / "scala" / "Ranks.scala"
    jar = tmp_path_factory.mktemp("jars") / "ranks.jar"
    compile_jar(jar, [(source.name, source.read_text(encoding="utf-8"))])
    jvm = spark.sparkContext._jvm
    jvm.Thread.currentThread().getContextClassLoader().addURL(jvm.java.io.File(str(jar)).toURI().toURL())
    spark._jsc.sc().addJar(str(jar))
    return jvm.headgate.tests.Ranks


def test_page_rank_of_the_graph_engine(world, edges, graph_engine) -> None:
    others = policy("others", f"object: {{tables: [edges], where: 'dst <> {HUB} AND src <> {HUB}'}}, allow: [read]")
    ann = world.session("ann", others, tables=("edges",))
    plain, guarded, by_hand = (
        [(int(node), float(rank)) for node, rank in map(str.split, graph_engine.first(one._jdf, 4).splitlines())]
        for one in (edges, ann.table("edges"), edges.where(f"dst <> {HUB} AND src <> {HUB}"))
    )
    assert plain[0][0] == HUB
    assert guarded[0][0] == SECOND_HUB
    assert [one for one, _ in guarded] == [one for one, _ in by_hand]
    assert [rank for _, rank in guarded] == pytest.approx([rank for _, rank in by_hand])


@pytest.fixture(scope="module")
def people(world) -> DataFrame:
    """Who is called what, and who knows whom: most know `a`."""
    pairs = [(one, other) for one in "bcdef" for other in "ab" if one != other] + [("a", "c"), ("b", "d")]
    world.table("links", pairs, "src string, dst string")
    named = [(one, f"of {one}", number) for number, one in enumerate("abcdef")]
    world.table("people", named, "id string, s string, n int")
    return world.spark.table("people")


@pytest.mark.parametrize("columns", ["id, s, n", "id, n"])
def test_page_rank_as_a_frame_again(world, people, graph_engine, columns) -> None:
    """Nodes with names, of which some rows, and perhaps a column, are withheld; ranks come back beside what is left."""
    links = world.spark.table("links")
    others = policy("links", "object: {tables: [links], where: src <> 'a' AND dst <> 'a'}, allow: [read]")
    others += policy(
        "people", f"object: {{tables: [people], attributes: [{columns}], where: id <> 'a'}}, allow: [read]"
    )
    ann = world.session("ann", others, tables=("links", "people"))
    left = people.where("id <> 'a'").withColumn("s", f.col("s") if "s" in columns else f.lit(None).cast("string"))
    plain, guarded, by_hand = (
        rows(DataFrame(graph_engine.joined(nodes._jdf, edges._jdf, 4), nodes.sparkSession))
        for nodes, edges in (
            (people, links),
            (ann.table("people"), ann.table("links")),
            (left, links.where("src <> 'a' AND dst <> 'a'")),
        )
    )
    assert max(plain, key=lambda one: one[-1])[0] == "a"
    assert [one[:3] for one in guarded] == [one[:3] for one in by_hand]
    assert [one[-1] for one in guarded] == pytest.approx([one[-1] for one in by_hand])


# 6.4.5: a relational database, here one that Spark carries.


@pytest.fixture(scope="module")
def database(spark, tmp_path_factory) -> str:
    url = f"jdbc:derby:{tmp_path_factory.mktemp('derby') / 'company'};create=true"
    spark.sparkContext._jvm.java.lang.System.setProperty("derby.stream.error.field", "java.lang.System.err")
    customers = spark.createDataFrame(
        [(number, f"customer {number}") for number in range(5, 16)], "id int, name string"
    )
    customers.coalesce(1).write.format("jdbc").options(url=url, dbtable="customer", driver=DERBY).save()
    return url


def company(database: str, spark: Any, where: str = "id > 10") -> Guard:
    schema = spark.createDataFrame([(1, "a")], "ID int, NAME string").schema
    catalog = StreamCatalog([table_schema("customer", schema)])
    text = policy("some", f"object: {{tables: [customer], where: {where}}}, allow: [read]")
    source = Source(url=database.partition(";")[0], table="customer", options={"driver": DERBY})
    return Guard(
        catalog, parse_policies(f"version: 1\npolicies:\n{text}", catalog), USERS, Settings({"customer": source})
    )


def test_a_table_of_a_database(spark, database) -> None:
    ann = session("ann", company(database, spark), spark)
    frame = ann.read.format("jdbc").options(url=database, dbtable="customer", driver=DERBY).load()
    assert [row[0] for row in rows(frame)] == list(range(11, 16))
    assert "GreaterThan(id,10)" in physical(frame)


def test_a_database_is_asked_for_what_differs(spark, database) -> None:
    """Other than files: what it leaves out need not be sent."""
    ann = session("ann", company(database, spark, "id <> 10"), spark)
    frame = ann.read.format("jdbc").options(url=database, dbtable="customer", driver=DERBY).load()
    assert [row[0] for row in rows(frame)] == [11, 12, 13, 14, 15, 5, 6, 7, 8, 9]
    assert "Not(EqualTo(id,10))" in physical(frame)


@pytest.mark.parametrize("table", ["(SELECT * FROM customer) AS x", "other"])
def test_a_query_inside_the_database_is_not_the_table(spark, database, table) -> None:
    ann = session("ann", company(database, spark), spark)
    with pytest.raises(Exception, match=r"is not known|does not exist"):
        ann.read.format("jdbc").options(url=database, dbtable=table, driver=DERBY).load().collect()


def asked(ann: Any, database: str, **options: str) -> DataFrame:
    return (
        ann.read.format("jdbc").options(**{"url": database, "dbtable": "customer", "driver": DERBY, **options}).load()
    )


def test_clauses_of_the_users_are_not_put_to_a_database(spark, database) -> None:
    """Spark writes `WHERE (policy) AND (clause)`, so that a clause could take the brackets apart."""
    ann = session("ann", company(database, spark), spark)
    read = {"properties": {"driver": DERBY}}
    for clauses in (["1=1) OR (1=1"], ["id < 12", "id >= 12"]):
        with refused("`predicates` are not allowed for `customer`; use `partitionColumn`"):
            ann.read.jdbc(database, "customer", predicates=clauses, **read).collect()
    beside = ann.read.options(partitionColumn="ID", lowerBound="5", upperBound="16", numPartitions="2")
    with refused("`predicates` are not allowed"):
        beside.jdbc(database, "customer", predicates=["1=1) OR (1=1", "1=0"], **read).collect()


def test_a_database_is_read_in_parts(spark, database) -> None:
    ann = session("ann", company(database, spark), spark)
    parts = {"partitionColumn": "ID", "lowerBound": "5", "upperBound": "16", "numPartitions": "3", "fetchsize": "2"}
    frame = asked(ann, database, **parts)
    assert frame.rdd.getNumPartitions() == 3
    assert [row[0] for row in rows(frame)] == list(range(11, 16))


def test_parts_of_a_database_table_are_not_made_by_what_may_not_be_used(spark, database) -> None:
    """The number of a row's part would tell where its value lies."""
    guard = company(database, spark)
    some = policy("some", "object: {tables: [customer], attributes: [NAME]}, allow: [read]")
    guard.replace_policies(parse_policies(f"version: 1\npolicies:\n{some}", guard.catalog))
    ann = session("ann", guard, spark)
    assert len(rows(asked(ann, database).select("NAME"))) == 11
    parts = {"partitionColumn": "id", "lowerBound": "5", "upperBound": "16", "numPartitions": "11"}
    frame = asked(ann, database, **parts).selectExpr("NAME", "shiftright(monotonically_increasing_id(), 33)")
    with refused("rows of `customer` may not be chosen by `ID`"):
        frame.collect()
    low = policy("low", "object: {tables: [customer], attributes: [ID], where: id < 8}, allow: [assist]")
    guard.replace_policies(parse_policies(f"version: 1\npolicies:\n{some}{low}", guard.catalog))
    assert [row[1] for row in rows(frame)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("prepareQuery", "SELECT 1"),
        ("shutdown", "true"),
        ("sessionInitStatement", "SET SCHEMA other"),
        ("customSchema", "ID string"),
        ("hint", "/*+ first */"),
        ("preferTimestampNTZ", "true"),
        ("connectionProvider", "basic"),
        ("territory", "de_DE"),
        ("driver", "java.util.concurrent.ForkJoinPool"),
    ],
)
def test_options_that_change_what_a_database_answers(spark, database, key, value) -> None:
    ann = session("ann", company(database, spark), spark)
    with refused(f"the option `{key.lower()}` is not allowed for `customer`; an administrator has to"):
        asked(ann, database, **{key: value})  # who asks for columns has asked the database


def test_parameters_that_are_added_to_an_address(spark, database) -> None:
    ann = session("ann", company(database, spark), spark)
    for more in (";territory=de_DE", ";create=true;territory=de_DE"):
        with refused("is not known"):
            asked(ann, database.partition(";")[0] + more).collect()
    assert len(rows(asked(ann, database + ";user=app"))) == 5


def test_options_of_a_source_that_is_a_database_must_be_given(spark, database) -> None:
    guard = company(database, spark)
    source = replace(
        guard.settings.sources["customer"], options={"sessionInitStatement": "VALUES 1", "user": "app", "driver": DERBY}
    )
    guard = Guard(guard.catalog, guard.policies, USERS, Settings({"customer": source}))
    ann = session("ann", guard, spark)
    assert len(rows(asked(ann, database, sessionInitStatement="VALUES 1", user="app"))) == 5
    with refused("`customer` is read with the option `user`"):
        asked(ann, database, sessionInitStatement="VALUES 1", user="APP").collect()
    with refused("`customer` is read with the option `sessioninitstatement`"):
        asked(ann, database, user="app").collect()


def test_options_with_a_database_table_of_the_catalog(world, database) -> None:
    spark = world.spark
    spark.sql("DROP TABLE IF EXISTS customers")
    named = f"url '{database}', dbtable 'customer', driver '{DERBY}', customSchema 'ID int, NAME string'"
    spark.sql(f"CREATE TABLE customers USING jdbc OPTIONS ({named})")
    some = policy("some", "object: {tables: [customers], where: id > 10}, allow: [read]")
    guard = world.guard(some, tables=("customers",))
    assert len(rows(session("ann", guard, spark).read.option("fetchsize", "2").table("customers"))) == 5
    ann = session("ann", guard, spark)  # a session keeps the relation as it was first asked for
    with refused("the option `sessioninitstatement` is not allowed for `customers`"):
        ann.read.option("sessionInitStatement", "VALUES 1").table("customers").collect()
