"""Topics under the guard, read at once and as streams, from a real broker."""

from __future__ import annotations

from typing import Any

import pytest
from guarded import printed
from kafka_broker import Kafka, kafka

__all__ = ["kafka"]  # a fixture

pytestmark = pytest.mark.long

PROGRAM = """
import json, sys
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from headgate.guard import Guard, Settings, Source, session, table_schema
from headgate.model.schema import StreamCatalog
from headgate.model.subject import User
from headgate.policy.yaml_file import parse_policies

servers, jars, folder = sys.argv[1:]
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.jars", jars)
builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1")
spark = builder.config("spark.sql.warehouse.dir", folder + "/warehouse").getOrCreate()
for topic, words in (("words", ["Fund", "Association", "Insurance"]), ("pay", ["100"])):
    frame = spark.createDataFrame([(one,) for one in words], "value string").coalesce(1)
    frame.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", topic).save()

def of(reader, topic):
    options = {"kafka.bootstrap.servers": servers, "subscribe": topic, "startingOffsets": "earliest"}
    return reader.format("kafka").options(**options).load()

catalog = StreamCatalog([table_schema("words", of(spark.read, "words").schema)])
policies = '''
version: 1
policies:
  - {id: rest, subject: {role: r}, object: {tables: [words], where: offset > 0}, allow: [read]}
'''
source = Source(format="kafka", options={"kafka.bootstrap.servers": servers, "subscribe": "words"})
users = {"ann": User("ann", frozenset(["r"]))}
guard = Guard(catalog, parse_policies(policies, catalog), users, Settings({"words": source}))
ann = session("ann", guard, spark)

def answer(make):
    try:
        return sorted(row[0] for row in make())
    except Exception as error:
        return str(error)

def streamed(topic):
    query = of(ann.readStream, topic).selectExpr("CAST(value AS STRING)").writeStream.format("memory")
    query = query.queryName("s_" + topic).trigger(availableNow=True).start()
    query.awaitTermination(120)
    if query.exception() is not None:
        raise query.exception()
    return ann.table("s_" + topic).collect()

found = {
    "at once": answer(lambda: of(ann.read, "words").selectExpr("CAST(value AS STRING)").collect()),
    "as a stream": answer(lambda: streamed("words")),
    "counted": answer(lambda: of(ann.read, "words").groupBy().count().collect()),
    "another at once": answer(lambda: of(ann.read, "pay").selectExpr("CAST(value AS STRING)").collect()),
    "another as a stream": answer(lambda: streamed("pay")),
    "two": answer(lambda: of(ann.read, "words,pay").selectExpr("CAST(value AS STRING)").collect()),
}
print("answers " + json.dumps(found))
spark.stop()
"""


@pytest.fixture(scope="module")
def found(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program prints: the connector has to be there when Spark starts, so it has a Spark of its own."""
    folder = tmp_path_factory.mktemp("topics")
    answers: dict[str, Any] = printed(PROGRAM, folder, kafka.servers, ",".join(kafka.connector), str(folder))
    return answers


@pytest.mark.parametrize("how", ["at once", "as a stream"])
def test_what_policies_cover_of_a_topic_is_read(found: dict[str, Any], how: str) -> None:
    assert found[how] == ["Association", "Insurance"]


def test_withheld_messages_are_not_counted(found: dict[str, Any]) -> None:
    assert found["counted"] == [2]


@pytest.mark.parametrize("how", ["another at once", "another as a stream", "two"])
def test_a_topic_that_nobody_spoke_of_is_refused(found: dict[str, Any], how: str) -> None:
    assert "is not known; an administrator has to say" in found[how]
