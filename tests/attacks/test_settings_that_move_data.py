"""Way in 7: settings of a user's by which a policy's condition would see other values than are there."""

from __future__ import annotations

from typing import Any

import pytest
from guarded import policy, refused, rows

from headgate.guard.vocabulary import settable, setting_allowed

CASE = "spark.sql.caseSensitive"
CODEC = "spark.sql.streaming.stateStore.compression.codec"


def all_but(table: str, where: str) -> str:
    """Everything of a table is allowed, but for the rows of which this holds."""
    some = f'object: {{tables: [TABLE], where: "{where}"}}, deny: [read, assist, compute]'
    return policy("all", "object: {tables: [TABLE]}, allow: [read]", table=table) + policy("no", some, table=table)


def only(table: str, where: str) -> str:
    return policy("some", f'object: {{tables: [TABLE], where: "{where}"}}, allow: [read]', table=table)


def made(world: Any, name: str, columns: str, how: str) -> None:
    world.spark.sql(f"DROP TABLE IF EXISTS {name}")
    world.spark.sql(f"CREATE TABLE {name} ({columns}) {how}")


# Names of columns in files.


@pytest.fixture(scope="module", params=["parquet", "orc"])
def cased(world, tmp_path_factory: pytest.TempPathFactory, request) -> Any:
    """A table whose files spell a column in another way."""
    folder = str(tmp_path_factory.mktemp("cased") / "files")
    frame = world.spark.createDataFrame([(1, "A", 50), (3, "B", 100)], "id int, Dept string, salary int")
    frame.coalesce(1).write.format(request.param).save(folder)
    made(world, "spelt", "id INT, dept STRING, salary INT", f"USING {request.param} LOCATION '{folder}'")
    return world


def test_how_names_are_compared_is_for_administrators(cased) -> None:
    ann = cased.session("ann", all_but("spelt", "dept = 'B'"), tables=("spelt",))
    assert rows(ann.sql("SELECT id, salary FROM spelt")) == [(1, 50)]
    ann.conf.set(CASE, "true")
    with refused(f"the setting `{CASE}` may not be changed"):
        ann.sql("SELECT id, salary FROM spelt").collect()
    with refused(f"the setting `{CASE}` may not be changed"):
        ann.sql(f"SET {CASE}=true").collect()


# Classes that a setting names.


def test_only_codecs_that_spark_has_are_named(world) -> None:
    for value in ("lz4", "lzf", "snappy", "zstd"):
        assert setting_allowed(CODEC, value)
        assert f"{CODEC} {value}" in settable()
    assert CODEC not in settable()
    assert not setting_allowed(CODEC, "org.example.Codec")
    ann = world.session("ann", only("emp", "id = 1"))
    ann.conf.set(CODEC, "org.example.Codec")
    with refused(f"the setting `{CODEC}` may not be changed"):
        ann.sql("SELECT id FROM emp").collect()
