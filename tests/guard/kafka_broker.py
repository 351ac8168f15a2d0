"""A real Kafka for tests: a broker in a process of its own, and the connector that matches the installed Spark.

Both come as Maven coordinates, fetched by Spark's own resolver. Where they cannot be had, tests that need them say so.
"""

from __future__ import annotations

import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest
from maven import SCALA, fetched
from standalone import free_port


@dataclass(frozen=True)
class Kafka:
    servers: str
    connector: tuple[str, ...]
    """The jars by which Spark reads topics."""


def _await_port(port: int, log: Path, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        time.sleep(0.1)
    raise AssertionError(f"the broker does not listen: {log.read_text(errors='replace')[-2000:]}")


@pytest.fixture(scope="module")
def kafka(spark, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    connector = fetched(spark, f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}:{pyspark.__version__}")
    clients = next(Path(one).name for one in connector if "kafka-clients-" in one)
    version = clients.rsplit("kafka-clients-", 1)[1].removesuffix(".jar")
    broker = fetched(spark, f"org.apache.kafka:kafka_{SCALA}:{version}")
    folder = tmp_path_factory.mktemp("kafka")
    port, controller = free_port(), free_port()
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(folder / "logs"),
        "offsets.topic.replication.factor": "1",
        "num.partitions": "1",
    }
    properties = folder / "server.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    java = ["java", "-Xmx512m", "-cp", ":".join((*broker, f"{Path(pyspark.__file__).parent}/jars/*"))]
    cluster = ["--cluster-id", uuid.uuid4().hex[:22], "--config", str(properties)]
    subprocess.run([*java, "kafka.tools.StorageTool", "format", *cluster], check=True, capture_output=True, timeout=120)
    log = folder / "broker.log"
    with log.open("wb") as out:
        running = subprocess.Popen([*java, "kafka.Kafka", str(properties)], stdout=out, stderr=subprocess.STDOUT)
    try:
        _await_port(port, log, running)
        yield Kafka(f"127.0.0.1:{port}", connector)
    finally:
        running.terminate()
        running.wait(60)
