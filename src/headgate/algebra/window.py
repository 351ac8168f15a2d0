"""Windows: how much of a stream an operator looks at, and how far it moves on."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.errors import WindowError
from headgate.model.duration import Duration, Extent, format_duration
from headgate.model.instant import DAY, Instant

MAX_OVERLAP = 100_000
"""How many windows of an aggregate one tuple may fall into: each is kept until it ends."""

MAX_RANGE: Duration = 3_652_500 * DAY
"""10,000 years: longer than the calendar is."""


@dataclass(frozen=True, slots=True)
class RangeWindow:
    """`[RANGE size, SLIDE slide]`: time windows `[k*slide, k*slide + size)`, aligned to 1970-01-01T00:00Z."""

    size: Duration
    slide: Duration

    def __post_init__(self) -> None:
        if self.size < 0 or self.slide <= 0:
            raise WindowError(f"the window {self} is empty", hint="write a size and a slide longer than nothing")

    def ends_of(self, time: Instant) -> range:
        """The ends of all windows that a tuple of this time falls into, in order.

        >>> list(RangeWindow(10, 5).ends_of(7))
        [10, 15]
        """
        last_start = time - time % self.slide
        first_start = last_start - (self.size - 1 - (time - last_start)) // self.slide * self.slide
        return range(first_start + self.size, last_start + self.size + 1, self.slide)

    def last_end(self, time: Instant) -> Instant:
        """The end of the last window that a tuple of this time falls into.

        >>> RangeWindow(10, 5).last_end(7)
        15
        """
        return time - time % self.slide + self.size

    def ends_within(self, after: Instant, until: Instant) -> bool:
        """Whether a window ends later than the one and not later than the other.

        >>> RangeWindow(10, 5).ends_within(10, 14), RangeWindow(10, 5).ends_within(10, 15)
        (False, True)
        """
        return (until - self.size) // self.slide > (after - self.size) // self.slide

    def check_for_aggregate(self) -> None:
        """Refuse windows that leave gaps between them, that never end, or of which one tuple falls into too many."""
        if self.slide > self.size:
            raise WindowError(f"the window {self} leaves gaps", hint="the slide is at most the range")
        if self.size > MAX_RANGE:
            raise WindowError(f"the window {self} is longer than 10,000 years", hint="write a shorter range")
        if -(-self.size // self.slide) > MAX_OVERLAP:
            raise WindowError(
                f"each tuple falls into {-(-self.size // self.slide):,} windows {self}",
                hint=f"write a longer slide; the range is at most {MAX_OVERLAP:,} slides",
            )

    @property
    def extents(self) -> tuple[Extent, Extent]:
        return Extent(self.size), Extent(self.slide)

    def __str__(self) -> str:
        return f"[RANGE {format_duration(self.size)}, SLIDE {format_duration(self.slide)}]"


@dataclass(frozen=True, slots=True)
class RowsWindow:
    """`[ROWS size, SLIDE slide]`: windows of tuples `[i*slide, i*slide + size)`; only full ones give a result."""

    size: int
    slide: int

    def __post_init__(self) -> None:
        if self.size <= 0 or self.slide <= 0:
            raise WindowError(f"the window {self} is empty", hint="write at least one row")

    @property
    def extents(self) -> tuple[Extent, Extent]:
        return Extent(self.size, rows=True), Extent(self.slide, rows=True)

    def __str__(self) -> str:
        return f"[ROWS {self.size}, SLIDE {self.slide}]"


@dataclass(frozen=True, slots=True)
class NowWindow:
    """`[NOW]`: the tuples of one instant."""

    def __str__(self) -> str:
        return "[NOW]"


Window = RangeWindow | RowsWindow
AnyWindow = RangeWindow | RowsWindow | NowWindow
