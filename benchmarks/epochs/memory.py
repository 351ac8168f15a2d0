"""The driver over 500 epochs."""

from __future__ import annotations

import resource
from random import Random
from typing import Any

from epochs.bench import BEGIN, Bench, progress, stream, system_of
from headgate.model.instant import SECOND, format_timestamp
from headgate.model.pattern import Names
from headgate.model.punctuation import Kind, Objects, Punctuation


def memory(bench: Bench) -> dict[str, Any]:
    """The driver's own memory, Python's: what the JVM holds is Spark's to bound."""
    epochs = 40 if bench.quick else 500
    text = "SELECT a.k, b.x FROM A a [RANGE 30 s], A b [RANGE 30 s] WHERE a.k = b.k"
    system = system_of([stream("A", governed=True)], [("q", "u", text)])
    engine = bench.engine(system, {}, live=False, files_per_epoch=1)
    random = Random(4)
    sizes = []
    for number in range(epochs):
        begin = BEGIN + number * 10 * SECOND
        lines = [
            {"k": random.randrange(1000), "x": random.randrange(100), "v": "v", "ts": format_timestamp(begin + place)}
            for place in range(50)
        ]
        engine.push("A", [Punctuation(Kind.DATA, ("u",), True, begin - 1, objects=Objects(Names(("A",)))), *lines])
        if number % 10 == 9:
            engine.drain()
            sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
            progress(f"memory {number}: {sizes[-1]} MiB, {len(engine.state.segments)} segments")
    return {
        "epochs": epochs,
        "mib_after_a_tenth": sizes[max(0, len(sizes) // 10)],
        "mib_at_the_end": sizes[-1],
        "segments_at_the_end": len(engine.state.segments),
        "punctuations_kept": len(engine.state.timeline),
        "target": "bounded",
    }
