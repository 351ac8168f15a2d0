"""What the guard costs: TPC-DS through a guarded session beside plain Spark, interleaved, and decisions by rules.

The policies are those of table 1 of GuardSpark++, which withhold nothing, so that only the guard's own work counts.
Each query runs in turns plain, plain in a second session, and guarded; what is reported are ratios of the means of the
faster halves, since whatever else the machine does only makes runs slower. Plain against plain says what differences
the machine can show.

Times spread by a tenth here, as those of equal sessions show; the processor time of the tasks spreads less, and is
reported beside them.

Two things are told apart. Where the physical plan is that of plain Spark, running it costs the same, and all that the
guard costs is planning, which can be measured without the noise of running. Where it is not, only running tells.

Of these, what seems more than 5 % slower is run again, more often and warmed up longer, and judged by the new runs
alone; so are those of which the two plain sessions seem to differ by as much, which says how far that judgement can be
trusted. The mean is always that of the first look: to look twice at what seems slow, and not at what seems quick, would
flatter it.

Deciding is timed when a plan is new and when it is known, and for 10 to 10,000 rules.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
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

PLAIN = ("plain", "plain again")

SHORT = 1.0
"""Seconds. Queries that take less vary more, and are warmed up longer and run more often."""

PATIENCE = 45.0
"""Seconds for a second look at one query. Single runs of short queries spread by a quarter; it takes dozens of them to
tell 5 % from nothing."""

JAVA = "-XX:ReservedCodeCacheSize=1g"
"""After 85 queries 4 % of the room was left that Java has for compiled code by default. From 10 % on it throws out what
was not used lately, the planner's code among it, and whoever comes next is slow."""

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


def run(spark: SparkSession, query: str) -> float:
    """Seconds."""
    start = time.perf_counter()
    spark.sql(query).collect()
    return time.perf_counter() - start


def processor_times(spark: SparkSession) -> dict[int, int]:
    """What each thread that runs tasks has used of a processor, in nanoseconds."""
    bean = spark.sparkContext._jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    threads = [one for one in bean.getThreadInfo(bean.getAllThreadIds()) if one is not None]
    ids = [one.getThreadId() for one in threads if one.getThreadName().startswith("Executor task")]
    return {one: bean.getThreadCpuTime(one) for one in ids}


def run_counted(spark: SparkSession, query: str) -> tuple[float, float]:
    """Seconds, and processor seconds of its tasks: what else the machine does shows less in these."""
    before = processor_times(spark)
    seconds = run(spark, query)
    after = processor_times(spark)
    # Of a thread that ended while it was asked about, nothing is known.
    return seconds, sum(max(0, used - before.get(thread, 0)) for thread, used in after.items()) / 1e9


def measure(
    sessions: dict[str, SparkSession], texts: dict[int, str], turns: int, warm: int = 1, patience: float = 0.0
) -> tuple[Runs, Runs]:
    """Seconds and processor seconds. All runs of a query follow one another, after some that warm up; of short ones
    there are more, and of all of them as many as fit into `patience` seconds.

    Whoever comes first after other queries pays for compiling its code. Two plain sessions run the same code, so that
    it is warm after half as many turns; guarded runs are doubled for that.
    """
    found: Runs = {number: {name: [] for name in sessions} for number in texts}
    work: Runs = {number: {name: [] for name in sessions} for number in texts}
    kinds = list(sessions)
    for place, (number, text) in enumerate(texts.items(), start=1):
        _clear(sessions["plain"])
        warming = [run(sessions[name], text) for _ in range(warm) for name in (*kinds, "guarded")]
        if min(warming) < SHORT:
            warming += [run(sessions[name], text) for _ in range(warm) for name in (*kinds, "guarded")]
        rounds = max(turns, min(4 * turns, int(2 * SHORT / min(warming))), int(patience / len(kinds) / min(warming)))
        rounds += -rounds % len(kinds)  # each kind is as often the first, the second and the last
        for turn in range(rounds):
            for name in kinds[turn % len(kinds) :] + kinds[: turn % len(kinds)]:
                seconds, processor = run_counted(sessions[name], text)
                found[number][name].append(seconds)
                work[number][name].append(processor)
        shown = ", ".join(
            f"{name} {faster_half(own):.3f} s ({faster_half(work[number][name]):.3f})"
            for name, own in found[number].items()
        )
        print(f"{place} of {len(texts)}: query {number}, {rounds} runs, {shown}", file=sys.stderr, flush=True)
    return found, work


def _clear(spark: SparkSession) -> None:
    """Let go of broadcast tables of queries that are over: Spark keeps them until memory is collected, which else
    happens in the midst of a run."""
    spark.sparkContext._jvm.java.lang.System.gc()


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
            same[number] = bool(plans["plain"].sameResult(plans["guarded"])) or _alike(**plans)
    return {
        number: {
            "milliseconds": 1000 * (statistics.median(one["guarded"]) - statistics.median(one["plain"])),
            "plain milliseconds": 1000 * statistics.median(one["plain"]),
            "same plan": same[number],
        }
        for number, one in times.items()
    }


def _alike(plain: Any, guarded: Any) -> bool:
    """Whether plans read the same but for the numbers of columns and nodes: in subqueries Spark compares these too."""
    texts = {re.sub(r"#\d+L?|plan_id=\d+", "#", one.toString()) for one in (plain, guarded)}
    return len(texts) == 1


