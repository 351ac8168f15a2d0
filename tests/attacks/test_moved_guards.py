"""Way in 4: queries by which a guard could come to stand at another place of the plan than the one it is meant for."""

from __future__ import annotations

import pytest
from guarded import OWN, rows

EVERYTHING = "collect_list(struct(id, name, dept, salary)) OVER () AS m"
WITHIN = f"SELECT id, name, dept, {EVERYTHING} FROM emp"

PATTERNS = {
    "one node more": "SELECT '%'",
    "two": "SELECT DISTINCT '%'",
    "a table": "SELECT max('%') FROM dept",
    "a view of its own": "SELECT x FROM (SELECT '%' AS x)",
    "deeper": "SELECT x FROM (SELECT DISTINCT x FROM (SELECT '%' AS x))",
}
"""A pattern that is a query; matching with it is looked after, and it stands in the plan twice."""


@pytest.mark.parametrize("form", PATTERNS)
@pytest.mark.parametrize("word", ["LIKE", "RLIKE"])
def test_a_pattern_that_is_a_query_moves_no_guard(world, form, word) -> None:
    departments = "  - {id: departments, subject: {role: analyst}, object: {tables: [dept]}, allow: [read]}\n"
    ann = world.session("ann", OWN + departments)
    pattern = PATTERNS[form] if word == "LIKE" else PATTERNS[form].replace("'%'", "'.*'")
    found = rows(ann.sql(f"SELECT id, dept, m FROM ({WITHIN}) t WHERE name {word} ({pattern})"))
    assert [(row[0], row[1]) for row in found] == [(1, "A"), (2, "A")]
    assert all({one["dept"] for one in row[2]} == {"A"} for row in found)


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_pattern_is_made_of_rows_that_may_be_seen(world, adaptive) -> None:
    ann = world.session("ann", OWN)
    ann.conf.set("spark.sql.adaptive.enabled", adaptive)
    query = "SELECT v FROM VALUES ('Bob'), ('Eve') t(v) WHERE v LIKE (SELECT max(name) FROM emp)"
    assert rows(ann.sql(query)) == [("Bob",)]
    split = "SELECT split(v, (SELECT max(name) FROM emp)) FROM VALUES ('xBoby') t(v)"
    assert rows(ann.sql(split)) == [(["x", "y"],)]
