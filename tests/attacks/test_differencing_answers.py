"""Way in 18: the same question with one condition changed, a total and its groups, asked one after the other."""

from __future__ import annotations

from contextlib import suppress

import pytest
from guarded import drained, refused, rows
from pyspark.errors import AnalysisException

from headgate.guard import Settings, session
from headgate.model.subject import User

PEOPLE = [(number, f"p{number}", "ABC"[number % 3], "xy"[number % 2], 100 + number) for number in range(30)]
PEOPLE += [(30, "p30", "D", "x", 4711)]
"""The secret is the salary of person 30, the only one of department D; groups must have five."""

AVERAGES = (
    "  - {id: averages, subject: {role: analyst}, object: {tables: [staff], attributes: [salary]},"
    " allow: [avg, sum, count, max, min, compute], min_group: 5}\n"
    "  - {id: rest, subject: {role: analyst}, object: {tables: [staff], attributes: [id, name, dept, site]},"
    " allow: [read, assist, count]}\n"
)
COUNTS = "  - {id: counts, subject: {role: analyst}, object: {tables: [staff]}, allow: [assist, count], min_group: 5}\n"
TOTAL = "SELECT sum(salary) FROM staff"
SPENT = "together tell of fewer than 5 rows"


@pytest.fixture(scope="module")
def staff(world):
    world.table("staff", PEOPLE, "id int, name string, dept string, site string, salary int")
    return world


def asking(staff, user: str = "ann", **options):
    return staff.session(user, AVERAGES, tables=("staff",), **options)


OWN_ROWS = "object: {tables: [staff], attributes: [salary], where: dept = self.dept}, allow: [read]"
READING = f"  - {{id: own, subject: {{role: analyst}}, {OWN_ROWS}}}\n"


def test_what_may_be_read_is_subtracted_too(staff) -> None:
    """Ten of department A may be read; a sum of these and one more is that one's salary."""
    ann = staff.session("ann", AVERAGES + READING, tables=("staff",))
    with refused("this and what may be read of `staff.salary` together tell of fewer than 5 rows"):
        ann.sql("SELECT sum(salary) FROM staff WHERE dept = 'A' OR id = 30").collect()
    assert rows(ann.sql("SELECT sum(salary) FROM staff WHERE dept = 'A'")) == [(sum(range(100, 130, 3)),)]
    both = sum(one[4] for one in PEOPLE if one[2] < "C")
    assert rows(ann.sql("SELECT sum(salary) FROM staff WHERE dept < 'C'")) == [(both,)]
    with refused(SPENT):
        ann.sql("SELECT sum(salary) FROM staff WHERE dept < 'C' AND id <> 1").collect()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("id BETWEEN 0 AND 14", "id >= 15"),
        ("id BETWEEN 0 AND 14", "id BETWEEN 15 AND 30"),
        ("id >= 15", "id BETWEEN 0 AND 14"),
    ],
)
def test_ranges_are_compared(staff, one, other) -> None:
    ann = asking(staff)
    assert len(rows(ann.sql(f"{TOTAL} WHERE {one}"))) == 1
    assert len(rows(ann.sql(f"{TOTAL} WHERE {other}"))) == 1
    assert rows(ann.sql(f"{TOTAL} WHERE id >= 0 AND id <= 14")) == rows(ann.sql(f"{TOTAL} WHERE id BETWEEN 0 AND 14"))
    with refused(SPENT):
        ann.sql(f"{TOTAL} WHERE id BETWEEN 1 AND 14").collect()


@pytest.mark.parametrize(
    "changed",
    [
        "SELECT sum(salary) FROM staff WHERE id <> 30",
        "SELECT sum(salary) FROM staff WHERE NOT (name = 'p30')",
        "SELECT avg(salary) FROM staff WHERE dept <> 'D'",
        "SELECT dept, sum(salary) FROM staff GROUP BY dept",
        "SELECT sum(s) FROM (SELECT salary AS s, id AS i FROM staff) WHERE i < 30",
        "SELECT id < 30, sum(salary) FROM staff GROUP BY id < 30",
        "SELECT stddev(salary) FROM staff WHERE id < 30",
    ],
)
def test_a_question_with_one_condition_changed_is_refused(staff, changed) -> None:
    ann = asking(staff)
    ((total,),) = rows(ann.sql(TOTAL))
    assert total == sum(one[4] for one in PEOPLE)
    with refused(SPENT):
        ann.sql(changed).collect()
    assert rows(ann.sql(TOTAL)) == [(total,)], "what was told may be asked again"


