"""The epoch engine beside the plain Spark programs a user would write instead, interleaved in one session.

Each round gives both sides the same new files and takes the time that Spark itself reports for their micro-batches
(`triggerExecution`), so that reading, planning and committing count on both sides. Ratios are of medians.

    join       window join, 100,000 tuples per epoch, 500,000 held, against the stream-stream join on RocksDB
    sharing    20 queries of 5 users over 3 streams against 20 Structured Streaming queries with filters by hand
    switches   what switches cost while all may see, and save when one or two of three queries are lost
    punctuations   a punctuation every 100 tuples against none; the five strategies beside each other
    latency    from a punctuation's arrival to its effect, at 10,000 tuples per second
    queries    10, 100 and 1,000 queries on one stream
    memory     the driver over 500 epochs
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from epochs.bench import Bench
from epochs.join import join
from epochs.latency import latency
from epochs.memory import memory
from epochs.punctuations import punctuations
from epochs.queries import queries
from epochs.sharing import sharing
from epochs.switches import switches
from headgate.spark.session import start_session

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

PARTS: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "join": join,
    "sharing": sharing,
    "switches": switches,
    "punctuations": punctuations,
    "latency": latency,
    "queries": queries,
    "memory": memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"which of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="smaller, to see that it works")
    arguments = parser.parse_args()
    spark = start_session("local[2]", {"spark.sql.streaming.stateStore.providerClass": ROCKSDB})
    folder = Path(tempfile.mkdtemp(prefix="headgate-bench-"))
    found = {}
    try:
        for name in arguments.parts or PARTS:
            part = folder / name
            found[name] = PARTS[name](Bench(spark, part, arguments.quick))
            print(json.dumps({name: found[name]}, indent=2), flush=True)
            shutil.rmtree(part, ignore_errors=True)
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
