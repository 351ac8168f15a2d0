"""One Spark session for all tests of the engine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from headgate.spark.session import LOGGING, start_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Many small plans, few tuples: compiling them well would take longer than running them.
    quick = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dlog4j2.configurationFile=file:{LOGGING}"
    session = start_session("local[2]", {"spark.driver.extraJavaOptions": quick})
    yield session
    session.stop()
