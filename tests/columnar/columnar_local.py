"""The kernels without Spark: one process, everything held in memory. Only for comparing with the reference."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from headgate.columnar.arrive import Arrival
from headgate.columnar.column import column_of
from headgate.columnar.epoch_work import HeldWork, Tuples
from headgate.columnar.frame import Part, glued_parts
from headgate.columnar.held import Counted
from headgate.columnar.plan import Planner
from headgate.columnar.progress import Progress
from headgate.columnar.result import Produced, all_slots, by_class, results_table, rows_of
from headgate.columnar.strategy import Strategy
from headgate.decision.decide import Decider
from headgate.decision.timeline import Timeline
from headgate.model.datatype import Value
from headgate.model.element import Element, Tuple, element_time
from headgate.model.instant import Instant
from headgate.network.classes import classes_of
from headgate.scenario.system import System

Row = tuple[Instant, dict[str, Value]]


@dataclass
class LocalEngine:
    system: System
    strategy: Strategy = Strategy.SWITCHES
    rows: dict[tuple[str, str], list[Row]] = field(default_factory=lambda: defaultdict(list))
    withheld: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))

    def __post_init__(self) -> None:
        self.timeline = Timeline()
        decider = Decider(self.system.policies, self.system.streams)
        queries = {query.id: query for query in self.system.queries}
        classes = classes_of(self.system.queries, self.system.users, decider)
        self.plan = Planner(self.system.streams).plan(classes, queries, self.system.users, decider)
        self.at_once = frozenset(key for key in self.plan.frames if key.one_by_one)
        self.log: dict[str, list[tuple[int, Part]]] = defaultdict(list)
        self.progress = Progress()
        self.counted: dict[tuple[int, int], Counted] = {}
        self.number = 0
        self.uid = 0

    def epoch(self, elements: Sequence[tuple[str, Element]]) -> None:
        self.number += 1
        by_stream: dict[str, list[Tuple]] = defaultdict(list)
        seen: dict[str, Instant] = {}
        for name, element in elements:
            seen[name] = max(seen.get(name, element_time(element)), element_time(element))
            if isinstance(element, Tuple):
                by_stream[name].append(element)
            else:
                self.timeline.add(self.system.streams.stream(name), element)
        arrival = Arrival(self.plan, self.timeline.version, self.strategy, self.at_once)
        for name, tuples in by_stream.items():
            arrived = arrival.take(self._part(name, tuples))
            self._deliver(arrived.produced)
            for bit, count in arrived.withheld.items():
                owner = self.plan.classes[bit]
                for member in owner.members:
                    self.withheld[owner.query, member] += count
            if arrived.kept is not None:
                self.log[name].append((self.number, arrived.kept))
        self.progress = self.progress.observe(seen, self.system.streams, 0)
        self._work()

    def finish(self) -> None:
        self.number += 1
        self.progress = self.progress.finish()
        self._work()

    def _part(self, name: str, tuples: Sequence[Tuple]) -> Part:
        plan = self.plan.streams[name]
        columns = {
            column.name: column_of([one.values[position] for one in tuples], column.type)
            for position, column in enumerate(plan.schema.columns)
        }
        self.uid += len(tuples)
        uids = np.arange(self.uid - len(tuples), self.uid)
        return Part(plan, np.array([one.time for one in tuples], np.int64), columns, uids=uids)

    def _work(self) -> None:
        streams = {stream.name: stream for stream in self.system.streams}
        spans = {key: self.progress.span(key, streams, 0) for key in self.plan.frames if key not in self.at_once}
        version = self.timeline.version
        work = HeldWork(self.plan, version, self.number, spans, self.strategy, counted=self.counted)
        held = {}
        for stream, parts in self.log.items():
            epochs = np.concatenate([np.full(len(part), epoch) for epoch, part in parts])
            held[stream] = Tuples(glued_parts([part for _, part in parts]), epochs)
        self._deliver(list(work.run(held)))
        self.progress = self.progress.passed(spans)

    def _deliver(self, produced: list[Produced]) -> None:
        table = results_table(produced, all_slots(self.plan))
        for bit, own in by_class(table).items():
            owner = self.plan.classes[bit]
            for time, members, row in rows_of(own, owner.fields):
                for place, member in enumerate(owner.members):
                    if members >> place & 1:
                        self.rows[owner.query, member].append((time, row))
