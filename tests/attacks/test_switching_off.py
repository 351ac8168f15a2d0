"""Ways in 5, 6, 8, 10 and 11 on guarded Spark: commands, shared views, a decision point that is down, state on disk."""

from __future__ import annotations

import gc
import json
from contextlib import nullcontext

import pytest
from guarded import DEPARTMENTS, OWN, drained, has, policy, refused, rows
from pyspark.errors import StreamingQueryException

from headgate.guard import Settings, Source, gateway, session, table_schema
from headgate.guard.guard import Guard
from headgate.guard.recipe import Recipe
from headgate.model.schema import StreamCatalog
from headgate.policy.yaml_file import parse_policies
from headgate.spark.callback import callback_client

SUBSTITUTE = "spark.sql.variable.substitute"

COMMANDS = [
    "SET spark.sql.optimizer.excludedRules=x",
    "SET spark.sql.extensions=x",
    "SET",
    "SET -v",
    "RESET",
    "SELECT reflect('java.lang.System', 'getProperty', 'user.home')",
    "SELECT java_method('java.lang.System', 'exit', 0)",
    "SELECT try_reflect('java.lang.System', 'getenv', 'PATH')",
    "SELECT TRANSFORM(id) USING 'cat' AS (x) FROM emp",
    "ADD JAR /tmp/none.jar",
    "ADD FILE /etc/hostname",
    "LIST FILES",
    "CREATE FUNCTION f AS 'org.example.F'",
    "CREATE TEMPORARY FUNCTION f AS 'org.example.F'",
    "CREATE VIEW lasting AS SELECT * FROM emp",
    "CREATE GLOBAL TEMPORARY VIEW everywhere AS SELECT * FROM emp",
    "CREATE TABLE copied AS SELECT * FROM emp",
    "INSERT INTO emp SELECT * FROM emp",
    "INSERT OVERWRITE DIRECTORY '/tmp/copied' USING parquet SELECT * FROM emp",
    "DROP TABLE emp",
    "ALTER TABLE emp SET LOCATION '/tmp/elsewhere'",
    "TRUNCATE TABLE emp",
    "ANALYZE TABLE emp COMPUTE STATISTICS",
    "REFRESH TABLE emp",
    "SHOW CREATE TABLE emp",
    "SHOW TBLPROPERTIES emp",
    "SHOW PARTITIONS emp",
    "DESCRIBE EXTENDED emp",
    "DESCRIBE FORMATTED emp",
    "DESCRIBE parted PARTITION (dept='B')",
    "DESCRIBE parted PARTITION (dept='none')",
    "DESCRIBE EXTENDED parted PARTITION (dept='B')",
    "SHOW TABLE EXTENDED LIKE '*'",
    "SHOW TABLE EXTENDED LIKE 'parted' PARTITION (dept='B')",
    "SELECT input_file_name() FROM emp",
    "SELECT _metadata.file_path FROM emp",
    "SELECT * FROM range(3) WHERE raise_error(version()) IS NULL",
    "DECLARE VARIABLE v INT DEFAULT 1",
    "DELETE FROM emp",
]


@pytest.fixture(scope="module")
def parted(world):
    """A table in partitions, which `emp` is not."""
    frame = world.spark.table("emp").write.mode("overwrite").partitionBy("dept")
    frame.option("path", str(world.folder / "parted")).saveAsTable("parted")


@pytest.mark.usefixtures("parted")
@pytest.mark.parametrize("command", [one for one in COMMANDS if "SHOW TABLE " in one or "DESCRIBE" in one])
def test_where_tables_are_and_what_is_in_them_is_for_administrators(world, command) -> None:
    """Way in 9: places, statistics, and whether there is such a partition."""
    with refused("shows where files are"):
        world.session("ann", OWN).sql(command).collect()
    if "none" not in command:
        assert world.session("ann", OWN, settings=Settings(administrators=frozenset({"ann"}))).sql(command).collect()


@pytest.mark.usefixtures("parted")
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_and_functions_that_could_open_something_are_refused(world, command) -> None:
    with refused():
        world.session("ann", OWN).sql(command).collect()
    assert world.spark.table("emp").count() == 5


