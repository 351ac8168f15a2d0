"""Way in 1: an error, or its text, that tells of a row or a cell the user may not see. Also 9: statistics."""

from __future__ import annotations

from contextlib import suppress
from functools import reduce

import pytest
from guarded import DEPARTMENTS, USERS, drained, physical, policy, rows, spying_udf, started_with
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.functions import col, expr, rand, struct

from headgate.guard import Guard, Settings, Source, catalog_of, session, table_schema
from headgate.model.schema import StreamCatalog
from headgate.policy.yaml_file import parse_policies

# The secret is row 3: salary 100, department B, the name Cid. The user may see department A.

POLICY_FORMS = {
    "comparison": "dept = 'A'",
    "membership": "dept IN ('A', 'Z')",
    "disjunction": "dept = 'A' OR dept = 'Z'",
    "pattern": "dept LIKE 'A%'",
    "function": "upper(dept) = 'A'",
    "case": "CASE WHEN dept = 'A' THEN TRUE ELSE FALSE END",
    "profile": "dept = self.dept",
    "negation": "NOT (dept <> 'A')",
}

ERROR_FORMS = {
    "division": "1 / (salary - 100) IS NOT NULL OR id > 0",
    "cast": "CAST(name AS int) IS NULL OR id > 0",
    "assertion": "assert_true(salary <> 100) IS NULL",
    "raise": "if(salary = 100, raise_error('there is a 100'), true)",
    "index": "element_at(array(1), if(salary = 100, 9, 1)) = 1",
    "overflow": "salary * 1000000000L * if(salary = 100, 100000000000L, 1L) IS NOT NULL OR id > 0",
}
"""Each raises an error on the secret row and on no other that the user may see, but for the cast: see below."""


@pytest.mark.parametrize("form", POLICY_FORMS)
def test_no_error_tells_of_a_hidden_row(world, form) -> None:
    own = policy("own", f'object: {{tables: [emp], where: "{POLICY_FORMS[form]}"}}, allow: [read]')
    ann = world.session("ann", own + DEPARTMENTS)
    for name, predicate in ERROR_FORMS.items():
        if name != "cast":
            assert rows(ann.sql(f"SELECT id FROM emp WHERE {predicate}")) == [(1,), (2,)], name
            assert len(rows(ann.sql(f"SELECT id, {predicate} AS x FROM emp"))) == 2, name


def test_a_failed_cast_names_no_hidden_value(world) -> None:
    own = policy("own", "object: {tables: [emp], where: dept = 'A'}, allow: [read]")
    ann = world.session("ann", own)
    ann.conf.set("spark.sql.ansi.enabled", "true")
    with pytest.raises(Exception, match="CAST_INVALID_INPUT") as raised:
        ann.sql("SELECT id FROM emp WHERE CAST(name AS int) = 1").collect()
    assert "Cid" not in str(raised.value)
    assert "Dan" not in str(raised.value)


# An assertion about NULL fails whatever is hidden, and a cast of what may be seen fails on that.
@pytest.mark.parametrize("name", sorted(set(ERROR_FORMS) - {"assertion", "cast"}))
def test_no_error_tells_of_a_hidden_cell(world, name) -> None:
    rest = policy("rest", "object: {tables: [emp], attributes: [id, name, dept]}, allow: [read]")
    own = policy("own", "object: {tables: [emp], attributes: [salary], where: dept = 'A'}, allow: [read]")
    ann = world.session("ann", rest + own)
    assert len(rows(ann.sql(f"SELECT id, {ERROR_FORMS[name]} AS x FROM emp"))) == 5


@pytest.mark.parametrize("name", ERROR_FORMS)
def test_no_error_tells_of_a_value_that_may_be_used_and_not_seen(world, name) -> None:
    rest = policy("rest", "object: {tables: [emp], attributes: [id, dept]}, allow: [read]")
    use = policy("use", "object: {tables: [emp], attributes: [salary, name]}, allow: [assist, compute]")
    ann = world.session("ann", rest + use)
    ann.sql(f"SELECT id FROM emp WHERE {ERROR_FORMS[name]}").collect()
    ann.sql(f"SELECT dept, count(if({ERROR_FORMS[name]}, salary, 0)) FROM emp GROUP BY dept").collect()
    twice = f"count(if({ERROR_FORMS[name]}, salary, 0)), sum(if({ERROR_FORMS[name]}, salary, 0))"
    ann.sql(f"SELECT dept, {twice} FROM emp GROUP BY dept").collect()
    ann.sql(f"SELECT id FROM emp ORDER BY {ERROR_FORMS[name]}").collect()
    ann.sql(f"SELECT count(1) FROM emp GROUP BY {ERROR_FORMS[name]}").collect()


