"""Whether a run gave what its scenario expects."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.scenario.expect import differences
from headgate.scenario.load import Scenario
from headgate.scenario.outcome import RunOutcome, SubscriberOutcome
from headgate.scenario.system import System

FIRST = {"x": 1, "_ts": "2026-01-01T08:00:01.000Z"}
SECOND = {"x": 1, "_ts": "2026-01-01T08:00:02.000Z"}
OTHER = {"x": None, "_ts": "2026-01-01T08:00:03.000Z"}


def compared(expected: list[dict], *delivered: dict, verdict: str = "granted", wanted: str | None = None) -> list[str]:
    """The differences where these rows are expected and those were delivered."""
    verdicts = {"q": {"u": wanted}} if wanted else {}
    scenario = Scenario(Path("s.yaml"), System(()), {}, {"q": {"u": expected}}, verdicts)
    subscriber = SubscriberOutcome(verdict, (), (), delivered, 0)
    return differences(scenario, RunOutcome({("q", "u"): subscriber}, {}, {}, [], 1, 0.0, "reference", "switches"))


def test_rows_count_in_any_order_and_without_their_times() -> None:
    assert compared([{"x": None}, {"x": 1}, {"x": 1}], FIRST, SECOND, OTHER) == []


def test_the_time_is_compared_where_it_is_given() -> None:
    assert compared([{"x": 1, "_ts": "2026-01-01T16:00:01+08:00"}], FIRST) == [], "the same instant in another zone"
    assert compared([{"x": 1, "_ts": "2026-01-01T08:00:02Z"}], FIRST) == [
        'q for u: missing {"_ts": "2026-01-01T08:00:02Z", "x": 1}',
        'q for u: unexpected {"_ts": "2026-01-01T08:00:01.000Z", "x": 1}',
    ]


def test_a_row_with_a_time_chooses_before_one_without() -> None:
    assert compared([{"x": 1}, {"x": 1, "_ts": "2026-01-01T08:00:01Z"}], FIRST, SECOND) == []


def test_each_row_counts_once() -> None:
    assert compared([{"x": 1}], FIRST, SECOND) == ['q for u: unexpected {"_ts": "2026-01-01T08:00:02.000Z", "x": 1}']
    assert compared([{"x": 1}, {"x": 1}], FIRST) == ['q for u: missing {"x": 1}']


@pytest.mark.parametrize(
    ("expected", "delivered"),
    [
        ({"x": True}, 1),
        ({"x": 1}, True),
        ({"x": "1"}, 1),
        ({"x": None}, 0),
        ({"x": 0}, None),
        ({}, 1),
        ({"x": 1, "y": None}, 1),
    ],
    ids=["true", "one", "text", "null", "zero", "missing column", "extra column"],
)
def test_another_value_or_column_is_a_difference(expected: dict, delivered: object) -> None:
    assert len(compared([expected], {"x": delivered, "_ts": FIRST["_ts"]})) == 2


def test_whole_numbers_and_doubles_of_equal_value_are_equal() -> None:
    assert compared([{"x": 1.0}], FIRST) == []


def test_a_verdict_is_compared() -> None:
    assert compared([], verdict="denied", wanted="denied") == []
    assert compared([], verdict="denied", wanted="partial") == ["q for u: the verdict is denied, expected partial"]


def test_nothing_expected_and_something_delivered_is_a_difference() -> None:
    assert compared([], OTHER) == ['q for u: unexpected {"_ts": "2026-01-01T08:00:03.000Z", "x": null}']
