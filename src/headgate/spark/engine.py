"""The epoch engine: one Structured Streaming query reads all streams and hands each micro-batch over as an epoch.

The engine owns a folder: `checkpoint/` is Spark's, `manifest/` says which epochs count, `data/` has what they wrote,
`plans/` what the classes of results mean, `push/` what programs put in, `dead-letter/` what was refused.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from threading import Condition, RLock
from typing import Any, NoReturn

from pyspark import Broadcast
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.columnar.plan import Numbering
from headgate.columnar.progress import Progress
from headgate.columnar.strategy import Strategy
from headgate.decision.timeline import Timeline, from_json, to_json
from headgate.errors import ConflictError, FileError, HeadgateError, InputError, Place, StoreError
from headgate.model.duration import Duration
from headgate.model.element import Element, element_to_json
from headgate.model.instant import END_OF_TIME, Instant
from headgate.scenario.system import System
from headgate.spark.beats import Beats
from headgate.spark.callback import Callback
from headgate.spark.counting import counted_by, counting_from_json, counting_to_json
from headgate.spark.epoch import EpochRunner, Report, State
from headgate.spark.identity import claim, in_order
from headgate.spark.manifest import Manifest, Manifests
from headgate.spark.offsets import brings_nothing, pad_offsets, planned_epochs, sources_in
from headgate.spark.planning import Planned, Plans, Seat, without_forgotten
from headgate.spark.push import PushFolder
from headgate.spark.rehearsal import load_workers
from headgate.spark.retention import Kept, has_results, next_plan, sweep, sweep_anew
from headgate.spark.session import engine_session, use_local_checkpoints
from headgate.spark.sources import StreamSources, names_in_order, places_of_lines, read_streams
from headgate.spark.storage import open_storage
from headgate.spark.tasks import Shared
from headgate.spark.totals import Totals, metrics_of
from headgate.spark.window_log import Segment, WindowLog

SOURCES = "sources.json"
_NO_SPACE = "No space left on device"


@dataclass(frozen=True)
class Settings:
    """How an engine runs."""

    strategy: Strategy = Strategy.SWITCHES
    live: bool = True
    join_limit: int = 20_000_000
    """Combinations that one task may be given for one join before its queries are stopped."""
    one_task: int = 2_000_000
    """Frames over up to so many held tuples run in one task; beyond, Spark joins and shuffles."""
    carried: bool = False
    """Let Spark carry and write what tasks give out, as it does where there is no disk that all of them share."""
    files_per_epoch: int | None = None
    trigger: str | None = None
    """How often an epoch begins, such as `1 second`; by default as soon as the one before is done."""
    keep_results: Duration | None = None
    """How long results can be read after they were given, by the engine's clock; by default for ever."""


