"""What the guard costs: TPC-DS through a guarded session beside plain Spark, interleaved, and decisions by rules.

The policies are those of table 1 of GuardSpark++, which withhold nothing, so that only the guard's own work counts.
Each query runs in turns in two plain sessions and in two guarded ones; what is reported are ratios of the means of the
faster halves, since whatever else the machine does only makes runs slower. Plain against plain says what differences
the machine can show.

Times spread by a tenth here, as those of equal sessions show; the processor time of the tasks spreads less, and is
reported beside them.

Two things are told apart. Where the physical plan is that of plain Spark, running it costs the same, and all that the
guard costs is planning, which can be measured without the noise of running. Where it is not, only running tells.

Of these, what seems more than 5 % slower is run again, more often, warmed up longer, and in several processes, and
judged by the new runs alone; so are those of which the two plain sessions seem to differ by as much, which says how far
that judgement can be trusted. The mean is always that of the first look: to look twice at what seems slow, and not at
what seems quick, would flatter it.

Deciding is timed when a plan is new and when it is known, and for 10 to 10,000 rules: of other users, of the user's
own beside others that allow more, and of the user's own that withhold one value each.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from guarding.planning import known_cost, planning, rules
from guarding.runs import differing, measure, ratios, slowdown, warm_up
from guarding.second_look import PATIENCE, second_look
from guarding.sessions import DENIALS, OTHERS, OWN, generated, opened, started, tpcds
from headgate.guard import gateway
from measuring.processes import apart
from measuring.samples import faster_half, geometric_mean, resampled

QUICK = "2,3,7,19,27,35,42,52,55,68,93,98"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smaller scale, twelve queries, fewer turns")
    parser.add_argument("--scale", type=float, help="TPC-DS scale factor; 1, or 0.1 with --quick")
    parser.add_argument("--turns", type=int, help="least measured runs of each query and kind; 4, or 2 with --quick")
    parser.add_argument("--queries", help="numbers of queries, with commas between; all, or twelve with --quick")
    parser.add_argument("--processes", type=int, help="for a second look, if any; 3, or 1 with --quick")
    parser.add_argument("--patience", type=float, help=f"seconds for a query in each of these; {PATIENCE:g}")
    parser.add_argument("--again", action="store_true", help="nothing but a second look at the queries")
    parser.add_argument("--data", type=Path, help="a folder to keep the data in, for another run")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    scale = options.scale or (0.1 if options.quick else 1)
    turns = options.turns or (2 if options.quick else 4)
    processes = (1 if options.quick else 3) if options.processes is None else options.processes
    partitions = 2 if options.quick else 8
    texts = tpcds.queries()
    if options.quick or options.queries:
        chosen = options.queries or QUICK
        texts = {number: texts[number] for number in map(int, chosen.split(","))}
    with tempfile.TemporaryDirectory() as folder:
        data = options.data or Path(folder)
        generated(data, scale)
        report: dict[str, Any] = {"scale": scale}
        if not options.again:
            report |= apart(first_look, data, texts, partitions, turns)
            texts = {number: texts[number] for number in report["to look at again"]}
        if processes:
            report["second look"] = second_look(
                data, texts, partitions, 2 * turns, processes, options.patience or PATIENCE
            )
    print(json.dumps(report, indent=2) if options.json else text_of(report))


def first_look(data: Path, texts: dict[int, str], partitions: int, turns: int) -> dict[str, Any]:
    with started(data, partitions) as spark:
        names = generated(data, 0)
        sessions = opened(spark, names)
        planned = planning(sessions, texts, 9 if turns < 4 else 15)
        took = [nanoseconds / 1e6 for nanoseconds in json.loads(gateway.attach(spark).timings())]
        new, known = took[: len(texts)], took[len(texts) :]
        warm_up(sessions["plain"], texts)
        times, work = measure(sessions, texts, turns)
        by_rules = {
            whose: rules(spark, names, tpcds.queries()[2], [10, 100, 1000, 10_000], whose)
            for whose in (OTHERS, OWN, DENIALS)
        }
    same = [number for number in texts if planned[number]["same plan"]]
    found = ratios(times)
    seemed = differing(
        {kind: {number: one for number, one in own.items() if number not in same} for kind, own in found.items()}
    )
    return {
        "queries": len(texts),
        "turns": turns,
        "seconds": {kind: sum(faster_half(one[kind]) for one in times.values()) for kind in sessions},
        "planning": planned,
        "mean": {
            "measured": geometric_mean(found["guarded"].values()),
            "where the plan is the same": geometric_mean(found["guarded"][number] for number in same),
            "where it is not": geometric_mean(one for number, one in found["guarded"].items() if number not in same),
            "with planning for the same plans": geometric_mean(known_cost(times, planned).values()),
            "plain again": geometric_mean(found["plain again"].values()),
            "processor time of tasks": geometric_mean(ratios(work)["guarded"].values()),
            "processor time of tasks, plain again": geometric_mean(ratios(work)["plain again"].values()),
        },
        "interval": resampled(list(times.values()), lambda drawn: geometric_mean(map(slowdown, drawn)), 500),
        "most by planning alone": max((known_cost(times, planned)[number] for number in same), default=1.0),
        "by query": found,
        "processor time by query": ratios(work),
        "seemed slower": seemed[0],
        "plain seemed to differ": seemed[1],
        "to look at again": sorted({*seemed[0], *seemed[1]}),
        "milliseconds": {"new plan": statistics.median(new), "known plan": statistics.median(known)},
        "rules": by_rules,
    }


def text_of(report: dict[str, Any]) -> str:
    lines = _first(report) if "queries" in report else []
    return "\n".join(lines + (_second(report["second look"]) if "second look" in report else []))


def _first(report: dict[str, Any]) -> list[str]:
    turns = report["turns"]
    what = f"{report['queries']} TPC-DS queries at scale {report['scale']:g}"
    lines = [f"{what}, {turns} to {4 * turns} runs of each kind"]
    lines.append("seconds for all: " + ", ".join(f"{kind} {one:.1f}" for kind, one in report["seconds"].items()))
    lines += [f"geometric mean, {what}: {one:.4f}" for what, one in report["mean"].items()]
    low, high = report["interval"]
    lines.append(f"measured, 95 of 100 resampled: {low:.4f} to {high:.4f}")
    lines.append(
        f"planning makes a query with the same plan {report['most by planning alone']:.3f} times as long at most"
    )
    more = [one["milliseconds"] for one in report["planning"].values()]
    same = sum(one["same plan"] for one in report["planning"].values())
    lines.append(
        f"planning takes {statistics.median(more):.1f} ms more in the median, {statistics.fmean(more):.1f} ms in the "
        f"mean, {max(more):.1f} ms at most; {same} queries have the physical plan they have without a guard"
    )
    lost = {number: one["filters not put to files"] for number, one in report["planning"].items()}
    lines.append(
        f"filters that files are read with: {sum(map(len, lost.values()))} of plain Spark's are missing, in queries "
        + _listed([number for number, one in lost.items() if one])
    )
    new, known = report["milliseconds"]["new plan"], report["milliseconds"]["known plan"]
    lines.append(f"describe, decide, apply: {new:.1f} ms median for a new plan, {known:.1f} ms for a known one")
    lines += [
        f"{size:>6} rules, {whose}: {1000 * took['first']:.1f} ms to decide on query 2 when they are new, "
        f"{1000 * took['later']:.1f} ms later"
        for whose, by_size in report["rules"].items()
        for size, took in by_size.items()
    ]
    return lines + [
        f"more than 5 %, {what}: {_listed(report[what])}" for what in ("seemed slower", "plain seemed to differ")
    ]


def _second(again: dict[str, Any]) -> list[str]:
    lines = [
        f"query {number}, {one['runs']} new runs: {one['guarded']:.3f} ({one['interval'][0]:.3f} to "
        f"{one['interval'][1]:.3f}; by process {', '.join(f'{own:.3f}' for own in one['by process'])}), "
        f"plain again {one['plain again']:.3f}, processor time {one['processor time']:.3f}"
        for number, one in again["by query"].items()
    ]
    return lines + [
        f"more than 5 % in new runs, {what}: {_listed(again[what])}"
        for what in ("slower", "slower in processor time", "plain differs")
    ]


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


if __name__ == "__main__":
    main()
