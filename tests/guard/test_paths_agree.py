"""The ways of columns that people are shown say the same as the analysis that is enforced."""

from __future__ import annotations

from typing import Any

import pytest
from guarded import ALL, DEPARTMENTS, since, spying_udf
from pyspark.sql.functions import struct
from pyspark.sql.functions import sum as total
from query_forms import FORMS, NEWER, OWN_VIEW, make_views

from headgate.guard import Settings, describe, session
from headgate.guard.paths import paths_by_column, purpose_paths
from headgate.guard.plan import Description
from headgate.guard.purposes import analyse
from headgate.guard.use import Use

RETRIEVED, COMPUTED, ASSISTS = ("retrieve", "output"), ("compute", "output"), ("assist", None)
COMPUTED_UNSEEN, HANDED_OVER = ("compute", None), ("retrieve", None)

PINNED = {
    "SELECT salary FROM emp": {RETRIEVED},
    "SELECT salary + 1 AS more FROM emp": {RETRIEVED},
    "SELECT sum(salary) FROM emp": {COMPUTED},
    "SELECT sum(salary) + max(salary) FROM emp": {COMPUTED},
    "SELECT stddev(salary) FROM emp": {COMPUTED},
    "SELECT corr(salary, id) FROM emp": {COMPUTED},
    "SELECT approx_count_distinct(salary) FROM emp": {COMPUTED},
    "SELECT collect_list(salary) FROM emp": {RETRIEVED},
    "SELECT max_by(name, salary) FROM emp": {RETRIEVED},
    "SELECT percentile(salary, 0.5) FROM emp": {RETRIEVED},
    "SELECT sum(salary) OVER (PARTITION BY dept) FROM emp": {COMPUTED},
    "SELECT sum(salary) OVER (ORDER BY id) FROM emp": {RETRIEVED},
    "SELECT lag(salary) OVER (ORDER BY id) FROM emp": {RETRIEVED},
    "SELECT sum(id) OVER (PARTITION BY dept ORDER BY salary) FROM emp": {ASSISTS},
    # The function nearest to the table counts.
    "SELECT max(s) FROM (SELECT sum(salary) AS s FROM emp GROUP BY dept)": {COMPUTED},
    "SELECT max(r) FROM (SELECT sum(salary) OVER (ORDER BY id) AS r FROM emp)": {RETRIEVED},
    "SELECT max(c) FROM (SELECT collect_list(salary) AS c FROM emp GROUP BY dept)": {RETRIEVED},
    "SELECT collect_list(s) FROM (SELECT sum(salary) AS s FROM emp GROUP BY dept)": {COMPUTED},
    "SELECT id FROM emp WHERE salary > 10": {ASSISTS},
    "SELECT dept FROM emp GROUP BY dept HAVING sum(salary) > 10": {COMPUTED_UNSEEN},
    "SELECT dept, sum(salary) AS s FROM emp GROUP BY dept HAVING s > 10": {COMPUTED, COMPUTED_UNSEEN},
    "SELECT count(id) FILTER (WHERE salary > 10) FROM emp": {ASSISTS},
    "SELECT 1 AS one FROM (SELECT max(c) AS m FROM (SELECT collect_list(salary) AS c FROM emp)) WHERE m[0] > 1": {
        ASSISTS
    },
    "SELECT id FROM emp ORDER BY salary": {ASSISTS},
    "SELECT DISTINCT salary FROM emp": {RETRIEVED, ASSISTS},
    # Subqueries are shown, or assist, as what they stand in does.
    "SELECT (SELECT max(salary) FROM emp) AS top": {COMPUTED},
    "SELECT (SELECT first(salary) FROM emp WHERE id = 1) + 1 AS one": {COMPUTED},
    "SELECT d.title, (SELECT collect_list(salary) FROM emp e WHERE e.dept = d.code) AS s FROM dept d": {RETRIEVED},
    "SELECT title FROM dept WHERE 60 < (SELECT max(salary) FROM emp)": {COMPUTED_UNSEEN},
    "SELECT title FROM dept WHERE length(title) IN (SELECT salary FROM emp)": {ASSISTS},
    "SELECT salary IN (SELECT 1) AS known FROM emp": {RETRIEVED},
    "SELECT title, EXISTS (SELECT salary FROM emp WHERE dept = code) AS there FROM dept": None,
    "SELECT title FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.code AND e.salary > 10)": {ASSISTS},
    # Shared, set side by side, taken apart.
    "WITH c AS (SELECT * FROM emp) SELECT sum(salary) FROM c": {COMPUTED},
    "WITH c AS (SELECT * FROM emp) SELECT a.salary, b.id FROM c a JOIN c b ON a.id = b.salary": {RETRIEVED, ASSISTS},
    "SELECT salary FROM emp UNION ALL SELECT sum(salary) FROM emp": {RETRIEVED, COMPUTED},
    "SELECT salary FROM emp UNION SELECT 1": {RETRIEVED, ASSISTS},
    "SELECT explode(array(salary)) AS x FROM emp": {RETRIEVED, ASSISTS},
    "SELECT x FROM (SELECT id, x FROM emp LATERAL VIEW explode(array(salary)) t AS x) WHERE x > 1": {
        RETRIEVED,
        ASSISTS,
    },
    "SELECT p.a FROM (SELECT struct(salary AS a, id AS b) AS p FROM emp)": {RETRIEVED},
    "SELECT p.b FROM (SELECT struct(salary AS a, id AS b) AS p FROM emp)": None,
    "SELECT sum(p.a) FROM (SELECT struct(salary AS a, id AS b) AS p FROM emp)": {COMPUTED},
    "SELECT max(struct(salary, id)).id FROM emp": {COMPUTED},
    "SELECT dept, id, sum(salary) FROM emp GROUP BY CUBE (dept, id)": {COMPUTED},
    "SELECT sum(id) FROM emp GROUP BY GROUPING SETS ((salary), ())": {ASSISTS},
    "SELECT * FROM (SELECT dept, salary FROM emp) PIVOT (sum(salary) FOR dept IN ('A', 'B'))": {COMPUTED},
    "SELECT value FROM emp UNPIVOT (value FOR what IN (id, salary))": {RETRIEVED, ASSISTS},
    "SELECT transform(array(salary), x -> x + 1) AS t FROM emp": {RETRIEVED},
    "SELECT s FROM emp, LATERAL (SELECT salary + 1 AS s) WHERE id > 1": {RETRIEVED, ASSISTS},
    "SELECT count(*) FROM emp": None,
}
"""What the analysis says of `salary`; None where it is not used at all."""


