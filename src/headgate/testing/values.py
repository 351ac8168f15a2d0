"""Strategies for cells: few different values of each type, so that they meet, and the edges of each type."""

from __future__ import annotations

from functools import cache
from random import Random

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from headgate.model.datatype import DataType, Value
from headgate.model.instant import SECOND

START = 1_767_254_400 * SECOND
"""2026-01-01T08:00:00Z."""

_EXAMPLES: dict[DataType, tuple[Value, ...]] = {
    DataType.STRING: ("a", "b", "ab", "", " a", "it's", 'q"t', "é", "a\\b", "50"),
    DataType.INT: (*range(-3, 7), -(1 << 31), (1 << 31) - 1),
    DataType.BIGINT: (*range(-3, 7), -(1 << 63), (1 << 63) - 1),
    DataType.DOUBLE: (*(quarter / 4 for quarter in range(-8, 25)), 1e300, -1e-9),
    DataType.BOOLEAN: (False, True),
    DataType.TIMESTAMP: tuple(START + second * SECOND for second in range(0, 121, 5)),
    DataType.DATE: tuple(range(20_000, 20_010)),
}


@cache
def values_of(kind: DataType, nullable: bool = False) -> SearchStrategy[Value]:
    """Cells of a type."""
    return st.sampled_from((*_EXAMPLES[kind], None) if nullable else _EXAMPLES[kind])


def random_value(random: Random, kind: DataType) -> Value:
    """A cell of a type, NULL now and then."""
    return None if random.random() < NULLS else random.choice(_EXAMPLES[kind])


NULLS = 0.15
"""How many cells are NULL."""