def faster_half(values: list[float]) -> float:
    return statistics.fmean(sorted(values)[: (len(values) + 1) // 2])


def ratio(one: dict[str, list[float]], name: str, to: tuple[str, ...] = PLAIN) -> float:
    """How much longer one kind takes than others, together."""
    return faster_half(one[name]) / statistics.fmean(faster_half(one[other]) for other in to)


def ratios(times: Runs) -> dict[str, dict[int, float]]:
    """By query: guarded to both plain sessions, and each of these to the other."""
    return {
        "guarded": {number: ratio(one, "guarded") for number, one in times.items()},
        "plain again": {number: ratio(one, "plain again", ("plain",)) for number, one in times.items()},
    }


def second_look(
    sessions: dict[str, SparkSession], texts: dict[int, str], first: Runs, planned: dict[int, Any], turns: int
) -> dict[str, Any]:
    """New runs of queries with another plan that seemed to differ by more than 5 %, guarded or not."""
    other = {number: one for number, one in first.items() if not planned[number]["same plan"]}
    seemed = _differing(ratios(other))
    chosen = {number: texts[number] for number in sorted({*seemed[0], *seemed[1]})}
    again, work = measure(sessions, chosen, turns, warm=3, patience=PATIENCE)
    slower, differing = _differing(ratios(again))
    by_work = _differing(ratios(work))
    return {
        "turns": turns,
        "seemed slower": seemed[0],
        "slower": sorted({*slower} & {*seemed[0]}),
        "slower in processor time": sorted({*by_work[0]} & {*seemed[0]}),
        "plain seemed to differ": seemed[1],
        "plain differs": sorted({*differing} & {*seemed[1]}),
        "plain differs in processor time": sorted({*by_work[1]} & {*seemed[1]}),
        "by query": ratios(again),
        "processor time by query": ratios(work),
    }


def _differing(found: dict[str, dict[int, float]], limit: float = 1.05) -> tuple[list[int], list[int]]:
    """Queries that take longer guarded, and those of which the two plain sessions differ, by more than a limit."""
    slower = sorted(number for number, one in found["guarded"].items() if one > limit)
    return slower, sorted(number for number, one in found["plain again"].items() if max(one, 1 / one) > limit)


def known_cost(times: Runs, planned: dict[int, dict[str, Any]]) -> dict[int, float]:
    """The ratio by query: where the plan is that of plain Spark, by what planning takes longer."""
    measured = ratios(times)["guarded"]
    return {
        number: 1
        + max(0.0, planned[number]["milliseconds"]) / 1000 / statistics.fmean(faster_half(one[kind]) for kind in PLAIN)
        if planned[number]["same plan"]
        else measured[number]
        for number, one in times.items()
    }


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(one) for one in values)) if values else math.nan


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
    parser.add_argument("--turns", type=int, help="least measured runs of each query and kind; 4, or 2 with --quick")
    parser.add_argument("--queries", help="numbers of queries, with commas between; all, or twelve with --quick")
    parser.add_argument("--data", type=Path, help="a folder to keep the data in, for another run")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    scale = options.scale or (0.1 if options.quick else 1)
    turns = options.turns or (2 if options.quick else 4)
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
            .config("spark.driver.memory", "10g")
            .config("spark.sql.debug.maxToStringFields", "1000")  # so that plans that read the same are the same
            .config("spark.sql.maxMetadataStringLength", "10000")
            .config("spark.sql.codegen.cache.maxEntries", "5000")  # what was warm stays warm,
            .config("spark.driver.extraJavaOptions", JAVA)  # and there is room for all of it
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
    same = [number for number in texts if planned[number]["same plan"]]
    found = ratios(times)
    return {
        "queries": len(texts),
        "turns": turns,
        "seconds": {kind: sum(faster_half(one[kind]) for one in times.values()) for kind in sessions},
        "planning": planned,
        "mean": {
            "measured": geometric_mean(list(found["guarded"].values())),
            "where the plan is the same": geometric_mean([found["guarded"][number] for number in same]),
            "where it is not": geometric_mean([one for number, one in found["guarded"].items() if number not in same]),
            "with planning for the same plans": geometric_mean(list(known_cost(times, planned).values())),
            "plain again": geometric_mean(list(found["plain again"].values())),
            "processor time of tasks": geometric_mean(list(ratios(work)["guarded"].values())),
            "processor time of tasks, plain again": geometric_mean(list(ratios(work)["plain again"].values())),
        },
        "most by planning alone": max((known_cost(times, planned)[number] for number in same), default=1.0),
        "by query": found,
        "processor time by query": ratios(work),
        "second look": second_look(sessions, texts, times, planned, 2 * turns),
        "milliseconds": {"new plan": statistics.median(new), "known plan": statistics.median(known)},
        "rules": rules(spark, names, tables, tpcds.queries()[2], [10, 100, 1000, 10_000]),
    }


def text_of(report: dict[str, Any]) -> str:
    turns = report["turns"]
    what = f"{report['queries']} TPC-DS queries at scale {report['scale']:g}"
    lines = [f"{what}, {turns} to {4 * turns} runs of each kind"]
    lines.append("seconds for all: " + ", ".join(f"{kind} {one:.1f}" for kind, one in report["seconds"].items()))
    lines += [f"geometric mean, {what}: {one:.4f}" for what, one in report["mean"].items()]
    lines.append(
        f"planning makes a query with the same plan {report['most by planning alone']:.3f} times as long at most"
    )
    again = report["second look"]
    lines += [
        f"more than 5 %, {what}: {', '.join(map(str, again[what])) or 'none'}"
        for what in (
            "seemed slower",
            "slower",
            "slower in processor time",
            "plain seemed to differ",
            "plain differs",
            "plain differs in processor time",
        )
    ]
    lines.append(f"(what at least {again['turns']} new runs of each kind say of what seemed to be)")
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
