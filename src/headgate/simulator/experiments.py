"""The published experiments, as lists of points; each point is measured over many random networks.

The paper prints neither the degrees of sharing nor the number of users. Degrees here go from 10 to 90 %; there are ten
users, and a sweep over their number shows what depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, combinations

from headgate.simulator.parameters import Parameters

DEGREES = (10, 30, 50, 70, 90)
USERS = (1, 2, 3, 5, 10, 20, 50)


class Experiment(StrEnum):
    """Which experiment a point belongs to."""

    SHARING = "1"
    LOSS = "2"
    USERS = "users"


@dataclass(frozen=True, slots=True)
class Point:
    """Parameters to draw networks from, and the losses of access to try on each of them."""

    experiment: Experiment
    parameters: Parameters
    losses: tuple[tuple[int, ...], ...] = ()

    @property
    def label(self) -> str:
        it = self.parameters
        shape = f"{it.operators} operators, {it.queries} queries, {it.users} users, sharing {it.sharing} %"
        name = "sweep over users" if self.experiment is Experiment.USERS else f"experiment {self.experiment}"
        return f"{name}: {shape}"


def points_of(experiment: str) -> tuple[Point, ...]:
    """The points of experiment `1` (with the sweep over users), `2`, or `all`."""
    chosen: list[Point] = []
    if experiment in ("1", "all"):
        chosen += [*varying_sharing(), *varying_users()]
    if experiment in ("2", "all"):
        chosen += varying_access()
    return tuple(chosen)


def varying_sharing() -> list[Point]:
    """Experiment 1 (figure 8): what sharing saves and what switches cost."""
    small, large = Parameters(queries=3, operators=15), Parameters(queries=5, operators=25)
    return [Point(Experiment.SHARING, replace(shape, sharing=degree)) for shape in (small, large) for degree in DEGREES]


def varying_access() -> list[Point]:
    """Experiment 2 (figure 9): what switches save when queries are lost, in every combination."""
    shape = Parameters(streams=3, queries=3, operators=20)
    return [Point(Experiment.LOSS, replace(shape, sharing=degree), losses(shape.queries)) for degree in DEGREES]


def varying_users() -> list[Point]:
    """The network of experiment 2 at half sharing, with more and more users."""
    shape = Parameters(queries=3, operators=20, sharing=50)
    return [Point(Experiment.USERS, replace(shape, users=users)) for users in USERS]


def losses(queries: int) -> tuple[tuple[int, ...], ...]:
    """Every set of queries that can be lost, from none to all.

    >>> losses(2)
    ((), (0,), (1,), (0, 1))
    """
    numbers = range(queries)
    return tuple(chain.from_iterable(combinations(numbers, size) for size in range(queries + 1)))
