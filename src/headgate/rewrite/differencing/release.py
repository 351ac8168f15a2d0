"""What an aggregate handle releases of a stream to a user, as far as windows can be taken apart."""

from __future__ import annotations

from dataclasses import dataclass, field

from headgate.algebra.window import RowsWindow, Window
from headgate.model.duration import Duration
from headgate.model.expression.nodes import AggregateCall, Expression, columns_of
from headgate.rewrite.differencing.combination import Sliding

SUM_LIKE = ("sum", "avg")
"""Functions whose windows can be added and subtracted; an average of a known number of tuples is a sum."""
EXTREME = ("min", "max")

EVERY_TUPLE = "*"


@dataclass(frozen=True)
class Minimum:
    """Below what no combination may come: a number of tuples for windows of rows, a length for windows of time."""

    tuples: int = 2
    span: Duration = 0

    def of(self, window: Window) -> int:
        return self.tuples if isinstance(window, RowsWindow) else self.span


@dataclass(frozen=True)
class Release:
    """One handle: who holds it, on which stream, and what its windows are of.

    `offset` is the number of tuples that had passed when a window of rows began to count; those of time are aligned to
    the epoch.
    """

    handle: str
    user: str
    stream: str
    window: Window
    calls: tuple[AggregateCall, ...]
    where: tuple[Expression, ...] = ()
    keys: tuple[Expression, ...] = ()
    minimum: Minimum = field(default_factory=Minimum)
    policy: str = ""
    single: bool = False
    offset: int = 0

    @property
    def sliding(self) -> Sliding:
        offset = self.offset if isinstance(self.window, RowsWindow) else 0
        return Sliding(self.window.size, self.window.slide, offset)

    @property
    def summed(self) -> frozenset[str]:
        """The columns whose sums, averages or counts are released; a count is a sum of ones, apart from the values."""
        found = set()
        for call in self.calls:
            columns = _columns(call)
            if call.function in SUM_LIKE:
                found |= columns
            elif call.function == "count":
                found |= {f"count {name}" for name in columns}
        return frozenset(found)

    @property
    def extremes(self) -> frozenset[tuple[str, str]]:
        """The functions and columns whose minima or maxima are released."""
        return frozenset(
            (call.function, name) for call in self.calls if call.function in EXTREME for name in _columns(call)
        )


def _columns(call: AggregateCall) -> set[str]:
    columns = columns_of(call.argument) if call.argument is not None else ()
    return {column.name for column in columns} or {EVERY_TUPLE}
