"""TPC-DS under the guard: nothing withheld is plain Spark, something withheld is Spark over prepared data."""

from __future__ import annotations

from typing import Any

import pytest
import tpcds
from guarded import policy, rows

from headgate.guard import session

SCALE = 0.01
ALL_QUERIES = [
    pytest.param(number, marks=() if number in tpcds.SHORT else pytest.mark.long) for number in range(1, 100)
]


@pytest.fixture(scope="module")
def store(world, tmp_path_factory) -> dict[str, Any]:
    """The tables, the queries, and four sessions over them."""
    folder = tmp_path_factory.mktemp("tpcds")
    names = tpcds.generate(folder, SCALE)
    spark = world.spark
    tpcds.create_tables(spark, folder, names)
    tables = tuple(f"tpcds.{name}" for name in names)
    plain = spark.newSession()
    opened = session("ann", world.guard(tpcds.open_policies(names), tables=tables), spark)
    closed = session("ann", world.guard(tpcds.closing_policies(spark, names), tables=tables), spark)
    for one in (plain, opened, closed):
        one.catalog.setCurrentDatabase("tpcds")
    by_hand = tpcds.prepare_by_hand(spark, names)
    return {
        "queries": tpcds.queries(),
        "plain": plain,
        "open": opened,
        "closed": closed,
        "hand": by_hand,
        "tables": tables,
    }


@pytest.mark.parametrize("number", ALL_QUERIES)
def test_nothing_withheld_changes_nothing(store, number) -> None:
    query = store["queries"][number]
    assert tpcds.same(store["open"].sql(query), store["plain"].sql(query))


@pytest.mark.parametrize("number", ALL_QUERIES)
def test_what_is_withheld_is_as_if_prepared_by_hand(store, number) -> None:
    query = store["queries"][number]
    assert tpcds.same(store["closed"].sql(query), store["hand"].sql(query))


SENSITIVE = {
    "customer_address": ["ca_state"],
    "customer_demographics": [
        "cd_gender",
        "cd_marital_status",
        "cd_dep_count",
        "cd_dep_employed_count",
        "cd_dep_college_count",
    ],
}


def test_query_35_with_zero_setting(world, store) -> None:
    """Figure 12: what is sensitive is zero, and every computed value is what it is without policies."""
    text = ""
    for table in store["tables"]:
        name = table.removeprefix("tpcds.")
        hidden = SENSITIVE.get(name, [])
        shown = [one for one in world.spark.table(table).columns if one not in hidden]
        text += policy(
            name, f"object: {{tables: [TABLE], attributes: [{', '.join(shown)}]}}, allow: [read]", table=table
        )
        if hidden:
            rest = (
                f"object: {{tables: [TABLE], attributes: [{', '.join(hidden)}]}}, allow: [compute, assist], mask: zero"
            )
            text += policy(f"{name}-hidden", rest, table=table)
    ann = session("ann", world.guard(text, tables=store["tables"]), world.spark)
    ann.catalog.setCurrentDatabase("tpcds")
    query = store["queries"][35]
    answer, plain = ann.sql(query), store["plain"].sql(query)
    names = {one for columns in SENSITIVE.values() for one in columns}
    zeros = {"string": "0", "int": 0, "bigint": 0}
    places = {place: zeros[kind] for place, (column, kind) in enumerate(plain.dtypes) if column in names}
    assert len(places) >= 5
    expected = [tuple(places.get(place, value) for place, value in enumerate(row)) for row in plain.collect()]
    assert len(expected) > 3
    assert rows(answer) == sorted(expected, key=lambda row: [(one is None, str(one)) for one in row])
