"""What is made ready before a live engine reads its first element.

In a Spark just started no Python worker has loaded the engine yet: the first epoch with a task for a second core waited
0.9 s for it, whatever it brought.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

_TASKS = "headgate.spark.tasks"


def load_workers(spark: SparkSession) -> None:
    """Have a Python worker for each core, with all that an epoch's tasks import. Once they have, it takes 0.1 s."""
    cores = spark.sparkContext.defaultParallelism
    spark.range(0, cores, 1, cores).mapInArrow(_loaded, "id long").toArrow()


def _loaded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    importlib.import_module(_TASKS)
    yield from batches