@pytest.mark.parametrize(
    "alone",
    [
        "SELECT sum(if(id = 30, salary, 0)) FROM staff",
        "SELECT sum(CASE WHEN name = 'p30' THEN salary END) FROM staff",
        "SELECT max(salary * CAST(id = 30 AS int)) FROM staff",
        "SELECT sum(s) FROM (SELECT if(id = 30, salary, 0) AS s FROM staff)",
        "SELECT sum(salary) FILTER (WHERE id = 30) FROM staff",
        "SELECT avg(nullif(salary, id + 100)) FROM staff",
        "SELECT covar_pop(salary, id) FROM staff",
        "SELECT count(if(salary = 4711, 1, NULL)) FROM staff",
        "SELECT sum(CAST(CAST(salary - 4710 AS boolean) AS int)) FROM staff",
        "SELECT sum(x) FROM (SELECT explode(array(salary * CAST(id = 30 AS int))) AS x FROM staff)",
        "WITH s AS (SELECT *, if(id = 30, salary, 0) AS x FROM staff) SELECT site, sum(x) FROM s GROUP BY site",
    ],
)
def test_one_question_about_one_row_in_a_large_group_is_refused(staff, alone) -> None:
    with refused():
        asking(staff).sql(alone).collect()


THOUSAND = "range(1000)"


@pytest.mark.parametrize(
    "weighed",
    [
        f"SELECT sum(salary) FROM staff LEFT JOIN {THOUSAND} r ON staff.id = 30",
        f"SELECT avg(salary) FROM staff JOIN {THOUSAND} r ON staff.id = 30 OR r.id = 0 WHERE site = 'x'",
        "SELECT sum(salary) FROM staff JOIN (SELECT explode(sequence(0, 30)) AS i) ON i <= staff.id",
        "SELECT sum(salary) FROM staff LATERAL VIEW explode(if(id = 30, sequence(1, 900), array(1))) e AS x",
        "SELECT sum(salary) FROM staff s JOIN (VALUES (30), (31)) v(i) ON s.id = v.i OR s.id < 30",
    ],
)
def test_a_row_that_is_repeated_more_often_than_others_is_not_in_a_sum(staff, weighed) -> None:
    """The salary of person 30 a thousand times, and of the others once, is about person 30."""
    ann = asking(staff)
    assert rows(ann.sql(weighed)) == []


@pytest.mark.parametrize(
    "overlapping",
    [
        "SELECT n, sum(salary) FROM staff JOIN VALUES (30), (99) v(n) ON staff.id <> n GROUP BY n",
        "SELECT x, sum(salary) FROM staff LATERAL VIEW explode(if(id = 30, array(1), array(1, 2))) e AS x GROUP BY x",
        "SELECT a, b, sum(salary) FROM staff JOIN VALUES (1, NULL, 30), (NULL, 1, 99) v(a, b, n) ON id <> n "
        "GROUP BY a, b",
    ],
)
def test_groups_of_one_question_that_have_rows_in_common_are_not_there(staff, overlapping) -> None:
    """One group less the other would be person 30."""
    assert rows(asking(staff).sql(overlapping)) == []


def test_groups_by_what_is_joined_are_there_if_no_row_is_in_two(staff) -> None:
    titles = "VALUES ('A', 'Accounts'), ('B', 'Board'), ('C', 'Board'), ('D', 'Desk') v(code, title)"
    query = f"SELECT title, count(salary) FROM staff JOIN {titles} ON dept = code GROUP BY title"
    assert rows(asking(staff).sql(query)) == [("Accounts", 10), ("Board", 20)]


