"""Cells, masks, purposes and group sizes: what a guarded query gives under each kind of policy."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import pytest
from guarded import ALL, DEPARTMENTS, FREE, USERS, policy, rows
from pyspark.errors import AnalysisException

from headgate.guard import Guard, session, table_schema
from headgate.model.schema import StreamCatalog
from headgate.policy.yaml_file import parse_policies


def ask(world, policies: str, query: str, **options):
    return rows(world.session("ann", policies, **options).sql(query))


def test_the_last_rows_are_masked_too(world) -> None:
    rest = policy("rest", "object: {tables: [emp], attributes: [id, dept]}, allow: [read]")
    names = policy("names", "object: {tables: [emp], attributes: [name]}, allow: [assist], mask: redact")
    frame = world.session("ann", rest + names).table("emp").select("name", "id").orderBy("id")
    assert frame.tail(2) == frame.collect()[-2:]
    assert {row["name"] for row in frame.tail(2)} == {"***"}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT current_user()",
        "SELECT user() FROM emp LIMIT 1",
        "SELECT (SELECT max(session_user()) FROM emp)",
        "SELECT 'ann' WHERE EXISTS (SELECT 1 FROM emp WHERE current_user() = 'ann')",
    ],
)
def test_who_asks_is_the_user(world, query) -> None:
    assert ask(world, ALL, query) == [("ann",)]


def test_a_column_that_may_be_seen_everywhere_and_used_in_some_rows(world) -> None:
    """One column cannot serve both: it is there where both are allowed."""
    denied = policy("denied", "object: {tables: [emp], attributes: [salary], where: dept = 'B'}, deny: [assist]")
    assert ask(world, ALL + denied, "SELECT id, salary FROM emp WHERE salary > 55") == [(2, 60)]
    assert ask(world, ALL + denied, "SELECT id, salary FROM emp WHERE id > 3") == [(4, 70), (5, None)]
    ordered = world.session("ann", ALL + denied).sql("SELECT id, salary FROM emp ORDER BY salary DESC, id")
    assert [tuple(row) for row in ordered.collect()] == [(2, 60), (1, 50), (3, None), (4, None), (5, None)]


@pytest.mark.parametrize("more", ["", " WHERE 1 / id > 0"])
def test_a_condition_that_names_its_own_cell_twice(world, more) -> None:
    where = '"nullif(salary, 60) > 50 AND coalesce(salary, 0) < 90"'
    high = policy("high", f"object: {{tables: [emp], attributes: [salary], where: {where}}}, allow: [read]")
    found = ask(world, FREE + high, f"SELECT id, salary FROM emp{more}")
    assert found == [(1, None), (2, None), (3, None), (4, 70), (5, None)]


# Masks at the leaf, where some cells are covered.

SALARIES = "SELECT id, salary FROM emp"


@pytest.mark.parametrize(
    ("mask", "hidden"),
    [
        ("null", None),
        ("zero", 0),
        ("hash", int(hashlib.sha256(b"100").hexdigest()[:7], 16)),
        ("redact", None),
        ("drop", None),
        ("'-id'", -3),
        ("salary - salary % 50", 100),
    ],
)
def test_masks_of_single_cells(world, mask, hidden) -> None:
    own = policy(
        "own", f"object: {{tables: [emp], attributes: [salary], where: dept = 'A'}}, allow: [read], mask: {mask}"
    )
    found = dict(ask(world, FREE + own, SALARIES))
    assert (found[1], found[2], found[3]) == (50, 60, hidden)


@pytest.mark.parametrize(
    ("mask", "hidden"),
    [
        ("null", None),
        ("zero", "0"),
        ("hash", hashlib.sha256(b"Cid").hexdigest()),
        ("redact", "***"),
        ("upper(name)", "CID"),
    ],
)
def test_masks_of_whole_columns(world, mask, hidden) -> None:
    rest = policy("rest", "object: {tables: [emp], attributes: [id, dept]}, allow: [read]")
    names = policy("names", f"object: {{tables: [emp], attributes: [name]}}, allow: [assist], mask: {mask}")
    assert ask(world, rest + names, "SELECT id, name FROM emp WHERE name = 'Cid'") == [(3, hidden)]


def test_the_mask_of_the_deny_that_withholds_wins(world) -> None:
    deny = policy("deny", "object: {tables: [emp], attributes: [name], where: dept = 'B'}, deny: [read], mask: redact")
    assert ask(world, ALL + deny, "SELECT id, name FROM emp WHERE id < 4") == [(1, "Ann"), (2, "Bob"), (3, "***")]


def test_a_value_made_of_a_hidden_cell_is_null(world) -> None:
    own = policy("own", "object: {tables: [emp], attributes: [salary], where: dept = 'A'}, allow: [read], mask: zero")
    assert dict(ask(world, FREE + own, "SELECT id, salary + 1 AS more FROM emp"))[3] is None


# Rows within rows: what is packed is what it is made of.

PACKED = "(SELECT id, struct(name, struct(salary, dept) AS inner) AS p FROM emp WHERE id = 1)"


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        (f"SELECT p FROM {PACKED}", [(("Ann", (None, "A")),)]),
        (f"SELECT p.name, p.inner FROM {PACKED}", [("Ann", (None, "A"))]),
        (f"SELECT p.inner.dept, p.inner.salary FROM {PACKED}", [("A", None)]),
        (f"SELECT p.inner.salary + 1 AS more, p.name FROM {PACKED}", [(None, "Ann")]),
        (f"SELECT id FROM {PACKED} WHERE p.inner.dept = 'A'", [(1,)]),
        (f"SELECT first(p).inner.dept AS d, id FROM {PACKED} GROUP BY id", [(None, 1)]),
        (f"SELECT to_json(p) AS j, id FROM {PACKED}", [(None, 1)]),
        (f"SELECT if(id > 0, p, p).inner.dept AS d, id FROM {PACKED}", [(None, 1)]),
        (f"SELECT p.inner.dept AS d FROM {PACKED} UNION ALL SELECT p.name FROM {PACKED}", [("A",), ("Ann",)]),
        (f"WITH c AS (SELECT * FROM {PACKED}) SELECT c.p.inner.dept, d.p.name FROM c, c AS d", [("A", "Ann")]),
    ],
)
def test_a_field_of_a_packed_row_is_the_column_it_was_made_of(world, query, answer) -> None:
    """`salary` may not be seen. What takes a packed row as a whole and makes something else of it shows nothing."""
    assert [_plain(row) for row in ask(world, FREE, query)] == answer


def _plain(value):
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


@pytest.mark.parametrize("mask", ["zero", "null"])
def test_a_mask_in_a_packed_row(world, mask) -> None:
    own = policy("own", f"object: {{tables: [emp], attributes: [salary]}}, allow: [avg], mask: {mask}")
    found = ask(world, FREE + own, "SELECT struct(id, salary) AS p FROM emp WHERE id = 1")
    assert found == [((1, {"zero": 0, "null": None}[mask]),)]


def test_a_predicate_on_a_field_is_one_on_its_column(world) -> None:
    with pytest.raises(AnalysisException, match=r"`emp\.salary` may not be used in a predicate"):
        ask(world, FREE, f"SELECT id FROM {PACKED} WHERE p.inner.salary > 40")


def test_a_packed_row_with_a_column_that_is_used_and_not_seen_is_hidden_as_a_whole(world) -> None:
    """The column has to be there for the predicate, so that only the row that it is packed into can be masked."""
    own = policy("own", "object: {tables: [emp], attributes: [salary]}, allow: [assist]")
    query = "SELECT id, struct(name, salary) AS p FROM emp WHERE salary = 50"
    assert ask(world, FREE + own, query) == [(1, None)]


def test_a_deny_takes_from_an_allow(world) -> None:
    deny = policy("deny", "object: {tables: [emp], where: salary > 60}, deny: [read]")
    assert [row[0] for row in ask(world, ALL + deny, "SELECT id, salary FROM emp")] == [1, 2, 5]


def test_conditions_on_the_user_and_the_surroundings(world) -> None:
    own = policy(
        "own", "object: {tables: [emp], where: dept = self.dept}, allow: [read], when: \"env.ip = '192.0.2.1'\""
    )
    inside = world.session("ann", own, environment={"ip": "192.0.2.1"})
    assert [row[0] for row in rows(inside.sql("SELECT id FROM emp"))] == [1, 2]
    with pytest.raises(AnalysisException, match="no use of `emp`"):
        ask(world, own, "SELECT id FROM emp")


def test_a_row_without_a_visible_cell_is_not_there(world) -> None:
    own = policy("own", "object: {tables: [emp], attributes: [salary], where: dept = 'A'}, allow: [read]")
    assert ask(world, own, "SELECT salary FROM emp") == [(50,), (60,)]
    assert ask(world, own, "SELECT count(*) FROM emp") == [(2,)]
    assert ask(world, own, "SELECT 1 FROM emp") == [(1,), (1,)]


# Purposes.

AVERAGE = policy("average", "object: {tables: [emp], attributes: [salary]}, allow: [avg]")


def test_what_may_be_averaged_may_not_be_seen(world) -> None:
    assert ask(world, FREE + AVERAGE, "SELECT dept, avg(salary) FROM emp GROUP BY dept") == [
        ("A", 55.0),
        ("B", 85.0),
        ("C", None),
    ]
    assert ask(world, FREE + AVERAGE, "SELECT id, salary FROM emp WHERE id = 3") == [(3, None)]
    assert ask(world, FREE + AVERAGE, "SELECT dept, sum(salary) FROM emp WHERE id < 3 GROUP BY dept") == [("A", None)]


@pytest.mark.parametrize(
    "expression",
    [
        "coalesce(salary, 0)",
        "concat(salary, '')",
        "CAST(salary AS string)",
        "salary * 1",
        "collect_list(salary)",
        "max_by(salary, id)",
    ],
)
def test_what_does_not_fuse_values_is_reading(world, expression) -> None:
    compute = policy("compute", "object: {tables: [emp], attributes: [salary]}, allow: [compute]")
    grouped = " GROUP BY id" if "(" in expression and expression.split("(")[0] in ("collect_list", "max_by") else ""
    found = ask(world, FREE + compute, f"SELECT id, {expression} AS x FROM emp WHERE id = 3{grouped}")
    assert found == [(3, None)]


def test_a_running_sum_is_reading_and_a_sum_of_all_is_not(world) -> None:
    compute = policy("compute", "object: {tables: [emp], attributes: [salary]}, allow: [compute]")
    running = "SELECT id, sum(salary) OVER (ORDER BY id) AS s FROM emp"
    assert {row[1] for row in ask(world, FREE + compute, running)} == {None}
    whole = "SELECT id, sum(salary) OVER (PARTITION BY dept) AS s FROM emp"
    assert dict(ask(world, FREE + compute, whole)) == {1: 110, 2: 110, 3: 170, 4: 170, 5: None}


def test_a_predicate_on_what_may_not_assist_is_refused(world) -> None:
    with pytest.raises(
        AnalysisException, match=r"`emp\.salary` may not be used in a predicate or key: no policy allows it"
    ):
        ask(world, FREE + AVERAGE, "SELECT id FROM emp WHERE salary = 100")


def test_or_removed(world) -> None:
    text = f"version: 1\ndefaults: {{on_assist_denied: remove}}\npolicies:\n{FREE}{AVERAGE}"
    guard = world.guard(text)
    found = rows(session("ann", guard, world.spark).sql("SELECT id FROM emp WHERE salary = 100 AND id < 3"))
    assert found == [(1,), (2,)]
    assert guard.outcomes[-1].warnings == ("a predicate on `emp.salary` was removed: its use is not allowed",)


def test_a_predicate_sees_null_where_a_cell_is_not_covered(world) -> None:
    assist = policy("assist", "object: {tables: [emp], attributes: [salary], where: dept = 'A'}, allow: [assist]")
    assert ask(world, FREE + assist, "SELECT id FROM emp WHERE salary > 50") == [(2,)]
    assert ask(world, FREE + assist, "SELECT id FROM emp WHERE salary IS NULL") == [(3,), (4,), (5,)]


def test_a_key_is_shown_where_every_row_of_its_group_may_be_read(world) -> None:
    assist = policy("assist", "object: {tables: [emp], attributes: [dept]}, allow: [assist]")
    read = policy("read", "object: {tables: [emp], attributes: [dept], where: id <> 4}, allow: [read], mask: redact")
    rest = policy("rest", "object: {tables: [emp], attributes: [id, salary]}, allow: [read]")
    found = ask(world, assist + read + rest, "SELECT dept, count(salary) FROM emp GROUP BY dept")
    assert sorted(map(str, found)) == sorted(map(str, [("A", 2), (None, 2), ("C", 0)]))


def test_what_is_tested_may_be_more_than_what_is_shown(world) -> None:
    assist = policy("assist", "object: {tables: [emp], attributes: [salary]}, allow: [assist]")
    read = policy("read", "object: {tables: [emp], attributes: [salary], where: dept = 'A'}, allow: [read], mask: zero")
    found = ask(world, FREE + assist + read, "SELECT id, salary FROM emp WHERE salary > 55 ORDER BY salary")
    assert found == [(2, 60), (3, None), (4, None)]


# Group sizes.

SIZES = policy("sizes", "object: {tables: [emp], attributes: [salary]}, allow: [sum], min_group: 2")


def test_groups_that_are_too_small_give_no_row(world) -> None:
    assert ask(world, FREE + SIZES, "SELECT dept, sum(salary) FROM emp GROUP BY dept") == [("A", 110), ("B", 170)]
    assert ask(world, FREE + SIZES, "SELECT dept, sum(salary) FROM emp WHERE id <> 1 GROUP BY dept") == [("B", 170)]
    assert ask(world, FREE + SIZES, "SELECT sum(salary) FROM emp WHERE id = 3") == []


def test_a_join_does_not_make_a_group_larger(world) -> None:
    query = "SELECT e.id, sum(e.salary) FROM emp e CROSS JOIN dept d GROUP BY e.id"
    assert ask(world, FREE + SIZES + DEPARTMENTS, query) == []


def test_group_sizes_that_cannot_be_checked_are_a_refusal(world) -> None:
    query = "SELECT sum(salary) FROM (SELECT salary FROM emp UNION ALL SELECT salary FROM emp)"
    with pytest.raises(AnalysisException, match="cannot be checked through `Union`"):
        ask(world, FREE + SIZES, query)


LATERAL = "SELECT d.id FROM emp d JOIN LATERAL (SELECT salary AS s FROM emp e WHERE e.id = d.id) l ON l.s > 10"


def test_the_condition_of_a_lateral_join_may_name_both_sides(world) -> None:
    rest = policy("rest", "object: {tables: [emp], attributes: [id, dept]}, allow: [read]")
    own = policy("own", "object: {tables: [emp], attributes: [salary], where: dept = 'A'}, allow: [read]")
    assert ask(world, rest + own, LATERAL) == [(1,), (2,)]
    assert ask(world, rest + own, LATERAL + " AND l.s > d.id + 55") == [(2,)]
    assert ask(world, rest + own, LATERAL.replace("d.id FROM", "l.s FROM")) == [(50,), (60,)]
    with pytest.raises(AnalysisException, match="may not be used in a predicate"):
        ask(world, rest, LATERAL)


# Owners, joint views, windows, periods.

JOINT = "{tables: [emp, dept], attributes: [salary], where: emp.dept = dept.code}"


def test_the_owner_may_use_everything(world) -> None:
    guard = world.guard("  []", owners={"emp": "bea"})
    assert session("bea", guard, world.spark).table("emp").count() == 5
    with pytest.raises(AnalysisException, match="no use of `emp`"):
        session("ann", guard, world.spark).table("emp").count()


def test_a_deny_over_two_tables_withholds_what_it_names(world) -> None:
    joint = f"  - {{id: joint, subject: {{role: analyst}}, object: {JOINT}, deny: [read]}}\n"
    assert ask(world, ALL + DEPARTMENTS + joint, "SELECT id, salary FROM emp WHERE id = 1") == [(1, None)]


def test_an_allow_over_two_tables_gives_nothing(world) -> None:
    """Neither on one of them alone nor on both, as long as it cannot be told which rows were joined."""
    joint = f"  - {{id: joint, subject: {{role: analyst}}, object: {JOINT}, allow: [read]}}\n"
    both = "SELECT salary FROM emp JOIN dept ON emp.dept = dept.code"
    for query in ("SELECT salary FROM emp", both):
        with pytest.raises(AnalysisException, match="no use of `emp` is allowed"):
            ask(world, DEPARTMENTS + joint, query)
    assert ask(world, FREE + DEPARTMENTS + joint, both.replace("salary", "title, salary"))[0] == ("Accounts", None)


def test_an_aggregate_that_needs_a_window_gives_nothing(world) -> None:
    """A plain query has none; what is no aggregate does not need one."""
    windowed = policy(
        "windowed", "object: {tables: [emp], attributes: [salary]}, allow: [PRIVILEGE], window: {min_size: 1 hour}"
    )
    query = "SELECT dept, avg(salary) FROM emp GROUP BY dept"
    assert ask(world, FREE + windowed.replace("PRIVILEGE", "avg"), query) == [("A", None), ("B", None), ("C", None)]
    read = windowed.replace("PRIVILEGE", "read")
    assert ask(world, FREE + read, query) == [("A", None), ("B", None), ("C", None)]
    assert ask(world, FREE + read, "SELECT id, salary FROM emp WHERE id = 3") == [(3, 100)]


def test_a_period_covers_the_rows_whose_time_lies_in_it(world) -> None:
    days = [(day, datetime(2026, 1, day, tzinfo=UTC)) for day in range(1, 6)]
    world.table("visits", days, "id int, at timestamp")
    catalog = StreamCatalog([table_schema("visits", world.spark.table("visits").schema, time="at")])
    period = "during: {from: '2026-01-02T00:00:00Z', to: '2026-01-04T00:00:00Z'}"
    text = policy("during", f"object: {{tables: [visits]}}, allow: [read], {period}")
    guard = Guard(catalog, parse_policies(f"version: 1\npolicies:\n{text}", catalog), USERS)
    ann = session("ann", guard, world.spark)
    assert rows(ann.sql("SELECT id FROM visits")) == [(2,), (3,)]
    assert rows(ann.sql("SELECT count(*), max(at) < TIMESTAMP '2026-01-04T00:00:00Z' FROM visits")) == [(2, True)]


def test_a_period_on_a_table_without_a_time_covers_nothing(world) -> None:
    during = policy("during", "object: {tables: [emp]}, allow: [read], during: {from: '2026-01-01T00:00:00Z'}")
    with pytest.raises(AnalysisException, match="no use of `emp`"):
        ask(world, during, "SELECT id FROM emp")


def test_a_view_that_policies_name_is_an_object_of_its_own(world) -> None:
    world.spark.sql("CREATE OR REPLACE VIEW few AS SELECT id, name FROM emp")
    few = "  - {id: few, subject: {role: analyst}, object: {tables: [few], where: id < 3}, allow: [read]}\n"
    assert ask(world, ALL + few, "SELECT * FROM few", tables=("emp", "dept", "few")) == [(1, "Ann"), (2, "Bob")]
