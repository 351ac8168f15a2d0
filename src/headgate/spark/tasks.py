"""What runs in Spark's Python workers: Arrow batches in, Arrow batches out, the kernels of `columnar/` in between.

Each task is a small object that is sent along with everything it needs; it remembers nothing from one batch to the next
and writes nothing but what it gives out, so that Spark may run it again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from headgate.columnar.arrive import Arrival
from headgate.columnar.epoch_work import HeldWork, Tuples
from headgate.columnar.frame import Frame, Part
from headgate.columnar.held import Counted, groups_of_frame, rows_of_frame
from headgate.columnar.plan import FrameKey, Plan, StreamPlan
from headgate.columnar.progress import Span
from headgate.columnar.result import Produced, results_table
from headgate.columnar.slots import slots_of
from headgate.columnar.strategy import Strategy
from headgate.decision.timeline.version import Version
from headgate.model.element import PUNCTUATION_OPENS, Rejected, Tuple, element_to_json, parse_line
from headgate.model.instant import END_OF_TIME, START_OF_TIME, Instant
from headgate.spark.layout import FREE, conformed, kept_table, part_of
from headgate.spark.packing import NOTE, Batches, unpacked, written, written_table
from headgate.spark.punctuation_lines import bytes_of_lines
from headgate.spark.typed import typed_part, untyped_part
from headgate.spark.worker_memory import keep_freed_memory

_STREAM = b"stream"

_EPOCH_BITS, _TASK_BITS, _ROW_BITS = 19, 14, 30
"""A tuple's number is its epoch, its task and its place in the task. Tuples that are held together must differ: that
they do is not up to epochs that are half a million apart."""


@dataclass(frozen=True)
class Shared:
    """What all tasks of one version of the plan need; sent to the workers once."""

    plan: Plan
    streams: tuple[str, ...]
    slots: tuple[str, ...]


@dataclass(frozen=True)
class Epoch:
    """What is particular to one epoch."""

    number: int
    version: Version
    strategy: Strategy
    marks: Mapping[str, Instant] = field(default_factory=dict)
    """Live, the watermark of each stream: a tuple behind it is too late."""
    off: frozenset[int] = frozenset()
    unsettled: frozenset[str] = frozenset()


def arrival_task(
    shared: Callable[[], Shared], epoch: Epoch, at_once: frozenset[FrameKey]
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Takes in elements: (stream, line, slots) rows become results, kept tuples and notes."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        keep_freed_memory()
        common = shared()
        table = _gathered(batches)
        if table is None:
            return
        arrival = Arrival(common.plan, epoch.version, epoch.strategy, at_once, epoch.off, epoch.unsettled)
        context = TaskContext.get()
        first = first_number(epoch.number, context.partitionId() if context else 0)
        for place, part, notes in _parts(table, common, epoch, first):
            yield from _arrived(arrival, common, epoch, place, part, notes)

    return run


def first_number(epoch: int, task: int) -> int:
    """The number of the first tuple of a task."""
    return (epoch % (1 << _EPOCH_BITS) << _TASK_BITS | task % (1 << _TASK_BITS)) << _ROW_BITS


def _gathered(batches: Batches) -> pa.Table | None:
    found = [one for one in batches if one.num_rows]
    return pa.Table.from_batches(found) if found else None


def _parts(
    table: pa.Table, shared: Shared, epoch: Epoch, first: int
) -> Iterator[tuple[int, Part | None, list[dict[str, object]]]]:
    """The tuples of each stream, as they came; and what was rejected."""
    numbers = table.column("stream")
    for place in sorted(numbers.unique().to_pylist()):
        own = _where(table, pc.equal(numbers, place))
        name = shared.streams[place]
        plan, mark = shared.plan.streams[name], epoch.marks.get(name)
        for part, rejected in (_of_columns(own, plan, mark), _of_lines(own, plan, mark)):
            yield place, None if part is None else _numbered(part, first), [_rejection(one) for one in rejected]
            first += 0 if part is None else len(part)


def _where(table: pa.Table, mask: pa.ChunkedArray) -> pa.Table:
    return table if pc.all(mask).as_py() else table.filter(mask)


def _of_columns(own: pa.Table, plan: StreamPlan, mark: Instant | None) -> tuple[Part | None, list[Rejected]]:
    """The tuples of a typed source: those without a line."""
    typed = _where(own, own.column("line").is_null())
    if not len(typed):
        return None, []
    return typed_part([typed.column(slot) for slot in slots_of(plan.schema.types)], plan, mark)


def _of_lines(own: pa.Table, plan: StreamPlan, mark: Instant | None) -> tuple[Part | None, list[Rejected]]:
    """The tuples that came as lines."""
    tuples: list[Tuple] = []
    rejected: list[Rejected] = []
    for line in bytes_of_lines(own.column("line").drop_null()):
        # What begins as a punctuation has been dealt with by the driver, before this task was made.
        if line.startswith(PUNCTUATION_OPENS):
            continue
        element = parse_line(line, plan.schema)
        if isinstance(element, Rejected):
            rejected.append(element)
        elif isinstance(element, Tuple):
            if mark is not None and element.time < mark:
                text = json.dumps(element_to_json(element, plan.schema), ensure_ascii=False)
                rejected.append(Rejected(plan.schema.name, "behind the watermark", text))
            else:
                tuples.append(element)
    return (untyped_part(plan, tuples) if tuples else None), rejected


def _numbered(part: Part, first: int) -> Part:
    part.uids = np.arange(first, first + len(part), dtype=np.int64)
    return part


def _rejection(one: Rejected) -> dict[str, object]:
    return {"rejected": one.to_json()}


def _arrived(
    arrival: Arrival, shared: Shared, epoch: Epoch, place: int, part: Part | None, notes: list[dict[str, object]]
) -> Iterator[pa.RecordBatch]:
    if part is not None:
        arrived = arrival.take(part)
        note: dict[str, object] = {
            "stream": place,
            "tuples": len(part),
            "latest": int(part.times.max()),
            "withheld": {str(bit): count for bit, count in arrived.withheld.items()},
        }
        kept = arrived.kept
        if kept is not None:
            note |= {"kept": len(kept), "from": int(kept.times.min()), "to": int(kept.times.max())}
            yield from written_table(
                f"kept{place}", _of_stream(kept_table(kept, epoch.number, shared.plan.width), place)
            )
        notes.append(note)
        yield from _results(arrived.produced, shared)
    yield from _noted(notes)


def _of_stream(table: pa.Table, place: int) -> pa.Table:
    """Tuples that know their stream, wherever they are read."""
    return table.replace_schema_metadata({_STREAM: str(place)})


def _results(produced: Iterable[Produced], shared: Shared) -> Iterator[pa.RecordBatch]:
    yield from written_table("result", results_table(list(produced), shared.slots))


def combination_task(
    shared: Callable[[], Shared], epoch: Epoch, key: FrameKey, running: frozenset[int], limit: int
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Judges combinations that have been found; of an aggregate, with the ends of their windows."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        common = shared()
        entries = [entry for entry in common.plan.frames[key] if entry.owner.bit in running]
        found, count = [], 0
        for batch in batches:
            found.append(batch)
            count += batch.num_rows
            if count > limit:
                queries = sorted({entry.owner.query for entry in entries})
                yield from _noted([{"exceeded": queries, "limit": limit}])
                return
        if count:
            frame = _frame(pa.Table.from_batches(found), common.plan, key)
            work = rows_of_frame if key.window is None else groups_of_frame
            yield from _results(work(frame, entries, epoch.version, epoch.strategy), common)

    return run


def windows_task(
    shared: Callable[[], Shared], epoch: Epoch, keys: Sequence[FrameKey], running: frozenset[int]
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Computes the windows of one stream that close, for several frames at once; `frame` says which a row is for."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        common = shared()
        table = _gathered(batches)
        if table is None:
            return
        numbers = table.column("frame").to_numpy()
        for place in np.unique(numbers).tolist():
            key = keys[place]
            entries = [entry for entry in common.plan.frames[key] if entry.owner.bit in running]
            frame = _frame(table.filter(pa.array(numbers == place)), common.plan, key)
            produced = groups_of_frame(frame, entries, epoch.version, epoch.strategy)
            yield from _results(produced, common)

    return run


def _frame(table: pa.Table, plan: Plan, key: FrameKey) -> Frame:
    parts = {
        f"s{place}": part_of(table, plan.streams[stream], plan.width, f"s{place}_")
        for place, stream in enumerate(key.streams)
    }
    ends = table.column("ends").to_numpy() if "ends" in table.column_names else None
    return Frame(parts, ends)


def held_task(
    shared: Callable[[], Shared],
    epoch: Epoch,
    spans: Mapping[FrameKey, Span],
    counted: Mapping[tuple[int, int], tuple[int, int, int]],
    limit: int,
    wanted: Mapping[str, frozenset[str]],
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Runs frames over held tuples, all of them in this one task.

    `counted` are the totals of windows of rows, and who holds their tuples; `wanted` are the columns of each stream's
    tuples that any of the frames looks at.
    """

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        keep_freed_memory()
        common = shared()
        held, states = _held(batches, common, counted, wanted)
        work = HeldWork(common.plan, epoch.version, epoch.number, spans, epoch.strategy, epoch.off, limit, states)
        yield from _results(work.run(held), common)
        yield from _counted(work, common, epoch)
        if work.exceeded:
            yield from _noted([{"exceeded": sorted(work.exceeded), "limit": limit}])

    return run


