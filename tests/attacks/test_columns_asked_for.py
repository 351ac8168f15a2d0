"""Way in 6: asking for columns is enough to have Spark look at files, databases and classes."""

from __future__ import annotations

import pytest
from guarded import refused
from live_files import reader

RAW = {"multiLine": "true", "header": "true", "lineSep": "\u0001", "sep": "\u0002", "rowTag": "x"}
NOT_KNOWN = "is not known; an administrator has to say"


@pytest.fixture
def outside(tmp_path):
    """A file that is nobody's table."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("canary")
    return folder


@pytest.mark.parametrize("name", ["csv", "json", "xml", "org.apache.spark.sql.execution.datasources.csv.CSVFileFormat"])
def test_columns_are_not_made_of_what_is_in_files(world, lines, outside, name) -> None:
    """With all of a file in its first line, the names of the columns would be the file."""
    read = reader(world, lines).format(name).options(**RAW)
    with refused("give the schema"):
        read.load(str(lines)).columns  # noqa: B018 - asks for the schema
    for path in (outside, outside / "*", outside / "none", f"{lines}/../outside", f"{lines}/{{a,../outside}}"):
        with refused(NOT_KNOWN):
            read.load(str(path)).columns  # noqa: B018 - asks for the schema


@pytest.mark.parametrize("name", ["parquet", "orc", "text", "binaryFile"])
def test_which_folders_there_are_is_not_told(world, lines, outside, name) -> None:
    read = reader(world, lines).format(name)
    for path in (outside, outside / "none", "/et*", "/none", "hdfs://nowhere/x", "relative", f"{lines}2"):
        with refused(NOT_KNOWN):
            read.load(str(path)).columns  # noqa: B018 - asks for the schema
    with refused(NOT_KNOWN):
        read.option("path", str(outside)).load().columns  # noqa: B018 - asks for the schema
    with refused("the option `fs.defaultfs` is not allowed"):
        read.option("fs.defaultFS", "hdfs://nowhere").load(str(lines)).columns  # noqa: B018 - asks for the schema


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM FORMAT.`PATH`",
        "TABLE FORMAT.`PATH`",
        "SELECT * FROM IDENTIFIER('FORMAT.`PATH`')",
        "WITH x AS (SELECT * FROM FORMAT.`PATH`) SELECT * FROM x",
        "SELECT (SELECT max(_c0) FROM FORMAT.`PATH`)",
        "SELECT 1 WHERE EXISTS (SELECT * FROM FORMAT.`PATH`)",
        "EXECUTE IMMEDIATE 'SELECT * FROM FORMAT.`PATH`'",
        "CREATE TEMPORARY VIEW seen AS SELECT * FROM FORMAT.`PATH`",
        "DESCRIBE QUERY SELECT * FROM FORMAT.`PATH`",
    ],
)
def test_nor_in_sql(world, lines, outside, query) -> None:
    ann = reader(world, lines)._spark
    with refused("give the schema"):
        ann.sql(query.replace("FORMAT", "csv").replace("PATH", str(lines))).columns  # noqa: B018 - asks for the schema
    for name in ("csv", "text", "parquet"):
        with refused(NOT_KNOWN):
            ann.sql(query.replace("FORMAT", name).replace("PATH", str(outside))).columns  # noqa: B018 - the schema


def test_nor_are_databases_and_other_sources_asked(world, lines, tmp_path) -> None:
    read = reader(world, lines)
    database = tmp_path / "made"
    with refused(NOT_KNOWN):
        read.format("jdbc").options(url=f"jdbc:derby:{database};create=true", dbtable="x").load().columns  # noqa: B018
    assert not database.exists()
    with refused("the source `java.lang.object` is not known"):
        read.format("java.lang.Object").load().columns  # noqa: B018 - asks for the schema


def test_a_session_of_nobodys_looks_at_nothing(world, lines) -> None:
    with refused("acts for nobody"):
        reader(world, lines)._spark.newSession().read.text(str(lines)).columns  # noqa: B018 - asks for the schema


def test_nor_does_a_query_say_as_of_when_a_table_is_read(world, lines) -> None:
    """Early versions of Spark run it while the query around it is analysed."""
    ann = reader(world, lines)._spark
    for query in ("SELECT java_method('java.lang.System', 'exit', 1)", "SELECT max(id) FROM parquet.`/none`"):
        with refused("a subquery cannot say as of when a table is read"):
            ann.sql(f"SELECT * FROM emp TIMESTAMP AS OF ({query})").columns  # noqa: B018 - asks for the schema
    with refused(NOT_KNOWN):
        ann.sql("SELECT * FROM text.`/none` VERSION AS OF 1").columns  # noqa: B018 - asks for the schema


def test_nor_is_a_procedure_called(world, lines) -> None:
    ann = reader(world, lines)._spark
    for query in ("CALL spark_catalog.system.expire('x')", "EXPLAIN CALL spark_catalog.system.expire('x')"):
        with refused("procedures may not be called"):
            ann.sql(query).columns  # noqa: B018 - asks for the schema
