"""What the guard costs: TPC-DS through a guarded session beside plain Spark, interleaved, and decisions by rules.

The policies are those of table 1 of GuardSpark++, which withhold nothing, so that only the guard's own work counts.
Each query runs in turns plain, plain in a second session, and guarded; what is reported are ratios of the means of the
faster halves, since whatever else the machine does only makes runs slower; in time and in processor time. Plain against
plain says what differences the machine can show. Deciding is timed when a plan is new and when it is known, and for 10
to 10,000 rules.
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

from epochs.bench import processor_seconds
from headgate.guard import Guard, catalog_of, gateway, session
from headgate.model.subject import User
from headgate.policy.yaml_file import parse_policies

ANN = User("ann", frozenset({"analyst"}))

WARMING = 2

QUICK = "2,3,7,19,27,35,42,52,55,68,93,98"

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


Runs = dict[int, dict[str, list[float]]]
"""By query and kind."""


def run(spark: SparkSession, query: str) -> tuple[float, float]:
    """Seconds, and processor seconds of Spark's process."""
    worked, start = processor_seconds(), time.perf_counter()
    spark.sql(query).collect()
    return time.perf_counter() - start, processor_seconds() - worked


def measure(sessions: dict[str, SparkSession], texts: dict[int, str], turns: int) -> tuple[Runs, Runs]:
    """Seconds and processor seconds. All runs of a query follow one another, after some that warm up.

    Whoever comes first after other queries pays for compiling its code, and Spark keeps the code of few queries. Two
    plain sessions run the same code, so that it is warm after half as many turns; guarded runs are doubled for that.
    """
    found: Runs = {number: {name: [] for name in sessions} for number in texts}
    work: Runs = {number: {name: [] for name in sessions} for number in texts}
    kinds = list(sessions)
    for place, (number, text) in enumerate(texts.items(), start=1):
        for name in [*kinds, "guarded"] * WARMING:
            run(sessions[name], text)
        for turn in range(turns):
            for name in kinds[turn % len(kinds) :] + kinds[: turn % len(kinds)]:
                seconds, worked = run(sessions[name], text)
                found[number][name].append(seconds)
                work[number][name].append(worked)
        shown = ", ".join(f"{name} {faster_half(own):.3f} s" for name, own in found[number].items())
        print(f"{place} of {len(texts)}: query {number}, {shown}", file=sys.stderr, flush=True)
    return found, work


def warm_up(spark: SparkSession, texts: dict[int, str]) -> None:
    """Each query once: the first ones would otherwise pay for compiling what all of them use."""
    for place, text in enumerate(texts.values(), start=1):
        print(f"warming up: {place} of {len(texts)}", file=sys.stderr, flush=True)
        run(spark, text)