@pytest.fixture(scope="module")
def ann(world) -> Any:
    make_views(world)
    made = session("ann", world.guard(ALL + DEPARTMENTS, ("emp", "dept")), world.spark)
    made.sql(OWN_VIEW)
    return made


def purpose(use: Use) -> tuple[str, str | None]:
    """What a use is in the words of the paper.

    `read` of what is shown is {retrieve, output}; what is given to a user's own function is retrieved and goes no
    further. `assist` is {assist}. An aggregate function, or `compute`, is {compute}, with output where its value is
    shown.
    """
    kind = {"read": "retrieve", "assist": "assist"}.get(use.privilege, "compute")
    return kind, "output" if use.shown else None


def enforced(description: Description) -> dict[tuple[int, int], set[tuple[str, str | None]]]:
    found: dict[tuple[int, int], set[tuple[str, str | None]]] = {}
    for use in analyse(description).uses:
        if not description.nodes[use.node].children:  # a view is none of the figures' leaves
            found.setdefault((use.node, use.column), set()).add(purpose(use))
    return found


def drawn(description: Description) -> dict[tuple[int, int], set[tuple[str, str | None]]]:
    return {column: {path.purpose for path in ways} for column, ways in paths_by_column(description).items()}


@pytest.mark.parametrize("form", [pytest.param(form, marks=NEWER.get(form, ())) for form in FORMS])
def test_every_form_is_drawn_as_it_is_enforced(ann, form) -> None:
    description = describe(ann.sql(FORMS[form]))
    assert drawn(description) == enforced(description)
    assert drawn(description)


