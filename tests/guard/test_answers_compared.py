"""What answers about groups of rows tell together: row reduction against trying out combinations."""

from __future__ import annotations

import random
from itertools import product
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.guard import differencing
from headgate.guard.differencing import (
    COUNTED,
    EXTREME,
    OUTSIDE,
    SUMMED,
    TOO_FEW,
    TOO_MANY_STEPS,
    Atom,
    compare,
    kinds_of,
    reveals,
)

ANSWERS, CLASSES = 3, 2
FACTORS = np.array(list(product(range(-3, 4), repeat=ANSWERS * CLASSES)))


@st.composite
def some_atoms(draw: st.DrawFn) -> list[Atom]:
    classes = st.tuples(*[st.integers(OUTSIDE, CLASSES - 1)] * ANSWERS)
    found = draw(st.dictionaries(classes, st.integers(1, 6), min_size=1, max_size=8))
    need = draw(st.integers(2, 5))
    return [atom(classes, size, need) for classes, size in found.items()]


def atom(classes: tuple[int, ...], size: int, need: int = 5) -> Atom:
    return Atom(classes, size, tuple(0 if one == OUTSIDE else need for one in classes))


def needed(atoms: list[Atom]) -> int:
    return max(max(atom.needs) for atom in atoms)


def shown(atoms: list[Atom], need: int) -> np.ndarray:
    """A row for every class, a column for every atom; classes that are too small give nothing."""
    table = np.zeros((ANSWERS * CLASSES, len(atoms)), dtype=int)
    for place, atom in enumerate(atoms):
        for answer, one in enumerate(atom.classes):
            if one != OUTSIDE:
                table[answer * CLASSES + one, place] = 1
    sizes = table @ np.array([atom.size for atom in atoms])
    table[sizes < need] = 0
    return table


@given(some_atoms())
def test_property_no_combination_of_answers_tells_of_few_rows(atoms: list[Atom]) -> None:
    need = needed(atoms)
    table = shown(atoms, need)
    # Rows that no answer tells apart are one atom, also where only a class that is too small would do so.
    columns, place = np.unique(table, axis=1, return_inverse=True)
    sizes = np.bincount(place.ravel(), weights=[atom.size for atom in atoms], minlength=columns.shape[1])
    combined = FACTORS @ columns
    touched = (combined != 0).astype(int)
    found = bool(((touched @ (sizes >= need) == 0) & (touched.sum(axis=1) > 0)).any())
    few = bool(((touched @ sizes > 0) & (touched @ sizes < need)).any())
    answer = reveals(atoms, summed=range(ANSWERS))
    assert answer == found
    assert answer or not few


@given(some_atoms())
def test_property_a_largest_value_is_pinned_to_few_rows_if_some_row_that_has_it_is(atoms: list[Atom]) -> None:
    """Each row has the largest of all values in turn: then it can only be a row of the classes that show it."""
    need = needed(atoms)
    table = shown(atoms, need)
    sizes = np.array([atom.size for atom in atoms])
    candidates = [sizes[(table == table[:, [place]]).all(axis=0)].sum() for place in range(len(atoms))]
    told = table.sum(axis=0) > 0
    found = any(told[place] and rows < need for place, rows in enumerate(candidates))
    assert reveals(atoms, extremes=range(ANSWERS)) == found


@given(some_atoms())
def test_property_one_answer_alone_tells_nothing(atoms: list[Atom]) -> None:
    assert not reveals(atoms, summed=[0], extremes=[1])


@given(some_atoms(), st.lists(st.integers(1, 5), min_size=8, max_size=8))
def test_property_one_answer_tells_nothing_whatever_each_row_needs(atoms: list[Atom], needs: list[int]) -> None:
    """Classes are shown by what the neediest of their rows needs, and so are large enough for all of them."""
    mixed = [atom(one.classes, one.size, need) for one, need in zip(atoms, needs, strict=False)]
    assert not reveals(mixed, summed=[0], extremes=[1])


@given(some_atoms())
def test_property_rows_that_need_more_are_not_told_of_sooner(atoms: list[Atom]) -> None:
    """What is told of one more row than before was told too much already, if the same was shown."""
    need = needed(atoms)
    table = shown(atoms, need)
    more = [atom(one.classes, one.size, need + 1) for one in atoms]
    if (shown(more, need + 1) == table).all() and reveals(atoms, summed=range(ANSWERS)):
        assert reveals(more, summed=range(ANSWERS))


@pytest.mark.parametrize(
    ("atoms", "told"),
    [
        ([((0, 0), 9), ((0, 1), 6)], False),
        ([((0, 0), 9), ((0, OUTSIDE), 4)], True),
        ([((0, 0), 9), ((0, 1), 3)], True),
        ([((0, OUTSIDE), 7), ((OUTSIDE, 0), 7)], False),
        ([((0, 0), 9), ((0, OUTSIDE), 2), ((OUTSIDE, 0), 2)], True),
    ],
    ids=["two large groups", "few are left out", "the group that was not shown", "nothing in common", "both have few"],
)
def test_a_total_and_its_parts(atoms, told) -> None:
    assert reveals([atom(*one) for one in atoms], summed=[0, 1]) is told