def planning(sessions: dict[str, SparkSession], texts: dict[int, str], turns: int) -> dict[int, dict[str, Any]]:
    """What the guard adds to planning, in milliseconds, and whether the physical plan is that of plain Spark.

    Where it is, the query runs as without a guard, and this is the whole cost; it is measured without the noise of
    running. A quarter of the turns warms up.
    """
    times: dict[int, dict[str, list[float]]] = {number: {"plain": [], "guarded": []} for number in texts}
    same = {}
    for turn in range(turns + turns // 3):
        for number, text in texts.items():
            plans = {}
            for name in ("plain", "guarded") if turn % 2 else ("guarded", "plain"):
                start = time.perf_counter()
                plans[name] = sessions[name].sql(text)._jdf.queryExecution().executedPlan()
                if turn >= turns // 3:
                    times[number][name].append(time.perf_counter() - start)
            same[number] = bool(plans["plain"].sameResult(plans["guarded"]))
    return {
        number: {
            "milliseconds": 1000 * (statistics.median(one["guarded"]) - statistics.median(one["plain"])),
            "plain milliseconds": 1000 * statistics.median(one["plain"]),
            "same plan": same[number],
        }
        for number, one in times.items()
    }


def faster_half(values: list[float]) -> float:
    return statistics.fmean(sorted(values)[: (len(values) + 1) // 2])


def compared(times: Runs, name: str) -> dict[str, Any]:
    """The ratios to plain Spark, by query and in all."""
    ratios = {number: faster_half(one[name]) / faster_half(one["plain"]) for number, one in times.items()}
    worst = max(ratios, key=lambda number: ratios[number])
    over = sorted(number for number, ratio in ratios.items() if ratio > 1.05)
    return {
        "ratio": geometric_mean(list(ratios.values())),
        "worst": [worst, ratios[worst]],
        "over 5 %": over,
        "seconds": sum(faster_half(one[name]) for one in times.values()),
        "by query": ratios,
    }


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
    parser.add_argument("--quick", action="store_true", help="a smaller scale, twelve queries, fewer turns")
    parser.add_argument("--scale", type=float, help="TPC-DS scale factor; 1, or 0.1 with --quick")
    parser.add_argument("--turns", type=int, help="measured runs of each query and kind; 4, or 3 with --quick")
    parser.add_argument("--queries", help="numbers of queries, with commas between; all, or twelve with --quick")
    parser.add_argument("--data", type=Path, help="a folder to keep the data in, for another run")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    scale = options.scale or (0.1 if options.quick else 1)
    turns = options.turns or (3 if options.quick else 4)
    texts = tpcds.queries()
    if options.quick or options.queries:
        chosen = options.queries or QUICK
        texts = {number: texts[number] for number in map(int, chosen.split(","))}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        data = options.data or Path(folder) / "data"
        names = sorted(one.stem for one in data.glob("*.parquet"))
        if not names:
            data.mkdir(parents=True, exist_ok=True)
            names = tpcds.generate(data, scale)
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "2" if options.quick else "8")
            .config("spark.driver.memory", "6g")
            .config("spark.sql.warehouse.dir", str(Path(folder) / "warehouse"))
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("OFF")
        tpcds.create_tables(spark, data, names)
        report = compare(spark, names, texts, turns)
        spark.stop()
    report["scale"] = scale
    print(json.dumps(report, indent=2) if options.json else text_of(report))


def compare(spark: SparkSession, names: list[str], texts: dict[int, str], turns: int) -> dict[str, Any]:
    tables = [f"tpcds.{name}" for name in names]
    catalog = catalog_of(spark, tables)
    guard = Guard(catalog, parse_policies(policies(names, spark), catalog), {"ann": ANN})
    sessions = {"plain": spark.newSession(), "plain again": spark.newSession(), "guarded": session("ann", guard, spark)}
    for one in sessions.values():
        one.catalog.setCurrentDatabase("tpcds")
    planned = planning(sessions, texts, 9 if turns < 4 else 15)
    took = [nanoseconds / 1e6 for nanoseconds in json.loads(gateway.attach(spark).timings())]
    new, known = took[: len(texts)], took[len(texts) :]
    warm_up(sessions["plain"], texts)
    times, work = measure(sessions, texts, turns)
    return {
        "queries": len(texts),
        "turns": turns,
        "plain seconds": sum(faster_half(one["plain"]) for one in times.values()),
        "planning": planned,
        "guarded": compared(times, "guarded"),
        "plain again": compared(times, "plain again"),
        "work": {name: compared(work, name) for name in ("guarded", "plain again")},
        "milliseconds": {"new plan": statistics.median(new), "known plan": statistics.median(known)},
        "rules": rules(spark, names, tables, tpcds.queries()[2], [10, 100, 1000, 10_000]),
    }


def text_of(report: dict[str, Any]) -> str:
    lines = [f"{report['queries']} TPC-DS queries at scale {report['scale']:g}, {report['turns']} runs of each kind"]
    for name in ("guarded", "plain again"):
        one = report[name]
        number, worst = one["worst"]
        over = ", ".join(map(str, one["over 5 %"])) or "none"
        lines.append(
            f"{name:>11} to plain: {one['ratio']:.4f} (geometric mean), worst {worst:.3f} (query {number}), "
            f"{one['seconds']:.1f} s to {report['plain seconds']:.1f} s; over 1.05: {over}"
        )
    for name, one in report["work"].items():
        lines.append(f"{name:>11} to plain in processor time: {one['ratio']:.4f}")
    more = [one["milliseconds"] for one in report["planning"].values()]
    same = sum(one["same plan"] for one in report["planning"].values())
    lines.append(
        f"planning takes {statistics.median(more):.1f} ms more in the median, {max(more):.1f} ms at most; "
        f"{same} queries have the physical plan they have without a guard"
    )
    new, known = report["milliseconds"]["new plan"], report["milliseconds"]["known plan"]
    lines.append(f"describe, decide, apply: {new:.1f} ms median for a new plan, {known:.1f} ms for a known one")
    lines += [f"{size:>6} rules: {1000 * seconds:.1f} ms for query 2" for size, seconds in report["rules"].items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
