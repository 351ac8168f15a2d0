"""The driver over 500 epochs."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import psutil

from epochs.bench import BEGIN, Bench, progress, stream, system_of
from headgate.model.instant import SECOND, format_timestamp
from headgate.model.pattern import Names
from headgate.model.punctuation import Kind, Objects, Punctuation
from headgate.spark.engine import Engine

EVERY = 10
"""So many epochs lie between two looks; the engine that is drained is started as often."""


def memory(bench: Bench) -> dict[str, Any]:
    """What the driver holds: Python's memory, and what is left in Java's once it was collected. Of an engine that
    runs on, and of one that is started again and again for what has come meanwhile."""
    return {
        "running": _over_epochs(bench, running=True),
        "drained": _over_epochs(bench, running=False),
        "target": "bounded",
    }


def _over_epochs(bench: Bench, running: bool) -> dict[str, Any]:
    epochs = 40 if bench.quick else 500
    text = "SELECT a.k, b.x FROM A a [RANGE 30 s], A b [RANGE 30 s] WHERE a.k = b.k"
    system = system_of([stream("A", governed=True)], [("q", "u", text)])
    engine = bench.engine(system, {}, live=False, files_per_epoch=1)
    if running:
        engine.start()
    random = Random(4)
    sizes = []
    for number in range(epochs):
        _push(engine, number, random)
        if running and not engine.await_epoch(number):
            raise TimeoutError(f"epoch {number}")
        if number % EVERY == EVERY - 1:
            if not running:
                engine.drain()
            sizes.append(_size(bench))
            progress(f"memory, {number + 1} epochs: {sizes[-1]}, {len(engine.state.segments)} segments")
    engine.stop()
    parts = range(len(sizes) // 10, len(sizes), max(1, len(sizes) // 10))
    return {
        "epochs": engine.epoch + 1,
        **{what: [sizes[place][what] for place in (*parts, len(sizes) - 1)] for what in sizes[0]},
        "segments at the end": len(engine.state.segments),
        "punctuations kept": len(engine.state.timeline),
    }


def _push(engine: Engine, number: int, random: Random) -> None:
    begin = BEGIN + number * 10 * SECOND
    lines = [
        {"k": random.randrange(1000), "x": random.randrange(100), "v": "v", "ts": format_timestamp(begin + place)}
        for place in range(50)
    ]
    engine.push("A", [Punctuation(Kind.DATA, ("u",), True, begin - 1, objects=Objects(Names(("A",)))), *lines])


def _size(bench: Bench) -> dict[str, float]:
    jvm: Any = bench.spark.sparkContext._jvm
    jvm.java.lang.System.gc()
    heap = jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
    own = psutil.Process()
    return {
        "MiB of Python": round(own.memory_info().rss / 1024**2, 1),
        "MiB of Java's heap": round(heap / 1024**2, 1),
        "threads": own.num_threads(),
        "open files": len(list(Path("/proc/self/fd").iterdir())),
    }
