"""How many CQL queries per second are parsed, typed and hashed on one core. Target: at least 1,000."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time

from headgate.algebra.canonical import stable_hash
from headgate.algebra.spelling.cql import parse_cql
from headgate.model.datatype import DataType
from headgate.model.schema import Column, StreamCatalog, StreamSchema

TARGET = 1_000

CATALOG = StreamCatalog(
    StreamSchema(
        f"Stream{number}",
        (
            Column("streamid", DataType.STRING),
            Column("location", DataType.STRING),
            Column("heartRate", DataType.INT),
            Column("speed", DataType.DOUBLE),
            Column("screentime", DataType.INT, "hours"),
            Column("ts", DataType.TIMESTAMP),
        ),
    )
    for number in range(1, 11)
)

TEMPLATES = {
    "select": "SELECT streamid, heartRate FROM Stream{a} WHERE heartRate > {n} AND location = 'l{n}'",
    "aggregate": "SELECT location, avg(heartRate), count(*) FROM Stream{a} [RANGE 5 MIN, SLIDE 1 MIN] "
    "WHERE speed < {n} GROUP BY location HAVING avg(heartRate) > {n}",
    "join of two (CQ1)": "SELECT s1.streamid, s1.heartRate FROM Stream{a} as s1 [RANGE 5 min, SLIDE 1 min], "
    "Stream{b} as s2 [RANGE 5 min, SLIDE 1 min] WHERE s1.location = s2.location AND s1.ts > 6:00am AND s1.ts < 7:00pm "
    "AND s2.speed < {n}",
    "join of three (CQ2)": "SELECT s1.streamid, s1.heartRate FROM Stream{a} as s1 [RANGE 10 min, SLIDE 1 min], "
    "Stream{b} as s2 [RANGE 10 min, SLIDE 1 min], Stream{c} as s3 [RANGE 10 min, SLIDE 1 min] "
    "WHERE s1.location = s2.location AND s2.location = s3.location AND s1.ts > 8:00am AND s1.ts < 7:00pm "
    "AND s2.speed < {n} AND s3.screentime > 5h",
}


def texts(template: str, count: int) -> list[str]:
    """Different queries of one shape: no two are the same text, so that nothing can be remembered."""
    return [template.format(a=n % 10 + 1, b=(n + 3) % 10 + 1, c=(n + 5) % 10 + 1, n=n) for n in range(count)]


def seconds_for(queries: list[str]) -> float:
    """CPU time, so that a busy machine does not count against us: the claim is per core."""
    started = time.process_time()
    for text in queries:
        stable_hash(parse_cql(text, CATALOG))
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer queries")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    count, rounds = (200, 3) if options.quick else (1_000, 7)
    timings: dict[str, list[float]] = {name: [] for name in TEMPLATES}
    for _ in range(rounds):  # interleaved: each round measures every shape
        for name, template in TEMPLATES.items():
            timings[name].append(count / seconds_for(texts(template, count)))
    rates = {name: round(statistics.median(values)) for name, values in timings.items()}
    rates["all, one of each"] = round(len(TEMPLATES) / sum(1 / rate for rate in rates.values()))
    if options.json:
        print(json.dumps({"queries_per_second": rates, "target": TARGET}))
    else:
        for name, rate in rates.items():
            print(f"{name:20} {rate:>7,} queries/s")
        print(f"{'target':20} {TARGET:>7,} queries/s")
    sys.exit(0 if rates["all, one of each"] >= TARGET else 1)


if __name__ == "__main__":
    main()
