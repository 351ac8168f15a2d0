"""The files of a push folder, for engines that will be started on it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from headgate.model.element import Element, element_time, element_to_json
from headgate.reference.interpreter import in_replay_order
from headgate.testing.systems import GeneratedSystem

Placed = list[tuple[str, Element]]


def push(group: GeneratedSystem, folder: Path, epochs: int, files: int = 1) -> None:
    """Put all elements into the folder of an engine that takes in so many files an epoch."""
    streams = group.system.streams
    numbers = {name: number for number, name in enumerate(streams.names)}
    (folder / "push").mkdir(parents=True)
    for number, elements in enumerate(in_files(group, epochs, files)):
        lines = [
            f"{numbers[name]}\t{json.dumps(element_to_json(one, streams.stream(name)))}\n" for name, one in elements
        ]
        path = folder / "push" / f"{number:010d}.txt"
        path.write_text("".join(lines))
        os.utime(path, (1_700_000_000 + number,) * 2)


def in_files(group: GeneratedSystem, epochs: int, files: int = 1) -> Iterator[Placed]:
    """The elements cut into epochs anywhere, and each epoch into so many files, of which some may be empty.

    What is of one time stays together in an epoch: among its files there is no order.
    """
    ordered = in_replay_order(group.system, group.elements)
    size = -(-len(ordered) // epochs) or 1
    for begin in range(0, len(ordered), size):
        yield from _parted(ordered[begin : begin + size], files)


def _parted(epoch: Placed, files: int) -> list[Placed]:
    size = -(-len(epoch) // files)
    result: list[Placed] = [[]]
    for one in epoch:
        if len(result[-1]) >= size and element_time(result[-1][-1][1]) != element_time(one[1]):
            result.append([])
        result[-1].append(one)
    return result + [[]] * (files - len(result))
