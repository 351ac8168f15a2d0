"""Way in 18: a question that looks the same when it is asked again, and is about other rows."""

from __future__ import annotations

import pytest
from guarded import as_spark_finds, drained, refused, rows

PEOPLE = [(number, "ABC"[number % 3], 100 + number) for number in range(30)] + [(30, "D", 4711)]
"""The secret is the salary of person 30, the only one of department D; groups must have five."""

TOTAL = sum(one[2] for one in PEOPLE)
POLICIES = (
    "  - {id: sums, subject: {role: analyst}, object: {tables: [team], attributes: [salary]},"
    " allow: [avg, sum, count, max, min, compute], min_group: 5}\n"
    "  - {id: rest, subject: {role: analyst}, object: {tables: [team], attributes: [id, dept]}, allow: [read]}\n"
)
ZONE = "spark.sql.session.timeZone"
APART = "cannot be compared"


@pytest.fixture(scope="module")
def team(world):
    """All rows in one file."""
    world.table("team", PEOPLE, "id int, dept string, salary int")
    return world


@pytest.fixture(scope="module")
def parted(world):
    """A folder for each department, and there a file for each row."""
    frame = world.spark.createDataFrame(PEOPLE, "id int, dept string, salary int").repartition(31, "id")
    writer = frame.write.mode("overwrite").partitionBy("dept").option("maxRecordsPerFile", 1)
    writer.option("path", str(world.folder / "parted_team")).saveAsTable("parted_team")
    return world


def asking(team):
    return team.session("ann", POLICIES, tables=("team",))


MOVING = {
    "zone": "current_timezone() <> 'UTC' OR id <> 30",
    "now": "now() < TIMESTAMP'2020-01-01' OR id <> 30",
    "today": "current_date() < DATE'2020-01-01' OR id <> 30",
    "random": "rand() < 2",
    "random with a seed": "rand(7) < 2",
    "number of a row": "monotonically_increasing_id() >= 0",
    "in a subquery": "id <> (SELECT max(n) FROM VALUES (30) v(n) WHERE now() > TIMESTAMP'2020-01-01')",
}


@pytest.mark.parametrize("form", MOVING)
def test_a_condition_that_moves_is_never_the_same_question(team, form) -> None:
    ann = asking(team)
    query = f"SELECT sum(salary) FROM team WHERE {MOVING[form]}"
    assert len(rows(ann.sql(query))) == 1
    with refused(APART):
        ann.sql(query).collect()
    with refused(APART):
        ann.sql("SELECT sum(salary) FROM team").collect()


MANY = "FROM range(1, 1001, 1, 200)"
EQUAL = "FROM VALUES ('a' COLLATE UTF8_LCASE), ('A' COLLATE UTF8_LCASE) v(c)"
ARRIVING = {
    "the last of equals": f"id <> IF((SELECT max_by(id, 0) {MANY}) < 500, 30, -1)",
    "the most frequent": f"id <> IF((SELECT mode(id) {MANY}) < 500, 30, -1)",
    "a sum of doubles": f"id <> IF((SELECT sum(id / 7D) {MANY}) < 71500, 30, -1)",
    "a mean, which is a sum of doubles": f"id <> IF((SELECT avg(id) {MANY}) < 500, 30, -1)",
    "a sum that has no room on the way": "id <> IF((SELECT try_sum(id) FROM range(9)) IS NULL, 30, -1)",
    "the larger of equals": f"id <> IF((SELECT ascii(max(c)) {EQUAL}) = 65, 30, -1)",
    "the larger of two zeros": "id <> IF((SELECT string(max(x)) FROM VALUES (0D), (-0D) v(x)) = '0.0', 30, -1)",
    "one of equal values": f"id <> IF((SELECT max(ascii(c)) FROM (SELECT DISTINCT c {EQUAL})) = 65, 30, -1)",
    "one of equal keys": f"id <> IF((SELECT max(ascii(c)) FROM (SELECT c {EQUAL} GROUP BY c)) = 65, 30, -1)",
}
"""What Spark makes of rows in the order in which they arrive from other executors."""


