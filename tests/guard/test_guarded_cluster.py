"""A guarded session on a real cluster: what the guard puts into plans also runs in executors' processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from guarded import printed
from standalone import cluster

__all__ = ["cluster"]  # a fixture

PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
from headgate.guard import Guard, catalog_of, session
from headgate.model.subject import User
from headgate.policy.yaml_file import parse_policies

master, folder, whole = sys.argv[1:]
builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
builder = builder.config("spark.executor.memory", "512m")
builder = builder.config("spark.sql.codegen.wholeStage", whole).config("spark.sql.shuffle.partitions", "2")
builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
spark = builder.config("spark.sql.warehouse.dir", folder + "/warehouse").getOrCreate()
rows = [(1, "A", 50, 7), (2, "A", 60, 8), (3, "B", 100, 9)]
spark.createDataFrame(rows, "id int, dept string, salary int, bonus int").write.saveAsTable("emp")
catalog = catalog_of(spark, ["emp"])
policies = '''
version: 1
policies:
  - {id: rest, subject: {role: r}, object: {tables: [emp], attributes: [id, dept]}, allow: [read]}
  - {id: some, subject: {role: r}, object: {tables: [emp], attributes: [salary], where: salary < 90}, allow: [read]}
  - {id: use, subject: {role: r}, object: {tables: [emp], attributes: [bonus]}, allow: [compute, assist]}
'''
guard = Guard(catalog, parse_policies(policies, catalog), {"ann": User("ann", frozenset(["r"]))})
ann = session("ann", guard, spark)
answers = [sorted(map(list, ann.sql(text).collect()), key=str) for text in (
    "SELECT id, salary FROM emp",
    "SELECT id, salary * 2 FROM emp WHERE salary * 2 > 100 OR id = 3",
    "SELECT dept, count(if(1 / (bonus - 9) > 0, bonus, 0)) FROM emp GROUP BY dept",
)]
print("answers " + json.dumps(answers))
spark.stop()
"""


@pytest.mark.parametrize("whole", ["true", "false"])
def test_guards_and_silenced_errors_run_in_executors(cluster: str, tmp_path: Path, whole: str) -> None:
    """With whole stages compiled into code at the driver, and with expressions that are sent to executors."""
    cells, doubled, counted = printed(PROGRAM, tmp_path, cluster, str(tmp_path), whole)
    assert cells == [[1, 50], [2, 60], [3, None]]
    assert doubled == [[2, 120], [3, None]]
    assert counted == [["A", 2], ["B", 0]], "what fails is NULL and not counted"
