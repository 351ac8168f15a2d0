"""One epoch from its elements to its manifest: split, advance, shield, run, commit.

The steps are those of the design. Each writes under names made of the epoch's number, so that an epoch which is
replayed writes over what it wrote before, and nothing counts until the manifest is there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headgate.algebra.window import RangeWindow, RowsWindow
from headgate.columnar.plan import FrameKey
from headgate.columnar.progress import Progress, Span
from headgate.columnar.strategy import Strategy
from headgate.decision.timeline.timeline import Timeline
from headgate.model.element import PUNCTUATION_OPENS, Rejected
from headgate.model.instant import END_OF_TIME, START_OF_TIME, Instant
from headgate.model.punctuation import Punctuation
from headgate.model.schema import StreamSchema
from headgate.spark.combinations import Held, Read, ends_of, result_time
from headgate.spark.counting import Counting
from headgate.spark.packing import WRITTEN, Sink, Task, open_sink
from headgate.spark.planning import Planned
from headgate.spark.punctuation_lines import PunctuationReader, bytes_of_lines
from headgate.spark.storage import Storage
from headgate.spark.tasks import Epoch, Shared, arrival_task, combination_task, held_task, holder_of, windows_task
from headgate.spark.window_log import Segment, WindowLog

Branch = tuple[DataFrame, Task]
"""Rows, and the task that makes of them what is written."""


@dataclass
class State:
    """What one epoch hands to the next."""

    timeline: Timeline
    progress: Progress
    segments: list[Segment] = field(default_factory=list)
    counted: dict[tuple[int, int], Counting] = field(default_factory=dict)
    """For each window of rows, by class and block."""


@dataclass
class Report:
    """What an epoch did."""

    number: int
    tuples: dict[str, int] = field(default_factory=dict)
    punctuations: dict[str, int] = field(default_factory=dict)
    withheld: dict[int, int] = field(default_factory=dict)
    rejected: list[dict[str, Any]] = field(default_factory=list)
    exceeded: dict[str, int] = field(default_factory=dict)
    results: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    frames_run: int = 0
    classes_off: int = 0


class EpochRunner:
    """Runs epochs with one version of the plan."""

    def __init__(
        self,
        spark: SparkSession,
        storage: Storage,
        planned: Planned,
        strategy: Strategy,
        limit: int,
        one_task: int,
        carried: bool,
        send: Callable[[Shared], Callable[[], Shared]],
    ) -> None:
        self.spark = spark
        self._storage = storage
        self._one_task = one_task
        self._carried = carried
        self._punctuations = PunctuationReader()
        self._planned = planned
        self._strategy = strategy
        self._limit = limit
        self._shared = send(planned.shared)

    @property
    def streams(self) -> tuple[str, ...]:
        return self._planned.shared.streams

    def run(
        self,
        batch: DataFrame | None,
        number: int,
        state: State,
        now: Instant,
        finish: bool = False,
        quiet: bool = False,
    ) -> Report:
        """Run one epoch; `state` is brought forward. Nothing is committed yet. A `quiet` one has no punctuations."""
        report = Report(number)
        clock = _Clock(report.seconds)
        self._storage.delete(f"data/epoch={number}")
        seen: dict[str, Instant] = {}
        if batch is not None and not quiet:
            self._split(batch, state, seen, report)
            clock.lap("split")
        epoch = self._epoch(number, state)
        report.classes_off = len(epoch.off)
        fresh: dict[str, int] = {}
        if batch is not None:
            fresh = self._arrive(batch, epoch, state, seen, report)
            clock.lap("arrive")
        schemas = {stream.name: stream for stream in self._planned.system.streams}
        before = state.progress
        state.progress = state.progress.observe(seen, schemas.values(), now)
        if finish:
            state.progress = state.progress.finish()
        spans = self._spans(state.progress, schemas, now)
        self._work(epoch, spans, fresh, before, state, report)
        state.progress = state.progress.passed(spans).only(self._planned.plan.frames)
        if not finish:
            state.progress = state.progress.end_epoch(schemas.values())
        clock.lap("held")
        return report

    def overdue(self, state: State, now: Instant) -> bool:
        """Whether an epoch without elements would have anything to do."""
        schemas = {stream.name: stream for stream in self._planned.system.streams}
        spans = self._spans(state.progress.observe({}, schemas.values(), now), schemas, now)
        return any(self._is_due(key, span, {}, state) for key, span in spans.items())

    # Split and advance ------------------------------------------------------------------------------------------------

    def _split(self, batch: DataFrame, state: State, seen: dict[str, Instant], report: Report) -> None:
        """Find the punctuations, and bring the timeline forward by them.

        The lines are told apart twice: here by a text that every punctuation contains, in the tasks by parsing; those
        that begin as punctuations do are not parsed again there.
        """
        line = F.col("line")
        candidates = batch.where(line.contains('"sp"') | line.contains("\\u00")).select("stream", "line").toArrow()
        streams = [self._planned.system.streams.stream(name) for name in self.streams]
        adders: dict[int, tuple[Punctuation, Callable[[Instant], None]]] = {}
        places, lines = candidates.column("stream").to_pylist(), bytes_of_lines(candidates.column("line"))
        for place, content in zip(places, lines, strict=True):
            stream = streams[place]
            element = self._punctuations.read(content, stream)
            if isinstance(element, Punctuation):
                element = element, element.at
            if isinstance(element, tuple):
                like, at = element
                if id(like) not in adders:
                    mark = state.progress.mark(stream.name).value if state.progress.live else None
                    adders[id(like)] = like, state.timeline.adder(stream, like, mark)
                adders[id(like)][1](at)
                report.punctuations[stream.name] = report.punctuations.get(stream.name, 0) + 1
                seen[stream.name] = max(seen.get(stream.name, at), at)
            elif isinstance(element, Rejected) and content.startswith(PUNCTUATION_OPENS):
                report.rejected.append(element.to_json())

    def _epoch(self, number: int, state: State) -> Epoch:
        progress, version = state.progress, state.timeline.version
        marks = {name: progress.mark(name).value for name in self.streams} if progress.live else {}
        streams = self._planned.system.streams
        unsettled = frozenset(one.name for one in streams if progress.live and one.lateness > 0)
        off = set()
        if self._strategy is Strategy.SWITCHES:
            for one in self._planned.plan.classes:
                since = min(progress.coming(stream) for stream in one.streams)
                if unsettled & set(one.streams):
                    continue
                if one.punctuated and version.off_since(one.query, one.audience.subscribers or (), since):
                    off.add(one.bit)
        return Epoch(number, version, self._strategy, marks, frozenset(off), unsettled)

    # Shield -----------------------------------------------------------------------------------------------------------

    def _arrive(
        self, batch: DataFrame, epoch: Epoch, state: State, seen: dict[str, Instant], report: Report
    ) -> dict[str, int]:
        folder = f"data/epoch={epoch.number}/arrival-{self._planned.number}"
        sink = self._sink(folder)
        task = sink.task(arrival_task(self._shared, epoch, self._planned.at_once))
        notes = _read(sink.write(batch.mapInArrow(task, WRITTEN)))
        fresh: dict[str, int] = {}
        bounds: dict[str, tuple[Instant, Instant]] = {}
        for note in notes:
            if "rejected" in note:
                report.rejected.append(note["rejected"])
                continue
            name = self.streams[note["stream"]]
            report.tuples[name] = report.tuples.get(name, 0) + note["tuples"]
            seen[name] = max(seen.get(name, START_OF_TIME), note["latest"])
            for bit, count in note["withheld"].items():
                report.withheld[int(bit)] = report.withheld.get(int(bit), 0) + count
            if note.get("kept"):
                fresh[name] = fresh.get(name, 0) + note["kept"]
                low, high = bounds.get(name, (END_OF_TIME, START_OF_TIME))
                bounds[name] = min(low, note["from"]), max(high, note["to"])
        for name, (low, high) in bounds.items():
            path = f"{folder}/part=kept{self.streams.index(name)}"
            state.segments.append(Segment(name, path, fresh[name], low, high, epoch=epoch.number))
        report.results.append(folder)
        return fresh

    def _sink(self, folder: str) -> Sink:
        return open_sink(self._storage, folder, self._carried)

    # Run --------------------------------------------------------------------------------------------------------------

    def _spans(self, progress: Progress, schemas: Mapping[str, StreamSchema], now: Instant) -> dict[FrameKey, Span]:
        keys = (key for key in self._planned.plan.frames if key not in self._planned.at_once)
        return {key: progress.span(key, schemas, now) for key in keys}

    def _work(
        self,
        epoch: Epoch,
        spans: Mapping[FrameKey, Span],
        fresh: Mapping[str, int],
        before: Progress,
        state: State,
        report: Report,
    ) -> None:
        """Everything that needs held tuples, in one write."""
        log = WindowLog(self.spark, self._storage, self._planned.shared, self._carried)
        due = {key: span for key, span in spans.items() if self._is_due(key, span, fresh, state)}
        near, far = self._by_size(due, state)
        branches = self._spread(log, far, epoch, fresh, before, state)
        if near:
            branches.append(self._together(log, near, epoch, before, state))
        report.frames_run = len(due)
        if branches:
            folder = f"data/epoch={epoch.number}/held-{self._planned.number}"
            sink = self._sink(folder)
            written = [rows.mapInArrow(sink.task(task), WRITTEN) for rows, task in branches]
            notes = sink.write(reduce(DataFrame.unionAll, written))
            self._take_notes(_read(notes), folder, state, report)
            report.results.append(folder)

    def _is_due(self, key: FrameKey, span: Span, fresh: Mapping[str, int], state: State) -> bool:
        """Whether a frame has anything to do: a window that closes, or a tuple that is new to it."""
        held: dict[str, Instant] = {}
        for one in state.segments:
            held[one.stream] = min(held.get(one.stream, END_OF_TIME), one.first)
        if isinstance(key.window, RangeWindow):
            # A window that ends before every stream has a tuple has nothing in it.
            begin = max(held.get(stream, END_OF_TIME) for stream in key.streams)
            return key.window.ends_within(max(span.closed, begin), span.closing)
        if any(fresh.get(stream) for stream in key.streams):
            return True
        waited = span.before != END_OF_TIME and span.released > span.before
        return waited and any(stream in held for stream in key.streams)

    def _by_size(self, due: Mapping[FrameKey, Span], state: State) -> tuple[dict[FrameKey, Span], dict[FrameKey, Span]]:
        """Frames whose tuples fit one task, and those that are spread over the cluster. Windows of rows always fit."""
        rows: dict[str, int] = {}
        for one in state.segments:
            rows[one.stream] = rows.get(one.stream, 0) + one.rows
        near: dict[FrameKey, Span] = {}
        far: dict[FrameKey, Span] = {}
        for key, span in due.items():
            count = sum(rows.get(stream, 0) for stream in set(key.streams))
            small = isinstance(key.window, RowsWindow) or count <= self._one_task
            (near if small else far)[key] = span
        return near, far

    def _together(
        self, log: WindowLog, due: Mapping[FrameKey, Span], epoch: Epoch, before: Progress, state: State
    ) -> Branch:
        """All these frames in one task, over tuples that are read once."""
        since: dict[str, Instant] = {}
        for key, span in due.items():
            for place, stream in enumerate(key.streams):
                since[stream] = min(since.get(stream, END_OF_TIME), _since(before, key, span, place))
        segments = [one for one in state.segments if one.last >= since.get(one.stream, END_OF_TIME)]
        places = {
            (entry.owner.bit, entry.number)
            for key in due
            if isinstance(key.window, RowsWindow)
            for entry in self._planned.plan.frames[key]
        }
        counted = {place: state.counted.get(place, Counting()) for place in sorted(places)}
        wanted: dict[str, frozenset[str]] = {}
        for key, span in due.items():
            held = Held(self._planned.plan, key, span, epoch.number, frozenset(), {})
            for place, stream in enumerate(key.streams):
                wanted[stream] = wanted.get(stream, frozenset()) | held.columns(place)
        # Classes that were one before the last change have one file together.
        rows = log.packed(segments, dict.fromkeys(one.path for one in counted.values() if one.path))
        totals = {place: (one.total, one.given, one.holder) for place, one in counted.items()}
        task = held_task(self._shared, epoch, due, totals, self._limit, wanted)
        return rows.coalesce(1), task

    def _spread(
        self,
        log: WindowLog,
        due: Mapping[FrameKey, Span],
        epoch: Epoch,
        fresh: Mapping[str, int],
        before: Progress,
        state: State,
    ) -> list[Branch]:
        """Frames that Spark joins and shuffles, before tasks judge what it found."""

        def read(stream: str, since: Instant, columns: frozenset[str]) -> DataFrame:
            return log.of_stream(state.segments, stream, since, columns)

        branches: list[Branch] = []
        closing: dict[str, list[FrameKey]] = {}
        for key, span in due.items():
            held = self._held(key, span, epoch, fresh)
            if held is None:
                continue
            since = [_since(before, key, span, place) for place in range(len(key.streams))]
            if key.window is None:
                found = held.new_combinations(read, since)
                if found is not None:
                    branches.append(self._judged(found, key, epoch, held.bits))
            elif len(key.streams) == 1:
                closing.setdefault(key.streams[0], []).append(key)
            else:
                branches.append(self._joined_windows(held, read, since, key, span, epoch))
        for keys in closing.values():
            branches.append(self._windows(keys, due, epoch, fresh, before, read))
        return branches

    def _held(self, key: FrameKey, span: Span, epoch: Epoch, fresh: Mapping[str, int]) -> Held | None:
        entries = self._planned.plan.frames[key]
        # INVARIANT: a class that is off gets no new tuples, but what it holds may still give results in windows that
        # its subscribers had access to; only its joins, which need a new tuple, can be left out.
        skipped = epoch.off if key.window is None else frozenset[int]()
        owners = [entry.owner for entry in entries if entry.owner.bit not in skipped]
        if not owners:
            return None
        bits = frozenset(bit for owner in owners for bit in owner.bits)
        return Held(self._planned.plan, key, span, epoch.number, bits, fresh)

    def _judged(self, found: DataFrame, key: FrameKey, epoch: Epoch, bits: frozenset[int]) -> Branch:
        task = combination_task(self._shared, epoch, key, bits, self._limit)
        return found, task

    def _joined_windows(
        self,
        held: Held,
        read: Read,
        since: Sequence[Instant],
        key: FrameKey,
        span: Span,
        epoch: Epoch,
    ) -> Branch:
        assert isinstance(key.window, RangeWindow)
        found = held.all_combinations(read, since)
        ends = F.explode(ends_of(result_time(key), key.window, span)).alias("ends")
        return self._judged(found.select("*", ends).repartition("ends"), key, epoch, held.bits)

    def _windows(
        self,
        keys: Sequence[FrameKey],
        spans: Mapping[FrameKey, Span],
        epoch: Epoch,
        fresh: Mapping[str, int],
        before: Progress,
        read: Read,
    ) -> Branch:
        """All windows of one stream that close, of whatever size, in one pass."""
        bits: frozenset[int] = frozenset()
        since = END_OF_TIME
        columns: frozenset[str] = frozenset()
        places = []
        for number, key in enumerate(keys):
            held = self._held(key, spans[key], epoch, fresh)
            assert held is not None
            assert isinstance(key.window, RangeWindow)
            bits |= held.bits
            columns |= held.columns(0)
            since = min(since, _since(before, key, spans[key], 0))
            ends = ends_of(F.col("s0_t"), key.window, spans[key])
            places.append(F.transform(F.coalesce(ends, F.array().cast("array<bigint>")), _with_frame(number)))
        first = Held(self._planned.plan, keys[0], spans[keys[0]], epoch.number, bits, fresh)
        rows = first.all_combinations(read, [since])
        each = F.explode(F.concat(*places) if len(places) > 1 else places[0]).alias("place")
        spread = rows.select("*", each).select("*", "place.frame", "place.ends").drop("place")
        task = windows_task(self._shared, epoch, keys, bits)
        return spread.repartition("frame", "ends"), task

    def _take_notes(self, notes: Iterable[dict[str, Any]], folder: str, state: State, report: Report) -> None:
        for note in notes:
            if "exceeded" in note:
                for query in note["exceeded"]:
                    report.exceeded[query] = note["limit"]
            elif "counted" in note:
                bit, number, total, given, first = note["counted"]
                path = f"{folder}/part=counted-{bit}-{number}"
                there = bool(self._storage.names(path))
                holder = holder_of((bit, number))
                state.counted[bit, number] = Counting(total, given, path if there else None, holder, first)


def _read(notes: Iterable[bytes]) -> list[dict[str, Any]]:
    return [json.loads(one) for one in notes]


def _since(before: Progress, key: FrameKey, span: Span, place: int) -> Instant:
    """From which time on tuples of a source can matter now: to what was to come when the epoch began."""
    if isinstance(key.window, RangeWindow):
        reach = key.window.size + (key.ranges[place] if key.ranges else 0)
        return START_OF_TIME if span.closed == START_OF_TIME else span.closed - reach
    return START_OF_TIME if before.latest == START_OF_TIME else before.needed_from(key, place)


def _with_frame(number: int) -> Callable[[Any], Any]:
    return lambda end: F.struct(F.lit(number).alias("frame"), end.alias("ends"))


class _Clock:
    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds
        self._at = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self._seconds[name] = self._seconds.get(name, 0.0) + now - self._at
        self._at = now