@pytest.mark.parametrize("form", ARRIVING)
def test_a_condition_that_depends_on_the_order_of_rows_is_never_the_same_question(team, form) -> None:
    ann = asking(team)
    query = f"SELECT sum(salary) FROM team WHERE {ARRIVING[form]}"
    assert len(rows(ann.sql(query))) == 1
    with refused(APART):
        ann.sql(query).collect()


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT sum(salary) FROM team JOIN (SELECT max_by(id, 0) AS m {MANY}) ON id <> IF(m < 500, 30, -1)",
        f"SELECT id <> IF((SELECT max_by(id, 0) {MANY}) < 500, 30, -1), sum(salary) FROM team GROUP BY 1",
        "SELECT id <> (SELECT IF(now() < TIMESTAMP'2020-01-01', -1, 30)), sum(salary) FROM team GROUP BY 1",
    ],
    ids=["joined", "key", "key by the time"],
)
def test_neither_are_joins_and_keys_that_do(team, query) -> None:
    ann = asking(team)
    assert len(rows(ann.sql(query))) == 1
    with refused(APART):
        ann.sql(query).collect()


IN_ANY_ORDER = [
    "max(id)",
    "min(string(id))",
    "count(*)",
    "count_if(id > 2)",
    "bool_or(id > 2)",
    "bit_xor(id)",
    "sum(id)",
]
IN_ANY_ORDER += [
    "sum(decimal(id))",
    "avg(decimal(id))",
    "approx_count_distinct(id)",
    "max(CASE WHEN id > 2 THEN id END)",
]


@pytest.mark.parametrize("aggregate", IN_ANY_ORDER)
def test_what_does_not_depend_on_the_order_of_rows_is_the_same_question(team, aggregate) -> None:
    ann = asking(team)
    query = f"SELECT sum(salary) FROM team WHERE string(id) <> string((SELECT {aggregate} FROM range(5))) || '!'"
    assert rows(ann.sql(query)) == rows(ann.sql(query)) == [(TOTAL,)]


@pytest.mark.parametrize("aggregate", ["sum(double(salary))", "avg(salary)", "sum(salary) / max(double(salary))"])
def test_what_is_told_itself_may_be_a_sum_of_doubles(team, aggregate) -> None:
    ann = asking(team)
    for _ in range(2):
        assert len(rows(ann.sql(f"SELECT {aggregate} FROM team WHERE id >= 0"))) == 1
    assert (
        len(
            rows(
                ann.sql(
                    f"SELECT {aggregate} FROM team WHERE id >= 0 HAVING {aggregate} > (SELECT avg(id) FROM range(3))"
                )
            )
        )
        == 1
    )


CHOSEN = {
    "limit": "(SELECT * FROM team LIMIT 20)",
    "place": "(SELECT * FROM team ORDER BY dept OFFSET 5)",
    "sample": "(SELECT * FROM team TABLESAMPLE (99 PERCENT) REPEATABLE (3))",
    "number": "(SELECT * FROM (SELECT *, row_number() OVER (ORDER BY dept) AS n FROM team) WHERE n > 1)",
}


@pytest.mark.parametrize("form", CHOSEN)
def test_rows_that_spark_chooses_are_never_the_same_question(team, form) -> None:
    ann = asking(team)
    query = f"SELECT sum(salary) FROM {CHOSEN[form]}"
    ann.sql(query).collect()
    with refused(APART):
        ann.sql(query).collect()


def _as_pandas(frame):
    return frame.toPandas()


def _last(frame):
    return frame.tail(1)


def _worked_on(frame):
    return frame.rdd.map(tuple).collect()


def _kept(frame):
    return frame.persist().collect()


