"""Windows: which tuples fall into which."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.algebra.window import MAX_OVERLAP, NowWindow, RangeWindow, RowsWindow
from headgate.errors import WindowError
from headgate.model.duration import Extent
from headgate.model.instant import DAY, SECOND


@pytest.mark.parametrize(
    ("size", "slide", "time", "ends"),
    [
        (10, 10, 0, [10]),
        (10, 10, 9, [10]),
        (10, 10, 10, [20]),
        (10, 5, 7, [10, 15]),
        (10, 5, 5, [10, 15]),
        (10, 5, 4, [5, 10]),
        (10, 3, 0, [1, 4, 7, 10]),
        (10, 10, -1, [0]),
        (10, 10, -10, [0]),
        (10, 10, -11, [-10]),
    ],
)
def test_windows_are_aligned_to_1970(size: int, slide: int, time: int, ends: list[int]) -> None:
    assert list(RangeWindow(size, slide).ends_of(time)) == ends


@given(st.integers(1, 40), st.integers(1, 40), st.integers(-200, 200))
def test_property_a_tuple_falls_into_exactly_the_windows_that_hold_its_time(size: int, slide: int, time: int) -> None:
    window = RangeWindow(max(size, slide), min(size, slide))
    starts = (k * window.slide for k in range(-400, 400))
    assert list(window.ends_of(time)) == [
        start + window.size for start in starts if start <= time < start + window.size
    ]


@pytest.mark.parametrize(
    "make", [lambda: RangeWindow(5, 0), lambda: RangeWindow(-5, 5), lambda: RowsWindow(0, 1), lambda: RowsWindow(1, 0)]
)
def test_an_empty_window_cannot_be_made(make) -> None:
    with pytest.raises(WindowError, match="is empty") as raised:
        make()
    assert raised.value.hint


@pytest.mark.parametrize(
    ("window", "said", "hint"),
    [
        (RangeWindow(5, 6), "leaves gaps", "the slide is at most the range"),
        (RangeWindow(DAY, 1), "each tuple falls into 86,400,000,000 windows [RANGE 1d, SLIDE 1us]", "a longer slide"),
        (RangeWindow(100_001, 1), "falls into 100,001 windows", "at most 100,000 slides"),
        (RangeWindow(200_001, 2), "falls into 100,001 windows", "at most 100,000 slides"),
        (RangeWindow(3_652_501 * DAY, DAY * 100), "is longer than 10,000 years", "a shorter range"),
    ],
)
def test_windows_that_an_aggregate_cannot_keep_are_refused(window: RangeWindow, said: str, hint: str) -> None:
    with pytest.raises(WindowError) as raised:
        window.check_for_aggregate()
    assert said in raised.value.message
    assert hint in (raised.value.hint or "")


@pytest.mark.parametrize("window", [RangeWindow(5, 5), RangeWindow(100_000, 1), RangeWindow(3_652_500 * DAY, DAY * 50)])
def test_windows_at_the_limit_are_kept(window: RangeWindow) -> None:
    window.check_for_aggregate()
    assert len(window.ends_of(0)) <= MAX_OVERLAP


def test_windows_print_as_they_are_written() -> None:
    windows = (RangeWindow(300 * SECOND, 60 * SECOND), RowsWindow(5, 2), NowWindow())
    assert [str(window) for window in windows] == ["[RANGE 5min, SLIDE 1min]", "[ROWS 5, SLIDE 2]", "[NOW]"]


def test_windows_tell_their_size_and_step() -> None:
    assert RangeWindow(10, 5).extents == (Extent(10), Extent(5))
    assert RowsWindow(10, 5).extents == (Extent(10, rows=True), Extent(5, rows=True))