UNSEEN = policy("rest", "object: {tables: [emp], attributes: [id, dept, salary]}, allow: [read]") + policy(
    "use", "object: {tables: [emp], attributes: [name]}, allow: [assist]"
)

CASTS = {
    "beside a subquery": "SELECT id FROM emp WHERE id = 3 AND (CAST(name AS int) IS NULL OR id IN (SELECT 99))",
    "around a subquery": "SELECT id FROM emp WHERE id = 3 AND CAST(concat(name, (SELECT 'x')) AS int) IS NULL",
    "of a subquery": "SELECT id FROM emp WHERE CAST((SELECT name FROM emp WHERE id = 3) AS int) IS NULL",
    "of a subquery in a subquery": "SELECT id FROM emp WHERE CAST((SELECT (SELECT max_by(name, id) FROM emp)) AS int) "
    "IS NULL",
    "compared with a subquery": "SELECT id FROM emp WHERE id = (SELECT name FROM emp WHERE id = 3)",
    "in a list of a subquery": "SELECT id FROM emp WHERE id = 3 AND CAST(name AS int) IN (SELECT 99)",
    "not in a list of a subquery": "SELECT id FROM emp WHERE id = 3 AND CAST(name AS int) NOT IN (SELECT 99)",
    "in a list among others": "SELECT id FROM emp WHERE id = 3 AND coalesce(CAST(name AS int) IN (SELECT 99), true)",
    "outer": "SELECT id FROM emp e WHERE id = 3 AND EXISTS (SELECT 1 FROM dept d WHERE CAST(e.name AS int) IS NULL "
    "OR d.code = e.dept)",
    "outer that equals": "SELECT id FROM emp e WHERE id = 3 AND (SELECT max(d.code) FROM dept d WHERE "
    "length(d.code) = CAST(e.name AS int)) IS NULL",
    "generator": "SELECT id FROM emp LATERAL VIEW explode(array(CAST(name AS int))) t AS x WHERE id = 3",
    "outer generator": "SELECT id FROM emp LATERAL VIEW OUTER posexplode(array(CAST(name AS int))) t AS p, x",
    "lateral": "SELECT e.id FROM emp e JOIN LATERAL (SELECT CAST(e.name AS int) AS n) l ON e.id = 3 WHERE n IS NULL",
    "lateral condition": "SELECT e.id FROM emp e JOIN LATERAL (SELECT max(code) AS c FROM dept d) l ON "
    "CAST(e.name AS int) = 1",
    "over a group key": "SELECT n FROM (SELECT count(1) AS n, CAST(name AS int) AS c FROM emp GROUP BY name) "
    "WHERE c IS NULL",
    "over a group key that is cast": "SELECT n FROM (SELECT count(1) AS n, CAST(name AS int) + 1 AS c FROM emp "
    "GROUP BY CAST(name AS int)) WHERE c IS NULL",
    "beside an aggregate": "SELECT n FROM (SELECT count(1) AS n, CAST(concat(name, max(dept)) AS int) AS c FROM emp "
    "GROUP BY name) WHERE c IS NULL",
    "of an aggregate that tells": "SELECT d FROM (SELECT dept AS d, CAST(max_by(name, id) AS int) AS c FROM emp "
    "GROUP BY dept) WHERE c IS NULL",
    "above an aggregate that tells": "SELECT d FROM (SELECT dept AS d, max_by(name, id) AS m FROM emp GROUP BY dept) "
    "WHERE CAST(m AS int) IS NULL",
    "having": "SELECT dept FROM emp GROUP BY dept, name HAVING CAST(name AS int) IS NULL OR max(id) = 3",
    "between": "SELECT id FROM emp WHERE CAST(name AS int) BETWEEN 1 AND 2",
    "join": "SELECT e.id FROM emp e FULL JOIN dept d ON CAST(e.name AS int) = length(d.code)",
    "window": "SELECT id FROM (SELECT id, count(1) OVER (PARTITION BY CAST(name AS int)) AS n FROM emp) WHERE n > 0",
    "running window": "SELECT id FROM (SELECT id, max(name) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND CURRENT "
    "ROW) AS m FROM emp) WHERE CAST(m AS int) IS NULL",
    "order in a group": "SELECT id FROM emp WHERE (SELECT listagg(dept) WITHIN GROUP (ORDER BY "
    "CAST(name AS int)) FROM emp) = 'x'",
    "function of elements": "SELECT id FROM emp WHERE exists(array(name), x -> CAST(x AS int) IS NULL) AND id = 3",
    "grouping sets": "SELECT count(1) FROM emp GROUP BY CUBE (dept, CAST(name AS int))",
    "union": "SELECT u.id FROM (SELECT name AS x, id FROM emp UNION ALL SELECT title, 0 FROM dept) u JOIN dept ON "
    "CAST(u.x AS int) = length(code) AND u.id = 3",
}
"""Each casts a name that may be used and not seen to a number, in some other place of a query."""


