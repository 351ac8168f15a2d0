"""Which epochs are known to bring no line, from what Spark writes down before it reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamSchema
from headgate.spark.offsets import brings_nothing, pad_offsets
from headgate.spark.sources import SourceSpec, StreamSources, names_in_order, places_of_lines, with_lines
from headgate.spark.storage import LocalStorage

A, B = (StreamSchema(name, (Column("ts", DataType.TIMESTAMP),)) for name in "AB")
TYPED, LINES = SourceSpec("parquet", path="x"), SourceSpec("json", path="y")


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(tmp_path)


def write(storage: LocalStorage, epoch: int, *offsets: str, version: str = "v1") -> None:
    storage.write(f"checkpoint/offsets/{epoch}", "\n".join([version, "{}", *offsets]).encode())


def test_a_source_whose_offset_stays_brings_nothing(storage: LocalStorage) -> None:
    write(storage, 0, '{"logOffset":0}', "-", '{"logOffset":0}')
    write(storage, 1, '{"logOffset":0}', "-", '{"logOffset":1}')
    assert brings_nothing(storage, 1, [0, 1])
    assert not brings_nothing(storage, 1, [0, 2])
    assert brings_nothing(storage, 0, [1])
    assert not brings_nothing(storage, 0, [0])


def test_what_cannot_be_told_may_bring_something(storage: LocalStorage) -> None:
    write(storage, 1, "-")
    assert not brings_nothing(storage, 1, [0]), "the epoch before is not there any more"
    write(storage, 0, "-")
    assert brings_nothing(storage, 1, [0])
    assert not brings_nothing(storage, 1, [1]), "a source that Spark has not heard of"
    assert not brings_nothing(storage, 2, [0]), "an epoch that Spark has not written down"
    write(storage, 1, "-", version="v2")
    assert not brings_nothing(storage, 1, [0]), "offsets written in a way that is not known"


def test_sources_that_are_added_begin_at_their_beginning(storage: LocalStorage) -> None:
    write(storage, 0, '{"logOffset":0}')
    for _ in range(2):
        pad_offsets(storage, 3)
    assert storage.read("checkpoint/offsets/0") == b'v1\n{}\n{"logOffset":0}\n-\n-'
    write(storage, 1, '{"logOffset":0}', "-", '{"logOffset":0}')
    assert brings_nothing(storage, 1, [0, 1])
    assert not brings_nothing(storage, 1, [2])


@pytest.mark.parametrize(
    ("sources", "places"),
    [
        ({}, (0,)),
        ({"A": StreamSources(TYPED), "B": StreamSources(LINES)}, (0, 2)),
        ({"A": StreamSources(TYPED, LINES), "B": StreamSources(TYPED)}, (0, 2)),
        ({"A": StreamSources(None, LINES), "B": StreamSources(LINES, LINES)}, (0, 1, 2, 3)),
    ],
)
def test_the_sources_that_have_lines_are_numbered_as_spark_does(
    sources: dict[str, StreamSources], places: tuple[int, ...]
) -> None:
    assert places_of_lines([A, B], sources) == places
    assert max(places) < len(names_in_order([A, B], sources))


def test_behind_a_frame_of_the_users_own_nothing_is_known(spark: SparkSession) -> None:
    """It may be made of two sources, or of none."""
    frame = StreamSources(spark.readStream.format("rate").load())
    assert places_of_lines([A, B], {"A": frame, "B": StreamSources(LINES)}) is None
    assert places_of_lines([A, B], {"A": StreamSources(frame.elements, LINES)}) is None
    assert places_of_lines([A, B], {"A": StreamSources(LINES), "B": frame}) == (0, 1)


def test_a_record_without_a_value_is_no_typed_tuple(spark: SparkSession) -> None:
    given = spark.createDataFrame([(None,), ("{}",)], "value string")
    assert [tuple(one) for one in with_lines(given, 1, ["i0", "s0"]).collect()] == [(1, "{}", None, None)]