@pytest.mark.parametrize("again", [rows, _as_pandas, _worked_on, _kept, _last])
@pytest.mark.parametrize("form", CHOSEN)
def test_one_frame_is_another_question_each_time_it_runs_if_spark_chooses_rows(team, form, again) -> None:
    frame = asking(team).sql(f"SELECT sum(salary), count(id) FROM {CHOSEN[form]}")
    assert len(rows(frame)) == 1
    with pytest.raises(Exception, match=f"{APART}|collected once"):
        again(frame)


def test_rows_that_spark_chooses_are_not_worked_on_by_a_program(team) -> None:
    """Spark runs an RDD without asking the frame that it was made of."""
    frame = asking(team).sql(f"SELECT sum(salary) FROM {CHOSEN['limit']}")
    with pytest.raises(Exception, match="collected once"):
        frame.rdd.map(tuple).collect()


def test_a_frame_of_a_session_that_spark_finds_does_not_run_if_spark_chooses_rows(team) -> None:
    ann = asking(team)
    frame = as_spark_finds(ann).sql(f"SELECT sum(salary) FROM {CHOSEN['limit']}")
    with refused("through the session that was given out"):
        frame.collect()
    assert len(rows(frame.select("*"))) == 1, "what is made of it follows, and nothing was told yet"


@pytest.mark.parametrize(
    "look", [lambda frame: frame.explain(), lambda frame: frame.isEmpty(), lambda frame: frame.schema]
)
def test_a_frame_over_rows_that_spark_chooses_runs_after_it_was_looked_at(team, look) -> None:
    frame = asking(team).sql(f"SELECT sum(salary) FROM {CHOSEN['limit']}")
    look(frame)
    assert len(rows(frame)) == 1


def test_rows_that_spark_chooses_may_be_kept_as_they_are(team) -> None:
    kept = asking(team).sql(f"SELECT sum(salary) FROM {CHOSEN['limit']}").localCheckpoint()
    assert rows(kept) == rows(kept) != []


def test_a_frame_over_the_same_rows_runs_as_often_as_wanted(team) -> None:
    frame = asking(team).sql("SELECT dept, sum(salary) FROM team GROUP BY dept")
    assert rows(frame) == rows(frame)
    assert len(_worked_on(frame)) == 3


def in_zones(ann, query: str):
    for zone in ("UTC", "Pacific/Honolulu"):
        ann.conf.set(ZONE, zone)
        yield ann.sql(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT sum(salary) FROM team WHERE current_timezone() <> 'UTC' OR id <> 30",
        "SELECT sum(salary) FROM team WHERE hour(timestamp_seconds(3600)) <> 1 OR id <> 30",
        "SELECT sum(salary) FROM team JOIN VALUES (3600) v(s) WHERE hour(timestamp_seconds(s)) <> 1 OR id <> 30",
    ],
)
def test_a_setting_does_not_make_another_question_of_the_same_words(team, query) -> None:
    frames = in_zones(asking(team), query)
    assert rows(next(frames)) == [(TOTAL - 4711,)]
    with refused(f"{APART}|tell of fewer"):
        next(frames).collect()


def test_what_settings_do_not_touch_may_be_asked_under_any(team) -> None:
    query = "SELECT sum(salary) FROM team WHERE id % 2 = 0 AND dept <> 'E'"
    for frame in in_zones(asking(team), query):
        assert len(rows(frame)) == 1


def test_a_setting_of_speed_changes_no_question(team) -> None:
    ann = asking(team)
    query = "SELECT sum(salary) FROM team WHERE sqrt(id) < 90"
    assert rows(ann.sql(query)) == [(TOTAL,)]
    ann.conf.set("spark.sql.shuffle.partitions", "3")
    assert rows(ann.sql(query)) == [(TOTAL,)]


