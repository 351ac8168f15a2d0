"""What the guard costs: TPC-DS through a guarded session beside plain Spark, interleaved, and decisions by rules.

Queries are run in turns, plain and guarded, so that whatever else the machine does falls on both; what is reported are
ratios. The policies are those of table 1 of GuardSpark++, which withhold nothing, so that only the guard's own work is
measured. Decisions are timed alone for 10 to 10,000 rules.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "guard"))

import tpcds
from pyspark.sql import SparkSession

from headgate.guard import Guard, catalog_of, gateway, session
from headgate.model.subject import User
from headgate.policy.yaml_file import parse_policies

ANN = User("ann", frozenset({"analyst"}))

TABLE_1 = {
    "date_dim": {"d_week_seq": "d_week_seq > 0"},
    "store_sales": {"ss_list_price": "ss_list_price > 0", "ss_customer_sk": "ss_customer_sk <> -1"},
    "customer_demographics": {"cd_gender": "cd_gender <> 'no'"},
}
"""Columns 5, 13, 4 and 2 of these tables, and for which values they may be used: for all that there are."""


def policies(names: list[str], spark: SparkSession, more: int = 0) -> str:
    """The policies of table 1, everything else open, and as many rules beside as are asked for."""
    lines = []
    for name in names:
        cells = TABLE_1.get(name, {})
        others = [one for one in spark.table(f"tpcds.{name}").columns if one not in cells]
        head = f"subject: {{role: analyst}}, object: {{tables: [tpcds.{name}], attributes: "
        lines.append(f"  - {{id: {name}, {head}[{', '.join(others)}]}}, allow: [read]}}")
        for column, where in cells.items():
            lines.append(f'  - {{id: {name}-{column}, {head}[{column}], where: "{where}"}}, allow: [read]}}')
    for number in range(more):
        name = names[number % len(names)]
        who = f"subject: {{user: user{number}}}"
        lines.append(f"  - {{id: rule-{number}, {who}, object: {{tables: [tpcds.{name}]}}, allow: [read]}}")
    return "version: 1\npolicies:\n" + "\n".join(lines)


def run(spark: SparkSession, query: str) -> float:
    start = time.perf_counter()
    spark.sql(query).collect()
    return time.perf_counter() - start


def measure(plain: SparkSession, guarded: SparkSession, texts: dict[int, str], repeats: int) -> dict[int, Any]:
    """Medians of interleaved runs, by query."""
    found = {}
    for number, text in texts.items():
        times: dict[str, list[float]] = {"plain": [], "guarded": []}
        for turn in range(repeats + 1):
            pairs = [("plain", plain), ("guarded", guarded)]
            for name, one in pairs if turn % 2 else pairs[::-1]:
                seconds = run(one, text)
                if turn:  # the first turn warms up
                    times[name].append(seconds)
        found[number] = {name: statistics.median(values) for name, values in times.items()}
    return found


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(one) for one in values))


def rules(spark: SparkSession, names: list[str], tables: list[str], text: str, sizes: list[int]) -> dict[int, float]:
    """The median time of a decision on query 2, by the number of rules."""
    catalog = catalog_of(spark, tables)
    found = {}
    for size in sizes:
        guard = Guard(catalog, parse_policies(policies(names, spark, size), catalog), {"ann": ANN})
        one = session("ann", guard, spark)
        one.catalog.setCurrentDatabase("tpcds")
        frame = one.sql(text)
        description = gateway.attach(spark).describe(one._jsparkSession, frame._jdf.queryExecution().analyzed())
        times = []
        for _ in range(7):
            start = time.perf_counter()
            guard.answer(description)
            times.append(time.perf_counter() - start)
        found[size] = statistics.median(times)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tiny scale, twelve queries, few repeats")
    parser.add_argument("--scale", type=float, help="TPC-DS scale factor; 1, or 0.01 with --quick")
    parser.add_argument("--repeats", type=int, help="measured runs of each query; 5, or 3 with --quick")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    scale = options.scale or (0.01 if options.quick else 1)
    repeats = options.repeats or (3 if options.quick else 5)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.mkdir()
        names = tpcds.generate(data, scale)
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2" if options.quick else "8")
            .config("spark.driver.memory", "4g")
            .config("spark.sql.warehouse.dir", str(Path(folder) / "warehouse"))
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("OFF")
        tpcds.create_tables(spark, data, names)
        report = compare(spark, names, options.quick, repeats)
        spark.stop()
    report["scale"] = scale
    print(json.dumps(report, indent=2) if options.json else text_of(report))


def compare(spark: SparkSession, names: list[str], quick: bool, repeats: int) -> dict[str, Any]:
    tables = [f"tpcds.{name}" for name in names]
    catalog = catalog_of(spark, tables)
    guard = Guard(catalog, parse_policies(policies(names, spark), catalog), {"ann": ANN})
    guarded, plain = session("ann", guard, spark), spark.newSession()
    for one in (plain, guarded):
        one.catalog.setCurrentDatabase("tpcds")
    texts = tpcds.queries()
    if quick:
        texts = {number: texts[number] for number in (2, 3, 7, 19, 27, 35, 42, 52, 55, 68, 93, 98)}
    times = measure(plain, guarded, texts, repeats)
    ratios = {number: one["guarded"] / one["plain"] for number, one in times.items()}
    guarding = sorted(nanoseconds / 1e9 for nanoseconds in json.loads(gateway.attach(spark).timings()))
    sizes = [10, 100, 1000] if quick else [10, 100, 1000, 10_000]
    return {
        "queries": len(texts),
        "ratio": geometric_mean(list(ratios.values())),
        "worst": max(ratios.items(), key=lambda item: item[1]),
        "seconds": {
            "plain": sum(one["plain"] for one in times.values()),
            "guarded": sum(one["guarded"] for one in times.values()),
        },
        "guarding": {"median": statistics.median(guarding), "most": guarding[-1]},
        "rules": rules(spark, names, tables, tpcds.queries()[2], sizes),
        "by query": times,
    }


def text_of(report: dict[str, Any]) -> str:
    number, worst = report["worst"]
    total, guarding = report["seconds"], report["guarding"]
    lines = [
        f"{report['queries']} TPC-DS queries at scale {report['scale']:g}",
        f"guarded to plain: {report['ratio']:.3f} (geometric mean), worst {worst:.3f} (query {number})",
        f"in all {total['guarded']:.1f} s to {total['plain']:.1f} s",
        f"describe, decide, apply: {1000 * guarding['median']:.1f} ms median, {1000 * guarding['most']:.1f} ms most",
        *(f"{size:>6} rules: {1000 * seconds:.1f} ms for query 2" for size, seconds in report["rules"].items()),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