@pytest.mark.parametrize(
    "many",
    [
        "SELECT n, (SELECT sum(salary) FROM staff WHERE id <> n) FROM VALUES (30), (99) v(n)",
        "SELECT n, s FROM VALUES (30), (99) v(n), LATERAL (SELECT sum(salary) AS s FROM staff WHERE id <> n)",
    ],
)
def test_a_question_for_each_row_of_another_is_refused(staff, many) -> None:
    with refused("for each row of the query around"):
        asking(staff).sql(many).collect()


def test_a_subquery_of_its_own_is_no_question_for_each_row(staff) -> None:
    query = "SELECT sum(salary) FROM staff s WHERE EXISTS (SELECT 1 FROM VALUES ('A'), ('B') v(d) WHERE v.d = s.dept)"
    ann = asking(staff)
    assert len(rows(ann.sql(query))) == 1
    assert len(rows(ann.sql(query))) == 1


@pytest.mark.parametrize("often", [1, 3])
def test_rows_that_are_all_repeated_equally_often_are_in_a_sum(staff, often) -> None:
    ann = asking(staff)
    assert rows(ann.sql(f"SELECT sum(salary) FROM staff CROSS JOIN range({often})")) == [
        (often * sum(one[4] for one in PEOPLE),)
    ]


def test_a_sample_does_not_weigh_rows_either(staff) -> None:
    sample = asking(staff).table("staff").sample(withReplacement=True, fraction=20.0, seed=3)
    assert rows(sample.agg({"salary": "sum"})) == []


@pytest.mark.parametrize(
    "whole",
    [
        "SELECT avg(salary) FROM staff",
        "SELECT stddev(salary) FROM staff",
        "SELECT sum(CAST(salary AS bigint)) FROM staff",
        "SELECT sum(s) * 2 FROM (SELECT salary AS s FROM staff)",
    ],
)
def test_the_column_itself_may_be_computed_with(staff, whole) -> None:
    assert len(rows(asking(staff).sql(whole))) == 1


def test_counting_with_a_filter_is_refused(staff) -> None:
    with refused("conditions go into WHERE"):
        staff.session("ann", COUNTS, tables=("staff",)).sql(
            "SELECT count(*) FILTER (WHERE id = 30) FROM staff"
        ).collect()


def test_a_filter_does_not_make_counting_something_else(staff) -> None:
    assists = "  - {id: a, subject: {role: analyst}, object: {tables: [staff], attributes: [id]}, allow: [assist]}\n"
    ann = staff.session("ann", assists, tables=("staff",))
    assert rows(ann.sql("SELECT count(*) FROM staff")) == [(None,)]
    assert rows(ann.sql("SELECT count(*) FILTER (WHERE id = 30) FROM staff")) == [(None,)]


def test_the_order_makes_no_difference(staff) -> None:
    ann = asking(staff)
    ann.sql("SELECT dept, sum(salary) FROM staff GROUP BY dept").collect()
    with refused(SPENT):
        ann.sql(TOTAL).collect()


def test_three_questions_of_which_no_two_tell(staff) -> None:
    ann = asking(staff)
    ann.sql("SELECT sum(salary) FROM staff WHERE id < 16").collect()
    ann.sql("SELECT sum(salary) FROM staff WHERE id >= 15").collect()
    with refused(SPENT):
        ann.sql(TOTAL).collect()


def test_questions_about_large_parts_are_answered(staff) -> None:
    ann = asking(staff)
    sites = "SELECT site, avg(salary) FROM staff GROUP BY site"
    assert len(rows(ann.sql(sites))) == 2
    assert len(rows(ann.sql(TOTAL))) == 1
    assert len(rows(ann.sql("SELECT sum(salary) FROM staff WHERE site = 'x'"))) == 1
    assert len(rows(ann.table("staff").where("site = 'y'").agg({"salary": "max"}))) == 1


def test_several_answers_in_one_query_are_compared_too(staff) -> None:
    with refused(SPENT):
        asking(staff).sql(f"SELECT ({TOTAL}) - (SELECT sum(salary) FROM staff WHERE id < 30)").collect()
    with refused(SPENT):
        asking(staff).sql(f"{TOTAL} UNION ALL SELECT sum(salary) FROM staff WHERE id < 30").collect()


