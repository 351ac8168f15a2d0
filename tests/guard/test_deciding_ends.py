"""Deciding ends, however wide a plan is and however often its rows are counted; without Spark."""

from __future__ import annotations

import json
from time import process_time
from typing import Any

import pytest

from headgate.errors import InputError
from headgate.guard.plan import Description, read_description
from headgate.guard.purposes import analyse

GENEROUS = 10
"""Seconds for what took minutes, on a machine that is busy."""

COUNT = {"aggregate": "Count", "of": [{"literal": 1}]}


class _Plan:
    """Writes nodes as the hook does, with numbers of their own."""

    def __init__(self) -> None:
        self.nodes = self.columns = 0

    def node(self, name: str, out: list[int], *children: Any, **facts: Any) -> dict[str, Any]:
        self.nodes += 1
        return {"id": self.nodes - 1, "node": name, "out": out, "children": children, **facts}

    def new(self, number: int) -> list[int]:
        self.columns += number
        return list(range(self.columns - number, self.columns))

    def table(self, number: int, name: str = "LogicalRelation") -> dict[str, Any]:
        return self.node(name, self.new(number))

    def counting(self, number: int, below: dict[str, Any]) -> dict[str, Any]:
        """An aggregate that counts the rows below it, under several names."""
        made = self.new(number)
        return self.node("Aggregate", made, below, list=[{"alias": one, "of": [COUNT]} for one in made])

    def united(self, *children: dict[str, Any]) -> dict[str, Any]:
        return self.node("Union", self.new(len(children[0]["out"])), *children)

    def description(self, root: dict[str, Any]) -> Description:
        attributes = {number: [f"c{number}", "int"] for number in range(self.columns)}
        content = {"guard": "g", "user": "ann", "plan": root, "attributes": attributes, "settings": {}}
        return read_description(json.dumps(content))


def quickly(description: Description) -> Any:
    began_at = process_time()
    try:
        return analyse(description)
    finally:
        assert process_time() - began_at < GENEROUS


@pytest.mark.parametrize("through", ["Filter", "Project", "Union"])
def test_columns_are_found_without_looking_at_all_others(through) -> None:
    plan = _Plan()
    table = below = plan.table(20_000)
    for _ in range(10):
        if through == "Filter":
            below = plan.node("Filter", below["out"], below)
        elif through == "Union":
            below = plan.united(below)
        else:
            made = plan.new(20_000)
            again = [{"alias": one, "of": [{"column": of}]} for one, of in zip(made, below["out"], strict=True)]
            below = plan.node("Project", made, below, list=again)
    uses = quickly(plan.description(below)).uses
    assert [(use.node, use.column) for use in uses] == [(table["id"], column) for column in reversed(table["out"])]


def test_rows_that_are_counted_under_many_names_are_counted_once() -> None:
    plan = _Plan()
    union = plan.united(*(plan.table(1) for _ in range(5_000)))
    root = plan.counting(5_000, union)
    counted = quickly(plan.description(root)).counted
    assert set(counted.leaves) == {one["id"] for one in union["children"]}
    assert set(counted.leaves.values()) == {(root["id"],)}
    assert counted.columns == {root["id"]: root["out"]}


def test_rows_that_the_user_brings_along_are_counted_freely() -> None:
    plan = _Plan()
    root = plan.counting(3, plan.united(plan.table(1, "Range"), plan.table(1, "LocalRelation"), plan.table(1)))
    assert len(quickly(plan.description(root)).counted.leaves) == 1


def test_tables_that_are_counted_again_and_again_are_too_many() -> None:
    plan = _Plan()
    below = plan.united(*(plan.table(1) for _ in range(1_000)))
    shared = plan.node("CTERelationDef", below["out"], below, cte=0)
    counts = [plan.counting(1, plan.node("CTERelationRef", plan.new(1), cte=0)) for _ in range(1_000)]
    with pytest.raises(InputError, match="rows are counted in too many places to follow"):
        quickly(plan.description(plan.node("WithCTE", [], shared, plan.united(*counts))))