@pytest.mark.parametrize(
    "command",
    ["SHOW TABLES", "SHOW NAMESPACES", "DESCRIBE emp", "SET spark.sql.shuffle.partitions=3", "SHOW COLUMNS IN emp"],
)
def test_what_shows_names_only_is_allowed(world, command) -> None:
    assert world.session("ann", OWN).sql(command).collect()


def test_what_lasting_functions_are_made_of_is_for_administrators(world) -> None:
    """Way in 10: a body may name tables, values and conditions, as that of a view does."""
    world.spark.sql("CREATE OR REPLACE FUNCTION raised(x INT) RETURNS INT RETURN x + 4711")
    shown = "DESCRIBE FUNCTION EXTENDED raised"
    with refused("shows what a function is made of"):
        world.session("ann", OWN).sql(shown).collect()
    ann = world.session("ann", OWN, settings=Settings(administrators=frozenset({"ann"})))
    assert "4711" in str(ann.sql(shown).collect())
    assert world.session("ann", OWN).sql("DESCRIBE FUNCTION EXTENDED abs").collect()
    with nullcontext() if has("4.1") else refused("shows what a function is made of"):
        assert "4711" not in str(world.session("ann", OWN).sql("DESCRIBE FUNCTION raised").collect())


@pytest.mark.parametrize(
    "command", ["SHOW TABLES LIKE '(*a){25}b'", "SHOW FUNCTIONS LIKE 'x|*a*a*b'", "SHOW VIEWS LIKE 'a+a+'"]
)
def test_a_pattern_of_names_that_might_take_for_ever_is_refused(world, command) -> None:
    """Way in 20: nothing stops Java once it has begun to match."""
    with refused("a pattern of names with more than one repetition"):
        world.session("ann", OWN).sql(command).collect()


def _divided(ann, how: str, number: int):
    table = ann.table("emp")
    return {
        "range": lambda: ann.range(0, 1, 1, number),
        "in SQL": lambda: ann.sql(f"SELECT * FROM range(0, 1, 1, {number})"),
        "rows": lambda: table.repartition(number),
        "fewer": lambda: table.coalesce(number),
        "by a column": lambda: table.repartition(number, "id"),
        "by order": lambda: table.repartitionByRange(number, "id"),
        "by a hint": lambda: ann.sql(f"SELECT /*+ REPARTITION({number}) */ * FROM emp"),
        "balanced": lambda: ann.sql(f"SELECT /*+ REBALANCE({number}, id) */ * FROM emp"),
        "in a subquery": lambda: ann.sql(f"SELECT (SELECT max(id) FROM range(0, 1, 1, {number})) AS x"),
    }[how]()


DIVISIONS = ("range", "in SQL", "rows", "fewer", "by a column", "by order", "by a hint", "balanced", "in a subquery")


@pytest.mark.parametrize("how", DIVISIONS)
def test_rows_are_not_divided_into_any_number_of_partitions(world, how) -> None:
    """Way in 20: a task for each of them is made by the one scheduler, in the driver's memory."""
    ann = world.session("ann", OWN)
    with refused("partitions are more than may be asked for"):
        _divided(ann, how, 100_001)._jdf.queryExecution().optimizedPlan()
    assert _divided(ann, how, 3).count() >= 1
    _divided(ann, how, 100_000)._jdf.queryExecution().optimizedPlan()


def test_a_setting_does_not_either(world) -> None:
    ann = world.session("ann", OWN)
    key = "spark.sql.shuffle.partitions"
    ann.conf.set(key, "100001")
    with refused("may be 100000 at most"):
        ann.table("emp").groupBy("dept").count().collect()
    ann.conf.set(key, "7")
    assert ann.table("emp").groupBy("dept").count().collect()
    ann.conf.unset(key)
    assert ann.table("emp").groupBy("dept").count().collect()


def test_nothing_is_put_in_place_of_words_of_a_query(world) -> None:
    """Way in 19: the parser would put in the environment, properties and settings, before there is a plan."""
    ann = world.session("ann", OWN)
    asked = "SELECT '${env:PATH}', '${system:user.dir}', '${spark.driver.host}'"
    assert list(ann.sql(asked).first()) == ann.sql(asked).columns == asked.removeprefix("SELECT ")[1:-1].split("', '")
    for change in (lambda: ann.conf.set(SUBSTITUTE, "true"), lambda: ann.conf.unset(SUBSTITUTE)):
        change()
        with refused(f"the setting `{SUBSTITUTE}` may not be changed"):
            ann.sql(asked).columns  # noqa: B018 - asks for the schema
        ann.conf.set(SUBSTITUTE, "false")
    assert ann.sql(asked).columns