def holder_of(place: tuple[int, int]) -> int:
    """The number by which tuples in a window of rows are known."""
    return place[0] << 16 | place[1]


def _held(
    batches: Batches,
    shared: Shared,
    counted: Mapping[tuple[int, int], tuple[int, int, int]],
    wanted: Mapping[str, frozenset[str]],
) -> tuple[dict[str, Tuples], dict[tuple[int, int], Counted]]:
    """The tuples of each stream that are free, and those that windows of rows hold."""
    found: dict[int, list[pa.Table]] = {}

    def looked_at(schema: pa.Schema) -> frozenset[str]:
        return wanted[shared.streams[int(schema.metadata[_STREAM])]]

    for table in unpacked(batches, looked_at):
        place = int(table.schema.metadata[_STREAM])
        plan = shared.plan.streams[shared.streams[place]]
        columns = wanted[shared.streams[place]]
        found.setdefault(place, []).append(conformed(table, plan, shared.plan.width, columns))
    held: dict[str, Tuples] = {}
    states = {place: Counted(None, total, given) for place, (total, given, _) in counted.items()}
    for place, tables in sorted(found.items()):
        stream = shared.streams[place]
        own = pa.concat_tables(tables)
        part = part_of(own, shared.plan.streams[stream], shared.plan.width)
        holders, epochs = own.column("h").to_numpy(), own.column("e").to_numpy()
        if (holders == FREE).all():
            held[stream] = Tuples(part, epochs)
            continue
        free = np.flatnonzero(holders == FREE)
        if len(free):
            held[stream] = Tuples(part.take(free), epochs[free])
        for one, state in states.items():
            holder = counted[one][2]
            rows = np.flatnonzero((holders == holder) & (holder != FREE))
            if len(rows):
                # They stand in the order in which they were counted.
                state.held = part.take(rows[np.argsort(part.uids[rows], kind="stable")])
    return held, states


def _counted(work: HeldWork, shared: Shared, epoch: Epoch) -> Iterator[pa.RecordBatch]:
    for place, state in work.counted.items():
        first = START_OF_TIME if state.held is None else int(state.held.times.min(initial=END_OF_TIME))
        yield from _noted([{"counted": [*place, state.total, state.given, first]}])
        if state.held is not None:
            state.held.uids = np.arange(len(state.held), dtype=np.int64)
            kept = kept_table(state.held, epoch.number, shared.plan.width, holder_of(place))
            stream = shared.streams.index(state.held.stream.name)
            yield from written_table(f"counted-{place[0]}-{place[1]}", _of_stream(kept, stream))


def _noted(notes: Sequence[Mapping[str, object]]) -> Iterator[pa.RecordBatch]:
    if notes:
        yield written(NOTE, [json.dumps(one).encode() for one in notes])
