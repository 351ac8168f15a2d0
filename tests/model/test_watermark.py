"""Watermarks: how far a live stream has certainly come."""

from __future__ import annotations

from headgate.model.datatype import DataType
from headgate.model.instant import END_OF_TIME, START_OF_TIME
from headgate.model.schema import Column, StreamSchema
from headgate.model.watermark import Watermark


def stream(lateness: int = 0, idle_timeout: int | None = None) -> StreamSchema:
    return StreamSchema("S", (Column("ts", DataType.TIMESTAMP),), lateness=lateness, idle_timeout=idle_timeout)


def test_it_moves_at_the_end_of_an_epoch_only() -> None:
    mark = Watermark().observe(100, 0).observe(70, 0)
    assert mark.value == START_OF_TIME
    assert mark.end_epoch(stream()).value == 100
    assert mark.end_epoch(stream(lateness=30)).value == 70


def test_it_never_goes_back() -> None:
    mark = Watermark().observe(100, 0).end_epoch(stream()).observe(50, 0).end_epoch(stream())
    assert mark.value == 100
    assert mark.end_epoch(stream(lateness=90)).value == 100


def test_a_stream_that_was_never_heard_of_has_none() -> None:
    assert Watermark().end_epoch(stream()).value == START_OF_TIME


def test_at_the_end_of_the_input_it_is_the_end_of_time() -> None:
    finished = Watermark().observe(5, 0).finish()
    assert finished.value == END_OF_TIME
    assert finished.end_epoch(stream(lateness=10)).value == END_OF_TIME


def test_a_stream_that_never_sent_anything_is_idle_after_its_timeout_from_the_first_epoch_on() -> None:
    quiet = stream(idle_timeout=60)
    mark = Watermark().begin_epoch(1_000).begin_epoch(1_030).end_epoch(quiet)
    assert [mark.idle(quiet, now) for now in (1_000, 1_059, 1_060)] == [False, False, True]
    assert mark.value == START_OF_TIME
    assert not mark.idle(stream(), 10**12), "without a timeout it is waited for"
    assert not mark.observe(6, 1_050).begin_epoch(1_060).idle(quiet, 1_060), "it was heard"


def test_before_the_first_epoch_nothing_is_idle() -> None:
    assert not Watermark().idle(stream(idle_timeout=60), 10**12)


def test_a_stream_is_idle_after_its_timeout_of_silence() -> None:
    mark = Watermark().observe(5, 1_000)
    quiet = stream(idle_timeout=60)
    assert [mark.idle(quiet, now) for now in (1_000, 1_059, 1_060, 5_000)] == [False, False, True, True]
    assert not mark.observe(6, 1_050).idle(quiet, 1_060), "it was heard again"
    assert not mark.idle(stream(), 10**12), "without a timeout it is waited for"
