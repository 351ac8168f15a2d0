"""The plain-Python interpreter of semantics.md: element by element, in event-time order. The oracle.

Elements come in epochs. In *replay* all streams are taken together in event-time order and an instant is complete as
soon as a later one begins, so that the cut into epochs makes no difference. *Live*, each stream has its watermark, and
what comes too late goes to the dead letters (section 1).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from headgate.model.element import Element, Rejected, Tuple, element_time, element_to_json, order_key
from headgate.model.instant import END_OF_TIME, Instant
from headgate.model.punctuation import Punctuation
from headgate.model.schema import StreamSchema
from headgate.model.watermark import Watermark
from headgate.reference.run import Outcome, QueryRun
from headgate.reference.timeline import Timeline
from headgate.scenario.system import System

Epoch = Sequence[tuple[str, Element]]
"""Elements with the names of their streams."""


class Interpreter:
    """Runs the queries of a system. Feed it epochs, then finish it; read `outcomes` at any time."""

    def __init__(self, system: System, live: bool = False) -> None:
        self.system = system
        self.live = live
        self.rejected: list[Rejected] = []
        self.tuples: dict[str, int] = dict.fromkeys(system.streams.names, 0)
        self.punctuations: dict[str, int] = dict.fromkeys(system.streams.names, 0)
        self._timeline = Timeline()
        self._watermarks = {name: Watermark() for name in system.streams.names}
        self._runs = [QueryRun(query, system, self._timeline) for query in system.queries]
        self._waiting: dict[str, list[tuple[StreamSchema, Tuple]]] = defaultdict(list)
        self._instant: list[tuple[StreamSchema, Element]] = []

    @property
    def outcomes(self) -> Mapping[tuple[str, str], Outcome]:
        """What came of each query for each subscriber."""
        return {(run.query.id, user): outcome for run in self._runs for user, outcome in run.outcomes.items()}

    def epoch(self, elements: Epoch, processing_time: Instant = 0) -> None:
        """Take in one epoch."""
        placed = [(self.system.streams.stream(name), element) for name, element in elements]
        if self.live:
            self._live_epoch(placed, processing_time)
        else:
            self._replay(placed)

    def finish(self) -> None:
        """The inputs are at their end: every watermark becomes +∞, and every open window gives its result."""
        if self.live:
            self._watermarks = {name: mark.finish() for name, mark in self._watermarks.items()}
            self._release(END_OF_TIME)
        else:
            self._complete_instant()
            self._close(END_OF_TIME)

    # Replay -----------------------------------------------------------------------------------------------------------

    def _replay(self, elements: Iterable[tuple[StreamSchema, Element]]) -> None:
        for stream, element in elements:
            if self._instant and element_time(element) != element_time(self._instant[0][1]):
                self._complete_instant()
            self._instant.append((stream, element))

    def _complete_instant(self) -> None:
        """All tuples of one instant, then its punctuations, which govern strictly later tuples."""
        if not self._instant:
            return
        now = element_time(self._instant[0][1])
        tuples = [(stream, element) for stream, element in self._instant if isinstance(element, Tuple)]
        self._take(tuples, now)
        for stream, element in self._instant:
            self._count(stream, element)
            if isinstance(element, Punctuation):
                self._timeline.add(stream, element)
        self._instant = []

    def _take(self, tuples: Sequence[tuple[StreamSchema, Tuple]], now: Instant) -> None:
        for run in self._runs:
            run.close_windows(now)
            run.take(tuples)

    def _close(self, until: Instant) -> None:
        for run in self._runs:
            run.close_windows(until)

    def _count(self, stream: StreamSchema, element: Element) -> None:
        counts = self.tuples if isinstance(element, Tuple) else self.punctuations
        counts[stream.name] += 1

    # Live -------------------------------------------------------------------------------------------------------------

    def _live_epoch(self, elements: Iterable[tuple[StreamSchema, Element]], processing_time: Instant) -> None:
        self._watermarks = {name: mark.begin_epoch(processing_time) for name, mark in self._watermarks.items()}
        for stream, element in elements:
            mark = self._watermarks[stream.name]
            if isinstance(element, Tuple):
                if element.time < mark.value:
                    self._reject_late(stream, element)
                    continue
                self._await(stream, element)
            else:
                self._timeline.add(stream, _not_behind(element, mark.value))
            self._count(stream, element)
            self._watermarks[stream.name] = self._watermarks[stream.name].observe(
                element_time(element), processing_time
            )
        self._release(processing_time)
        for stream in self.system.streams:
            self._watermarks[stream.name] = self._watermarks[stream.name].end_epoch(stream)

    def _reject_late(self, stream: StreamSchema, element: Tuple) -> None:
        self.rejected.append(
            Rejected(
                stream.name, "behind the watermark", json.dumps(element_to_json(element, stream), ensure_ascii=False)
            )
        )

    def _await(self, stream: StreamSchema, element: Tuple) -> None:
        for run in self._runs:
            if stream.name in run.query.streams:
                self._waiting[run.query.id].append((stream, element))

    def _release(self, processing_time: Instant) -> None:
        """Let each query work on what its streams' watermarks have reached, then close the windows they have passed."""
        for run in self._runs:
            streams = [self.system.streams.stream(name) for name in run.query.streams]
            awake = [one for one in streams if not self._watermarks[one.name].idle(one, processing_time)]
            held_back = [self._watermarks[one.name].value for one in awake if one.lateness > 0]
            ready_until = min(held_back, default=END_OF_TIME)
            waiting = self._waiting[run.query.id]
            ready = [pair for pair in waiting if pair[1].time <= ready_until]
            self._waiting[run.query.id] = [pair for pair in waiting if pair[1].time > ready_until]
            ready.sort(key=lambda pair: pair[1].time)
            for _, tuples in groupby(ready, key=lambda pair: pair[1].time):
                run.take(list(tuples))
            until = min((self._watermarks[one.name].value for one in awake), default=END_OF_TIME)
            run.close_windows(until, max(self._watermarks[one.name].seen for one in streams))


def _not_behind(punctuation: Punctuation, watermark: Instant) -> Punctuation:
    """A punctuation behind the watermark may only take away: a `-` counts as immediate there, a `+` as deferred."""
    if punctuation.at >= watermark:
        return punctuation
    return replace(punctuation, at=watermark, immediate=not punctuation.positive)


def in_replay_order(system: System, elements: Mapping[str, Iterable[Element]]) -> list[tuple[str, Element]]:
    """The finite inputs of all streams, put in order and taken together by event time."""
    ordered: list[tuple[str, Element]] = []
    for name, own in elements.items():
        stream = system.streams.stream(name)
        ordered.extend((stream.name, element) for element in sorted(own, key=lambda one: order_key(one, stream)))
    ordered.sort(key=lambda pair: (element_time(pair[1]), isinstance(pair[1], Punctuation)))
    return ordered
