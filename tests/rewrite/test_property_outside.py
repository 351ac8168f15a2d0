"""Being outside of boxes without a solver: exact, against every tuple of a small domain and against the solver."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.algebra.operators import Source
from headgate.algebra.scope import SourceScope
from headgate.decision.analysis.box import box_of
from headgate.decision.solver import Answer, can_hold
from headgate.model.datatype import DataType
from headgate.model.expression.evaluate import is_true
from headgate.model.expression.parse import parse_condition
from headgate.model.schema import Column, StreamSchema
from headgate.rewrite.outside import TooManyWaysError, boxes_of, outside

STREAM = StreamSchema(
    "S",
    (
        Column("ts", DataType.TIMESTAMP),
        Column("a", DataType.INT),
        Column("b", DataType.DOUBLE),
        Column("c", DataType.STRING),
        Column("p", DataType.BOOLEAN),
    ),
)
SCOPE = SourceScope([Source(STREAM, "S")])
NUMBERS = st.tuples(st.sampled_from("ab"), st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), st.integers(0, 3)).map(
    lambda part: f"{part[0]} {part[1]} {part[2]}"
)
OTHERS = st.sampled_from(
    ["c = 'x'", "c <> 'x'", "c IN ('x', 'y')", "p = TRUE", "p <> TRUE", "p = FALSE", "a IN (1, 2)"]
)
BOXES = st.lists(NUMBERS | OTHERS, min_size=1, max_size=3).map(" AND ".join)
SEVERAL = st.one_of(
    BOXES,
    st.tuples(BOXES, BOXES).map(lambda pair: f"({pair[0]}) OR ({pair[1]})"),
    st.tuples(BOXES, BOXES).map(lambda pair: f"NOT (({pair[0]}) AND ({pair[1]}))"),
)
DOMAIN = list(
    product(
        [None, -1, 0, 1, 2, 3, 4],
        [None, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0],
        [None, "x", "y", "z"],
        [None, False, True],
    )
)


def condition(text: str):
    return parse_condition(text, SCOPE)


@given(SEVERAL, st.lists(SEVERAL, min_size=1, max_size=2))
def test_property_a_tuple_outside_of_boxes_is_found_iff_there_is_one(inner, others):
    wanted, unwanted = condition(inner), [condition(one) for one in others]
    boxes, left_out = boxes_of(wanted), [boxes_of(one) for one in unwanted]
    if boxes is None or None in left_out:
        return
    try:
        found = next((one for box in boxes if (one := outside(box, [b for each in left_out for b in each]))), None)
    except TooManyWaysError:
        return
    if found is None:
        for values in DOMAIN:
            row = dict(zip(("a", "b", "c", "p"), values, strict=True))
            cells = lambda column, row=row: row[column.name]  # noqa: E731 - a cell of this row
            assert not is_true(wanted, cells) or any(is_true(one, cells) for one in unwanted)
    else:
        cells = lambda column: found.get((column.source, column.name))  # noqa: E731 - a cell of the example
        assert is_true(wanted, cells)
        assert not any(is_true(one, cells) for one in unwanted)
    assert (can_hold([wanted], unwanted).answer is Answer.YES) is (found is not None)


@pytest.mark.parametrize(
    ("inner", "others"),
    [
        ("a > 0 AND a < 3", ["a = 1", "a = 2"]),
        ("a >= -2147483648", ["a < 0", "a >= 0"]),
        ("b > 1", ["b >= 0"]),
        ("p = TRUE", ["p <> FALSE"]),
    ],
)
def test_nothing_is_outside(inner: str, others: list[str]) -> None:
    assert outside(box_of(condition(inner)), [box_of(condition(one)) for one in others]) is None


@pytest.mark.parametrize(
    ("inner", "other", "value"),
    [
        ("a > 0", "a < 3", 3),
        ("a < 5", "a > 2", 0),
        ("b <= 1", "b < 1", 1.0),
        ("b >= 1", "b > 1", 1.0),
        ("a IN (1, 2)", "a = 1", 2),
        ("a >= 1", "a <> 2", 2),
        ("a > 2147483646", "a < 2147483647", 2147483647),
    ],
)
def test_each_way_to_be_outside(inner: str, other: str, value: float) -> None:
    found = outside(box_of(condition(inner)), [box_of(condition(other))])
    assert found is not None
    assert next(iter(found.values())) == value


def test_null_is_outside_of_what_asks_for_a_value() -> None:
    assert outside(box_of(condition("a = 1")), [box_of(condition(one)) for one in ("p = TRUE", "p = FALSE")]) == {
        ("S", "a"): 1,
        ("S", "p"): None,
    }


def test_too_many_ways_are_left_to_the_solver() -> None:
    with pytest.raises(TooManyWaysError):
        outside(
            {},
            [
                box_of(condition(f"a > {n} AND b > {n} AND ts > TIMESTAMP '2026-01-0{n + 1}T00:00:00Z'"))
                for n in range(5)
            ],
        )
