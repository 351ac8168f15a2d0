"""Way in 18: groups must have different sizes, by function, by column or by row, and each of them counts."""

from __future__ import annotations

from itertools import permutations

import pytest
from guarded import FREE, policy, refused, rows

CREW = [(number, "ABC"[number % 3], 100 + number, 1000 + number) for number in range(12)]
CREW += [(12, "D", 4711, 8001), (13, "D", 4712, 8002)]
"""Four in each of A, B and C; two in D, of whom nothing may be told that needs four."""

REST = "  - {id: rest, subject: {role: analyst}, object: {tables: [crew], attributes: [id, dept]}, allow: [read]}\n"


def allowing(words: str, least: int, columns: str = "salary", where: str = "id >= 0") -> str:
    target = f"object: {{tables: [crew], attributes: [{columns}], where: {where}}}"
    name = f"{words}-{columns}-{least}".replace(", ", "-")
    return f"  - {{id: {name}, subject: {{role: analyst}}, {target}, allow: [{words}], min_group: {least}}}\n"


@pytest.fixture(scope="module")
def crew(world):
    world.table("crew", CREW, "id int, dept string, salary int, bonus int")
    return world


def asking(crew, policies: str):
    return crew.session("ann", policies, tables=("crew",))


@pytest.mark.parametrize("asked", [*permutations(["sum(salary)", "avg(salary)", "sum(bonus)"], 2)])
def test_each_value_of_a_group_has_enough_rows_behind_it(crew, asked) -> None:
    """Sizes are asked for under the same condition; that of one value does not stand for that of another."""
    policies = REST + allowing("sum", 4) + allowing("avg", 2) + allowing("sum", 3, "bonus")
    found = rows(asking(crew, policies).sql(f"SELECT dept, {', '.join(asked)} FROM crew GROUP BY dept"))
    assert [row[0] for row in found] == ["A", "B", "C"]


COUNTED = allowing("count, assist", 4, "id", "dept = 'A'") + allowing("count, assist", 4, "dept")


def test_rows_are_counted_by_what_any_of_their_cells_needs(crew) -> None:
    """`id` of department D may not be counted at all, `dept` of it in groups of four: there are two."""
    ann = asking(crew, COUNTED)
    assert rows(ann.sql("SELECT count(*) FROM crew WHERE dept = 'D'")) == []
    assert rows(ann.sql("SELECT count(*) FROM crew WHERE dept = 'B'")) == [(4,)]


def test_the_most_lenient_grant_on_a_row_decides(crew) -> None:
    ann = asking(crew, allowing("count, assist", 4, "id") + allowing("count, assist", 2, "dept", "dept = 'D'"))
    assert rows(ann.sql("SELECT count(*) FROM crew WHERE dept = 'D'")) == [(2,)]
    assert rows(asking(crew, COUNTED + REST).sql("SELECT count(*) FROM crew WHERE id = 12")) == [(1,)]


def test_rows_beside_others_are_counted_as_rows_alone(crew) -> None:
    ann = asking(crew, allowing("assist", 1, "id"))
    assert rows(ann.sql("SELECT count(*) FROM crew")) == [(None,)]
    assert rows(ann.sql("SELECT count(*) FROM VALUES (1) v(x), LATERAL (SELECT 1 FROM crew)")) == [(None,)]
    with refused("cannot be checked"):
        asking(crew, COUNTED).sql("SELECT count(*) FROM VALUES (1) v(x), LATERAL (SELECT 1 FROM crew)").collect()


NARROWER = "  - {id: d, subject: {role: analyst}, object: {tables: [crew], attributes: [salary], where: dept = 'D'}, "


@pytest.mark.parametrize(
    ("word", "query"),
    [
        ("count", "SELECT sum(salary) + count(salary) FROM crew"),
        ("assist", "SELECT sum(salary) + sum(id) FROM crew WHERE salary IS NOT NULL OR id >= 0"),
    ],
)
def test_cells_that_another_use_takes_away_do_not_count(crew, word, query) -> None:
    """A sum of all needs four; together with something that is allowed in D alone, it is of two."""
    ann = asking(crew, REST + allowing("sum", 4) + NARROWER + f"allow: [{word}]}}\n")
    assert rows(ann.sql(query)) == []


@pytest.mark.parametrize(
    ("word", "query", "answer"),
    [
        ("count", "SELECT sum(salary), count(salary) FROM crew", (10689, 2)),
        ("assist", "SELECT sum(salary) FROM crew WHERE salary IS NOT NULL OR id >= 0", (10689,)),
        ("assist", "SELECT sum(salary) FROM crew WHERE salary IS NOT NULL", None),
        ("assist", "SELECT sum(salary) FROM crew WHERE salary IS NULL", (1266,)),
    ],
)
def test_a_sum_of_all_beside_what_is_allowed_of_some(crew, word, query, answer) -> None:
    ann = asking(crew, REST + allowing("sum", 4) + NARROWER + f"allow: [{word}]}}\n")
    assert rows(ann.sql(query)) == ([] if answer is None else [answer])


