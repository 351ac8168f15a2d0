"""Way in 18: of two sums the second one is given unless few rows make the difference, whatever conditions they have."""

from __future__ import annotations

from typing import Any

import pytest
from guarded import policy, refused, rows
from hypothesis import HealthCheck, Phase, assume, event, given, settings
from hypothesis import strategies as st

LEAST = 5
IDS = range(31)
SUMS = policy("sums", f"object: {{tables: [asked], attributes: [pay]}}, allow: [sum], min_group: {LEAST}") + policy(
    "ids", "object: {tables: [asked], attributes: [id]}, allow: [read]"
)
Condition = tuple[str, frozenset[int]]
"""As it is written in a query, and the rows for which it holds."""

numbers = st.integers(0, 31)


@st.composite
def simple(draw: st.DrawFn) -> Condition:
    bound, few = draw(numbers), draw(st.lists(numbers, min_size=1, max_size=5))
    listed = ", ".join(map(str, few))
    return draw(
        st.sampled_from(
            [
                (f"id < {bound}", frozenset(one for one in IDS if one < bound)),
                (f"id + 1 + 2 + 3 < {bound + 6}", frozenset(one for one in IDS if one < bound)),
                (f"id <> {bound}", frozenset(IDS) - {bound}),
                (f"id IN ({listed})", frozenset(IDS) & {*few}),
                (f"id NOT IN ({listed})", frozenset(IDS) - {*few}),
                (f"pmod(id * 2 * 1, 4) = {bound % 4}", frozenset(one for one in IDS if one * 2 % 4 == bound % 4)),
            ]
        )
    )


def together(parts: list[Condition]) -> Condition:
    return f"({' AND '.join(text for text, _ in parts)})", frozenset.intersection(*(found for _, found in parts))


def either(parts: list[Condition]) -> Condition:
    return f"({' OR '.join(text for text, _ in parts)})", frozenset.union(*(found for _, found in parts))


def neither(part: Condition) -> Condition:
    return f"NOT {part[0]}" if part[0].startswith("(") else f"NOT ({part[0]})", frozenset(IDS) - part[1]


def wider(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    some = st.lists(inner, min_size=2, max_size=4)
    return st.one_of(some.map(together), some.map(either), inner.map(neither))


conditions = st.recursive(simple(), wider, max_leaves=6).filter(lambda found: len(found[1]) >= LEAST)


@st.composite
def questions(draw: st.DrawFn) -> tuple[Condition, Condition]:
    """Two conditions, of which the second often differs from the first by some rows only."""
    first, more = draw(conditions), draw(simple())
    second = draw(st.one_of(conditions, *map(st.just, (together([first, more]), either([first, more])))))
    return first, second


@pytest.fixture(scope="module")
def asked(world: Any) -> Any:
    world.table("asked", [(one, 1000 + 37 * one) for one in IDS], "id int, pay int")
    return world


@settings(max_examples=25, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow])
@given(questions())
def test_property_sums_are_compared_by_the_rows_that_they_are_of(asked: Any, pair: tuple[Condition, Condition]) -> None:
    assume(len(pair[1][1]) >= LEAST)
    few = 0 < len(pair[0][1] ^ pair[1][1]) < LEAST
    event("refused" if few else "given")
    ann = asked.session("ann", SUMS, tables=("asked",))
    first, second = (ann.sql(f"SELECT sum(pay) FROM asked WHERE {text}") for text, _ in pair)
    assert rows(first) == [(total(pair[0]),)]
    if few:
        with refused(f"together tell of fewer than {LEAST} rows"):
            second.collect()
    else:
        assert rows(second) == [(total(pair[1]),)]


def total(condition: Condition) -> int:
    return sum(1000 + 37 * one for one in condition[1])