def test_a_setting_that_is_taken_away_has_changed(world) -> None:
    ann = world.session("ann", OWN)
    ann.conf.unset("spark.sql.shuffle.partitions")
    assert ann.sql("SELECT id FROM emp").collect()
    ann.conf.unset(SUBSTITUTE)
    with refused(f"the setting `{SUBSTITUTE}` may not be changed"):
        ann.table("emp").collect()


def test_writing_is_refused_unless_a_folder_is_given(world, tmp_path) -> None:
    ann = world.session("ann", OWN)
    with refused("writing to"):
        ann.table("emp").write.parquet(str(tmp_path / "out"))
    ann = world.session("ann", OWN, settings=Settings(writable=(str(tmp_path / "allowed"),)))
    with refused("writing to"):
        ann.table("emp").write.parquet(str(tmp_path / "allowed" / ".." / "elsewhere"))
    ann.table("emp").select("id").write.parquet(str(tmp_path / "allowed" / "out"))
    assert rows(world.spark.read.parquet(str(tmp_path / "allowed" / "out"))) == [(1,), (2,)]


def test_a_view_of_all_sessions_is_refused(world) -> None:
    world.spark.createDataFrame([(1, "canary")], "id int, word string").createOrReplaceGlobalTempView("shared_view")
    with refused("belongs to all sessions"):
        world.session("ann", OWN).sql("SELECT * FROM global_temp.shared_view").collect()


def test_a_function_from_the_rows_of_another_session_cannot_be_named(world) -> None:
    first = world.session("ann", OWN)
    first.table("emp").createOrReplaceTempView("mine")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        world.session("bea", OWN).sql("SELECT * FROM mine").collect()


# Way in 8: the decision point fails.


@pytest.mark.parametrize("question", ["recall", "decide"])
def test_a_decision_point_that_fails_is_a_refusal(world, monkeypatch, question) -> None:
    ann = world.session("ann", OWN)

    def fail(*_: object) -> str:
        raise RuntimeError("down")

    monkeypatch.setattr(gateway.POINT, question, fail)
    with refused("the decision point cannot be reached"):
        ann.sql("SELECT id FROM emp").collect()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        *[(one, "the decision point gave no decision") for one in ("", "null", "[]", "{}", '{"guards": {}}')],
        ("not json", "the decision point cannot be reached"),
        ('{"permit": true}', "the decision cannot be applied to this plan"),
    ],
)
def test_an_answer_that_is_no_decision_is_a_refusal(world, monkeypatch, answer, words) -> None:
    ann = world.session("ann", OWN)
    monkeypatch.setattr(gateway.POINT, "decide", lambda *_: answer)
    with refused(words):
        ann.sql("SELECT id FROM emp").collect()


def test_a_recipe_that_does_not_fit_is_a_refusal(world, monkeypatch) -> None:
    ann = world.session("ann", OWN)
    recipe = Recipe(guards={number: {"where": {"column": 987654}} for number in range(3)}).to_json()
    monkeypatch.setattr(gateway.POINT, "decide", lambda *_: json.dumps(recipe))
    with refused(r"the decision cannot be applied to this plan \(IllegalStateException\)$"):  # no words of Spark's own
        ann.sql("SELECT id FROM emp").collect()


def test_no_decision_point_at_all_is_a_refusal(world) -> None:
    ann = world.session("ann", OWN)
    hook = gateway.attach(world.spark)
    client = callback_client(world.spark)
    hook.register(None, client, 60)
    try:
        with refused("the decision point is not there"):
            ann.sql("SELECT id FROM emp").collect()
    finally:
        hook.register(gateway.POINT, client, 60)


def test_a_guard_that_is_gone_is_a_refusal(world) -> None:
    ann = world.session("ann", OWN)
    del ann._headgate_guard
    gc.collect()
    with refused("is gone"):
        ann.sql("SELECT id FROM emp").collect()


def test_a_new_session_of_a_users_session_acts_for_nobody(world) -> None:
    with refused("acts for nobody"):
        world.session("ann", OWN).newSession().sql("SELECT id FROM emp").collect()


