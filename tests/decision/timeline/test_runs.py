"""Answers run by run, and spread over the tuples."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.decision.timeline.runs import Runs
from headgate.decision.timeline.steps import Steps
from headgate.decision.timeline.tuples import Tuples

STEPS = Steps.of([10, 20, 30], [0, 1, 2, 3])


def of(times: list[int], in_order: bool = True) -> Runs:
    return Runs.of(STEPS, Tuples(np.array(times, np.int64), in_order=in_order))


def test_between_two_boundaries_there_is_one_run() -> None:
    runs = of([5, 10, 11, 20, 20, 21])
    assert runs.lengths is not None
    assert (runs.numbers.tolist(), runs.lengths.tolist()) == ([0, 1, 2], [2, 3, 1]), "a boundary belongs to the past"
    assert runs.dense().tolist() == [0, 0, 1, 1, 1, 2]


@pytest.mark.parametrize("times", [[], [1], [40, 41], [15, 15], [1, 40], [10, 20, 30, 31]])
def test_in_order_or_not_the_answers_are_the_same(times: list[int]) -> None:
    assert of(times).dense().tolist() == of(times, in_order=False).dense().tolist()


def test_out_of_order_each_tuple_has_its_own_number() -> None:
    runs = of([31, 5, 11], in_order=False)
    assert runs.lengths is None
    assert runs.dense().tolist() == [3, 0, 1]


def test_tuples_that_are_known_to_lie_between_two_boundaries_are_not_looked_at() -> None:
    runs = Runs.of(STEPS, Tuples(np.array([99, 99], np.int64), within=(11, 20)))
    assert runs.constant
    assert runs.dense().tolist() == [1, 1]


def test_a_table_is_looked_up_for_each_run_and_spread() -> None:
    table = np.array([[7, 70], [8, 80], [9, 90], [6, 60]])
    assert of([5, 11, 12]).translated(table).tolist() == [[7, 70], [8, 80], [8, 80]]
    assert of([12, 5], in_order=False).translated(table).tolist() == [[8, 80], [7, 70]]
