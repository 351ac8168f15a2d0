"""What merging costs: 1,000 queries over 10 streams, one more, and a new switch state.

Targets: merged in under 10 s, one more query added in under 20 ms, pruning for a new switch state in under 1 ms. CPU
times, so that a busy machine does not count against us.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from random import Random

from headgate.algebra.query import Query
from headgate.algebra.spelling.cql import parse_cql
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.network.merge import merge
from headgate.network.placement import place_switches
from headgate.network.pruning import Pruner

STREAMS = 10
CATALOG = StreamCatalog(
    StreamSchema(
        f"S{number}",
        (
            Column("ts", DataType.TIMESTAMP),
            Column("k", DataType.STRING),
            Column("x", DataType.INT),
            Column("y", DataType.DOUBLE),
        ),
    )
    for number in range(STREAMS)
)


def queries(count: int, seed: int = 7) -> list[Query]:
    """Selections, joins of two and three streams, and aggregates, about half of whose operators coincide."""
    random = Random(seed)
    made = []
    for number in range(count):
        a, b, c = random.sample(range(STREAMS), 3)
        bound, other = random.randrange(20), random.randrange(20)
        text = random.choice(
            [
                f"SELECT k, x FROM S{a} WHERE x > {bound}",
                f"SELECT k, x FROM S{a} WHERE x > {bound} AND y < {other}",
                f"SELECT k, avg(x) FROM S{a} [RANGE 5 MIN, SLIDE 1 MIN] WHERE x > {bound} GROUP BY k",
                f"SELECT p.k, q.x FROM S{a} p [RANGE 5 MIN], S{b} q [RANGE 5 MIN] WHERE p.k = q.k AND p.x > {bound}",
                f"SELECT p.k, r.x FROM S{a} p [RANGE 5 MIN], S{b} q [RANGE 5 MIN], S{c} r [RANGE 5 MIN] "
                f"WHERE p.k = q.k AND q.k = r.k AND p.x > {bound}",
            ]
        )
        made.append(Query(f"q{number}", "u", ("u",), parse_cql(text, CATALOG), punctuated=True))
    return made


def seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def median_ms(work: list[Callable[[], object]]) -> float:
    return round(statistics.median(seconds(one) for one in work) * 1e3, 3)


def measured(count: int, rounds: int) -> dict:
    own = queries(count)
    merging = seconds(lambda: merge(own))
    network = merge(own)
    extra = [Query(f"x{i}", "u", ("u",), one.plan) for i, one in enumerate(queries(rounds, seed=99))]
    pruner = Pruner(network.graph)
    random = Random(3)
    states = [[one.id for one in own if random.random() < 0.5] for _ in range(rounds)]
    return {
        "operators, apart": sum(len(path.steps) for path in network.paths.values()),
        "operators, shared": len(network.graph.vertices),
        "selections fed by another": len(network.fed),
        "switches": len(place_switches(network.graph)),
        "merge s": round(merging, 3),
        "add ms": median_ms([lambda q=q: network.add(q) for q in extra]),
        "remove ms": median_ms([lambda q=q: network.remove(q.id) for q in own[:rounds]]),
        "prune ms": median_ms([lambda s=s: pruner.running(s) for s in states]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    report = {count: measured(count, 3 if options.quick else 15) for count in (10, 100, 1_000)}
    last = report[1_000]
    met = {
        "1,000 merged under 10 s": last["merge s"] < 10,
        "one more under 20 ms": last["add ms"] < 20,
        "pruned under 1 ms": last["prune ms"] < 1,
    }
    if options.json:
        print(json.dumps({"queries": report, "met": met}))
    else:
        for count, row in report.items():
            print(f"{count:>5} queries: " + ", ".join(f"{name} {value}" for name, value in row.items()))
        print(met)
    sys.exit(0 if all(met.values()) else 1)


if __name__ == "__main__":
    main()