def test_who_may_read_a_column_may_ask_about_it_as_often_as_wanted(staff) -> None:
    reads = "  - {id: reads, subject: {role: analyst}, object: {tables: [staff]}, allow: [read]}\n"
    ann = staff.session("ann", AVERAGES + reads, tables=("staff",))
    ann.sql(TOTAL).collect()
    assert len(rows(ann.sql("SELECT sum(salary) FROM staff WHERE id < 30"))) == 1
    assert rows(ann.sql("SELECT count(*) FROM staff WHERE id < 30")) == [(30,)]
    assert rows(ann.sql("SELECT sum(if(id = 30, salary, 0)) FROM staff")) == [(4711,)]


def test_rows_that_may_only_be_counted_are_watched_too(staff) -> None:
    ann = staff.session("ann", COUNTS, tables=("staff",))
    assert rows(ann.sql("SELECT count(*) FROM staff")) == [(31,)]
    with refused(SPENT):
        ann.sql("SELECT count(*) FROM staff WHERE id < 30").collect()


CONSTANTS = {
    "constant": "SELECT count(k) FROM (SELECT 1 AS k FROM staff WHERE dept = 'D')",
    "constant of a constant": "SELECT sum(n) FROM (SELECT k + 1 AS n FROM (SELECT 1 AS k FROM staff WHERE dept = 'D'))",
    "chance": "SELECT count(k) FROM (SELECT rand() AS k FROM staff WHERE dept = 'D')",
    "beside": "SELECT count(k) FROM staff CROSS JOIN (VALUES (1)) v(k) WHERE dept = 'D'",
    "numbered": "SELECT max(k) FROM (SELECT row_number() OVER (ORDER BY id) AS k FROM staff WHERE dept = 'D')",
    "exploded": "SELECT count(k) FROM (SELECT explode(array(1)) AS k FROM staff WHERE dept = 'D')",
}


@pytest.mark.parametrize("form", CONSTANTS)
def test_who_counts_constants_counts_rows(staff, form) -> None:
    ann = staff.session("ann", COUNTS, tables=("staff",))
    found = []
    with suppress(AnalysisException):
        found = rows(ann.sql(CONSTANTS[form]))
    assert found == []


def test_counts_of_different_columns_are_compared(staff) -> None:
    for first, second in (("*", "name"), ("name", "*"), ("dept", "name")):
        ann = staff.session("ann", COUNTS, tables=("staff",))
        assert rows(ann.sql(f"SELECT count({first}) FROM staff")) == [(31,)]
        with refused(SPENT):
            ann.sql(f"SELECT count({second}) FROM staff WHERE id < 30").collect()
        assert rows(ann.sql(f"SELECT count({second}) FROM staff")) == [(31,)]


def test_groups_that_were_counted_may_be_added_up(staff) -> None:
    ann = staff.session("ann", COUNTS, tables=("staff",))
    counted = "(SELECT dept, count(*) AS n FROM staff GROUP BY dept)"
    assert rows(ann.sql(f"SELECT sum(n) FROM {counted}")) == [(30,)]


def test_a_refused_question_is_not_counted(staff) -> None:
    ann = asking(staff)
    ann.sql(TOTAL).collect()
    with refused(SPENT):
        ann.sql("SELECT sum(salary) FROM staff WHERE id < 30").collect()
    assert len(rows(ann.sql("SELECT site, sum(salary) FROM staff GROUP BY site"))) == 2


def test_what_cannot_be_compared_stands_alone(staff) -> None:
    joined = "SELECT sum(s.salary) FROM staff s JOIN VALUES (1), (2), (3), (4), (5), (6) v(n) ON s.id = v.n"
    ann = asking(staff)
    ((found,),) = rows(ann.sql(joined))
    assert found == sum(100 + number for number in range(1, 7))
    assert rows(ann.sql(joined)) == [(found,)]
    with refused("cannot be compared"):
        ann.sql(joined.replace(", (6)", ", (6), (30)")).collect()
    with refused("cannot be compared"):
        ann.sql(TOTAL).collect()