@pytest.mark.parametrize("form", CASTS)
def test_no_place_brings_an_error_to_a_value_that_may_be_used_and_not_seen(world, form) -> None:
    world.session("ann", UNSEEN + DEPARTMENTS).sql(CASTS[form]).collect()


@pytest.mark.parametrize("pattern", ["^(a|.)*c", "^(.)*c"])
def test_no_value_that_may_be_used_and_not_seen_takes_the_stack(world, pattern) -> None:
    """For a long text Java's matcher takes all of it, which is no exception, and tells as much."""
    text = "repeat('a\U0001f600', if(name = 'Cid', 200000, 1))"
    ann = world.session("ann", UNSEEN)
    assert rows(ann.sql(f"SELECT id FROM emp WHERE NOT {text} RLIKE '{pattern}'")) == [(1,), (2,), (4,), (5,)]


def test_no_operation_of_a_frame_does_either(world) -> None:
    ann = world.session("ann", UNSEEN + DEPARTMENTS)
    emp, dept, cast = ann.table("emp"), ann.table("dept"), expr("CAST(name AS int)")
    assert emp.repartition(2, cast).select("id").count() == 5
    assert emp.repartitionByRange(2, cast).select("id").count() == 5
    assert emp.orderBy(cast).select("id").count() == 5
    emp._joinAsOf(dept, emp.id, expr("length(code)"), on=cast == expr("length(title)")).select("id").collect()


# What nobody wants is not there: Spark leaves out columns, but computes whole rows of which one field is wanted.

FIELDS = {
    "kept by a draw": "SELECT s.a FROM (SELECT named_struct('a', id, 'b', ORACLE) AS s, rand() AS r FROM emp) "
    "WHERE r < 2",
    "first of a group": "SELECT s.a FROM (SELECT first(named_struct('a', id, 'b', ORACLE)) AS s FROM emp GROUP BY id)",
    "chosen by an order": "SELECT max_by(named_struct('a', id, 'b', ORACLE), id).a FROM emp GROUP BY dept",
    "rows in rows": "SELECT s.c.a FROM (SELECT named_struct('c', named_struct('a', id, 'b', ORACLE)) AS s, rand() AS r "
    "FROM emp) WHERE r < 2",
    "of a group": "SELECT s.a FROM (SELECT named_struct('a', dept, 'b', OF_GROUP) AS s, rand() AS r FROM emp "
    "GROUP BY dept) WHERE r < 2",
    "beside what may be summed": "SELECT s.a, s.c FROM (SELECT named_struct('a', dept, 'b', OF_GROUP, 'c', "
    "sum(salary)) AS s, rand() AS r FROM emp GROUP BY dept) WHERE r < 2",
}
ORACLE = "if(salary = 100, raise_error('a 100'), 0)"
OF_GROUP = "if(max(salary) = 100, raise_error('a 100'), 0)"
NO_SALARY = policy("rest", "object: {tables: [emp], attributes: [id, dept, name]}, allow: [read]")
SUMS = policy("sums", "object: {tables: [emp], attributes: [salary]}, allow: [sum]")


@pytest.mark.parametrize("form", FIELDS)
def test_no_field_that_nobody_wants_brings_an_error_to_a_hidden_value(world, form) -> None:
    """Or it is refused, as an aggregate of a whole row is."""
    query = FIELDS[form].replace("ORACLE", ORACLE).replace("OF_GROUP", OF_GROUP)
    for policies in (NO_SALARY, NO_SALARY + SUMS):
        with suppress(AnalysisException):
            world.session("ann", policies).sql(query).collect()
    if "rand()" in query and "sum" not in query:
        assert len(world.session("ann", NO_SALARY).sql(query).collect()) > 2


BESIDE = {
    "shown": "SELECT id, salary, s.a FROM (SELECT id, salary, FIELDS AS s FROM emp)",
    "told of all": "SELECT id, sum(salary) OVER () AS x, s.a FROM (SELECT id, salary, FIELDS AS s FROM emp)",
    "asked about": "SELECT id, 0 AS x, s.a FROM (SELECT id, salary, FIELDS AS s FROM emp) WHERE salary > 0 OR id > 0",
    "in rows": "SELECT id, 0 AS x, s.c.a FROM (SELECT id, salary, named_struct('c', FIELDS) AS s FROM emp) "
    "WHERE salary > 0 OR id > 0",
}
"""A column that may not be seen is used beside a row of which one field would fail by it."""


