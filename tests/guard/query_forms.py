"""Queries of many forms over the tables of the tests, for whatever must hold of all of them."""

from __future__ import annotations

from guarded import World, since

FORMS = {
    "plain": "SELECT id, name, salary FROM emp",
    "table": "SELECT id, name, salary FROM (TABLE emp)",
    "pipe": "FROM emp |> SELECT id, name, salary",
    "identifier": "SELECT id, name, salary FROM IDENTIFIER('e' || 'mp')",
    "execute": "EXECUTE IMMEDIATE 'SELECT id, name, salary FROM emp'",
    "subquery": "SELECT * FROM (SELECT id, name, salary FROM emp) AS dept",
    "cte": "WITH dept AS (SELECT * FROM emp) SELECT id, name, salary FROM dept",
    "cte twice": """WITH e AS (SELECT * FROM emp) SELECT a.id, a.name, b.salary FROM e a JOIN e b ON a.id = b.id
                    WHERE a.salary IS NOT NULL AND b.name IS NOT NULL""",
    "recursive": """WITH RECURSIVE r(id, name, salary, n) AS (SELECT id, name, salary, 1 FROM emp UNION ALL
                    SELECT id, name, salary, n + 1 FROM r WHERE n < 2) SELECT id, name, salary FROM r WHERE n = 2""",
    "self join": "SELECT a.id, a.name, b.salary FROM emp a JOIN emp b ON a.id = b.id",
    "lateral": "SELECT d.id, d.name, l.s FROM emp d, LATERAL (SELECT salary AS s FROM emp e WHERE e.id = d.id) l",
    "correlated": "SELECT id, name, (SELECT max(salary) FROM emp e WHERE e.id = d.id) s FROM emp d",
    "exists": "SELECT id, name, salary FROM emp d WHERE EXISTS (SELECT 1 FROM emp e WHERE e.id = d.id)",
    "in": "SELECT id, name, salary FROM emp WHERE id IN (SELECT id FROM emp)",
    "union": "SELECT id, name, salary FROM emp WHERE id = 1 UNION ALL SELECT id, name, salary FROM emp WHERE id > 1",
    "same branch twice": """SELECT DISTINCT * FROM (SELECT id, name, salary FROM emp UNION ALL
                            SELECT id, name, salary FROM emp)""",
    "intersect": "SELECT id, name, salary FROM emp INTERSECT SELECT id, name, salary FROM emp",
    "except": "SELECT id, name, salary FROM emp EXCEPT SELECT id, name, salary FROM emp WHERE id > 100",
    "window": """SELECT id, name, salary FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY name) r FROM emp)
                 WHERE r = 1""",
    "generator": "SELECT id, x AS name, salary FROM emp LATERAL VIEW explode(array(name)) t AS x",
    "pivot": """SELECT id, name, A AS salary FROM (SELECT id, name, dept, salary FROM emp)
                PIVOT (max(salary) FOR dept IN ('A'))""",
    "rollup": """SELECT id, name, sum(salary) FROM emp GROUP BY ROLLUP (id, name)
                 HAVING name IS NOT NULL AND id IS NOT NULL""",
    "view": "SELECT id, name, salary FROM shown_emp",
    "view of a view": "SELECT id, name, salary FROM shown_again",
    "temporary view": "SELECT id, name, salary FROM own_view",
    "sorted": "SELECT id, name, salary FROM emp ORDER BY salary LIMIT 10",
    "sample": "SELECT id, name, salary FROM emp TABLESAMPLE (100 PERCENT)",
    "qualify": "SELECT id, name, salary FROM emp e JOIN dept d ON e.dept = d.code",
}
"""Each gives id, name and salary of every row of `emp` that may be seen."""

NEWER = {"recursive": since("4.1", "recursive queries")}
"""Forms that not every Spark has."""


def make_views(world: World) -> None:
    """The lasting views that some forms read."""
    world.spark.sql("CREATE OR REPLACE VIEW shown_emp AS SELECT * FROM emp")
    world.spark.sql("CREATE OR REPLACE VIEW shown_again AS SELECT id, name, salary FROM shown_emp")


OWN_VIEW = "CREATE TEMPORARY VIEW own_view AS SELECT * FROM shown_emp"
