"""Way in 18: definitions and times that make another question of an aggregate, and what comparing itself tells."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import pytest
from guarded import refused, rows
from pyspark.errors import AnalysisException

from headgate.guard import Settings, Source

PEOPLE = [(number, f"p{number}", "ABC"[number % 3], 100 + number) for number in range(30)] + [(30, "Zed", "D", 4711)]
"""The secret is the salary of person 30, the only one of department D; groups must have five."""

TOTAL = sum(one[3] for one in PEOPLE)
SECRET = 4711
SUMS = (
    "  - {id: sums, subject: {role: analyst}, object: {tables: [crowd], attributes: [salary]},"
    " allow: [avg, sum, count, max, min, compute], min_group: 5}\n"
    "  - {id: rest, subject: {role: analyst}, object: {tables: [crowd], attributes: [id, name, dept]}, allow: [read]}\n"
)
APART = "cannot be compared"


@pytest.fixture(scope="module")
def crowd(world):
    world.table("crowd", PEOPLE, "id int, name string, dept string, salary int")
    return world


def asking(crowd, **options):
    return crowd.session("ann", SUMS, tables=("crowd",), **options)


def answer(frame):
    """The only value of a frame; None if it is refused."""
    try:
        return frame.collect()[0][0]
    except AnalysisException as refusal:
        return None if "refused by the guard" in str(refusal) else refusal


BUT_ONE = "SELECT sum(salary) FROM crowd WHERE id <> (SELECT n FROM t)"

OTHER_DEFINITIONS = {
    "joined": (
        "WITH t AS (SELECT id AS n FROM crowd) SELECT sum(salary) FROM crowd JOIN t ON id = n",
        "WITH t AS (SELECT id AS n FROM crowd WHERE id <> 30) SELECT sum(salary) FROM crowd JOIN t ON id = n",
    ),
    "semi-joined": (
        "WITH t AS (SELECT id AS n FROM crowd) SELECT sum(salary) FROM crowd WHERE id IN (SELECT n FROM t)",
        "WITH t AS (SELECT id AS n FROM crowd WHERE id <> 30) "
        "SELECT sum(salary) FROM crowd WHERE id IN (SELECT n FROM t)",
    ),
    "a value": (
        f"WITH t AS (SELECT max(x) AS n FROM VALUES (-1) v(x)) {BUT_ONE}",
        f"WITH t AS (SELECT max(x) AS n FROM VALUES (30) v(x)) {BUT_ONE}",
    ),
}


@pytest.mark.parametrize("form", OTHER_DEFINITIONS)
def test_another_definition_makes_another_question(crowd, form) -> None:
    ann = asking(crowd)
    first, second = OTHER_DEFINITIONS[form]
    assert rows(ann.sql(first)) == [(TOTAL,)]
    told = answer(ann.sql(second))
    assert told != TOTAL - SECRET, "the difference of the two is one person's salary"
    assert told is None


MOVING_DEFINITIONS = {
    "limit": "WITH t AS (SELECT id AS n FROM crowd LIMIT 20) SELECT sum(salary) FROM crowd JOIN t ON id = n",
    "random": "WITH t AS (SELECT id AS n FROM crowd WHERE rand() < 2) SELECT sum(salary) FROM crowd JOIN t ON id = n",
    "now": (
        "WITH t AS (SELECT id AS n FROM crowd WHERE id <> 30 OR now() < TIMESTAMP'2020-01-01') "
        "SELECT sum(salary) FROM crowd JOIN t ON id = n"
    ),
    "a value": (
        "WITH t AS (SELECT max(x) AS n FROM VALUES (30) v(x) WHERE now() > TIMESTAMP'2020-01-01') "
        "SELECT sum(salary) FROM crowd WHERE id <> (SELECT n FROM t)"
    ),
}


@pytest.mark.parametrize("form", MOVING_DEFINITIONS)
def test_a_definition_that_moves_is_never_the_same_question(crowd, form) -> None:
    ann = asking(crowd)
    assert len(rows(ann.sql(MOVING_DEFINITIONS[form]))) == 1
    with refused(APART):
        ann.sql(MOVING_DEFINITIONS[form]).collect()


def test_the_time_in_a_definition_tells_of_one_row(crowd) -> None:
    """Even and odd microseconds: with person 30 and without."""
    ann = asking(crowd)
    query = (
        "WITH t AS (SELECT id AS n FROM crowd WHERE id <> 30 OR unix_micros(now()) % 2 = 0) "
        "SELECT sum(salary) FROM crowd JOIN t ON id = n"
    )
    told = {answer(ann.sql(query)) for _ in range(16)}
    assert not told >= {TOTAL, TOTAL - SECRET}


def test_rows_that_a_program_makes_anew_are_none_behind_a_definition_either(crowd, tmp_path) -> None:
    ann, flag = asking(crowd), tmp_path / "flag"
    made = ann.sparkContext.parallelize([0], 1).flatMap(lambda _: [(n,) for n in range(30 if flag.exists() else 31)])
    ann.createDataFrame(made, "n int").createOrReplaceTempView("numbers_of_a_program")
    query = "WITH t AS (SELECT n FROM numbers_of_a_program) SELECT sum(salary) FROM crowd JOIN t ON id = n"
    first = answer(ann.sql(query))
    flag.touch()
    second = answer(ann.sql(query))
    assert {first, second} != {TOTAL, TOTAL - SECRET}
    assert first is None, "these rows are computed anew each time"


SPECIAL = {
    "now": "id <> 30 OR CAST('now' AS TIMESTAMP) < TIMESTAMP'2020-01-01'",
    "now without a zone": "id <> 30 OR CAST('now' AS TIMESTAMP_NTZ) < TIMESTAMP_NTZ'2020-01-01'",
    "today": "id <> 30 OR CAST('today' AS DATE) < DATE'2020-01-01'",
    "by a function": "id <> 30 OR to_timestamp('now') < TIMESTAMP'2020-01-01'",
    "in a subquery": "id <> (SELECT max(n) FROM VALUES (30) v(n) WHERE CAST('today' AS DATE) > DATE'2020-01-01')",
}


@pytest.mark.parametrize("form", SPECIAL)
def test_the_time_in_a_text_moves(crowd, form) -> None:
    ann = asking(crowd)
    query = f"SELECT sum(salary) FROM crowd WHERE {SPECIAL[form]}"
    assert len(rows(ann.sql(query))) == 1
    with refused(APART):
        ann.sql(query).collect()


def test_the_time_in_a_text_tells_of_one_row(crowd) -> None:
    """One SQL text, asked again and again: about half of the answers are without person 30."""
    ann = asking(crowd)
    query = "SELECT sum(salary) FROM crowd WHERE id <> 30 OR unix_micros(CAST('now' AS TIMESTAMP)) % 2 = 0"
    told = {answer(ann.sql(query)) for _ in range(16)}
    assert not told >= {TOTAL, TOTAL - SECRET}


@pytest.mark.parametrize("day", ["CAST('2020-01-01' AS DATE)", "CAST(' 2020-01-01T00:00:00Z' AS TIMESTAMP)"])
def test_a_time_that_is_written_down_is_the_same_each_time(crowd, day) -> None:
    ann = asking(crowd)
    query = f"SELECT sum(salary) FROM crowd WHERE id >= 0 OR {day} < DATE'2019-01-01'"
    assert rows(ann.sql(query)) == rows(ann.sql(query)) == [(TOTAL,)]


ONLY_A = (
    "  - {id: sums, subject: {role: analyst}, object: {tables: [crowd], attributes: [salary], where: \"dept = 'A'\"},"
    " allow: [sum, count], min_group: 5}\n"
    "  - {id: rest, subject: {role: analyst}, object: {tables: [crowd], attributes: [id, name, dept],"
    " where: \"dept = 'A'\"}, allow: [read]}\n"
)


def probed(crowd, name: str) -> str:
    """What a user who may see department A only gets for a question that fails if somebody is called like this.

    More than a gigabyte of blanks is no `Exception`, which alone `Silent` catches.
    """
    ann = crowd.session("ann", ONLY_A, tables=("crowd",))
    assert len(rows(ann.sql("SELECT sum(salary) FROM crowd"))) == 1
    large = f"length(repeat('a', if(name = '{name}', 2147483640, 1))) > 0"
    try:
        return str(ann.sql(f"SELECT sum(salary) FROM crowd WHERE {large}").collect())
    except Exception as error:  # whatever it is, it has to be the same
        return str(error).splitlines()[0]


def test_comparing_answers_tells_nothing_of_rows_that_are_hidden(crowd) -> None:
    """Zed is of department D, and nobody is called Nobody."""
    assert probed(crowd, "Zed") == probed(crowd, "Nobody")


def _matching(spark) -> int:
    """Tasks that are in the midst of a pattern."""
    found = 0
    for entry in spark._jvm.java.lang.Thread.getAllStackTraces().entrySet().toArray():
        if "Executor task launch worker" in entry.getKey().getName():
            found += any("java.util.regex" in frame.getClassName() for frame in list(entry.getValue())[:400])
    return found


def test_a_pattern_lets_go_while_answers_are_compared(crowd) -> None:
    ann = asking(crowd)
    ann.sql("SELECT sum(salary) FROM crowd").collect()
    # Some minutes of backtracking, for one row.
    slow = "NOT (if(id = 1, repeat('a', 60), name) RLIKE '(.*a){25}b')"

    def ask() -> None:
        with suppress(Exception):  # it is let go of
            ann.sql(f"SELECT sum(salary) FROM crowd WHERE {slow}").collect()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    assert _until(lambda: _matching(crowd.spark) > 0), "it did not begin; make it slower"
    crowd.spark._jsc.sc().cancelAllJobs()
    for one in crowd.spark._jvm.java.lang.Thread.getAllStackTraces().keySet().toArray():
        if "Executor task launch worker" in one.getName():
            one.interrupt()  # as what limits users does
    assert _until(lambda: _matching(crowd.spark) == 0)
    thread.join(60)


def _until(so) -> bool:
    end = time.monotonic() + 30
    while not so() and time.monotonic() < end:
        threading.Event().wait(0.1)
    return so()


@pytest.mark.parametrize("place", ["picked", "."])
def test_users_do_not_write_tables(crowd, place) -> None:
    """By one of which they may read all, they would choose rows of another one, in the same words each time."""
    crowd.table("picked", [(one[0],) for one in PEOPLE], "n int")
    more = "  - {id: picked, subject: {role: analyst}, object: {tables: [picked]}, allow: [read]}\n"
    settings = Settings({"picked": Source(path=str(crowd.folder / "picked"))}, writable=(str(crowd.folder),))
    ann = crowd.session("ann", SUMS + more, tables=("crowd", "picked"), settings=settings)
    with refused("there is a table in"):
        ann.range(30).selectExpr("CAST(id AS int) AS n").write.mode("overwrite").parquet(str(crowd.folder / place))


EVERYBODY = SUMS.replace("avg, sum, count, max, min, compute", "sum")
BUT_ONE_OF_THEM = (
    "  - {id: means, subject: {role: analyst}, object: {tables: [crowd], attributes: [salary], where: id <> 30},"
    " allow: [avg], min_group: 5}\n"
)


@pytest.mark.parametrize(
    "tail",
    [
        "",
        "JOIN VALUES (1) AS t(x) ON x = 1",
        "WHERE id >= (SELECT min(x) FROM VALUES (0) AS v(x))",
        "WHERE id IN (SELECT id FROM crowd)",
    ],
)
def test_functions_of_other_rows_are_other_questions(crowd, tail) -> None:
    """The sum of all less the mean of all but one is that one."""
    ann = crowd.session("ann", EVERYBODY + BUT_ONE_OF_THEM, tables=("crowd",))
    with refused("together tell of fewer than 5 rows" if not tail else APART):
        ann.sql(f"SELECT sum(salary), avg(salary) FROM crowd {tail}").collect()


def test_a_table_that_is_there_twice_makes_two_questions(crowd) -> None:
    ann = crowd.session("ann", EVERYBODY, tables=("crowd",))
    joined = "FROM crowd a LEFT JOIN crowd b ON a.id = b.id AND b.id <> 30"
    with refused(APART):
        ann.sql(f"SELECT sum(a.salary), sum(b.salary) {joined}").collect()
    assert rows(ann.sql(f"SELECT sum(a.salary) {joined}")) == [(TOTAL,)]


def test_functions_of_the_same_rows_are_one_question(crowd) -> None:
    means = EVERYBODY + BUT_ONE_OF_THEM.replace(", where: id <> 30", "").replace("min_group: 5", "min_group: 3")
    ann = crowd.session("ann", means, tables=("crowd",))
    query = "SELECT sum(salary), avg(salary) FROM crowd JOIN VALUES (1) AS t(x) ON x = 1"
    assert rows(ann.sql(query)) == rows(ann.sql(query)) == [(TOTAL, TOTAL / 31)]
