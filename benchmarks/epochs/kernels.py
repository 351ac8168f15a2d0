"""The kernels of one epoch without Spark around them, in processor time: small differences show that epochs hide."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headgate.columnar.arrive import Arrival
from headgate.columnar.epoch_work import HeldWork, Tuples
from headgate.columnar.frame import Part, glued_parts
from headgate.columnar.plan import StreamPlan
from headgate.columnar.progress import Span
from headgate.columnar.result import results_table
from headgate.model.instant import END_OF_TIME, START_OF_TIME
from headgate.spark.engine import Engine
from headgate.spark.typed import typed_part


def alternating(
    engines: Mapping[str, Engine], files: Mapping[str, Sequence[Path]], turns: int
) -> dict[str, list[float]]:
    """Processor seconds of the last file's epoch for each engine; the files before it are held."""
    epochs = {kind: _epoch(engine, files) for kind, engine in engines.items()}
    found: dict[str, list[float]] = {kind: [] for kind in engines}
    for _ in range(turns):
        for kind in random.sample(list(epochs), len(epochs)):
            begun = time.process_time()
            epochs[kind]()
            found[kind].append(time.process_time() - begun)
    return found


def _epoch(engine: Engine, files: Mapping[str, Sequence[Path]]) -> Callable[[], pa.Table]:
    plan, version = engine.planned.plan, engine.state.timeline.version
    arrival = Arrival(plan, version)
    last = max(map(len, files.values()))
    spans = {key: Span(END_OF_TIME, END_OF_TIME, START_OF_TIME, START_OF_TIME) for key in plan.frames}

    def taken(part: Part) -> Part:
        kept = arrival.take(part).kept
        assert kept is not None
        return kept

    before = {name: [taken(_read(one, plan.streams[name])) for one in own[:-1]] for name, own in files.items()}
    fresh = {name: _read(own[-1], plan.streams[name]) for name, own in files.items()}

    def run() -> pa.Table:
        held = {}
        for name, parts in before.items():
            all_parts = [*parts, taken(fresh[name])]
            epochs = np.concatenate([np.full(len(part), number) for number, part in enumerate(all_parts, start=1)])
            held[name] = Tuples(glued_parts(all_parts), epochs)
        return results_table(list(HeldWork(plan, version, last, spans).run(held)), engine.planned.shared.slots)

    return run


def _read(file: Path, plan: StreamPlan) -> Part:
    part, _ = typed_part(pq.read_table(file).columns, plan, None)
    assert part is not None
    return part
