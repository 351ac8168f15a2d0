"""What judging tuples by a timeline costs, and how that grows with punctuations, queries, roles and patterns.

    python benchmarks/timeline.py [--quick] [--json]

Tuples in event-time order are judged for sixteen audiences. "shield" is what an epoch's shield does with its columns:
tuples that nobody may use go, cells that nobody may see become NULL, and each cell that stays has a bitmap of
audiences. "bitmaps" is the part of it that depends on the timeline: from the column of times to a bitmap for each tuple
and attribute. "look-up" is that without writing the bitmaps out. "own part" gives every attribute punctuations of its
own, so that attributes share nothing. Cases are interleaved, and the median processor time of several rounds is
reported, with its ratio to the timeline without punctuations; for "shield" that has one before the first tuple, which
lets everything through, as a shield that lets nothing through has nothing to do. "take in" is what a punctuation costs
once: adding it, and folding it into the segment tables.

The limit is on the bitmaps, against the timeline without any punctuation, and it is not met: without punctuations they
are one number written a million times, about a nanosecond for a tuple and attribute, while finding the place of a
boundary among a million times takes some twenty, two for each tuple where there is one in ten. The exit code of a
full run says whether the limit holds. A quick run says nothing about it: over few tuples what each call costs once
outweighs what each tuple costs.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
import tracemalloc
from collections.abc import Callable
from statistics import median
from time import process_time

import numpy as np

from headgate.decision.timeline import Audience, Cell, Timeline, Tuples, to_json
from headgate.model.datatype import DataType
from headgate.model.instant import SECOND
from headgate.model.pattern import EVERYTHING, Ids, Names
from headgate.model.punctuation import Kind, Objects, Punctuation
from headgate.model.schema import Column, StreamSchema

LIMIT = 1.5
START = 1_767_254_400 * SECOND
STEP = 1_000
ATTRIBUTES = ("patient", "rate", "pressure", "breaths")
STREAM = StreamSchema(
    "Vitals",
    (Column("ts", DataType.TIMESTAMP), *(Column(name, DataType.INT) for name in ATTRIBUTES)),
    tid="patient",
    governed=True,
)


class Case:
    """A timeline with a punctuation every so many tuples, and what is asked of it."""

    def __init__(
        self,
        name: str,
        tuples: int,
        every: int = 0,
        roles: int = 8,
        audiences: int = 16,
        qsp_queries: int = 0,
        particular: int = 0,
        own_part: bool = False,
        immediate: bool = False,
        opened: bool = False,
    ) -> None:
        chosen = random.Random(1)
        self.name = name
        self.names = [f"role{number}" for number in range(roles)]
        self.audiences = [
            Audience(f"q{number // 2}", frozenset(chosen.sample(self.names, min(2, roles))))
            for number in range(audiences)
        ]
        self.times = START + STEP * np.arange(tuples, dtype=np.int64)
        numbers = np.random.default_rng(1)
        self.ids = numbers.integers(0, 1_000, tuples)
        self.values = {attribute: numbers.integers(0, 200, tuples, np.int32) for attribute in ATTRIBUTES}
        self.now = int(self.times[-1]) + 1 if immediate else None
        said = list(self._said(tuples, every, qsp_queries, particular, own_part, immediate, chosen))
        if opened:
            said.append(Punctuation(Kind.DATA, tuple(self.names), True, START - STEP))
        gc.collect()
        tracemalloc.start()
        self._take_in(said)
        self.bytes = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        begin = process_time()
        self._take_in(said)
        self.seconds_to_take_in = process_time() - begin
        self.punctuations = len(said)
        self.version = self.timeline.version
        self.segments = len(self.version.data_table(STREAM, "rate")[0])

    def _take_in(self, said: list[Punctuation]) -> None:
        self.timeline = Timeline()
        for one in said:
            self.timeline.add(STREAM, one)
        self.look_up(Tuples.of(self.times[-1:]))

    def _said(self, tuples, every, qsp_queries, particular, own_part, immediate, chosen):
        for number, place in enumerate(range(0, tuples, every) if every else ()):
            attributes = Names((ATTRIBUTES[number % len(ATTRIBUTES)],)) if own_part else EVERYTHING
            of_tuples = Ids((chosen.randrange(1_000),)) if particular and number % particular == 0 else EVERYTHING
            subjects = tuple(chosen.sample(self.names, min(3, len(self.names))))
            at, positive = START + STEP * place, number % 4 != 3
            if qsp_queries and number % 2:
                query = f"q{number // 2 % qsp_queries}"
                yield Punctuation(Kind.QUERY, subjects[:1], positive, at, query=query)
            else:
                objects = Objects(EVERYTHING, of_tuples, attributes)
                yield Punctuation(Kind.DATA, subjects, positive, at, objects=objects, immediate=immediate)

    def look_up(self, tuples: Tuples):
        return self.timeline.version.visible(STREAM, ATTRIBUTES, self.audiences, tuples, self.now)

    def shield(self) -> None:
        """The columns of the tuples that somebody may use, without the cells that nobody may see."""
        seen = self.look_up(Tuples.of(self.times, self.ids))
        visible = {attribute: seen[attribute].by_anybody() for attribute in ATTRIBUTES}
        kept = np.flatnonzero(np.logical_or.reduce(list(visible.values())))
        columns = [self.times.take(kept)]
        for attribute in ATTRIBUTES:
            shown = visible[attribute].take(kept)
            columns.append(np.where(shown, self.values[attribute].take(kept), 0))
            columns.append(shown)
            columns.append(seen[attribute].words(len(self.audiences)).take(kept, axis=0))

    def write_bitmaps(self) -> None:
        """From the columns to bitmaps of audiences, for each tuple and attribute."""
        seen = self.look_up(Tuples.of(self.times, self.ids))
        for attribute in ATTRIBUTES:
            seen[attribute].words(len(self.audiences))

    def only_look_up(self) -> None:
        self.look_up(Tuples.of(self.times, self.ids))


def interleaved(works: list[Callable[[], None]], rounds: int) -> list[float]:
    """The median seconds of each, the rounds taken in turn so that all suffer alike from other work on the machine."""
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for own, work in zip(taken, works, strict=True):
            begin = process_time()
            work()
            own.append(process_time() - begin)
    return [median(own) for own in taken]


def cases(tuples: int) -> list[Case]:
    return [
        Case("none", tuples),
        Case("one, before all", tuples, opened=True),
        Case("every 100", tuples, 100),
        Case("every 10", tuples, 10),
        Case("every 100, own part", tuples, 100, own_part=True),
        Case("every 100, 64 roles", tuples, 100, roles=64),
        Case("every 100, 100 audiences", tuples, 100, roles=64, audiences=100),
        Case("every 100, 1,000 audiences", tuples, 100, roles=64, audiences=1_000),
        Case("every 100, half qsps for 8 queries", tuples, 100, qsp_queries=8),
        Case("every 100, half qsps for 50 queries", tuples, 100, roles=64, audiences=100, qsp_queries=50),
        Case("every 100, 1 in 100 for one id", tuples, 100, particular=100),
        Case("every 100, all immediate, held", tuples, 100, immediate=True),
    ]


def measured(tuples: int, rounds: int) -> list[dict[str, object]]:
    made = cases(tuples)
    shielded = interleaved([one.shield for one in made], rounds)
    written = interleaved([one.write_bitmaps for one in made], rounds)
    looked_up = interleaved([one.only_look_up for one in made], rounds)
    return [
        {
            "case": one.name,
            "punctuations": one.punctuations,
            "segments": one.segments,
            "shield_ns_per_tuple": 1e9 * shielded[place] / tuples,
            "shield_ratio": shielded[place] / shielded[1],
            "bitmaps_ns_per_tuple": 1e9 * written[place] / tuples,
            "bitmaps_ratio": written[place] / written[0],
            "look_up_ns_per_tuple": 1e9 * looked_up[place] / tuples,
            "look_up_ratio": looked_up[place] / looked_up[0],
            "take_in_us_per_punctuation": 1e6 * one.seconds_to_take_in / max(1, one.punctuations),
            "bytes_per_punctuation": one.bytes / max(1, one.punctuations),
        }
        for place, one in enumerate(made)
    ]


def one_by_one(tuples: int, rounds: int) -> list[dict[str, object]]:
    """The same question for single cells, as a program without columns asks it."""
    made = [Case("none", tuples), Case("every 100", tuples, 100), Case("every 10", tuples, 10)]
    cells = [Cell(STREAM, 1, "rate", int(time)) for time in made[0].times[:: max(1, tuples // 2_000)]]
    works = [lambda one=one: [one.version.data_roles(cell, cell.time) for cell in cells] for one in made]
    seconds = interleaved(works, rounds)
    return [
        {"case": one.name, "us_per_cell": 1e6 * own / len(cells), "ratio": own / seconds[0]}
        for one, own in zip(made, seconds, strict=True)
    ]


def forgetting(tuples: int) -> dict[str, object]:
    """A timeline that goes on for ever, with a horizon behind it."""
    case = Case("every 10", min(tuples, 200_000), 10)
    timeline, most = Timeline(), 0
    begin = process_time()
    for at, statement in case.timeline.data_logs[STREAM.name].entries():
        objects = Objects()
        subjects = tuple(sorted(case.timeline.roles.names(statement.subjects)))
        timeline.add(STREAM, Punctuation(Kind.DATA, subjects, statement.positive, at, objects=objects))
        timeline.forget_before(at - 1_000 * 10 * STEP)
        most = max(most, len(timeline))
    seconds = process_time() - begin
    return {
        "punctuations": case.punctuations,
        "most_kept_with_1000_in_the_window": most,
        "us_per_punctuation": 1e6 * seconds / case.punctuations,
        "snapshot_bytes": len(json.dumps(to_json(timeline))),
    }


def table(rows: list[dict[str, object]]) -> str:
    """Columns under their names."""
    heads = list(rows[0])
    cells = [
        heads,
        *(
            [
                f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
                for value in row.values()
            ]
            for row in rows
        ),
    ]
    widths = [max(len(line[place]) for line in cells) for place in range(len(heads))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in cells
    )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100,000 tuples and few rounds")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    tuples, rounds = (100_000, 5) if options.quick else (1_000_000, 11)
    columns, cells, forgot = measured(tuples, rounds), one_by_one(tuples, rounds), forgetting(tuples)
    within = all(float(str(row["bitmaps_ratio"])) <= LIMIT for row in columns[2:4])
    if options.json:
        print(
            json.dumps({"tuples": tuples, "columns": columns, "cells": cells, "forgetting": forgot, "within": within})
        )
    else:
        print(f"{tuples:,} tuples, {len(ATTRIBUTES)} attributes, 16 audiences unless said otherwise\n")
        print(table(columns), table(cells), table([forgot]), sep="\n\n")
        print(
            f"\nbitmaps with a punctuation every 100 and every 10 tuples within {LIMIT} times of those with none: "
            f"{'yes' if within else 'NO'}"
        )
    return 0 if within or options.quick else 1


if __name__ == "__main__":
    sys.exit(main())
