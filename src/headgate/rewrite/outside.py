"""A tuple that one plain condition covers and others do not, without a solver.

Most conditions are boxes (`decision/analysis/box.py`), or a few of them: for each column the values it admits. A tuple
is outside a box as soon as one column is: below its values, above them, among those left out, or NULL. With a few boxes
of a few columns each, all ways can be tried, which is exact and far cheaper than asking a solver.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, product

from headgate.decision.analysis.box import Box, Name, Values, box_of, meet
from headgate.model.datatype import DataType, Value
from headgate.model.expression import nodes
from headgate.model.expression.canonical import canonical
from headgate.model.expression.nodes import Expression
from headgate.model.expression.transform import conjunction

MOST_WAYS = 500
"""More ways than that are left to the solver."""


class TooManyWaysError(Exception):
    """There are more ways to be outside than are tried."""


MOST_BOXES = 8
"""A condition with more alternatives than that is left to the solver."""


def boxes_of(condition: Expression | None) -> list[Box] | None:
    """Boxes of which one holds a tuple iff the condition is true of it, or None where it is not that plain."""
    alternatives = [()] if condition is None else _alternatives(canonical(condition))
    if alternatives is None:
        return None
    found = [box_of(conjunction(parts)) for parts in alternatives]
    return None if any(one is None for one in found) else [one for one in found if one is not None]


def _alternatives(condition: Expression) -> list[tuple[Expression, ...]] | None:
    """The ways in which a condition in canonical form can be true, each as what must then be true."""
    if isinstance(condition, nodes.Or):
        parts = [_alternatives(one) for one in condition.operands]
        joined = None if any(one is None for one in parts) else [way for part in parts if part for way in part]
    elif isinstance(condition, nodes.And):
        parts = [_alternatives(one) for one in condition.operands]
        if any(one is None for one in parts) or math.prod(len(one) for one in parts if one is not None) > MOST_BOXES:
            return None
        joined = [tuple(chain(*ways)) for ways in product(*(one for one in parts if one is not None))]
    else:
        return [(condition,)]
    return joined if joined is not None and len(joined) <= MOST_BOXES else None


def outside(box: Box, others: Sequence[Box]) -> dict[Name, Value] | None:
    """A tuple in the first box and in none of the others, or None if there is none."""
    ways = math.prod(max(sum(_most(values) for values in other.values()), 1) for other in others)
    if ways > MOST_WAYS:
        raise TooManyWaysError
    return _search(dict(box), frozenset(), list(others))


def _most(values: Values) -> int:
    return 4 if values.among is None else 2


def _search(box: dict[Name, Values], nulls: frozenset[Name], others: list[Box]) -> dict[Name, Value] | None:
    """`nulls` are columns that are NULL: outside of every box that asks anything of them."""
    left = [other for other in others if not nulls & set(other)]
    if not left:
        example = meet(box, {})
        return None if example is None else {**example, **dict.fromkeys(nulls)}
    first, rest = left[0], left[1:]
    for name, values in first.items():
        for piece in _complement(values):
            narrowed = box[name].meet(piece) if name in box else piece
            found = _search({**box, name: narrowed}, nulls, rest) if narrowed.some()[0] else None
            if found is not None:
                return found
    # NULL last: an example with a value tells a reader more.
    found_nulls = (_search(box, nulls | {name}, rest) for name in first if name not in box)
    return next((found for found in found_nulls if found is not None), None)


def _complement(values: Values) -> Iterator[Values]:
    """The values of the type that a column of a box does not admit, NULL aside."""
    everything = _everything(values.kind)
    if values.among is not None:
        admitted = frozenset(value for value in values.among if values.admits(value))
        yield replace(everything, without=admitted)
        return
    if values.low != -math.inf and values.low > everything.low:
        yield _below(everything, values)
    if values.high != math.inf and values.high < everything.high:
        yield _above(everything, values)
    left_out = frozenset(value for value in values.without if replace(values, without=frozenset()).admits(value))
    if left_out:
        yield replace(everything, among=left_out)


def _below(everything: Values, values: Values) -> Values:
    if values.kind is DataType.DOUBLE:
        return replace(everything, high=values.low, open_high=not values.open_low)
    return replace(everything, high=values.low - 1)


def _above(everything: Values, values: Values) -> Values:
    if values.kind is DataType.DOUBLE:
        return replace(everything, low=values.high, open_low=not values.open_high)
    return replace(everything, low=values.high + 1)


def _everything(kind: DataType) -> Values:
    """All values of a type: booleans are two, whole numbers and times have ends."""
    if kind is DataType.BOOLEAN:
        return Values(kind, among=frozenset((False, True)))
    return _EVERYTHING.get(kind, Values(kind))


_EVERYTHING = {
    DataType.INT: Values(DataType.INT, -(1 << 31), (1 << 31) - 1),
    DataType.BIGINT: Values(DataType.BIGINT, -(1 << 63), (1 << 63) - 1),
    DataType.TIMESTAMP: Values(DataType.TIMESTAMP, -62_135_596_800_000_000, 253_402_300_799_999_999),
    DataType.DATE: Values(DataType.DATE, -719_162, 2_932_896),
}
