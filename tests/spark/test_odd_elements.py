"""Elements that only a careless source sends, and engines that have run for long: the rest goes on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from headgate.policy.store.catalog import Catalog
from headgate.spark.api import Headgate
from headgate.spark.tasks import first_number

COLUMNS = {"SID": "string", "Pos": "int", "ts": "timestamp"}


def rejected(root: Path) -> list[dict[str, str]]:
    files = sorted((root / "dead-letter").iterdir())
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_a_line_that_is_no_text_is_one_dead_letter(spark: SparkSession, tmp_path: Path) -> None:
    source, root = tmp_path / "source", tmp_path / "data"
    source.mkdir()
    said = b'"srp": {"model": "rbac", "subjects": ["D"]}, "sign": "+", "ts": "2026-01-01T08:00:00Z"}}'
    (source / "one.json").write_bytes(
        b'{"SID": "M\xfcller", "Pos": 1, "ts": "2026-01-01T08:00:01Z"}\n'
        b'{"SID": "ann", "Pos": 2, "ts": "2026-01-01T08:00:02Z"}\n'
        b'{"sp": {"pt": "dsp", "note": "\xff", ' + said + b"\n"
        b'{"SID": "\\"sp\\" \xe9", "Pos": 3, "ts": "2026-01-01T08:00:03Z"}\n'
    )
    with Catalog.open() as catalog, Headgate(spark, catalog, root=str(root)) as hg:
        hg.stream("P", COLUMNS, source={"format": "json", "path": str(source)}, owner="u")
        hg.user("u")
        all_of_it = hg.query("SELECT SID, Pos FROM P", user="u")
        hg.drain()
        assert [row["Pos"] for row in all_of_it.rows()] == [2]
    assert ["not UTF-8" in one["reason"] for one in rejected(root)] == [True] * 3


def test_a_typed_text_that_is_none_is_one_dead_letter(spark: SparkSession, tmp_path: Path) -> None:
    source, root = tmp_path / "source", tmp_path / "data"
    source.mkdir()
    texts = pa.array([b"M\xfcller", b"ann", "Zoë".encode()]).view(pa.string())
    times = pa.array(np.arange(3) * 1_000_000 + 1_767_254_400_000_000, pa.timestamp("us", "UTC"))
    table = pa.table({"SID": texts, "Pos": pa.array([1, 2, 3], pa.int32()), "ts": times})
    pq.write_table(table, source / "one.parquet")
    with Catalog.open() as catalog, Headgate(spark, catalog, root=str(root)) as hg:
        hg.stream("P", COLUMNS, source={"format": "parquet", "path": str(source)}, owner="u")
        hg.user("u")
        all_of_it = hg.query("SELECT SID, Pos FROM P", user="u")
        hg.drain()
        assert [(row["SID"], row["Pos"]) for row in all_of_it.rows()] == [("ann", 2), ("Zoë", 3)]
    assert [one["reason"] for one in rejected(root)] == ["column `SID`: a value is not of type string"]


def test_tuples_have_numbers_however_many_epochs_there_have_been() -> None:
    for epoch in (0, 1, (1 << 19) - 1, 1 << 19, 1 << 40):
        first = first_number(epoch, (1 << 14) - 1)
        assert 0 <= first < np.iinfo(np.int64).max - (1 << 30) + 2
    assert len({first_number(epoch, task) for epoch in range(500_000, 500_100) for task in range(50)}) == 5_000
