"""Structured Streaming under the guard: words withheld, and policies that change while a query runs (section 6.4.4)."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from guarded import USERS, drained, policy, refused, rows
from pyspark.errors import StreamingQueryException
from pyspark.sql.functions import explode, split

from headgate.guard import Guard, Settings, Source, catalog_of, session, table_schema
from headgate.model.schema import StreamCatalog
from headgate.policy.model import PolicySet
from headgate.policy.yaml_file import parse_policies

NO_FUND = policy("no-fund", "object: {tables: [words], where: value <> 'Fund'}, allow: [read]")
NO_INSURANCE = policy("no-insurance", "object: {tables: [words], where: value <> 'Insurance'}, allow: [read]")
FIRST, SECOND = ["Fund", "Association"], ["Fund", "Association", "Insurance"]
"""The groups of words that the paper sends."""


def words_guard(spark: Any, text: str, source: Source, *writable: str) -> Guard:
    catalog = StreamCatalog([table_schema("words", spark.createDataFrame([("a",)], "value string").schema)])
    return Guard(catalog, policies(catalog, text), USERS, Settings({"words": source}, writable=writable))


def policies(catalog: StreamCatalog, text: str) -> PolicySet:
    return parse_policies(f"version: 1\npolicies:\n{text}", catalog)


def counted(lines: Any) -> Any:
    words = lines.select(explode(split(lines.value, " ")).alias("word"))
    return words.groupBy("word").count()


@contextmanager
def served(batches: list[list[str]]) -> Iterator[tuple[int, threading.Semaphore]]:
    """A server that sends one batch of lines each time it is told to."""
    listener = socket.create_server(("127.0.0.1", 0))
    go = threading.Semaphore(0)

    def send() -> None:
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                for batch in batches:
                    go.acquire()
                    connection.sendall("".join(f"{word}\n" for word in batch).encode())
                go.acquire()

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1], go
    finally:
        go.release(10)
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # wakes whoever still waits for a client
        thread.join(10)
        listener.close()


def until(condition: Any, query: Any) -> None:
    """Wait, without sleeping, until a running query has come so far."""
    for _ in range(600):
        query.processAllAvailable()
        if condition():
            return
        query.awaitTermination(1)
    raise AssertionError("the stream did not come so far")


def test_word_count_from_a_socket_with_one_word_withheld(spark) -> None:
    with served([FIRST, SECOND]) as (port, go):
        guard = words_guard(spark, NO_FUND, Source(format="socket", options={"host": "localhost", "port": str(port)}))
        ann = session("ann", guard, spark)
        lines = ann.readStream.format("socket").option("host", "localhost").option("port", port).load()
        query = counted(lines).writeStream.outputMode("complete").format("memory").queryName("socket_words").start()
        go.release()
        until(lambda: rows(ann.table("socket_words")) == [("Association", 1)], query)
        go.release()
        until(lambda: rows(ann.table("socket_words")) == [("Association", 2), ("Insurance", 1)], query)
        query.stop()


def test_a_socket_that_nobody_spoke_of_is_not_connected_to(spark) -> None:
    with socket.create_server(("localhost", 0)) as server:
        guard = words_guard(spark, NO_FUND, Source(format="socket", options={"host": "localhost", "port": "1"}))
        ann = session("ann", guard, spark)
        read = ann.readStream.format("socket").option("host", "localhost")
        with refused("the source `socket` is not known; an administrator has to say"):
            read.option("port", server.getsockname()[1]).load()
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_stream_without_batches_is_refused(spark, tmp_path) -> None:
    """Way in 13: what comes during a long batch would be decided by what was decided when it began."""
    with served([FIRST]) as (port, go):
        guard = words_guard(spark, NO_FUND, Source(format="socket", options={"host": "localhost", "port": str(port)}))
        ann = session("ann", guard, spark)
        lines = ann.readStream.format("socket").options(host="localhost", port=port).load()
        query = lines.writeStream.format("console").trigger(continuous="1 second").start()
        go.release()
        with pytest.raises(
            StreamingQueryException, match="the triggers `continuous` and `realTime` are not decided on"
        ):
            query.awaitTermination(60)


def test_a_socket_is_read_as_its_source_says(spark) -> None:
    with served([FIRST]) as (port, go):
        guard = words_guard(spark, NO_FUND, Source(format="socket", options={"host": "localhost", "port": str(port)}))
        ann = session("ann", guard, spark)
        read = ann.readStream.format("socket").options(host="localhost", port=port)
        stream = read.option("includeTimestamp", "false").load().writeStream.format("memory").queryName("told_words")
        query = stream.start()
        go.release()
        until(lambda: rows(ann.table("told_words")) == [("Association",)], query)
        query.stop()
        with refused(
            "the option `numpartitions` is not allowed for `words`; an administrator has to give it in `sources`"
        ):
            read.option("numPartitions", "8").load()


KAFKA = "org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaTable"
AGREED = {"kafka.bootstrap.servers": "broker:9092", "subscribe": "words"}


def asked_of_kafka(spark: Any, **options: str) -> tuple[str | None, str]:
    """What is said to a read of the topic, before Spark asks the broker and when the plan is decided on."""
    guard = words_guard(spark, NO_FUND, Source(format="kafka", options=AGREED))
    given = AGREED | options
    source = {"kind": "other", "format": "kafka", "schema": False, "paths": [], "options": given}
    lower = {key.lower(): value for key, value in given.items()}
    leaf = {"id": 0, "node": "DataSourceV2Relation", "out": [1], "source": "v2", "class": KAFKA, "options": lower}
    plan = {"guard": guard.id, "user": "ann", "plan": leaf, "attributes": {"1": ["value", "string"]}, "settings": {}}
    return guard.unresolvable(json.dumps(source), "ann"), guard.answer(json.dumps(plan))


def test_which_part_of_a_topic_is_read_is_for_users_to_say(spark) -> None:
    for more in ({}, {"startingOffsets": "earliest", "failOnDataLoss": "false", "minPartitions": "2"}):
        before, decided = asked_of_kafka(spark, **more)
        assert before is None
        assert "permit" in json.loads(decided)


@pytest.mark.parametrize(
    "key",
    [
        "kafka.sasl.jaas.config",
        "kafka.ssl.truststore.location",
        "kafka.interceptor.classes",
        "kafka.group.id",
        "groupIdPrefix",
        "assign",
        "kafkaConsumer.pollTimeoutMs",
    ],
)
def test_what_a_client_of_a_broker_is_told_is_not(spark, key) -> None:
    """It names classes that are loaded, files that are read, and groups whose place others lose."""
    why = f"the option `{key.lower()}` is not allowed for `words`; an administrator has to give it in `sources`"
    before, decided = asked_of_kafka(spark, **{key: "x"})
    assert before == why
    assert why in decided


def test_word_count_from_files(spark, tmp_path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.txt").write_text("\n".join(FIRST + SECOND))
    ann = session("ann", words_guard(spark, NO_FUND, Source(path=str(folder))), spark)
    counts = counted(ann.readStream.text(str(folder)))
    query = counts.writeStream.outputMode("complete").format("memory").queryName("file_words")
    drained(query.trigger(availableNow=True).start())
    assert rows(ann.table("file_words")) == [("Association", 2), ("Insurance", 1)]
    assert rows(counted(ann.read.text(str(folder)))) == [("Association", 2), ("Insurance", 1)]


def test_a_running_query_follows_a_change_at_its_next_micro_batch(spark, tmp_path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    guard = words_guard(spark, NO_FUND, Source(path=str(folder)))
    ann = session("ann", guard, spark)
    query = ann.readStream.text(str(folder)).writeStream.format("memory").queryName("followed").start()
    try:
        _drop(folder, "1", SECOND)
        until(lambda: rows(ann.table("followed")) == [("Association",), ("Insurance",)], query)
        guard.replace_policies(policies(guard.catalog, NO_INSURANCE))
        _drop(folder, "2", SECOND)
        expected = [("Association",), ("Association",), ("Fund",), ("Insurance",)]
        until(lambda: rows(ann.table("followed")) == expected, query)
        guard.replace_policies(PolicySet())
        _drop(folder, "3", FIRST)
        with pytest.raises(Exception, match="no use of `words` is allowed"):
            query.processAllAvailable()
        assert rows(ann.table("followed")) == expected
    finally:
        query.stop()


def test_a_query_with_state_and_a_joined_table_follows_a_change_at_its_next_micro_batch(world, tmp_path) -> None:
    """Words are counted by what they are about. What was withheld when it came is not counted afterwards."""
    spark, folder = world.spark, tmp_path / "in"
    folder.mkdir()
    about = [("Fund", "money"), ("Insurance", "money"), ("Association", "people")]
    world.table("about", about, "value string, topic string")
    lines = spark.createDataFrame([("a",)], "value string").schema
    catalog = StreamCatalog([table_schema("words", lines), *catalog_of(spark, ["about"])])
    of_people = policy("people", "object: {tables: [about], where: topic = 'people'}, allow: [read]")
    of_all = policy("all", "object: {tables: [about]}, allow: [read]")
    first, second = (policies(catalog, text) for text in (NO_FUND + of_people, NO_INSURANCE + of_all))
    guard = Guard(catalog, first, USERS, Settings({"words": Source(path=str(folder))}))
    ann = session("ann", guard, spark)
    counts = ann.readStream.text(str(folder)).join(ann.table("about"), "value").groupBy("topic").count()
    query = counts.writeStream.outputMode("update").format("memory").queryName("by_topic").start()
    try:
        _drop(folder, "1", SECOND)
        until(lambda: rows(ann.table("by_topic")) == [("people", 1)], query)
        guard.replace_policies(second)
        _drop(folder, "2", SECOND)
        expected = [("money", 1), ("people", 1), ("people", 2)]
        until(lambda: rows(ann.table("by_topic")) == expected, query)
        guard.replace_policies(policies(catalog, NO_FUND))
        _drop(folder, "3", SECOND)
        with pytest.raises(Exception, match="no use of `about` is allowed"):
            query.processAllAvailable()
        assert rows(ann.table("by_topic")) == expected
    finally:
        query.stop()


def _drop(folder: Path, name: str, words: list[str]) -> None:
    """A file that appears whole."""
    hidden = folder / f".{name}"
    hidden.write_text("\n".join(words))
    hidden.rename(folder / f"{name}.txt")


def test_what_foreach_batch_gets_is_guarded(spark, tmp_path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.txt").write_text("\n".join(SECOND))
    ann = session("ann", words_guard(spark, NO_FUND, Source(path=str(folder)), str(tmp_path)), spark)
    seen: list[str] = []
    query = ann.readStream.text(str(folder)).writeStream.foreachBatch(
        lambda frame, _: seen.extend(row.value for row in frame.collect())
    )
    drained(query.trigger(availableNow=True).option("checkpointLocation", str(tmp_path / "c")).start())
    assert sorted(seen) == ["Association", "Insurance"]
