"""Run points over many networks, on as many processes as wanted, with the same result for any number of them.

Each network has a random number generator of its own, seeded by the run's seed, the point's parameters and the
network's number. What a process simulates is therefore independent of what it did before, and sums of whole numbers
do not depend on their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from random import Random

from headgate.errors import InputError
from headgate.simulator.cost import PRINTED_COSTS
from headgate.simulator.experiments import Point
from headgate.simulator.generate import generate
from headgate.simulator.measure import Totals, measure

CHUNK = 500
"""Networks per task: large enough for the hand-over to cost nothing, small enough for a smooth progress bar."""

Progress = Callable[[int, int], None]
"""Called with a point's number and how many of its networks have just been finished."""


def run_points(
    points: Sequence[Point], *, networks: int, seed: int, processes: int = 1, progress: Progress | None = None
) -> list[Totals]:
    """The totals of each point, over `networks` random networks each.

    A script that asks for several processes must do so under `if __name__ == "__main__":`, since they import it anew.
    """
    for name, value in (("networks", networks), ("processes", processes)):
        if value < 1:
            raise InputError(f"`{value}` {name}", hint="there must be at least one")
    totals = [Totals() for _ in points]
    tasks = [
        (number, start, min(start + CHUNK, networks))
        for number in range(len(points))
        for start in range(0, networks, CHUNK)
    ]
    finished = _in_process(points, tasks, seed) if processes == 1 else _in_pool(points, tasks, seed, processes)
    for number, part in finished:
        totals[number] += part
        if progress:
            progress(number, part.networks)
    return totals


def simulate_networks(point: Point, seed: int, start: int, stop: int) -> Totals:
    """The networks `start` to `stop` (not included) of one point."""
    total = Totals()
    for number in range(start, stop):
        random = Random(f"{seed} {point.parameters} {number}")  # noqa: S311 - simulation, nothing secret
        total += measure(generate(point.parameters, random), point.losses, PRINTED_COSTS)
    return total


Task = tuple[int, int, int]


def _in_process(points: Sequence[Point], tasks: Sequence[Task], seed: int) -> Iterator[tuple[int, Totals]]:
    for number, start, stop in tasks:
        yield number, simulate_networks(points[number], seed, start, stop)


def _in_pool(points: Sequence[Point], tasks: Sequence[Task], seed: int, processes: int) -> Iterator[tuple[int, Totals]]:
    """Fresh processes rather than forks: a fork beside a progress bar's thread could hang."""
    with ProcessPoolExecutor(min(processes, len(tasks)), mp_context=get_context("spawn")) as pool:
        waiting: dict[Future[Totals], int] = {
            pool.submit(simulate_networks, points[number], seed, start, stop): number for number, start, stop in tasks
        }
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
