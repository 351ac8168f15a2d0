"""TPC-DS under the guard: nothing withheld is plain Spark, something withheld is Spark over prepared data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import pytest
import tpcds
from guarded import policy, refused
from pyspark.sql import SparkSession
from tpcds import Answer

from headgate.guard import explain, session

SCALE = 0.01
ONLY_MASKED = 41
"""The query that shows nothing but a column which the second set masks: of such an answer nothing may be seen."""

ALL_QUERIES = [
    pytest.param(number, marks=() if number in tpcds.SHORT else pytest.mark.long) for number in range(1, 100)
]


class Store(NamedTuple):
    """The tables and the queries, four sessions over them, and what a query gives in one of these, computed once."""

    tables: tuple[str, ...]
    queries: dict[int, str]
    sessions: dict[str, SparkSession]
    answer: Callable[[str, int], Answer]


@pytest.fixture(scope="module")
def store(world, tmp_path_factory) -> Store:
    folder = tmp_path_factory.mktemp("tpcds")
    names = tpcds.generate(folder, SCALE)
    spark = world.spark
    tpcds.create_tables(spark, folder, names)
    tables = tuple(f"tpcds.{name}" for name in names)
    sessions = {
        "plain": spark.newSession(),
        "open": session("ann", world.guard(tpcds.open_policies(names), tables=tables), spark),
        "closed": session("ann", world.guard(tpcds.closing_policies(spark, names), tables=tables), spark),
    }
    for one in sessions.values():
        one.catalog.setCurrentDatabase("tpcds")
    sessions["by hand"] = tpcds.prepare_by_hand(spark, names)
    queries = tpcds.queries()

    @cache
    def answer(where: str, number: int) -> Answer:
        found = Answer.of(sessions[where].sql(queries[number]))
        return found.masked_by_hand() if where == "by hand" else found

    return Store(tables, queries, sessions, answer)


@pytest.mark.parametrize("number", ALL_QUERIES)
def test_nothing_withheld_changes_nothing(store, number) -> None:
    assert store.answer("open", number).same_as(store.answer("plain", number))


@pytest.mark.parametrize("number", ALL_QUERIES)
def test_what_is_withheld_is_as_if_prepared_by_hand(store, number) -> None:
    if number == ONLY_MASKED:
        with refused("no output column is allowed"):
            store.answer("closed", number)
        return
    assert store.answer("closed", number).same_as(store.answer("by hand", number))


@pytest.mark.parametrize(
    ("numbers", "with_rows", "changed"),
    [
        pytest.param(tpcds.SHORT, 7, 5, id="short"),
        pytest.param(range(1, 100), 72, 47, id="all", marks=pytest.mark.long),
    ],
)
def test_the_answers_tell_whether_policies_are_followed(store, numbers: Sequence[int], with_rows, changed) -> None:
    """Answers without rows, and those that the second set leaves as they are, would be equal under any guard."""
    plain = {number: store.answer("plain", number) for number in numbers}
    assert sum(bool(one.rows) for one in plain.values()) >= with_rows
    assert sum(not store.answer("by hand", number).same_as(one) for number, one in plain.items()) >= changed


# Query 35 of figures 10 to 12. What the prices of sales are used for is behind EXISTS (SELECT * ...).

SHOWN = {
    "customer_address": ["ca_state"],
    "customer_demographics": [
        "cd_gender",
        "cd_marital_status",
        "cd_dep_count",
        "cd_dep_employed_count",
        "cd_dep_college_count",
    ],
}
UNSEEN = {
    "store_sales": ["ss_sales_price"],
    "web_sales": ["ws_sales_price"],
    "catalog_sales": ["cs_sales_price"],
}
"""What figure 11 names as sensitive: in the query's output, and not."""


def test_query_35_with_zero_setting(world, store) -> None:
    """Figure 12: what is sensitive is zero, and every computed value is what it is without policies."""
    text = ""
    for table in store.tables:
        name = table.removeprefix("tpcds.")
        hidden = SHOWN.get(name, []) + UNSEEN.get(name, [])
        rest = [one for one in world.spark.table(table).columns if one not in hidden]
        target = "object: {{tables: [TABLE], attributes: [{}]}}, allow: ".format
        text += policy(name, f"{target(', '.join(rest))}[read]", table=table)
        if hidden:
            text += policy(f"{name}-hidden", f"{target(', '.join(hidden))}[compute, assist], mask: zero", table=table)
    ann = session("ann", world.guard(text, tables=store.tables), world.spark)
    ann.catalog.setCurrentDatabase("tpcds")
    frame, plain = ann.sql(store.queries[35]), store.answer("plain", 35)
    shown = [f"{table}.{column}" for table, columns in SHOWN.items() for column in columns]
    assert {reason.partition(" is withheld")[0] for reason in explain(frame).reasons} == {
        f"read of `tpcds.{one}`" for one in shown
    }
    found = Answer.of(frame)
    assert (found.columns, found.rows) == (plain.columns, zeros(plain, {one.partition(".")[2] for one in shown}))
    assert len(plain.rows) > 3


def zeros(answer: Answer, names: set[str]) -> list[tuple[Any, ...]]:
    """The rows of an answer with zero in columns of these names."""
    zero: dict[str, Any] = {"string": "0", "int": 0, "bigint": 0}
    places = {place: zero[kind] for place, (column, kind) in enumerate(answer.columns) if column in names}
    assert len(places) == len(names)
    return [tuple(places.get(place, value) for place, value in enumerate(row)) for row in answer.rows]