def test_rows_that_a_program_makes_anew_are_never_the_same_question(team, tmp_path) -> None:
    """One frame, run twice: the function leaves person 30 out the second time."""
    ann, flag = asking(team), tmp_path / "flag"
    made = ann.sparkContext.parallelize([0], 1).flatMap(lambda _: [(n,) for n in range(30 if flag.exists() else 31)])
    numbers = ann.createDataFrame(made, "n int")
    people = ann.table("team")
    with refused("computes anew"):
        total(people.join(numbers, people.id == numbers.n))
    kept = numbers.localCheckpoint()
    joined = people.join(kept, people.id == kept.n)
    for _ in range(2):
        assert total(joined) == [(TOTAL,)]
        flag.touch()


# Files: who reads a part of them asks about a part of the table.


def reading(parted):
    words = POLICIES.replace("[team]", "[parted_team]")
    ann = parted.session("ann", words, tables=("parted_team",))
    return ann, str(parted.folder / "parted_team")


def total(frame):
    return rows(frame.groupBy().sum("salary"))


SCHEMA = "id int, salary int, dept string"
LONG_AGO, FAR = "2001-01-01T00:00:00", "2100-01-01T00:00:00"
PARTS = {
    "folders": lambda read, path: read.option("basePath", path).parquet(*(f"{path}/dept={one}" for one in "ABC")),
    "pattern": lambda read, path: read.option("basePath", path).parquet(f"{path}/dept=[ABC]"),
    "names": lambda read, path: read.schema(SCHEMA).option("pathGlobFilter", "*[0-9a-f].c000*").parquet(path),
    "changed before": lambda read, path: read.schema(SCHEMA).option("modifiedBefore", FAR).parquet(path),
    "changed after": lambda read, path: read.schema(SCHEMA).option("modifiedAfter", LONG_AGO).parquet(path),
}


@pytest.mark.parametrize("form", PARTS)
def test_a_part_of_the_files_is_not_the_table(parted, form) -> None:
    ann, path = reading(parted)
    assert total(ann.read.parquet(path)) == [(TOTAL,)]
    assert total(ann.read.parquet(path)) == [(TOTAL,)]
    with refused(APART):
        total(PARTS[form](ann.read, path))


def test_a_part_of_the_files_may_be_asked_about_alone(parted) -> None:
    ann, path = reading(parted)
    part = PARTS["folders"](ann.read, path)
    assert total(part) == [(TOTAL - 4711,)]
    assert total(part.where("id >= 0").where("id < 15")) == [(sum(100 + number for number in range(15)),)]
    with refused("tell of fewer"):
        total(part.where("id < 29"))
    with refused(APART):
        total(ann.read.parquet(path))


def test_options_of_a_table_choose_no_part_of_it(team) -> None:
    ann = asking(team)
    assert total(ann.table("team")) == [(TOTAL,)]
    with refused("the option `pathglobfilter` is not allowed"):
        total(ann.read.option("pathGlobFilter", "none*").table("team"))
    assert total(ann.read.parquet(str(team.folder / "team"))) == [(TOTAL,)], "its files are the table"


def streamed(ann, path: str, name: str, **options: str):
    source = ann.readStream.schema("id int, dept string, salary int").options(**options).parquet(path)
    sink = source.groupBy().sum("salary").writeStream.format("memory").queryName(f"told_{name}")
    return sink.outputMode("complete").trigger(availableNow=True).start()


@pytest.mark.parametrize("option", ["maxFilesPerTrigger", "maxBytesPerTrigger"])
def test_a_stream_does_not_tell_of_one_file_after_the_other(parted, option) -> None:
    ann, path = reading(parted)
    stream = streamed(ann, path, option, **{option: "1"})
    with pytest.raises(Exception, match="without options that make its batches smaller"):
        stream.processAllAvailable()
    stream.stop()


def test_streams_over_other_files_are_other_questions(parted) -> None:
    ann, path = reading(parted)
    drained(streamed(ann, path, "one"))
    drained(streamed(ann, path, "two"))
    other = streamed(ann, path, "three", pathGlobFilter="part-0000*")
    with pytest.raises(Exception, match=APART):
        other.processAllAvailable()
    other.stop()
