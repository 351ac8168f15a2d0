"""Which mask stands for a cell: that of the deny that holds in its row, else of the first grant; wherever it stands."""

from __future__ import annotations

import hashlib

import pytest
from guarded import ALL, DEPARTMENTS, FREE, policy, rows, since

REST = policy("rest", "object: {tables: [emp], attributes: [id, dept]}, allow: [read]")
SUMS = policy("sums", "object: {tables: [emp], attributes: [salary]}, allow: [sum]")


def ask(world, policies: str, query: str, **options):
    return rows(world.session("ann", policies, **options).sql(query))


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


HASHED = policy("hashed", "object: {tables: [emp]}, allow: [read], mask: hash")


@pytest.mark.parametrize(("mask", "shown"), [("", None), (", mask: redact", "***")])
@pytest.mark.parametrize("more", ["", " WHERE name IS NOT NULL", " WHERE name > 'A'"])
def test_a_predicate_does_not_change_whose_mask_it_is(world, mask, shown, more) -> None:
    deny = policy("deny", f"object: {{tables: [emp], attributes: [name], where: \"dept = 'B'\"}}, deny: [read]{mask}")
    found = dict(ask(world, HASHED + deny, f"SELECT id, name FROM emp{more}"))
    assert (found[1], found[3]) == ("Ann", shown)


def test_a_deny_in_some_rows_of_a_column_that_nobody_may_read(world) -> None:
    usable = policy("usable", "object: {tables: [emp], attributes: [name]}, allow: [assist], mask: hash")
    deny = policy("deny", "object: {tables: [emp], attributes: [name], where: \"dept = 'B'\"}, deny: [read]")
    found = dict(ask(world, REST + usable + deny, "SELECT id, name FROM emp"))
    assert (found[1], found[3]) == (sha("Ann"), None)


DURING = "deny: [read], during: {from: '2026-01-01T00:00:00Z'}"


def test_a_deny_that_cannot_be_put_to_spark_lends_its_mask(world) -> None:
    deny = policy("deny", f"object: {{tables: [emp], attributes: [name]}}, {DURING}, mask: redact")
    assert dict(ask(world, HASHED + deny, "SELECT id, name FROM emp"))[3] == "***"


def test_a_deny_that_cannot_be_put_to_spark_and_a_packed_row(world) -> None:
    """Refused with an error of our own: "the table has no column `no time of its own` in this plan"."""
    deny = policy("deny", f"object: {{tables: [emp], attributes: [name]}}, {DURING}, mask: redact")
    found = dict(ask(world, HASHED + deny, "SELECT id, struct(name) AS p FROM emp"))
    assert tuple(found[3]) == ("***",)


def test_a_mask_on_one_side_of_a_union_leaves_the_other(world) -> None:
    query = "SELECT dept, name FROM emp UNION ALL SELECT code, title FROM dept"
    found = ask(world, REST + DEPARTMENTS, query)
    assert sorted(row for row in found if row[1] is not None) == [("A", "Accounts"), ("B", "Board"), ("C", "Care")]
    assert sum(row[1] is None for row in found) == 5


def test_both_sides_of_a_union_are_masked_by_their_mask(world) -> None:
    names = policy("names", "object: {tables: [emp], attributes: [name]}, allow: [assist], mask: redact")
    query = "SELECT id, name FROM emp WHERE id = 1 UNION ALL SELECT id, name FROM emp WHERE id = 3"
    assert ask(world, REST + names, query) == [(1, "***"), (3, "***")]


OWN_NAMES = REST + policy(
    "names", "object: {tables: [emp], attributes: [name], where: \"dept = 'A'\"}, allow: [read], mask: redact"
)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, name FROM emp",
        "SELECT id, name FROM emp ORDER BY name",
        "SELECT id, name FROM emp WHERE name IS NULL OR id > 0",
        "SELECT id, name FROM (SELECT id, name, upper(name) AS u FROM emp)",
        "SELECT id, n FROM (SELECT id, name AS n, row_number() OVER (ORDER BY name) AS r FROM emp)",
    ],
)
def test_a_mask_stands_whatever_else_a_column_is_used_for(world, query) -> None:
    found = dict(ask(world, OWN_NAMES, query))
    assert (found[1], found[3]) == ("Ann", "***")


def test_a_mask_stands_beside_what_is_made_of_the_column(world) -> None:
    found = {row[0]: row[1:] for row in ask(world, OWN_NAMES, "SELECT id, name, upper(name) AS u FROM emp")}
    assert (found[1], found[3]) == (("Ann", "ANN"), ("***", None))


@since("4.1", "rows in tables of texts with a collation")
@pytest.mark.parametrize(("mask", "shown"), [("redact", "***"), ("zero", "0"), ("hash", sha("b"))])
def test_masks_of_texts_with_a_collation(world, mask, shown) -> None:
    made = world.spark.sql("SELECT id, word COLLATE UTF8_LCASE AS word FROM VALUES (1, 'a'), (2, 'b') AS t(id, word)")
    made.coalesce(1).write.mode("overwrite").option("path", str(world.folder / "worded")).saveAsTable("worded")
    ids = policy("ids", "object: {tables: [worded], attributes: [id]}, allow: [read]")
    words = policy(
        "words", f"object: {{tables: [worded], attributes: [word], where: id = 1}}, allow: [read], mask: {mask}"
    )
    assert ask(world, ids + words, "SELECT id, word FROM worded", tables=("worded",)) == [(1, "a"), (2, shown)]


def test_a_computed_value_is_masked_by_the_deny_that_withholds_it(world) -> None:
    deny = policy("deny", "object: {tables: [emp], attributes: [salary]}, deny: [avg], mask: zero")
    assert {row[1] for row in ask(world, ALL + deny, "SELECT dept, avg(salary) FROM emp GROUP BY dept")} == {0.0}


def test_and_not_by_a_deny_of_something_else(world) -> None:
    deny = policy("unread", "object: {tables: [emp], attributes: [salary]}, deny: [read], mask: zero")
    found = ask(world, FREE + SUMS + deny, "SELECT dept, avg(salary) FROM emp GROUP BY dept")
    assert {row[1] for row in found} == {None}