@pytest.mark.parametrize("form", BESIDE)
def test_a_field_that_fails_leaves_the_others_as_they_are(world, form) -> None:
    fields = f"named_struct('a', 1, 'b', {ORACLE})"
    use = policy("use", "object: {tables: [emp], attributes: [salary]}, allow: [assist, sum]")
    ann = world.session("ann", NO_SALARY + ("" if form == "shown" else use))
    assert [row[2] for row in rows(ann.sql(BESIDE[form].replace("FIELDS", fields)))] == [1, 1, 1, 1, 1]


def test_a_function_that_may_never_be_computed_brings_no_error(world) -> None:
    ann = world.session("ann", NO_SALARY)
    twice = "WITH t AS (SELECT id, 1 / (max(salary) - 100) AS x, rand() AS r FROM emp GROUP BY id) "
    assert len(rows(ann.sql(twice + "SELECT a.id, a.x FROM t a JOIN t b ON a.id = b.id"))) == 5


def test_no_row_that_is_made_to_be_compared_does_either(world) -> None:
    ann = world.session("ann", NO_SALARY + DEPARTMENTS)
    emp, dept = ann.table("emp"), ann.table("dept")
    unwanted = emp.selectExpr("id", f"named_struct('a', id, 'b', {ORACLE}) AS s").dropDuplicates(["id"])
    assert rows(unwanted.select("s.a")) == [(1,), (2,), (3,), (4,), (5,)]
    latest = dept._joinAsOf(emp.selectExpr("id", f"{ORACLE} AS x"), expr("length(code)"), "id")
    assert len(rows(latest.select("code"))) == 3


def test_a_running_sum_brings_no_error_to_a_value_that_may_be_summed_and_not_seen(world) -> None:
    ann = world.session("ann", NO_SALARY + SUMS)
    for running in ("sum(salary) OVER (ORDER BY id)", "lag(salary, 0) OVER (ORDER BY id)"):
        ann.sql(f"SELECT id, if({running} >= 100, raise_error('a 100'), 0) FROM emp").collect()
        with suppress(AnalysisException):
            within = f"SELECT id, {running} AS x FROM emp"
            ann.sql(f"SELECT id FROM ({within}) WHERE if(x >= 100, raise_error('a 100'), true)").collect()


@pytest.mark.parametrize("query", ["SELECT id, 1 / id FROM emp", "SELECT count(*) FROM emp WHERE 1 / id > 0"])
def test_columns_that_a_query_does_not_use_are_not_there(world, query) -> None:
    """Whatever was not seen of a query that could fail: a use that is not known gets NULL."""
    some = policy("some", "object: {tables: [emp], attributes: [name], where: dept = 'A'}, allow: [read]")
    seen = policy("seen", "object: {tables: [emp], attributes: [id, dept]}, allow: [read]")
    frame = world.session("ann", some + seen).sql(query)
    plan = frame._jdf.queryExecution().normalized().toString()
    assert [name for name in ("id", "name", "dept", "salary") if f"null AS {name}#" in plan] == ["name", "salary"]
    assert rows(frame) == rows(world.spark.sql(query))


def test_no_function_of_the_users_gets_what_nobody_wants(world, tmp_path) -> None:
    seen = tmp_path / "seen"
    ann = world.session("ann", NO_SALARY, settings=Settings(functions={"role:analyst": ["spy"]}))
    spy = ann.udf.register("spy", spying_udf(seen))
    fields = struct(col("id").alias("a"), spy("salary").alias("b"))
    frame = ann.table("emp").select(fields.alias("s"), rand().alias("r")).where("r < 2").select("s.a")
    assert len(rows(frame)) == 5
    assert "100" not in (seen.read_text() if seen.exists() else "").split()


# Streams: each predicate in each place, all of them branches of one query.

PLACES = {
    "filter": lambda live, _, predicate: live.where(predicate).selectExpr("id", "true AS x"),
    "projection": lambda live, _, predicate: live.selectExpr("id", f"{predicate} AS x"),
    "behind a semi-join": lambda live, emp, predicate: (
        live.join(emp.select("dept"), "dept", "leftsemi").where(predicate).selectExpr("id", "true AS x")
    ),
    "in a semi-join": lambda live, emp, predicate: (
        live.selectExpr("id AS mine")
        .join(emp, expr(f"mine = id AND ({predicate})"), "leftsemi")
        .selectExpr("mine AS id", "true AS x")
    ),
}
TELLING = {name: predicate for name, predicate in ERROR_FORMS.items() if name != "cast"}


