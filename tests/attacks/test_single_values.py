"""Way in 18: single values inside of aggregates, where only groups of some size may be told of."""

from __future__ import annotations

import pytest
from guarded import refused, rows

PEOPLE = [(number, "ABC"[number % 3], 100 + number) for number in range(30)] + [(30, "D", 4711)]
"""The secret is the salary of person 30, the only one of department D; groups must have five."""

REST = "  - {id: rest, subject: {role: analyst}, object: {tables: [paid], attributes: [id, dept]}, allow: [read]}\n"


def allowing(words: str, least: int = 5) -> str:
    target = "object: {tables: [paid], attributes: [salary]}"
    return f"  - {{id: some, subject: {{role: analyst}}, {target}, allow: [{words}], min_group: {least}}}\n"


@pytest.fixture(scope="module")
def paid(world):
    world.table("paid", PEOPLE, "id int, dept string, salary int")
    return world


def asking(paid, words: str = "avg, sum, count, max, min, compute", least: int = 5):
    return paid.session("ann", allowing(words, least) + REST, tables=("paid",))


LAST = "(SELECT * FROM paid ORDER BY id DESC)"
SHOWN = {
    "list": "SELECT max(l) FROM (SELECT collect_list(salary) AS l FROM paid)",
    "set": "SELECT max(l) FROM (SELECT collect_set(salary) AS l FROM paid)",
    "place in a list": "SELECT avg(element_at(l, 31)) FROM (SELECT collect_list(salary) AS l FROM paid)",
    "of the largest": "SELECT max(m) FROM (SELECT max_by(salary, id) AS m FROM paid)",
    "of the smallest": "SELECT sum(m) FROM (SELECT min_by(salary, -id) AS m FROM paid)",
    "most frequent": "SELECT max(m) FROM (SELECT mode(salary) AS m FROM paid)",
    "percentile": "SELECT avg(m) FROM (SELECT percentile(salary, 0.99) AS m FROM paid)",
    "about a percentile": "SELECT avg(m) FROM (SELECT approx_percentile(salary, 1.0) AS m FROM paid)",
    "median": "SELECT max(m) FROM (SELECT median(salary) AS m FROM paid)",
    "text": "SELECT max(m) FROM (SELECT string_agg(CAST(salary AS string), ',') AS m FROM paid)",
    "bits": "SELECT max(m) FROM (SELECT bit_xor(salary) AS m FROM paid)",
    "in a subquery": "SELECT max(l) FROM (SELECT (SELECT collect_list(salary) FROM paid) AS l FROM range(6))",
    "twice": "SELECT max(m) FROM (SELECT min(l) AS m FROM (SELECT collect_list(salary) AS l FROM paid))",
    "in a predicate": "SELECT count(id) FROM paid GROUP BY dept HAVING max_by(salary, id) > 4000",
    "first": f"SELECT first(salary) FROM {LAST}",
    "last": "SELECT last(salary) FROM (SELECT * FROM paid ORDER BY id)",
    "any": f"SELECT any_value(salary) FROM {LAST}",
    "first in an aggregate": f"SELECT max(f) FROM (SELECT first(salary) AS f FROM {LAST})",
}
"""Functions that give out single values, inside of one that computes."""


@pytest.mark.parametrize("form", SHOWN)
def test_what_shows_single_values_reads_in_an_aggregate_too(paid, form) -> None:
    with refused():
        asking(paid).sql(SHOWN[form]).collect()


RUNNING = {
    "one row": "sum(salary) OVER (ORDER BY id ROWS BETWEEN 30 PRECEDING AND 30 PRECEDING)",
    "filtered": "sum(salary) FILTER (WHERE id = 30) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND CURRENT ROW)",
    "so far": "sum(salary) OVER (ORDER BY id)",
    "before": "lag(salary, 30) OVER (ORDER BY id DESC)",
    "after": "lead(salary) OVER (ORDER BY id)",
    "the first": "first_value(salary) OVER (ORDER BY id DESC)",
    "the second": "nth_value(salary, 1) OVER (ORDER BY id DESC)",
    "whole": "sum(salary) OVER (PARTITION BY id)",
    "whole, filtered": "sum(salary) FILTER (WHERE id = 30) OVER ()",
    "list": "collect_list(salary) OVER (PARTITION BY id)",
}


@pytest.mark.parametrize("outer", ["max", "min"])
@pytest.mark.parametrize("form", RUNNING)
def test_a_window_in_an_aggregate_reads(paid, form, outer) -> None:
    with refused():
        asking(paid).sql(f"SELECT {outer}(s) FROM (SELECT {RUNNING[form]} AS s FROM paid)").collect()


@pytest.mark.parametrize("words", ["avg", "max", "compute"])
@pytest.mark.parametrize("form", ["place in a list", "of the largest", "one row", "before"])
def test_where_no_size_is_asked_for_single_values_are_read_all_the_same(paid, words, form) -> None:
    query = SHOWN.get(form) or f"SELECT avg(s) FROM (SELECT {RUNNING[form]} AS s FROM paid)"
    with refused():
        asking(paid, words, least=1).sql(query).collect()


def test_a_first_value_is_a_computation_where_no_size_is_asked_for(paid) -> None:
    assert rows(asking(paid, "first", least=1).sql(SHOWN["first"])) == [(4711,)]


def test_the_groups_next_to_the_rows_are_those_that_must_be_large(paid) -> None:
    """The value of a group of one is not told by what is computed of it, wherever that happens."""
    ann = asking(paid)
    ones = "(SELECT id, min(salary) AS m FROM paid GROUP BY id)"
    large = "(SELECT dept, min(salary) AS m FROM paid GROUP BY dept)"
    for query in (
        f"SELECT max(m) FROM {ones}",
        f"SELECT id, max(m) OVER (ORDER BY id) AS s FROM {ones}",
        f"SELECT max(s) FROM (SELECT sum(m) OVER (ORDER BY id) AS s FROM {ones})",
        f"SELECT sum(m) FROM {ones} o JOIN range(31) r ON o.id = r.id",
        f"SELECT max(m) FROM paid JOIN {ones} o ON paid.dept < o.id",
    ):
        assert {one for row in rows(ann.sql(query)) for one in row} <= {None}, query
    ann = asking(paid)
    assert rows(ann.sql(f"SELECT max(m) FROM {large}")) == [(102,)]
    assert rows(ann.sql(f"SELECT dept, sum(m) OVER (ORDER BY dept) AS s FROM {large}")) == [
        ("A", 100),
        ("B", 201),
        ("C", 303),
    ]
    assert rows(ann.sql(f"SELECT max(if(dept = 'B', m, 0)) FROM {large}")) == [(101,)]
    assert rows(ann.sql(f"SELECT collect_list(m) FROM {large} WHERE dept = 'C'")) == [([102],)]
