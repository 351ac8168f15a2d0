"""Packages for Spark that tests need, fetched by Spark's own resolver."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

SCALA = "2.13"


def fetched(spark: Any, coordinates: str) -> tuple[str, ...]:
    """The jars of a package and of all it needs; the test is skipped if they cannot be had."""
    jvm = spark.sparkContext._jvm
    try:
        found = jvm.org.apache.spark.util.DependencyUtils.resolveMavenDependencies(
            jvm.java.net.URI.create(f"ivy://{coordinates}?transitive=true")
        )
    except Py4JJavaError as error:
        pytest.skip(f"{coordinates} cannot be had: {error.java_exception.getMessage()}")
    return tuple(found.apply(place).removeprefix("file:") for place in range(found.size()))