@pytest.mark.parametrize("query", PINNED)
def test_each_purpose_is_drawn_as_it_is_enforced(ann, query) -> None:
    description = describe(ann.sql(query))
    assert drawn(description) == enforced(description)
    assert {path.purpose for path in purpose_paths(description, "salary")} == (PINNED[query] or set())


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda frame, f: frame.select(f("salary")), {HANDED_OVER}),
        (lambda frame, f: frame.where(f("salary")).select("id"), {HANDED_OVER}),
        (lambda frame, f: frame.select(f("salary").cast("int").alias("n")).agg(total("n")), {HANDED_OVER}),
        (lambda frame, f: frame.agg(f(total("salary"))), {COMPUTED_UNSEEN}),
        (lambda frame, f: frame.select(f("salary"), "salary"), {HANDED_OVER, RETRIEVED}),
        (
            lambda frame, f: frame.select(struct("id", f("salary").alias("n")).alias("p")).select("p.id"),
            {HANDED_OVER},
        ),
    ],
)
def test_what_a_users_own_function_gets_goes_no_further(world, tmp_path, made, expected) -> None:
    granted = Settings(functions={"user:ann": ["spy"]})
    frame = made(world.session("ann", ALL, settings=granted).table("emp"), spying_udf(tmp_path / "seen"))
    description = describe(frame)
    assert drawn(description) == enforced(description)
    assert {path.purpose for path in purpose_paths(description, "salary")} == expected


def test_fields_that_nobody_takes_out_are_drawn_only_if_they_are_used(ann) -> None:
    """What is computed of many may fail all the same, so it is a use, without output."""
    packed = "SELECT p.id FROM (SELECT struct(first(id) AS id, sum(salary) AS pay) AS p FROM emp)"
    description = describe(ann.sql(packed))
    assert drawn(description) == enforced(description)
    assert {path.purpose for path in purpose_paths(description, "salary")} == {COMPUTED_UNSEEN}


@since("4.1", "recursive queries")
def test_a_recursive_query_goes_round_once(ann) -> None:
    ways = purpose_paths(describe(ann.sql(FORMS["recursive"])), "salary")
    assert {path.purpose for path in ways} == {RETRIEVED}
    assert all(len(path.steps) < 12 for path in ways)


def test_nothing_is_appended_behind_the_highest_priority(ann) -> None:
    """Section 4.2 of the paper: but for the output."""
    asked = """SELECT s + 1 AS more FROM (SELECT dept, sum(salary) AS s FROM (SELECT * FROM emp WHERE id > 1)
               GROUP BY dept) WHERE s > 10 ORDER BY dept"""
    ways = purpose_paths(describe(ann.sql(asked)), "salary")
    assert sorted(map(str, ways)) == [
        "salary: retrieve (Filter) -> carry (Project) -> compute (Aggregate)",
        "salary: retrieve (Filter) -> carry (Project) -> compute (Aggregate) -> output",
    ]


def test_a_subquery_is_drawn_to_where_its_value_goes(ann) -> None:
    description = describe(ann.sql("SELECT title, (SELECT max(salary) FROM emp) AS top FROM dept WHERE code > 'A'"))
    assert [str(path) for path in purpose_paths(description, "salary")] == ["salary: compute (Aggregate) -> output"]
    assert sorted(map(str, purpose_paths(description, "code"))) == ["code: assist (Filter)"]


def test_drawing_ends_where_columns_are_made_of_each_other_in_many_ways(ann) -> None:
    frame = ann.table("emp").selectExpr("id AS a", "salary AS b")
    for _ in range(13):
        frame = frame.selectExpr("a + b AS a", "a - b AS b")
    description = describe(frame)
    assert drawn(description) == enforced(description)