def test_cells_that_a_view_takes_away_do_not_count(crew) -> None:
    crew.spark.sql("CREATE OR REPLACE VIEW some AS SELECT id, dept, salary FROM crew")
    on_view = "object: {tables: [some], attributes: [salary], where: dept = 'D'}, allow: [sum]"
    rest = (
        "  - {id: rest-of-view, subject: {role: analyst}, object: {tables: [some], attributes: [id]}, allow: [read]}\n"
    )
    view = f"  - {{id: of-view, subject: {{role: analyst}}, {on_view}}}\n"
    ann = crew.session("ann", REST + allowing("sum", 4) + view + rest, tables=("crew", "some"))
    with refused("cannot be checked through"):
        ann.sql("SELECT sum(salary) FROM some WHERE id >= 0").collect()


BY_ROW = REST + allowing("sum", 5) + allowing("sum", 2, where="dept <> 'C'")
BY_FUNCTION = REST + allowing("avg", 5) + allowing("sum", 2)


@pytest.mark.parametrize(
    ("policies", "parts", "more"),
    [
        (BY_ROW, "SELECT dept, sum(salary) FROM crew GROUP BY dept", "sum(salary)"),
        (BY_FUNCTION, "SELECT dept, sum(salary) FROM crew WHERE dept <> 'C' GROUP BY dept", "avg(salary)"),
    ],
    ids=["by row", "by function"],
)
def test_parts_that_needed_less_are_subtracted_from_what_needs_more(crew, policies, parts, more) -> None:
    """Departments of two and four were told; with one of C beside them, what is left is the salary of that one."""
    ann = asking(crew, policies)
    assert [row[0] for row in rows(ann.sql(parts))] == ["A", "B", "D"]
    with refused("together tell of fewer"):
        ann.sql(f"SELECT {more} FROM crew WHERE dept <> 'C' OR id = 2").collect()


@pytest.mark.parametrize("policies", [BY_ROW, BY_FUNCTION], ids=["by row", "by function"])
def test_parts_that_are_large_enough_for_their_rows_may_be_left_over(crew, policies) -> None:
    ann = asking(crew, policies)
    assert len(rows(ann.sql("SELECT dept, sum(salary) FROM crew WHERE dept <> 'C' GROUP BY dept"))) == 3
    assert len(rows(ann.sql("SELECT sum(salary) FROM crew WHERE dept IN ('A', 'D')"))) == 1


def test_numbers_of_rows_do_not_make_sums_of_few_of_them(crew) -> None:
    """Pairs may be counted; that is no reason to tell what pairs earn."""
    ann = asking(crew, REST + allowing("sum", 4) + allowing("count", 2))
    ann.sql("SELECT count(salary) FROM crew").collect()
    ann.sql("SELECT sum(salary) FROM crew").collect()
    ann.sql("SELECT count(salary) FROM crew WHERE dept <> 'D'").collect()
    with refused("together tell of fewer than 4"):
        ann.sql("SELECT sum(salary) FROM crew WHERE dept <> 'D'").collect()


@pytest.mark.parametrize(
    "different",
    [
        "sum(salary), sum(DISTINCT salary)",
        "count(salary), count(DISTINCT salary)",
        "avg(DISTINCT salary)",
        "approx_count_distinct(salary)",
        "count(DISTINCT salary, id)",
    ],
)
def test_different_values_are_not_told_beside_all_of_them(crew, different) -> None:
    """A sum of 140 and one of different values of 100 would tell that two have 40."""
    ann = asking(crew, REST + allowing("sum, avg, count, compute", 4))
    with refused("takes the column itself of all rows"):
        ann.sql(f"SELECT dept, {different} FROM crew GROUP BY dept").collect()


def test_the_least_of_different_values_is_the_least(crew) -> None:
    ann = asking(crew, REST + allowing("min, max", 4))
    found = rows(ann.sql("SELECT dept, min(DISTINCT salary), max(DISTINCT salary) FROM crew GROUP BY dept"))
    assert found == [("A", 100, 109), ("B", 101, 110), ("C", 102, 111)]
    free = crew.session("ann", REST + allowing("sum", 1), tables=("crew",))
    assert len(rows(free.sql("SELECT dept, sum(DISTINCT salary) FROM crew GROUP BY dept"))) == 4


@pytest.fixture(scope="module")
def wages(world):
    """Two who earn 99999 together, two who earn 100001, and ten of department A; `much` is as many digits."""
    people = [(1, "B", "50000", 2**62), (2, "B", "49999", 0), (3, "C", "50000", 2**62), (4, "C", "50001", 2**62)]
    people += [(number, "A", "100", 100) for number in range(5, 15)]
    made = world.spark.createDataFrame(people, "id int, dept string, pay string, much bigint")
    written = made.selectExpr("id", "dept", "CAST(pay AS decimal(7, 2)) AS pay", "much")
    written.coalesce(1).write.mode("overwrite").option("path", str(world.folder / "wages")).saveAsTable("wages")
    return world


