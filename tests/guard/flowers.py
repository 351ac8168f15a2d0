"""Iris behind an endpoint, and what programs that learn from it begin with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow
from endpoints import Endpoint, running_endpoint
from sklearn.datasets import load_iris

MEASURES = ["first", "second", "third", "fourth"]
KIND = "kind"
"""One for the third of the three kinds of flowers, as a number that can be learnt."""


def policies(*rules: str) -> str:
    """A file of policies on the flowers, each given as `alice: attributes and condition: privileges`."""
    lines = (
        f"  - {{id: p{number}, subject: {{user: {user}}}, object: {{tables: [flower]{more}}}, allow: [{allowed}]}}\n"
        for number, (user, more, allowed) in enumerate(tuple(map(str.strip, rule.split("|"))) for rule in rules)
    )
    return "version: 1\npolicies:\n" + "".join(lines)


LARGE = policies(
    "alice | , where: first > 5.5 | read",
    f"bob | , attributes: [second, third, fourth, {KIND}, name] | read",
    "bob | , attributes: [first], where: first > 5.5 | read",
)
"""Alice has the large flowers; Bob all of them, and of the small ones not their first measure."""


def table() -> pyarrow.Table:
    found = load_iris()
    columns = {name: found.data[:, place] for place, name in enumerate(MEASURES)}
    names = [str(found.target_names[one]) for one in found.target]
    return pyarrow.table(columns | {KIND: (found.target == 2).astype(float), "name": names})


@contextmanager
def flower_endpoint(folder: Path, limits: dict[str, int] | None = None) -> Iterator[Endpoint]:
    """An endpoint for the flowers; its temporary files are in a folder `temporary`, beside the data."""
    (folder / "temporary").mkdir(exist_ok=True)
    java = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir={folder / 'temporary'}"
    columns = ", ".join(f"{one}: double" for one in (*MEASURES, KIND))
    scenario = folder / "scenario.yaml"
    nested = LARGE.replace("\n", "\n  ").rstrip()
    scenario.write_text(
        f"version: 1\nstreams:\n  flower: {{owner: garden, columns: {{ts: timestamp, {columns}, name: string}}}}\n"
        f"users: {{alice: {{roles: [analyst]}}, bob: {{roles: [analyst]}}}}\npolicies:\n  {nested}\n",
        encoding="utf-8",
    )
    config = {"spark.driver.extraJavaOptions": java}
    with running_endpoint(folder, limits, config, scenario, ("flower", table())) as endpoint:
        yield endpoint


LEARNING = f"""
type(spark)._active_session.session = spark  # models are asked in it, and a program has but one
from pyspark.ml import Pipeline
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.clustering import KMeans
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import *
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
MEASURES, KIND = {MEASURES!r}, {KIND!r}
flowers = spark.read.parquet("DATA")
def vectors(frame, **more):
    return VectorAssembler(inputCols=MEASURES, outputCol="features", **more).transform(frame).coalesce(1)
"""