def test_parts_are_shown_by_what_they_need_themselves() -> None:
    """Three rows that need two were told; with one beside them that needs five, that one is left."""
    parts = [Atom((0, 0), 3, (2, 2)), Atom((1, 0), 4, (2, 2)), Atom((OUTSIDE, 0), 1, (0, 5))]
    assert reveals(parts, summed=[0, 1])
    assert not reveals([*parts[:2], Atom((OUTSIDE, 0), 5, (0, 5))], summed=[0, 1])


def test_a_largest_value_of_few_more_rows_tells_of_them() -> None:
    atoms = [atom((0, 0), 9), atom((0, OUTSIDE), 1), atom((OUTSIDE, 0), 7)]
    assert not reveals(atoms, summed=[0, 1])
    assert reveals(atoms, extremes=[0, 1])
    assert not reveals(atoms, summed=[0], extremes=[1])


@pytest.mark.parametrize(
    ("atoms", "told"),
    [
        ([((0, 0), 9), ((0, 1), 9)], False),
        ([((0, 0), 9), ((0, 1), 9), ((0, 2), 4)], True),
        ([((0, OUTSIDE), 9), ((0, 0), 4), ((OUTSIDE, 0), 9)], True),
        ([((0, OUTSIDE), 9), ((OUTSIDE, 0), 9), ((OUTSIDE, OUTSIDE), 1)], False),
        ([((0, 0), 5), ((0, 1), 5), ((1, 0), 5), ((1, 1), 5)], False),
        ([((0, 0), 5), ((0, 1), 5), ((1, 0), 5), ((1, 1), 4)], True),
    ],
    ids=["groups", "a group that was not shown", "few in common", "nothing of it told", "two keys", "few with both"],
)
def test_a_largest_value_is_of_the_classes_that_have_it(atoms, told) -> None:
    assert reveals([atom(*one) for one in atoms], extremes=[0, 1]) is told


def test_a_minimum_of_few_rows_makes_no_maximum_of_them() -> None:
    """Three rows are in one maximum and not in the other; that there may be a minimum of two tells nothing of that."""
    few = [Atom((0, 0, OUTSIDE), 9, (5, 5, 0)), Atom((0, OUTSIDE, 0), 3, (5, 0, 2))]
    assert reveals(few, extremes=[0, 1, 2])
    assert reveals(few, extremes=[0, 1])


def test_a_function_that_is_not_known_is_taken_for_everything() -> None:
    assert [kinds_of(one) for one in ("avg", "max", "count")] == [[SUMMED], [EXTREME], [COUNTED]]
    assert kinds_of("compute") == [SUMMED, COUNTED, EXTREME]
    letter = {"kinds": [[SUMMED], [SUMMED]], "atoms": [[0, 0, 9, 9], [0, -1, 1, 1]], "needs": [[5, 5], [5, 0]]}
    assert compare(letter)
    assert compare(letter | {"kinds": [[COUNTED], [COUNTED]]})
    assert not compare(letter | {"kinds": [[SUMMED], [EXTREME]]})
    assert not compare(letter | {"kinds": [[SUMMED], [COUNTED]]})


def letter_of(atoms: list[Atom]) -> dict[str, list[list[object]]]:
    """What `compare` is asked about sums."""
    kinds: list[list[object]] = [[SUMMED] for _ in atoms[0].classes]
    parts: list[list[object]] = [[*one.classes, one.size, one.unread] for one in atoms]
    return {"kinds": kinds, "atoms": parts, "needs": [list(one.needs) for one in atoms]}


def test_comparing_ends_and_what_takes_longer_is_not_told() -> None:
    """Groups of five by three hashes: each question alone is harmless, and reducing their rows takes hours."""
    numbers = random.Random(7)
    atoms = [atom(tuple(numbers.randrange(1500) for _ in range(3)), 5) for _ in range(6000)]
    began_at = process_time()
    assert compare(letter_of([*atoms, atom((0, 0, OUTSIDE), 1)])) == TOO_MANY_STEPS
    assert process_time() - began_at < 20
    assert not compare(letter_of(atoms)), "parts that are all large enough need no comparing"


def test_groups_by_several_keys_take_few_steps(monkeypatch) -> None:
    """A total, a hundred departments and a hundred sites; of each department two people are at some of the sites."""
    monkeypatch.setattr(differencing, "MOST_STEPS", 200_000)
    atoms = [atom((0, *one), 2 if sum(one) % 10 == 0 else 9) for one in product(range(100), range(100))]
    assert not compare(letter_of(atoms))
    assert compare(letter_of([*atoms, atom((0, OUTSIDE, OUTSIDE), 4)])) == TOO_FEW