def test_each_of_them_raises_an_error_where_nothing_is_withheld(world) -> None:
    for predicate in TELLING.values():
        with pytest.raises(Exception, match=r"DIVIDE_BY_ZERO|USER_RAISED|INVALID_ARRAY_INDEX|ARITHMETIC_OVERFLOW"):
            world.spark.table("emp").where(predicate).collect()


def test_no_error_tells_of_a_hidden_row_of_a_stream_or_of_a_table_it_is_joined_with(world, tmp_path) -> None:
    spark, folder = world.spark, str(tmp_path / "in")
    spark.table("emp").where("id < 5").drop("since").coalesce(1).write.json(folder)
    schema = spark.table("emp").drop("since").schema
    catalog = StreamCatalog([table_schema("live", schema), *catalog_of(spark, ["emp"])])
    own = "".join(
        policy(f"own-{one}", f"object: {{tables: [{one}], where: dept = 'A'}}, allow: [read]") for one in catalog.names
    )
    policies = parse_policies(f"version: 1\npolicies:\n{own}", catalog)
    ann = session("ann", Guard(catalog, policies, USERS, Settings({"live": Source(path=folder)})), spark)
    branches = [
        place(ann.readStream.schema(schema).json(folder), ann.table("emp"), predicate).selectExpr(
            "id", "x", f"'{where}, {name}' AS way"
        )
        for where, place in PLACES.items()
        for name, predicate in TELLING.items()
    ]
    stream = reduce(DataFrame.unionAll, branches).writeStream.format("memory").queryName("no_error")
    assert drained(stream.trigger(availableNow=True).start()).exception() is None
    expected = [(one, f"{where}, {name}") for one in (1, 2) for where in PLACES for name in TELLING]
    assert rows(ann.table("no_error").select("id", "way")) == sorted(expected)


# Way in 9: shortcuts that answer from what is hidden.

MASKED = policy("rest", "object: {tables: [emp], attributes: [id, dept]}, allow: [read]") + policy(
    "masked", "object: {tables: [emp], attributes: [salary], where: dept = 'A'}, allow: [read], mask: zero"
)


def test_asking_for_the_raw_value_finds_nothing(world) -> None:
    ann = world.session("ann", MASKED)
    assert rows(ann.sql("SELECT id FROM emp WHERE salary = 100")) == []
    assert rows(ann.sql("SELECT id FROM emp WHERE salary = 60")) == [(2,)]


def test_statistics_of_files_are_not_asked(world) -> None:
    ann = world.session("ann", MASKED)
    ann.conf.set("spark.sql.shuffle.partitions", "1")
    assert rows(ann.sql("SELECT min(salary), max(salary), count(salary) FROM emp")) == [(50, 60, 2)]
    own = policy("own", "object: {tables: [emp], where: dept = 'A'}, allow: [read]")
    assert rows(world.session("ann", own).sql("SELECT max(salary), count(*) FROM emp")) == [(60, 2)]


AGGREGATES = ("min(salary)", "max(salary)", "count(salary)", "count(*)")
FROM_STATISTICS = {"spark.sql.sources.useV1SourceList": "", "spark.sql.parquet.aggregatePushdown": "true"}


@pytest.fixture(scope="module")
def in_folders(world) -> str:
    """The employees in files, in a folder for each department, but for one of whom no salary is known."""
    folder = str(world.folder / "in_folders")
    writer = world.spark.table("emp").where("id < 5").write.partitionBy("dept").mode("overwrite")
    writer.option("path", folder).saveAsTable("in_folders")
    return folder


def test_what_files_say_of_their_values_is_no_answer(world, in_folders) -> None:
    """Parquet by the second interface for sources, of which Spark takes such aggregates from the ends of the files."""
    own = policy("own", "object: {tables: [emp], where: dept = 'A'}, allow: [read]")
    with started_with(world.spark, FROM_STATISTICS):
        for table, folder in (("emp", str(world.folder / "emp")), ("in_folders", in_folders)):
            plain = world.spark.read.parquet(folder).selectExpr(*AGGREGATES)
            assert "PushedAggregation: [MIN(salary)" in physical(plain)
            assert rows(plain)[0][:3] == (50, 100, 4)
            for policies in (own, MASKED):
                ann = world.session("ann", policies.replace("[emp]", f"[{table}]"), tables=(table,))
                asked = ann.read.parquet(folder).selectExpr(*AGGREGATES)
                assert "BatchScan parquet" in physical(asked)
                assert rows(asked) == [(50, 60, 2, 2)]