def test_largest_values_are_not_subtracted_but_pinned(staff) -> None:
    ann = asking(staff)
    ann.sql("SELECT max(salary) FROM staff").collect()
    with refused(SPENT):
        ann.sql("SELECT max(salary) FROM staff WHERE id < 30").collect()


LARGEST = "SELECT max(salary) FROM staff"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LARGEST, "SELECT dept, max(salary) FROM staff GROUP BY dept"),
        ("SELECT dept, max(salary) FROM staff GROUP BY dept", "SELECT site, max(salary) FROM staff GROUP BY site"),
        ("SELECT max(salary) FROM staff WHERE id < 20", "SELECT max(salary) FROM staff WHERE id >= 18"),
        ("SELECT min(salary) FROM staff WHERE dept = 'A'", "SELECT min(salary) FROM staff WHERE id < 10"),
    ],
    ids=["no group has the total's", "no department has the site's", "the two in both", "the four in both"],
)
def test_a_largest_value_that_only_few_rows_can_have_is_refused(staff, first, second) -> None:
    """It is that of two classes, or of no other that was shown: what is left are those in both, or in none of them."""
    for one, other in ((first, second), (second, first)):
        ann = asking(staff)
        ann.sql(one).collect()
        with refused(SPENT):
            ann.sql(other).collect()


def test_a_largest_value_that_three_questions_leave_to_few_rows_is_refused(staff) -> None:
    ann = asking(staff)
    ann.sql("SELECT max(salary) FROM staff WHERE id < 22").collect()
    ann.sql("SELECT max(salary) FROM staff WHERE id < 6 OR id > 14").collect()
    with refused(SPENT):
        ann.sql("SELECT max(salary) FROM staff WHERE id NOT IN (0, 6, 7, 8, 9, 22, 23, 24, 25)").collect()


def test_largest_values_of_large_parts_are_answered(staff) -> None:
    ann = asking(staff)
    for keys in ("dept", "dept, site"):
        assert rows(ann.sql(f"SELECT {keys}, max(salary) FROM staff WHERE id < 30 GROUP BY {keys}"))
    assert rows(ann.sql("SELECT max(salary) FROM staff WHERE id < 30")) == [(129,)]


def test_columns_and_users_are_apart_and_sessions_are_not(staff) -> None:
    changed = "SELECT sum(salary) FROM staff WHERE id < 30"
    users = {name: User(name, frozenset({"analyst"})) for name in ("ann", "zoe")}
    guard = staff.guard(AVERAGES, ("staff",), users=users)
    ann, again, zoe = (session(name, guard, staff.spark) for name in ("ann", "ann", "zoe"))
    ann.sql(TOTAL).collect()
    assert rows(ann.sql("SELECT count(id) FROM staff WHERE id < 30")) == [(30,)]
    assert len(rows(zoe.sql(changed))) == 1
    with refused(SPENT):
        again.sql(changed).collect()


def test_an_error_in_a_condition_does_not_hide_rows_from_the_comparison(staff) -> None:
    ann = asking(staff)
    ann.sql(TOTAL).collect()
    with pytest.raises(Exception, match=SPENT):
        ann.sql("SELECT sum(salary) FROM staff WHERE id < 30 AND 1 / (id - 30) < 0").collect()


def test_a_stream_goes_on_and_is_not_compared(staff) -> None:
    ann = asking(staff)
    stream = ann.readStream.table("staff").groupBy("site").sum("salary")
    sink = stream.writeStream.format("memory").queryName("sums").outputMode("complete")
    drained(sink.trigger(availableNow=True).start())
    assert len(rows(ann.sql("SELECT * FROM sums"))) == 2
    with refused("cannot be compared"):
        ann.sql(TOTAL).collect()


def test_it_can_be_switched_off(staff) -> None:
    ann = asking(staff, settings=Settings(compare_answers=False))
    ann.sql(TOTAL).collect()
    assert len(rows(ann.sql("SELECT sum(salary) FROM staff WHERE id < 30"))) == 1
