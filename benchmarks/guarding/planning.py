"""What the guard adds to planning: by query, and by the number of rules."""

from __future__ import annotations

import re
import statistics
import time
from collections import Counter
from typing import Any

from pyspark.sql import SparkSession

from guarding.runs import Runs, plain_seconds, slowdown
from guarding.sessions import guard_of
from headgate.guard import gateway, session


def planning(sessions: dict[str, SparkSession], texts: dict[int, str], turns: int) -> dict[int, dict[str, Any]]:
    """What the guard adds to planning, in milliseconds, and whether the physical plan is that of plain Spark.

    Where it is, the query runs as without a guard, and this is the whole cost; it is measured without the noise of
    running. A quarter of the turns warms up.
    """
    times: dict[int, dict[str, list[float]]] = {number: {"plain": [], "guarded": []} for number in texts}
    same, lost = {}, {}
    for turn in range(turns + turns // 3):
        for number, text in texts.items():
            plans = {}
            for name in ("plain", "guarded") if turn % 2 else ("guarded", "plain"):
                start = time.perf_counter()
                plans[name] = sessions[name].sql(text)._jdf.queryExecution().executedPlan()
                if turn >= turns // 3:
                    times[number][name].append(time.perf_counter() - start)
            same[number] = bool(plans["plain"].sameResult(plans["guarded"])) or _alike(**plans)
            lost[number] = sorted((_pushed(plans["plain"]) - _pushed(plans["guarded"])).elements())
    return {
        number: {
            "milliseconds": 1000 * (statistics.median(one["guarded"]) - statistics.median(one["plain"])),
            "plain milliseconds": 1000 * statistics.median(one["plain"]),
            "same plan": same[number],
            "filters not put to files": lost[number],
        }
        for number, one in times.items()
    }


def _alike(plain: Any, guarded: Any) -> bool:
    """Whether plans read the same but for the numbers of columns and nodes: in subqueries Spark compares these too."""
    texts = {re.sub(r"#\d+L?|plan_id=\d+", "#", one.toString()) for one in (plain, guarded)}
    return len(texts) == 1


def _pushed(plan: Any) -> Counter[str]:
    """What the scans of a plan have files skip rows by, each with the table it is about."""
    found: Counter[str] = Counter()
    for scan in re.findall(r"FileScan parquet [^\n]*", plan.toString()):
        table = scan.split("[")[0].split()[-1]
        for kind in ("PartitionFilters", "PushedFilters"):
            filters = re.search(kind + r": \[(.*?)\](?:, [A-Z]\w+:|$)", scan)
            for one in re.split(r", (?=[A-Z])", re.sub(r"#\d+L?", "", filters[1])) if filters and filters[1] else ():
                found[f"{table}: {one}"] += 1
    return found


def known_cost(times: Runs, planned: dict[int, dict[str, Any]]) -> dict[int, float]:
    """The ratio by query: where the plan is that of plain Spark, by what planning takes longer."""
    return {
        number: 1 + max(0.0, planned[number]["milliseconds"]) / 1000 / plain_seconds(one)
        if planned[number]["same plan"]
        else slowdown(one)
        for number, one in times.items()
    }


def rules(
    spark: SparkSession, names: list[str], text: str, sizes: list[int], whose: str
) -> dict[int, dict[str, float]]:
    """The median time of a decision on a query, by the number of rules.

    The first one after the policies have changed looks everything up, as in the paper; later ones know what was said
    of the tables, and are about a plan that is new.
    """
    found = {}
    for size in sizes:
        guard = guard_of(spark, names, size, whose)
        one = session("ann", guard, spark)
        one.catalog.setCurrentDatabase("tpcds")
        frame = one.sql(text)
        description = gateway.attach(spark).describe(one._jsparkSession, frame._jdf.queryExecution().analyzed())
        first, later = [], []
        for _ in range(7):
            guard.replace_policies(guard.policies)
            for times in (first, later):
                start = time.perf_counter()
                guard.answer(description)
                times.append(time.perf_counter() - start)
        found[size] = {"first": statistics.median(first), "later": statistics.median(later)}
    return found
