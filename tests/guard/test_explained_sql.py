"""SQL explained: the purposes, the decision on each use with its policies, and the grants that would give all of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from guarded import ALL, DEPARTMENTS, FREE, OWN, policy, rows

from headgate.errors import InputError
from headgate.guard import session
from headgate.guard.explanation import Decision, Way, explain_sql
from headgate.policy.statement import apply_statements, parse_statements

PAY_IN_A = policy("pay-in-a", "object: {tables: [emp], attributes: [salary], where: \"dept = 'A'\"}, allow: [read]")
NO_PAY = policy("no-pay", "object: {tables: [emp], attributes: [salary]}, deny: [read]")
NOT_IN_B = policy("not-in-b", "object: {tables: [emp], attributes: [salary], where: \"dept = 'B'\"}, deny: [read]")
SUMS = policy("sums", "object: {tables: [emp], attributes: [salary]}, allow: [sum, first], min_group: 2")
REMOVING = "version: 1\ndefaults: {on_assist_denied: remove}\npolicies:\n"
PAY = "SELECT id, salary FROM emp"
NOT_EVERY = "not every aggregate is allowed"


@pytest.mark.parametrize(
    ("policies", "query", "verdict", "grants", "denies"),
    [
        (FREE, PAY, "partial", ["GRANT READ (salary) ON STREAM emp TO USER ann"], []),
        (FREE, "SELECT salary FROM emp", "denied", ["GRANT READ (salary) ON STREAM emp TO USER ann"], []),
        (
            FREE,
            "EXECUTE IMMEDIATE 'SELECT salary FROM emp'",
            "denied",
            ["GRANT READ (salary) ON STREAM emp TO USER ann"],
            [],
        ),
        (FREE + PAY_IN_A, PAY, "partial", ["GRANT READ (salary) ON STREAM emp TO USER ann"], []),
        (OWN, "SELECT name FROM emp", "partial", ["GRANT READ (name) ON STREAM emp TO USER ann"], []),
        (
            FREE,
            "SELECT id FROM emp WHERE salary > 10",
            "denied",
            ["GRANT ASSIST (salary) ON STREAM emp TO USER ann"],
            [],
        ),
        (
            REMOVING + FREE,
            "SELECT id FROM emp WHERE salary > 10",
            "partial",
            ["GRANT ASSIST (salary) ON STREAM emp TO USER ann"],
            [],
        ),
        (
            FREE,
            "SELECT dept, stddev(salary) AS s FROM emp GROUP BY dept",
            "partial",
            ["GRANT COMPUTE (salary) ON STREAM emp TO USER ann"],
            [],
        ),
        (
            FREE + SUMS,
            "SELECT dept, sum(salary) AS s FROM emp GROUP BY dept",
            "partial",
            ["GRANT SUM (salary) ON STREAM emp TO USER ann"],
            [],
        ),
        # A first value is one row's: no grant of `first` gives it where groups must have a minimum size.
        (
            FREE + SUMS,
            "SELECT dept, first(salary) AS f FROM emp WHERE id < 2 GROUP BY dept",
            "partial",
            ["GRANT READ (salary) ON STREAM emp TO USER ann"],
            [],
        ),
        (ALL + NO_PAY, PAY, "partial", [], ["no-pay"]),
        (ALL + NOT_IN_B, PAY, "partial", [], ["not-in-b"]),
        (ALL + NO_PAY, "SELECT id FROM emp WHERE salary > 10", "granted", [], []),
        (FREE + NO_PAY, PAY, "partial", ["GRANT READ (salary) ON STREAM emp TO USER ann"], ["no-pay"]),
        (
            DEPARTMENTS,
            "SELECT e.name, d.title FROM emp e JOIN dept d ON e.dept = d.code",
            "denied",
            ["GRANT ASSIST (dept) ON STREAM emp TO USER ann", "GRANT READ (name) ON STREAM emp TO USER ann"],
            [],
        ),
        (
            DEPARTMENTS,
            "SELECT max(salary) AS m, min(salary) AS l FROM emp",
            "denied",
            ["GRANT MAX, MIN (salary) ON STREAM emp TO USER ann"],
            [],
        ),
        (DEPARTMENTS, "SELECT count(*) AS n FROM emp", "denied", ["GRANT COUNT (id) ON STREAM emp TO USER ann"], []),
        (DEPARTMENTS, "SELECT 1 AS one FROM emp", "denied", ["GRANT ASSIST (id) ON STREAM emp TO USER ann"], []),
        (ALL, PAY, "granted", [], []),
    ],
)
def test_what_is_missing_would_give_all_of_it(world, policies, query, verdict, grants, denies) -> None:
    guard = world.guard(policies)
    explained = explain_sql(guard, world.spark, "ann", query)
    assert explained.verdict == verdict
    assert list(explained.missing) == [*grants, *(f"and without what `{name}` denies" for name in denies)]
    lifted = [replace(one, deny=()) if one.id in denies else one for one in guard.policies.policies]
    text = ";\n".join(grants)
    given = parse_statements(text, guard.catalog) if grants else ()
    guard.replace_policies(apply_statements(replace(guard.policies, policies=tuple(lifted)), given))
    assert explain_sql(guard, world.spark, "ann", query).verdict == "granted"
    assert rows(session("ann", guard, world.spark).sql(query)) == rows(world.spark.sql(query))


def test_every_stage_is_shown_with_the_policies_that_decide(world) -> None:
    asked = "SELECT name, salary FROM emp WHERE dept = 'A'"
    explained = explain_sql(world.guard(FREE + PAY_IN_A + NOT_IN_B), world.spark, "ann", f"\n{asked}\n")
    assert explained.asked == asked
    assert [line.strip(" +-") for line in explained.plan] == [
        "Project [emp.name, emp.salary]",
        "Filter [(emp.dept = 'A')]",
        "SubqueryAlias emp",
        "LogicalRelation [id, name, dept, salary, since]",
    ]
    assert explained.ways == (
        Way("emp.dept", ("assist",), "assist (Filter)"),
        Way("emp.name", ("retrieve", "output"), "retrieve (Filter) -> carry (Project) -> output"),
        Way("emp.salary", ("retrieve", "output"), "retrieve (Filter) -> carry (Project) -> output"),
    )
    assert explained.decisions == (
        Decision("assist of `emp.dept`", False, "all", ("`free` allows it",)),
        Decision("read of `emp.name`", True, "all", ("`free` allows it",)),
        Decision(
            "read of `emp.salary`",
            True,
            "part",
            ("`pay-in-a` allows it where emp.dept = 'A'", "`not-in-b` denies it where emp.dept = 'B'"),
        ),
    )
    assert explained.reasons == ("read of `emp.salary` is withheld in part: denied by `not-in-b` in some rows",)
    assert explained.done == ("`emp.salary` is withheld where it is not covered",)


@pytest.mark.parametrize(
    ("policies", "query", "done"),
    [
        (OWN, "SELECT name FROM emp", ["rows of `emp` are left out where nothing that is asked for may be used"]),
        (
            FREE,
            PAY,
            ["`emp.salary` is withheld where it is not covered", "column `salary` of the answer is masked"],
        ),
        (
            REMOVING + FREE,
            "SELECT id FROM emp WHERE salary > 1 AND id > 1",
            ["1 of the conditions of Filter removed"],
        ),
        (
            FREE + SUMS,
            "SELECT sum(salary) AS s, dept FROM emp GROUP BY dept",
            ["groups that are too small give no row"],
        ),
        (ALL, PAY, []),
    ],
)
def test_what_is_done_is_said(world, policies, query, done) -> None:
    explained = explain_sql(world.guard(policies), world.spark, "ann", query)
    assert list(explained.done) == done
    titles = [title for title, _ in explained.sections()]
    assert ("what is done about it" in titles) is bool(done)


@pytest.mark.parametrize(
    ("disclosure", "told"),
    [
        ("clause", ["permitted in part", "- read of `emp.salary` is withheld: no policy allows it"]),
        ("name", ["permitted in part", "- read of `emp.salary` is withheld"]),
        ("nothing", ["permitted; what the policies do not allow is left out"]),
    ],
)
def test_what_the_user_is_told_stands_beside_it(world, disclosure, told) -> None:
    guard = world.guard(f"version: 1\ndefaults: {{disclosure: {disclosure}}}\npolicies:\n{FREE}")
    explained = explain_sql(guard, world.spark, "ann", PAY)
    assert explained.reasons == ("read of `emp.salary` is withheld: no policy allows it",)
    assert list(explained.told) == told


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT reflect('java.lang.System', 'lineSeparator') FROM emp", "is not among the functions"),
        ("SELECT * FROM parquet.`/nowhere`", "the folder that is read is not known"),
        ("DROP TABLE emp", "is not among the operations"),
        ("SET spark.sql.caseSensitive = true", "may not be changed"),
    ],
)
def test_what_no_grant_would_change(world, query, why) -> None:
    """It is refused for what it is, and not carried out either."""
    explained = explain_sql(world.guard(ALL), world.spark, "ann", query)
    assert explained.verdict == "denied"
    assert why in explained.reasons[0]
    assert list(explained.sections())[-1] == ("the smallest grant that would give all of it", ["none would"])
    assert world.spark.table("emp").count() == 5


def test_without_policies_everything_is_granted(world) -> None:
    explained = explain_sql(world.guard(None), world.spark, "nil", PAY)
    assert (explained.verdict, explained.missing) == ("granted", ())


def test_explaining_is_neither_recorded_nor_told(world) -> None:
    guard = world.guard(FREE, owners={"emp": "bea"})
    explain_sql(guard, world.spark, "ann", PAY)
    assert not guard.outcomes
    assert not guard.notifications


@pytest.mark.parametrize(
    ("query", "said", "hint"),
    [
        ("SELEC 1", "PARSE_SYNTAX_ERROR", None),
        ("", "PARSE", None),
        ("SELECT 1; SELECT 2", "PARSE_SYNTAX_ERROR", None),
        ("SELECT nope FROM emp", "UNRESOLVED_COLUMN", None),
        ("SELECT * FROM nowhere", "TABLE_OR_VIEW_NOT_FOUND", "the tables are `emp`, `dept`"),
        ("EXPLAIN SELECT id FROM emp", "this is explained already", "leave EXPLAIN out"),
        ("BEGIN SELECT salary FROM emp; END", "a script is not explained as a whole", "give one of its queries"),
    ],
)
def test_what_is_no_query_is_a_mistake(world, capfd, query, said, hint) -> None:
    with pytest.raises(InputError) as raised:
        explain_sql(world.guard(ALL), world.spark, "ann", query)
    assert said in raised.value.message
    assert "\n" not in raised.value.message
    assert raised.value.hint == hint
    assert capfd.readouterr() == ("", ""), "PySpark would log it with the whole trace"


@pytest.mark.parametrize(
    ("policies", "query", "why"),
    [
        (DEPARTMENTS + ALL, "SELECT count(*) FROM emp", ("`all` allows it",)),
        (DEPARTMENTS, "SELECT count(*) FROM emp", ("no policy allows it",)),
        (FREE + SUMS, "SELECT stddev(salary) FROM emp", ("`sums` allows it in groups of at least 2", NOT_EVERY)),
        (ALL + NO_PAY, "SELECT salary FROM emp", ("`all` allows it", "`no-pay` denies it")),
    ],
)
def test_why_is_said_of_each_use(world, policies, query, why) -> None:
    (decision,) = explain_sql(world.guard(policies), world.spark, "ann", query).decisions
    assert decision.why == why


def test_the_owner_may_use_all_of_it(world) -> None:
    guard = world.guard(DEPARTMENTS, owners={"emp": "ann"})
    (decision,) = explain_sql(guard, world.spark, "ann", "SELECT salary FROM emp").decisions
    assert (decision.given, decision.why) == ("all", ("the owner may use all of it",))


def test_a_column_that_is_used_alike_twice_is_drawn_once(world) -> None:
    joined = "SELECT a.id FROM emp a JOIN emp b ON a.name = b.name"
    ways = explain_sql(world.guard(ALL), world.spark, "ann", joined).ways
    assert [one.path for one in ways if one.column == "emp.name"] == ["assist (Join)"]