@pytest.mark.parametrize(
    "function", ["sum(CAST(pay AS decimal(38, 33)))", "avg(CAST(pay AS decimal(38, 30)))", "sum(much)"]
)
def test_a_sum_that_is_too_large_tells_nothing_of_a_group_that_is_too_small(wages, function) -> None:
    """Whether two people together earn more than there are digits for is told by an error, if there is one."""
    policies = REST.replace("crew", "wages") + allowing("sum, avg", 10, "pay, much").replace("[crew]", "[wages]")
    for few in ("(1, 2)", "(3, 4)"):
        ann = wages.session("ann", policies, tables=("wages",))
        assert rows(ann.sql(f"SELECT {function} FROM wages WHERE id IN {few}")) == []
    ann = wages.session("ann", policies, tables=("wages",))
    found = rows(ann.sql(f"SELECT dept, {function} FROM wages GROUP BY dept"))
    assert [row[0] for row in found] == ["A"]
    assert float(found[0][1]) in (100, 1000)


def test_a_sum_that_is_too_large_is_null_where_there_are_enough(wages) -> None:
    policies = REST.replace("crew", "wages") + allowing("sum", 2, "much").replace("[crew]", "[wages]")
    ann = wages.session("ann", policies, tables=("wages",))
    assert rows(ann.sql("SELECT dept, sum(much) FROM wages GROUP BY dept")) == [("A", 1000), ("B", 2**62), ("C", None)]


def test_rows_without_a_value_count_unless_the_policy_leaves_them_out(world) -> None:
    """Of five people one has a bonus: a sum of it is that one's."""
    people = [(number, "A", 7 if number == 1 else None) for number in range(5)]
    world.table("paid", people, "id int, dept string, bonus int")
    for where, found in (("id >= 0", [("A", 7)]), ("bonus IS NOT NULL", [])):
        policies = (REST + allowing("sum", 5, "bonus", where)).replace("[crew]", "[paid]")
        ann = world.session("ann", policies, tables=("paid",))
        assert rows(ann.sql("SELECT dept, sum(bonus) FROM paid GROUP BY dept")) == found


EVERYBODY = policy("everybody", "object: {tables: [emp], attributes: [salary]}, allow: [avg], min_group: 5")


@pytest.mark.parametrize(
    ("where", "asked"),
    [
        ("id = 3", "regr_avgx(1.0D, salary)"),  # salary 100 of row 3, by itself
        ("dept = 'A'", "stddev_pop(salary)"),  # two rows where five are needed
    ],
)
def test_rows_in_which_compute_is_not_covered_do_not_count(world, where, asked) -> None:
    some = policy(
        "some", f'object: {{tables: [emp], attributes: [salary], where: "{where}"}}, allow: [compute], min_group: 5'
    )
    assert _asked(world, FREE + EVERYBODY + some, f"SELECT min(id), {asked} FROM emp") == []


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        (
            "SELECT id, avg(salary) OVER (PARTITION BY dept) AS a FROM emp",
            {1: 55.0, 2: 55.0, 3: 85.0, 4: 85.0, 5: None},
        ),
        ("SELECT id, count(*) OVER () AS n FROM emp", dict.fromkeys(range(1, 6), 5)),
    ],
)
def test_windows_over_what_may_be_read_are_no_groups(world, query, answer) -> None:
    read = policy("read", "object: {tables: [emp]}, allow: [read], min_group: 2")
    assert dict(_asked(world, read, query)) == answer


def test_windows_do_not_count_rows_that_may_be_counted_in_groups_only(world) -> None:
    counted = policy("counted", "object: {tables: [emp], attributes: [salary]}, allow: [count], min_group: 2")
    ids = policy("ids", "object: {tables: [emp], attributes: [id], where: id < 3}, allow: [read]")
    found = dict(_asked(world, ids + counted, "SELECT id, count(*) OVER () AS n FROM emp"))
    assert set(found.values()) == {None}


def _asked(world, policies: str, query: str):
    return rows(world.session("ann", policies).sql(query))


def test_sums_of_all_and_of_cells_that_a_predicate_does_not_see_are_compared(crew) -> None:
    """The second one lacks the two of D, as to the predicate all others are NULL."""
    ann = asking(crew, REST + allowing("sum", 4) + NARROWER + "allow: [assist]}\n")
    assert rows(ann.sql("SELECT sum(salary) FROM crew")) == [(10689,)]
    with refused("together tell of fewer than 4 rows"):
        ann.sql("SELECT sum(salary) FROM crew WHERE salary IS NULL").collect()
