"""What answers about groups of rows tell together: row reduction against trying out combinations."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.guard.differencing import EXTREME, OUTSIDE, SUMMED, Atom, compare, kinds_of, reveals

ANSWERS, CLASSES = 3, 2
FACTORS = np.array(list(product(range(-3, 4), repeat=ANSWERS * CLASSES)))


@st.composite
def some_atoms(draw: st.DrawFn) -> list[Atom]:
    classes = st.tuples(*[st.integers(OUTSIDE, CLASSES - 1)] * ANSWERS)
    found = draw(st.dictionaries(classes, st.integers(1, 6), min_size=1, max_size=8))
    return [Atom(classes, size) for classes, size in found.items()]


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


@given(some_atoms(), st.integers(2, 5))
def test_property_no_combination_of_answers_tells_of_few_rows(atoms: list[Atom], need: int) -> None:
    table = shown(atoms, need)
    # Rows that no answer tells apart are one atom, also where only a class that is too small would do so.
    columns, place = np.unique(table, axis=1, return_inverse=True)
    sizes = np.bincount(place.ravel(), weights=[atom.size for atom in atoms], minlength=columns.shape[1])
    combined = FACTORS @ columns
    touched = (combined != 0).astype(int)
    found = bool(((touched @ (sizes >= need) == 0) & (touched.sum(axis=1) > 0)).any())
    few = bool(((touched @ sizes > 0) & (touched @ sizes < need)).any())
    answer = reveals(atoms, need, summed=range(ANSWERS), extremes=[])
    assert answer == found
    assert answer or not few


@given(some_atoms(), st.integers(2, 5))
def test_property_one_answer_alone_tells_nothing(atoms: list[Atom], need: int) -> None:
    assert not reveals(atoms, need, summed=[0], extremes=[1])


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
    assert reveals([Atom(*one) for one in atoms], 5, summed=[0, 1], extremes=[]) is told


def test_a_largest_value_of_few_more_rows_tells_of_them() -> None:
    atoms = [Atom((0, 0), 9), Atom((0, OUTSIDE), 1), Atom((OUTSIDE, 0), 7)]
    assert not reveals(atoms, 5, summed=[0, 1], extremes=[])
    assert reveals(atoms, 5, summed=[], extremes=[0, 1])
    assert not reveals(atoms, 5, summed=[0], extremes=[1])


def test_a_function_that_is_not_known_is_taken_for_everything() -> None:
    assert [kinds_of(one) for one in ("avg", "max", "compute")] == [[SUMMED], [EXTREME], [SUMMED, EXTREME]]
    letter = {"need": 5, "kinds": [[SUMMED], [SUMMED]], "atoms": [[0, 0, 9], [0, -1, 1]]}
    assert compare(letter)
    assert not compare(letter | {"kinds": [[SUMMED], [EXTREME]]})