def test_the_unguarded_session_is_left_alone(world) -> None:
    world.session("ann", OWN).sql("SELECT id FROM emp").collect()
    assert world.spark.table("emp").count() == 5
    assert "GuardBarrier" not in world.spark.table("emp")._jdf.queryExecution().optimizedPlan().toString()


# Way in 11: what is left on disk.

CANARY = "canary7f3a"


def test_state_and_results_of_a_stream_hold_nothing_hidden(world, tmp_path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text(f"plain\n{CANARY}\nplain\n")
    catalog = StreamCatalog([table_schema("words", world.spark.createDataFrame([("a",)], "value string").schema)])
    some = policy("some", f"object: {{tables: [words], where: value <> '{CANARY}'}}, allow: [read]")
    guard = Guard(
        catalog,
        parse_policies(f"version: 1\npolicies:\n{some}", catalog),
        world.guard(None).users,
        Settings({"words": Source(path=str(tmp_path / "in"))}, writable=(str(tmp_path),)),
    )
    ann = session("ann", guard, world.spark)
    counts = ann.readStream.text(str(tmp_path / "in")).groupBy("value").count()
    query = (
        counts.writeStream.format("memory")
        .outputMode("complete")
        .queryName("left_on_disk")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert drained(query).exception() is None
    assert rows(ann.table("left_on_disk")) == [("plain", 2)]
    kept = [path for path in (tmp_path / "checkpoint").rglob("*") if path.is_file()]
    assert any(b"plain" in path.read_bytes() for path in kept)
    assert [path for path in kept if CANARY.encode() in path.read_bytes()] == []


STATEFUL = {
    "counted": lambda words: words.groupBy("value").count(),
    "once": lambda words: words.dropDuplicates(["value"]).selectExpr("1 AS one"),
    "joined": lambda words: words.alias("a").join(words.alias("b"), "value").selectExpr("1 AS one"),
}


@pytest.mark.parametrize("form", STATEFUL)
def test_state_of_values_that_may_be_used_and_not_seen_does_not_stay(world, tmp_path, form) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text(f"plain\n{CANARY}\nplain\n")
    catalog = StreamCatalog([table_schema("words", world.spark.createDataFrame([("a",)], "value string").schema)])
    some = policy("some", "object: {tables: [words]}, allow: [assist, count]")
    settings = Settings({"words": Source(path=str(tmp_path / "in"))}, writable=(str(tmp_path),))
    policies = parse_policies(f"version: 1\npolicies:\n{some}", catalog)
    ann = session("ann", Guard(catalog, policies, world.guard(None).users, settings), world.spark)
    stream = STATEFUL[form](ann.readStream.text(str(tmp_path / "in"))).writeStream.format("memory")
    stream = stream.outputMode("complete" if form == "counted" else "append").trigger(availableNow=True)
    kept = stream.queryName(f"kept_{form}").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    with pytest.raises(StreamingQueryException, match="values that may be used and not seen"):
        kept.awaitTermination(120)
    left = [path for path in (tmp_path / "checkpoint").rglob("*") if path.is_file()]
    assert [path for path in left if CANARY.encode() in path.read_bytes()] == []


def test_state_that_goes_with_its_stream_may_be_of_anything_that_may_be_used(world, tmp_path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("plain\nother\nplain\n")
    catalog = StreamCatalog([table_schema("words", world.spark.createDataFrame([("a",)], "value string").schema)])
    some = policy("some", "object: {tables: [words]}, allow: [assist, count]")
    policies = parse_policies(f"version: 1\npolicies:\n{some}", catalog)
    settings = Settings({"words": Source(path=str(tmp_path / "in"))})
    ann = session("ann", Guard(catalog, policies, world.guard(None).users, settings), world.spark)
    counts = ann.readStream.text(str(tmp_path / "in")).groupBy("value").count()
    query = counts.writeStream.format("memory").outputMode("complete").queryName("goes_with_it")
    assert drained(query.trigger(availableNow=True).start()).exception() is None
    assert rows(ann.table("goes_with_it")) == [(None, 1), (None, 2)]


def test_departments_are_open_so_that_joins_are_tested(world) -> None:
    ann = world.session("ann", OWN + DEPARTMENTS)
    assert rows(ann.sql("SELECT e.id, d.title FROM emp e JOIN dept d ON e.dept = d.code")) == [
        (1, "Accounts"),
        (2, "Accounts"),
    ]