class Engine:
    """Runs the queries of a system over its streams, from where the last engine on this folder left off."""

    def __init__(
        self,
        spark: SparkSession,
        root: str,
        system: System,
        sources: Mapping[str, StreamSources] | None = None,
        settings: Settings | None = None,
        clock: Callable[[], Instant] = lambda: time.time_ns() // 1000,
    ) -> None:
        self.settings = settings or Settings()
        self.spark = engine_session(spark)
        self.storage = open_storage(self.spark, root)
        self.storage.protect()
        if self.storage.folder is not None:
            use_local_checkpoints(self.spark)
        self.metrics: deque[dict[str, Any]] = deque(maxlen=1_000)
        self.stopped_queries: dict[str, str] = {}
        """Queries that were taken out because they asked for too much, and why."""
        self.listeners: list[Callable[[int], None]] = []
        """Told of every epoch that is committed."""
        self.changed = Condition(RLock())
        self._sources = dict(sources or {})
        self._clock = clock
        self._manifests = Manifests(self.storage)
        self._places_of_lines: tuple[int, ...] | None = None
        self._sent: Broadcast[Shared] | None = None
        self._first_look = False
        """Whether the next epoch is to look for punctuations even if there can be none: Spark takes its time to
        compile that look, and the first punctuation is not to wait for it."""
        self._query: StreamingQuery | None = None
        self._callback: Callback | None = None
        self._beats: Beats | None = None
        self._failure: BaseException | None = None
        self._stopping = False
        self._cut_short = False
        """Whether the failure is that of an epoch in whose midst the engine was stopped."""
        system = claim(self.storage, system)
        self.push_folder = PushFolder(self.storage, system.streams)
        self._recover(system)

    # Recovery ---------------------------------------------------------------------------------------------------------

    def _recover(self, system: System) -> None:
        last = self._manifests.last()
        manifest = last or Manifest(-1)
        self.epoch = manifest.epoch
        self.finished = bool(manifest.totals.get("finished"))
        self._totals = Totals.from_json(manifest.totals)
        self._kept = Kept.from_json(manifest.kept) if last else Kept()
        self._plans = Plans(system, Numbering(manifest.facts), Numbering(manifest.masks))
        if last is not None and last.progress["live"] is not self.settings.live:
            raise StoreError(f"`{self.storage.root}` was run {'live' if last.progress['live'] else 'aligned'} before")
        self._next_plan = next_plan(self.storage, self._kept)
        self._plan(system, [Seat.from_json(one) for one in manifest.classes])
        self.state = State(
            from_json(manifest.timeline) if last else Timeline(),
            Progress.from_json(manifest.progress, self.planned.plan.frames) if last else Progress(self.settings.live),
            [Segment(**one) for one in manifest.segments],
            counting_from_json(manifest.counted),
        )
        sweep_anew(self.storage, self._kept, _paths(self.state), self.planned.number)
        self._pending: System | None = None

    def _plan(self, system: System, seats: Iterable[Seat]) -> None:
        number, self._next_plan = self._next_plan, self._next_plan + 1
        self.planned: Planned = self._plans.plan(system, number, tuple(seats), self.epoch + 1, self.settings.live)
        body = {"classes": [one.to_json() for one in self.planned.seated()]}
        self.storage.write(f"plans/{number}.json", json.dumps(body).encode())
        self._runner = EpochRunner(
            self.spark,
            self.storage,
            self.planned,
            self.settings.strategy,
            self.settings.join_limit,
            self.settings.one_task,
            self.settings.carried,
            self._send,
        )

    def _send(self, shared: Shared) -> Callable[[], Shared]:
        before, self._sent = self._sent, self.spark.sparkContext.broadcast(shared)
        if before is not None:
            # No epoch runs by it any more. Spark would keep it, and a file with it, as long as the program runs.
            before.destroy()
        sent = self._sent
        return lambda: sent.value

    # Life -------------------------------------------------------------------------------------------------------------

    def start(self, available_now: bool = False) -> StreamingQuery:
        """Begin to read; with `available_now`, only what is there already."""
        if self._query is not None and self._query.isActive:
            raise ConflictError("the engine runs already")
        self._end_callback()
        self._end_beats()
        if self._failure is not None:
            # The epoch that failed has left its traces in what is remembered; what was committed has not.
            self._recover(self.system)
            self._failure = None
        self._stopping = self._cut_short = False
        streams = [self.planned.system.streams.stream(name) for name in self._plans.streams]
        elements = read_streams(
            self.spark, streams, self._sources, self.storage.path("push"), self.settings.files_per_epoch
        )
        self._check_checkpoint()
        self._extend_checkpoint(names_in_order(streams, self._sources), elements)
        self._places_of_lines = places_of_lines(streams, self._sources)
        if not available_now:
            load_workers(self.spark)
        self._first_look = not available_now
        writer = elements.writeStream.foreachBatch(self._epoch).option(
            "checkpointLocation", self.storage.path("checkpoint")
        )
        if available_now:
            writer = writer.trigger(availableNow=True)
        elif self.settings.trigger is not None:
            writer = writer.trigger(processingTime=self.settings.trigger)
        self._query = writer.start()
        if self.settings.live and not available_now:
            self._beats = Beats(self._overdue, self.push_folder.put_nothing)
        return self._query

    def _overdue(self) -> int | None:
        """The last epoch, if one without elements would give something out after it."""
        with self.changed:
            return self.epoch if self.active and self._runner.overdue(self.state, self._clock()) else None

    def _check_checkpoint(self) -> None:
        """Refuse a checkpoint that is not the one the manifests were written with.

        Spark numbers epochs by its checkpoint. One that is gone, or another's, would have it read what was read before
        under numbers of epochs that are committed, or begin in the middle.
        """
        # The epoch that ended the inputs is none of Spark's.
        last = self.epoch - self.finished
        planned = max(planned_epochs(self.storage), default=-1)
        if not last <= planned <= last + 1:
            self._refuse_checkpoint(planned)

    def _refuse_checkpoint(self, number: int) -> NoReturn:
        raise StoreError(
            f"Spark's checkpoint in `{self.storage.root}` is at epoch {number}, the manifests at {self.epoch}; "
            "put back the `checkpoint` that belongs to them, or use another folder"
        )

    def _extend_checkpoint(self, sources: list[str], elements: DataFrame) -> None:
        """Tell Spark's checkpoint of sources that were added at the end: they begin at their beginning."""
        known: list[str] = json.loads(self.storage.read(SOURCES) or b"[]")
        if known and sources[: len(known)] != known:
            raise StoreError(
                f"`{self.storage.root}` was read from other sources: {', '.join(known)}; "
                "sources can be added, not taken away or moved"
            )
        if known and len(sources) > len(known):
            pad_offsets(self.storage, sources_in(elements))
        self.storage.write(SOURCES, json.dumps(sources).encode())

    def drain(self) -> None:
        """Work on all that is there, and wait until it is done."""
        query = self.start(available_now=True)
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            # What is said on purpose is said as it is, not wrapped into Spark's report of it.
            self._raise(self._failure if isinstance(self._failure, HeadgateError) else error)
        finally:
            self._end_callback()
        self.check()

    def await_epoch(self, number: int, timeout: float = 60.0) -> bool:
        """Wait until that epoch is committed; False if it is not in time."""
        until = time.monotonic() + timeout
        with self.changed:
            while self.epoch < number:
                self.check()
                left = until - time.monotonic()
                if left <= 0:
                    return False
                self.changed.wait(min(left, 0.5))
        return True

    def check(self) -> None:
        """Raise what stopped the engine, if something did."""
        error, query = None if self._cut_short else self._failure, self._query
        if error is None and query is not None and not self._stopping and not query.isActive:
            error = query.exception()
        if error is not None:
            self._raise(error)

    def _raise(self, error: BaseException) -> NoReturn:
        """Say what is wrong: a full disk shows in many ways, and is one thing."""
        if _NO_SPACE in str(error):
            root = Place(file=self.storage.root)
            raise FileError("no space left on the disk", place=root, hint="make room and start again") from error
        raise error

    def stop(self) -> None:
        """Stop reading; the epoch that runs is left as if it had not begun."""
        # First: an epoch that this cuts short fails, which is nothing to tell whoever waits for rows.
        self._stopping = True
        self._end_beats()
        if self._query is not None:
            self._query.stop()
            self._query = None
        self._end_callback()

    def _end_callback(self) -> None:
        """The stream is over, and its thread calls no more."""
        if self._callback is not None:
            self._callback.end()
            self._callback = None

    def _end_beats(self) -> None:
        if self._beats is not None:
            self._beats.stop()
            self._beats = None

    @property
    def active(self) -> bool:
        query = self._query  # another thread may stop it meanwhile
        return query is not None and query.isActive

    def finish(self) -> None:
        """The inputs are at their end: every watermark becomes +∞, and every open window gives its result."""
        if not self.finished:
            with self.changed:
                self._run(None, self.epoch + 1, finish=True)

    def change(self, system: System) -> None:
        """Run another system over the same streams from the next epoch on: all of it at once, without a restart."""
        missing = set(self.streams) ^ set(system.streams.names)
        if missing:
            raise InputError(f"the streams differ: `{sorted(missing)[0]}`", hint="a new stream needs a new reader")
        with self.changed:
            self._pending = in_order(system, self.streams)

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams it reads, in the order by which the log numbers them."""
        return self._plans.streams

    @property
    def system(self) -> System:
        """What runs, or will from the next epoch on."""
        with self.changed:
            return self._pending or self.planned.system

    def push(self, stream: str, elements: Iterable[Element | Mapping[str, Any]]) -> None:
        """Put elements into a stream; they are safe when this returns, and part of some later epoch."""
        self.push_folder.put(stream, [_as_json(self.planned.system, stream, one) for one in elements])

    def lines_of(self, elements: Iterable[tuple[str, Element]]) -> Iterable[tuple[str, str]]:
        """Elements as the lines that are pushed."""
        return ((stream, _as_json(self.planned.system, stream, one)) for stream, one in elements)

    # Epochs -----------------------------------------------------------------------------------------------------------

    def _epoch(self, batch: DataFrame, number: int) -> None:
        try:
            if self._callback is None:
                self._callback = Callback(self.spark)
            with self.changed:
                if number == self.epoch and not self.finished:
                    return  # it was committed before the driver went down, and Spark had not heard of it
                self._check_number(number)
                self._run(batch, number, quiet=self._is_quiet(number))
        except BaseException as error:
            self._cut_short = self._stopping
            self._failure = error
            with self.changed:
                self.changed.notify_all()
            raise

    def _check_number(self, number: int) -> None:
        """Refuse an epoch other than the next one: to pass over it would be to drop what it brings."""
        if self.finished:
            raise StoreError(
                f"the inputs of `{self.storage.root}` were at their end, and more has come; use another folder"
            )
        if number != self.epoch + 1:
            self._refuse_checkpoint(number)

    def _is_quiet(self, number: int) -> bool:
        """Whether an epoch is known to have no lines, so that there can be no punctuation in it."""
        places, first_look = self._places_of_lines, self._first_look
        self._first_look = False
        return not first_look and places is not None and brings_nothing(self.storage, number, places)

    def _run(self, batch: DataFrame | None, number: int, finish: bool = False, quiet: bool = False) -> None:
        started = time.perf_counter()
        if self._pending is not None:
            if not _paths(self.state):
                self._plans.number_anew()
            holding = frozenset(bit for (bit, _), one in self.state.counted.items() if one.path)
            self._plan(self._pending, without_forgotten(self.planned.seats, self._oldest(), holding))
            self._pending = None
        counted = counted_by(self.planned.seated(), self.state.counted)
        progress = self.state.progress.taken_over(self.planned.plan.frames)
        state = State(self.state.timeline, progress, list(self.state.segments), counted)
        # A micro-batch belongs to a session of its own; what is read beside it must belong to the same.
        self._runner.spark = batch.sparkSession if batch is not None else self.spark
        log = WindowLog(self._runner.spark, self.storage, self.planned.shared, self.settings.carried)
        report = self._runner.run(batch, number, state, self._clock(), finish, quiet)
        needed = self._needed(state)
        state.segments, gone = log.expire(state.segments, needed)
        compacted = log.compact(state.segments, number, needed)
        gone += [one for one in state.segments if one not in compacted]
        state.segments = compacted
        before, live = _paths(self.state), _paths(state)
        gone_paths = sorted({one.path for one in gone} | (before - live))
        self._commit(state, report, finish, time.perf_counter() - started, gone_paths)
        self._clean(live)
        self._stop_exceeded(report)

    def _commit(self, state: State, report: Report, finish: bool, seconds: float, gone: Iterable[str]) -> None:
        horizons = self._horizons(state)
        state.timeline.forget_before(min(horizons.values(), default=START), horizons)
        totals = self._totals.plus(report, self.planned, finish)
        metrics = {"epoch": report.number, "seconds": round(seconds, 4), **metrics_of(report)}
        self._dead_letters(report)
        used = self._kept.used_by(self.planned.number) or has_results(self.storage, report.results)
        kept = self._kept.after(
            report.number, self.planned.number, used, gone, self._clock(), self.settings.keep_results
        )
        manifest = Manifest(
            report.number,
            to_json(state.timeline),
            state.progress.to_json(),
            [one.to_json() for one in state.segments],
            counting_to_json(state.counted),
            [one.to_json() for one in self.planned.seats],
            self._plans.facts,
            self._plans.masks,
            totals.to_json(),
            report.results,
            metrics,
            kept.to_json(),
        )
        self._manifests.commit(manifest)
        self.state, self.epoch, self._totals, self._kept = state, report.number, totals, kept
        self.finished = finish
        self.metrics.append(metrics)
        for listener in self.listeners:
            listener(self.epoch)
        self.changed.notify_all()

    def _dead_letters(self, report: Report) -> None:
        if report.rejected:
            lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in report.rejected)
            self.storage.write(f"dead-letter/{report.number:010d}.ndjson", lines.encode("utf-8", "backslashreplace"))

    def _needed(self, state: State) -> dict[str, Instant]:
        needed: dict[str, Instant] = {}
        for key in self.planned.plan.frames:
            if key in self.planned.at_once:
                continue
            for place, stream in enumerate(key.streams):
                since = state.progress.needed_from(key, place)
                needed[stream] = min(needed.get(stream, END_OF_TIME), since)
        return needed

    def _horizons(self, state: State) -> dict[str, Instant]:
        """For each stream the time before which no tuple of it will be asked about."""
        counted = min((one.first for one in state.counted.values() if one.path), default=END_OF_TIME)
        found = {stream: min(counted, state.progress.coming(stream)) for stream in self._plans.streams}
        for one in state.segments:
            found[one.stream] = min(found[one.stream], one.first)
        return found

    def _oldest(self) -> int | None:
        return min((one.epoch for one in self.state.segments), default=None)

    def _clean(self, live: Collection[str]) -> None:
        """Remove what the manifest that is there now does without."""
        sweep(self.storage, self._kept, live)

    def _stop_exceeded(self, report: Report) -> None:
        """A query that asks for too much is taken out; the others go on."""
        if not report.exceeded:
            return
        for query, limit in report.exceeded.items():
            self.stopped_queries[query] = f"its join has more than {limit} combinations in one task"
        system = self.system
        left = tuple(query for query in system.queries if query.id not in report.exceeded)
        self._pending = replace(system, queries=left)

    @property
    def totals(self) -> Totals:
        return self._totals

    @property
    def kept_from(self) -> int:
        """The first epoch whose results can still be read."""
        return self._kept.first


START: Instant = -(1 << 62)


def _paths(state: State) -> set[str]:
    """Where the tuples are that are held."""
    return {one.path for one in state.segments} | {one.path for one in state.counted.values() if one.path}


def _as_json(system: System, stream: str, one: Element | Mapping[str, Any]) -> str:
    if isinstance(one, Mapping):
        return json.dumps(one, ensure_ascii=False)
    return json.dumps(element_to_json(one, system.streams.stream(stream)), ensure_ascii=False)
