"""An endpoint that has answered many queries is as large as one that has answered few."""

from __future__ import annotations

from pathlib import Path

from endpoints import BOB, answers_to, running_endpoint

ASKS = """
for number in range(TIMES):
    spark.read.parquet("DATA").where(f"Id > {number}").select("Id").collect()
answer = "done"
"""

FEW, MANY = 5, 40


def test_queries_leave_no_threads_and_no_connections_behind(tmp_path) -> None:
    # Connect runs each query on a thread of its own, and py4j keeps a connection for each thread that called Python.
    sizes = []
    with running_endpoint(tmp_path) as endpoint:
        for times in (FEW, MANY):
            program = ASKS.replace("TIMES", str(times))
            assert answers_to(endpoint, {"asks": (BOB, "", program)})["asks"] == {"answer": "done"}
            process = Path("/proc") / str(endpoint.process)
            sizes.append([len(list((process / one).iterdir())) for one in ("task", "fd")])
    (threads, files), (threads_later, files_later) = sizes
    assert threads_later < threads + MANY // 4
    assert files_later < files + MANY // 4
