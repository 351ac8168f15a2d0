"""An endpoint that has answered many queries is as large as one that has answered few."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from endpoints import BOB, Endpoint, answers_to, running_endpoint

ASKS = """
for number in range(TIMES):
    spark.read.parquet("DATA").where(f"Id > {number}").select("Id").collect()
answer = "done"
"""

# Many calls while Python, which decides, is held up, so that all of them wait at once if they wait for it.
FLOODS = """
import os, signal, sys, time
import grpc
from pyspark.sql.connect import proto
from pyspark.sql.connect.proto import base_pb2_grpc
spark.range(1).count()
stub = base_pb2_grpc.SparkConnectServiceStub(grpc.insecure_channel(f"localhost:{sys.argv[1]}"))
request = proto.ConfigRequest(session_id=spark.client._session_id)
request.operation.get.keys.append("spark.sql.shuffle.partitions")
def flood(token):
    header = [("authorization", f"Bearer {token}")]
    return [stub.Config.future(request, metadata=header, timeout=60) for _ in range(CALLS)]
os.kill(PROCESS, signal.SIGSTOP)
try:
    calls = flood("TOKEN")
    deadline = time.monotonic() + 5
    while not all(one.done() for one in calls) and time.monotonic() < deadline:
        time.sleep(0.1)
    answered = sum(one.done() for one in calls)
finally:
    os.kill(PROCESS, signal.SIGCONT)
answer = [answered, sorted({one.code().name for one in calls})]
"""

FEW, MANY = 5, 40
CALLS = 500
MOST = 64
"""Threads that call Python, as many as `Calls.scala` has at most."""


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with running_endpoint(tmp_path_factory.mktemp("lasts")) as running:
        yield running


def test_queries_leave_no_threads_and_no_connections_behind(endpoint) -> None:
    # Connect runs each query on a thread of its own, and py4j keeps a connection for each thread that called Python.
    sizes = []
    for times in (FEW, MANY):
        program = ASKS.replace("TIMES", str(times))
        assert answers_to(endpoint, {"asks": (BOB, "", program)})["asks"] == {"answer": "done"}
        sizes.append([_count(endpoint, one) for one in ("task", "fd")])
    (threads, files), (threads_later, files_later) = sizes
    assert threads_later < threads + MANY // 4
    assert files_later < files + MANY // 4


def _flooded(endpoint: Endpoint, token: str) -> tuple[list[object], int]:
    """How many calls were answered while Python was held up, how they were, and the threads that are there then."""
    program = FLOODS.replace("TOKEN", token).replace("PROCESS", str(endpoint.process)).replace("CALLS", str(CALLS))
    told = answers_to(endpoint, {"floods": (BOB, "", program)})["floods"]
    assert "answer" in told, told
    return told["answer"], _count(endpoint, "task")


def test_a_flood_of_calls_leaves_few_threads_behind(endpoint) -> None:
    """A thread of Python's listens to each thread of the JVM that ever called it. Who has no token calls none."""
    before = _count(endpoint, "task")
    strangers, after_strangers = _flooded(endpoint, "wrong")
    users, after_users = _flooded(endpoint, BOB)
    assert strangers == [CALLS, ["UNAUTHENTICATED"]]
    assert after_strangers < before + 10
    assert users[1] == ["OK"]
    assert after_users < before + MOST + 10


def _count(endpoint: Endpoint, kind: str) -> int:
    return len(list((Path("/proc") / str(endpoint.process) / kind).iterdir()))
