"""Handles: numbered results, a bounded memory, closed once."""

from __future__ import annotations

from headgate.delivery import Handle


def test_results_are_numbered_and_read_on() -> None:
    handle = Handle("u", "S")
    for number in range(3):
        handle.deliver(number, {"x": number})
    assert [(one.number, one.row["x"]) for one in handle.read().rows] == [(1, 0), (2, 1), (3, 2)]
    assert [one.number for one in handle.read(after=2).rows] == [3]
    assert handle.read(after=3).rows == ()


def test_who_never_reads_loses_the_oldest_and_is_told_how_many() -> None:
    handle = Handle("u", "S", kept_rows=2)
    for number in range(5):
        handle.deliver(number, {"x": number})
    page = handle.read(after=1)
    assert ([one.number for one in page.rows], page.missed) == ([4, 5], 2)
    assert handle.read(after=5).missed == 0


def test_it_closes_once_and_keeps_its_reason() -> None:
    handle = Handle("u", "S")
    handle.deliver(0, {"x": 1})
    assert handle.close("first")
    assert not handle.close("second")
    handle.deliver(1, {"x": 2})
    assert (handle.read().rows, handle.read().closed) == ((), "first")


def test_a_row_that_the_engine_changes_later_stays_as_it_was() -> None:
    handle = Handle("u", "S")
    row: dict[str, object] = {"x": 1}
    handle.deliver(0, row)
    row["x"] = 2
    assert handle.read().rows[0].row == {"x": 1}


def test_any_stream_makes_a_uri() -> None:
    assert Handle("u", "odd/ \"name'?#").uri.startswith("headgate://odd%2F%20%22name%27%3F%23/")
