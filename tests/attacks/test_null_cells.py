"""Way in 4: a cell that is withheld is NULL, also where Spark knew of the column that it never is."""

from __future__ import annotations

import pytest
from guarded import ALL, policy, rows

OWN_COUNTS = policy("names", "object: {tables: [counted], attributes: [dept]}, allow: [read]") + policy(
    "counts", "object: {tables: [counted], attributes: [n], where: dept = 'A'}, allow: [read]"
)


@pytest.fixture(scope="module")
def counted(world):
    """Departments with how many work there, which is never NULL; and the same with what may be seen."""
    world.spark.sql("CREATE OR REPLACE VIEW counted AS SELECT dept, count(*) AS n FROM emp GROUP BY dept")
    assert not world.spark.table("counted").schema["n"].nullable
    seen = [(dept, n if dept == "A" else None) for dept, n in rows(world.spark.table("counted"))]
    world.table("prepared", seen, "dept string, n bigint")
    return world


FORMS = {
    "plain": "SELECT dept, n IS NULL, n FROM counted",
    "number": "SELECT count(n), count(dept) FROM counted",
    "common": "WITH c AS (SELECT * FROM counted) SELECT dept, n IS NULL, n FROM c",
    "common number": "WITH c AS (SELECT * FROM counted) SELECT count(n), count(dept) FROM c",
    "common twice": "WITH c AS (SELECT * FROM counted) SELECT a.dept, a.n, coalesce(b.n, -1) FROM c a JOIN c b "
    "ON a.dept = b.dept",
    "common of a common": "WITH c AS (SELECT * FROM counted), d AS (SELECT dept, n + 1 AS m FROM c) "
    "SELECT dept, m IS NULL, m FROM d",
    "common in a subquery": "WITH c AS (SELECT * FROM counted) SELECT (SELECT count(n) FROM c), dept FROM c",
    "generator": "SELECT dept, x IS NULL, x FROM counted LATERAL VIEW explode(array(n)) t AS x",
    "generator number": "SELECT count(x), count(dept) FROM counted LATERAL VIEW explode(array(n)) t AS x",
    "generator of rows": "SELECT count(x), count(y) FROM counted LATERAL VIEW inline(array(struct(n, dept))) t AS x, y",
    "generator beside": "SELECT x, count(n), count(dept) FROM counted LATERAL VIEW explode(array(1)) t AS x GROUP BY x",
    "rows made of one": "SELECT count(x), count(dept) FROM counted LATERAL VIEW stack(2, n, n) t AS x",
    "rollup": "SELECT dept, n IS NULL, count(n) FROM counted GROUP BY ROLLUP (dept, n)",
    "rollup of others": "SELECT dept, sum(n), count(n) FROM counted GROUP BY ROLLUP (dept)",
    "sets": "SELECT dept, n, grouping(n), count(n) FROM counted GROUP BY GROUPING SETS ((n), (dept, n))",
    "distinct numbers": "SELECT count(DISTINCT n), count(DISTINCT dept) FROM counted",
    "unpivot": "SELECT count(v), count(dept) FROM (SELECT dept, n, n + 1 AS m FROM counted) "
    "UNPIVOT INCLUDE NULLS (v FOR k IN (n, m))",
    "union": "SELECT dept, n IS NULL FROM (SELECT dept, n FROM counted UNION ALL SELECT dept, n FROM counted)",
    "set": "SELECT count(n), count(dept) FROM (SELECT dept, n FROM counted EXCEPT SELECT dept, n + 5 FROM counted)",
    "window": "SELECT dept, count(n) OVER (), max(n) OVER () FROM counted",
    "array": "SELECT size(collect_list(n)), count(array(n)[0]), count(dept) FROM counted",
    "functions of an array": "SELECT dept, exists(array(n), x -> x IS NULL), array_compact(array(n)) FROM counted",
    "struct": "SELECT s.dept, s.n IS NULL FROM (SELECT struct(dept, n) AS s FROM counted)",
    "lateral": "SELECT c.dept, l.m IS NULL FROM counted c, LATERAL (SELECT c.n AS m) l",
    "outer join": "SELECT a.dept, b.n IS NULL FROM counted a LEFT JOIN counted b ON a.n = b.n",
    "in a predicate": "WITH c AS (SELECT * FROM counted) SELECT dept FROM c WHERE n IS NOT NULL",
    "pivot": "SELECT * FROM counted PIVOT (count(n) FOR dept IN ('A', 'B'))",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_cell_that_is_withheld_is_null_in_every_form(counted, form) -> None:
    ann = counted.session("ann", ALL + OWN_COUNTS, tables=("counted", "emp"))
    prepared = FORMS[form].replace("FROM counted", "FROM prepared").replace("JOIN counted", "JOIN prepared")
    assert rows(ann.sql(FORMS[form])) == rows(counted.spark.sql(prepared))
