"""The shortest cycle is the smallest combination: against row reduction over a field, and against longer looks."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.rewrite.differencing import combination
from headgate.rewrite.differencing.combination import Sliding, UndecidedError, smallest_combination
from headgate.rewrite.differencing.pinned import pinned_together

PRIME = (1 << 61) - 1
"""Ranks of matrices of zeros and ones this small are the same modulo a prime this large as over the rationals."""

SLIDING = st.builds(Sliding, st.integers(1, 6), st.sampled_from([1, 2, 3, 4]), st.integers(0, 3))
FEW = settings(max_examples=25)


def windows_within(sliding, length: int) -> list[tuple[int, int]]:
    return [(begin, end) for one in set(sliding) for begin, end in one.windows(length) if end <= length]


def reduced(windows, length: int) -> tuple[list[list[int]], list[int]]:
    """The windows as rows of zeros and ones, brought into reduced form, and the places of the pivots."""
    rows = [[int(begin <= place < end) for place in range(length)] for begin, end in windows]
    pivots: list[int] = []
    for place in range(length):
        row = next((one for one in range(len(pivots), len(rows)) if rows[one][place]), None)
        if row is None:
            continue
        at = len(pivots)
        rows[at], rows[row] = rows[row], rows[at]
        inverse = pow(rows[at][place], -1, PRIME)
        rows[at] = [value * inverse % PRIME for value in rows[at]]
        for other in range(len(rows)):
            factor = rows[other][place]
            if other != at and factor:
                rows[other] = [(a - factor * b) % PRIME for a, b in zip(rows[other], rows[at], strict=True)]
        pivots.append(place)
    return rows[: len(pivots)], pivots


def by_row_reduction(sliding, length: int, below: int) -> int | None:
    """The fewest places that a combination is supported on: the fewest dependent columns of what is orthogonal to all
    rows."""
    rows, pivots = reduced(windows_within(sliding, length), length)
    free = [place for place in range(length) if place not in pivots]
    # One vector of the orthogonal space for each free place; its columns tell which places can stand alone.
    columns = [
        [-rows[pivots.index(place)][one] % PRIME for one in free]
        if place in pivots
        else [int(one == place) for one in free]
        for place in range(length)
    ]
    for size in range(1, below):
        for chosen in combinations(range(length), size):
            if dependent([columns[place] for place in chosen]):
                return size
    return None


def dependent(vectors: list[list[int]]) -> bool:
    vectors = [list(one) for one in vectors]
    for at, vector in enumerate(vectors):
        place = next((place for place, value in enumerate(vector) if value), None)
        if place is None:
            return True
        inverse = pow(vector[place], -1, PRIME)
        for other in vectors[at + 1 :]:
            factor = other[place] * inverse % PRIME
            for one in range(len(other)):
                other[one] = (other[one] - factor * vector[one]) % PRIME
    return False


@FEW
@given(st.lists(SLIDING, min_size=1, max_size=3))
def test_property_the_shortest_cycle_is_what_row_reduction_finds(sliding):
    assert smallest_combination(sliding, 3) == by_row_reduction(sliding, 44, 3)


@given(st.lists(SLIDING, min_size=1, max_size=4), st.integers(2, 6))
def test_property_a_longer_look_finds_nothing_more(sliding, below):
    distinct = sorted(set(sliding))
    until, whole = combination._horizon(distinct)
    longer = combination._looked(distinct, 3 * until, 5 * whole, below)
    assert smallest_combination(sliding, below) == longer


@given(SLIDING, SLIDING)
def test_property_what_is_pinned_is_what_taking_a_window_away_leaves(one, other):
    first, second = ([set(range(*window)) for window in windows_within([each], 40)] for each in (one, other))
    pairs = [pair for a in first for b in second for pair in ((a, b), (b, a)) if a & b]
    least = min((len(a - b) for a, b in pairs if a - b), default=99)
    assert pinned_together(one, other, 5) == (least if least < 5 else None)


def test_the_example_of_section_3_4() -> None:
    """Sizes 3, 4 and 5, moving on by 2: all but the first tuples can be computed."""
    assert smallest_combination([Sliding(3, 2)], 2) is None
    assert smallest_combination([Sliding(3, 2), Sliding(4, 2)], 2) == 1
    assert smallest_combination([Sliding(4, 2), Sliding(5, 2)], 2) == 1
    assert smallest_combination([Sliding(3, 2), Sliding(5, 2)], 2) == 1
    assert smallest_combination([Sliding(3, 2), Sliding(6, 2)], 2) is None
    assert smallest_combination([Sliding(3, 2), Sliding(4, 2), Sliding(5, 2)], 2) == 1


@pytest.mark.parametrize("step", [2, 3, 4, 5])
def test_the_papers_general_case(step: int) -> None:
    """Sizes N to N + M with step M give everything away, whatever N."""
    for size in (3, 5, 8):
        assert smallest_combination([Sliding(size + more, step) for more in range(step + 1)], 2) == 1


def test_three_handles_of_which_no_two_conflict() -> None:
    three = [Sliding(4, 6), Sliding(6, 6, 4), Sliding(11, 12)]
    assert all(smallest_combination(pair, 2) is None for pair in combinations(three, 2))
    assert smallest_combination(three, 2) == 1


def test_more_than_single_tuples() -> None:
    assert smallest_combination([Sliding(4, 2)], 5) == 4
    assert smallest_combination([Sliding(4, 2)], 4) is None
    assert smallest_combination([Sliding(10, 2), Sliding(12, 2)], 3) == 2
    assert smallest_combination([Sliding(5, 2)], 5) == 4


def test_what_would_take_too_long_is_not_guessed() -> None:
    steps = [2_000_003, 2_000_029, 2_000_039]
    with pytest.raises(UndecidedError):
        smallest_combination([Sliding(step * 2, step) for step in steps], 2)


def test_maxima() -> None:
    assert pinned_together(Sliding(3, 2), Sliding(4, 2), 2) == 1
    assert pinned_together(Sliding(3, 3), Sliding(6, 3), 2) is None
    assert pinned_together(Sliding(3, 3), Sliding(6, 6), 3) is None
