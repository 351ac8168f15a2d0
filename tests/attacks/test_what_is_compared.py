"""Way in 18: questions that are compared as something else than what they ask."""

from __future__ import annotations

import pytest
from guarded import policy, refused, rows

PEOPLE = [(number, f"{number}", "ABC"[number % 3], 100 + number) for number in range(30)] + [(30, "Zed", "D", 4711)]
"""The secret is the salary of person 30, the only one of department D; groups must have five."""

TOTAL = sum(one[3] for one in PEOPLE)
BUT_ONE = TOTAL - 4711
THING = "object: {tables: [crowd], attributes: "
REST = policy("rest", f"{THING}[id, dept]}}, allow: [read]") + policy("names", f"{THING}[name]}}, allow: [assist]")
SUMS = policy("sums", f"{THING}[salary]}}, allow: [sum, avg], min_group: 5") + REST
ALL = "SELECT sum(salary) FROM crowd"
WITHOUT = f"{ALL} WHERE id <> 30"
TOGETHER = "together tell of fewer than 5 rows"
FAILING = "fails for some rows, and cannot be compared"


@pytest.fixture(scope="module")
def crowd(world):
    world.table("crowd", PEOPLE, "id int, name string, dept string, salary int")
    return world


def asking(crowd, policies: str = SUMS):
    return crowd.session("ann", policies, tables=("crowd",))


@pytest.mark.parametrize(
    "query",
    [
        f"{ALL} WHERE id < 10 OR id < 20 OR id < 30",
        f"{ALL} WHERE id + 1 + 2 < 33",
        f"{ALL} WHERE (id | 0 | 0 | 0) < 30",
        f"{ALL} WHERE id * 2 * 2 * 2 < 240",
        f"{ALL} WHERE NOT (id > 29 AND id > 28 AND id > 27)",
        f"{ALL} WHERE id NOT IN (30, 31, 32, 33)",
        f"{ALL} WHERE greatest(id, 1, 2, 3) < 30",
        "SELECT sum(salary), id + 1 + 2 < 33 AS k FROM crowd GROUP BY 2",
    ],
)
def test_what_spark_only_describes_is_compared_as_it_was_written(crowd, query) -> None:
    """From three operands on, Spark's form for comparing expressions cannot be computed."""
    ann = asking(crowd)
    assert rows(ann.sql(ALL)) == [(TOTAL,)]
    with refused(TOGETHER):
        ann.sql(query).collect()


def test_such_a_question_may_be_asked_again_and_in_other_words(crowd) -> None:
    ann = asking(crowd)
    some = f"{ALL} WHERE id < 5 OR id < 10 OR id < 20"
    assert rows(ann.sql(some)) == rows(ann.sql(some)) == [(sum(range(100, 120)),)]
    assert rows(ann.sql(f"{ALL} WHERE id < 20 OR id < 10 OR id < 5")) == [(sum(range(100, 120)),)]
    assert rows(ann.sql(f"{ALL} WHERE id < 6 OR id < 9 OR id < 10")) == [(sum(range(100, 110)),)]


def test_a_list_in_a_policy_does_not_stop_comparing(crowd) -> None:
    where = "where: \"dept IN ('A', 'B', 'C', 'D')\""
    ann = asking(crowd, policy("sums", f"{THING}[salary], {where}}}, allow: [sum], min_group: 5") + REST)
    assert rows(ann.sql(ALL)) == [(TOTAL,)]
    with refused(TOGETHER):
        ann.sql(WITHOUT).collect()


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        # An error is made NULL in one side of a comparison, where the query does so: the row is asked about.
        ("if(id = 30, CAST(name AS INT), NULL) <=> NULL", None),
        # Here the row is not, neither in the query nor when it is compared.
        ("CAST(name AS INT) >= 0", BUT_ONE),
    ],
)
def test_what_is_null_in_the_query_is_null_when_it_is_compared(crowd, condition, answer) -> None:
    ann = asking(crowd)
    assert rows(ann.sql(WITHOUT)) == [(BUT_ONE,)]
    query = ann.sql(f"{ALL} WHERE {condition}")
    if answer is None:
        with refused(TOGETHER):
            query.collect()
    else:
        assert rows(query) == [(answer,)]


@pytest.mark.parametrize(
    "query", [f"{ALL} WHERE 1 / (id - 30) < 9", "SELECT sum(salary) FROM crowd GROUP BY 1 / (id - 30) > 0"]
)
def test_where_it_is_not_known_what_is_asked_it_is_not_told(crowd, query) -> None:
    ann = asking(crowd)
    assert rows(ann.sql(WITHOUT)) == [(BUT_ONE,)]
    with refused(FAILING):
        ann.sql(query).collect()


def test_what_fails_for_rows_that_are_not_asked_about_makes_no_difference(crowd) -> None:
    ann = asking(crowd)
    assert rows(ann.sql(WITHOUT)) == [(BUT_ONE,)]
    assert rows(ann.sql(f"{ALL} WHERE id <> 30 AND 1 / (id - 30) < 9")) == [(BUT_ONE,)]
    assert rows(ann.sql(f"{ALL} WHERE id < 20 AND 1 / (id - 30) < 9")) == [(sum(range(100, 120)),)]


DRAWN = "hex(aes_encrypt({}, '0000111122223333')) < '8'"
PRINTED = "hash(format_string('{}', {})) % 2 = 0"
MOVING = {
    "another draw for each row": "id <> 30 OR " + DRAWN.format("string(id)"),
    "one draw for all": "id <> 30 OR " + DRAWN.format("'a'"),
    "a draw in a subquery": f"id <> if((SELECT {DRAWN.format(chr(39) + 'a' + chr(39))} FROM VALUES (1) v(x)), 30, -1)",
    "where bytes are in memory": "id <> 30 OR " + PRINTED.format("%s", "CAST(string(id) AS BINARY)"),
    "where they are in a list": "id <> 30 OR " + PRINTED.format("%s", "array(CAST(string(id) AS BINARY))"),
    "the number of an object": "id <> 30 OR " + PRINTED.format("%h", "map(id, 1)"),
}


@pytest.mark.parametrize("form", MOVING)
def test_what_draws_or_prints_something_else_each_time_cannot_be_asked_again(crowd, form) -> None:
    ann = asking(crowd)
    query = f"{ALL} WHERE {MOVING[form]}"
    assert rows(ann.sql(query))[0][0] in (TOTAL, BUT_ONE)
    with refused("cannot be compared"):
        ann.sql(query).collect()


def test_texts_and_numbers_that_are_printed_are_the_same_each_time(crowd) -> None:
    ann = asking(crowd)
    query = f"{ALL} WHERE format_string('%s-%d', dept, id) <> 'A-0'"
    assert rows(ann.sql(query)) == rows(ann.sql(query)) == [(TOTAL - 100,)]
