"""What the guard adds to planning: by query, and by the number of rules."""

from __future__ import annotations

import re
import statistics
import time
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


def known_cost(times: Runs, planned: dict[int, dict[str, Any]]) -> dict[int, float]:
    """The ratio by query: where the plan is that of plain Spark, by what planning takes longer."""
    return {
        number: 1 + max(0.0, planned[number]["milliseconds"]) / 1000 / plain_seconds(one)
        if planned[number]["same plan"]
        else slowdown(one)
        for number, one in times.items()
    }


def rules(spark: SparkSession, names: list[str], text: str, sizes: list[int], own: bool = False) -> dict[int, float]:
    """The median time of a decision on a query, by the number of rules: other users', or the user's own."""
    found = {}
    for size in sizes:
        guard = guard_of(spark, names, size, own)
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
