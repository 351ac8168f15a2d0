"""How much of the machine users of the endpoint get: who asks for too much is stopped, others go on (way in 20)."""

from __future__ import annotations

from typing import Any

import pytest
from endpoints import ALICE, BOB, answer_of, answers_to, running_endpoint

SECONDS = 6

TIMED = """
import time
def timed(act):
    begun = time.monotonic()
    try:
        found = act()
    except Exception as error:
        found = str(error)
    return [found, time.monotonic() - begun]
EXPLODING = "SELECT sum(a.id * b.id) FROM range(0, 100000000, 1, 2) a CROSS JOIN range(0, 100000000, 1, 1) b"
"""

# Bob's tasks take all cores; Alice asks while they run.
EXPLODES = (
    TIMED
    + """
import threading
bob, alice = session("bob-example"), session("alice-example")
bobs = []
held = threading.Thread(target=lambda: bobs.append(timed(lambda: bob.sql(EXPLODING).collect())))
held.start()
time.sleep(1)
alices = timed(lambda: alice.read.parquet("DATA").groupBy().sum("Expense").collect()[0][0])
held.join()
answer = [bobs[0], alices]
"""
)

FORMS = ("t RLIKE '(.*a){25}b'", r"regexp_replace(t, r'(a|a)*b\1', 'b')", "t LIKE '%a%a%a%a%a%a%a%a%a%a%b'")

BACKTRACKS = TIMED + "".join(
    f"""
def matched():
    return spark.range(2).selectExpr("concat(repeat('a', 60), '!', id) AS t").selectExpr({form!r}).collect()
first = timed(matched)
answer = answer + [first] if "answer" in dir() else [first]
"""
    for form in FORMS
)

AT_ONCE = (
    TIMED
    + """
import threading
bob, alice = session("bob-example"), session("alice-example")
held = [threading.Thread(target=lambda: timed(lambda: bob.sql(EXPLODING).collect())) for _ in range(2)]
for one in held:
    one.start()
time.sleep(2)
answer = [timed(lambda: session("bob-example").range(3).count()), timed(lambda: alice.range(3).schema.simpleString())]
for one in held:
    one.join()
answer.append(timed(lambda: bob.range(3).count()))
"""
)

STREAMS = """
patient = spark.read.parquet("DATA")
answer = []
def started(name):
    stream = spark.readStream.schema(patient.schema).parquet("DATA").select("Id")
    try:
        query = stream.writeStream.format("memory").queryName(name).start()
        answer.append("started")
        return query
    except Exception as error:
        answer.append(str(error))
first = started("one")
started("two")
first.stop()
started("three").stop()
"""

IN_TURNS = (
    TIMED
    + """
import threading
bob, alice = session("bob-example"), session("alice-example")
order = []
WORK = "SELECT sum(length(sha2(repeat(cast(id AS string), 1000000), 512))) FROM range(0, 100, 1, 100)"
held = threading.Thread(target=lambda: (bob.sql(WORK).collect(), order.append("bob")))
held.start()
time.sleep(0.5)
alice.range(0, 4, 1, 4).selectExpr("sum(id)").collect()
order.append("alice")
held.join()
answer = order
"""
)

# Spark computes the constants of VALUES while it analyses.
ANALYSES = (
    TIMED
    + """
import threading
bob, alice = session("bob-example"), session("alice-example")
LONG = ", ".join(["(sha2(repeat('a', 20000000), 512))"] * 60)
def asked():
    request = bob.client._analyze_plan_request_with_metadata()
    request.schema.plan.root.sql.query = f"SELECT * FROM VALUES {LONG}"
    bob.client._stub.AnalyzePlan(request, metadata=bob.client._builder.metadata())
    return "done"
firsts = []
held = [threading.Thread(target=lambda: firsts.append(timed(asked)[0])) for _ in range(2)]
for one in held:
    one.start()
time.sleep(1)
schema = lambda one: timed(lambda: one.range(3).schema.simpleString())[0]
answer = [schema(bob), timed(lambda: bob.range(3)._explain_string())[0], schema(alice)]
for one in held:
    one.join()
answer += [firsts, schema(bob)]
"""
)

# A loop that runs no query; it is let go of by whoever waits, as it would never end.
SCRIPTS = """
import threading
told = []
LOOP = "BEGIN l: LOOP ITERATE l; END LOOP; END"
held = threading.Thread(target=lambda: told.append(outcome(lambda: spark.sql(LOOP).collect())), daemon=True)
held.start()
held.join(30)
answer = told or ["it runs on"]
"""

SESSIONS = """
opened, told = [], []
for _ in range(30):
    one = session("bob-example")
    told.append(outcome(lambda: one.range(3).count()))
    opened.append(one)
    if told[-1] != "done":
        break
refused = opened[-1]
told_settings = outcome(lambda: refused.conf.get("spark.sql.shuffle.partitions"))
alice = session("alice-example").range(3).count()
for one in opened[:-1]:
    one.client.release_session()
answer = [told[-1], told_settings, alice, refused.range(3).count()]
"""

LEFT = """
import time
first, second = session("bob-example"), session("bob-example")
answer = [first.range(3).count(), outcome(lambda: second.range(3).count())]
deadline = time.monotonic() + 60
while (last := outcome(lambda: second.range(3).count())) != "done" and time.monotonic() < deadline:
    time.sleep(0.5)
answer.append(last)
"""

# To find the values of a pivot, Spark runs a query while it analyses. An explanation is given by the guard itself.
PIVOTS = (
    TIMED
    + """
import threading
bob, alice = session("bob-example"), session("alice-example")
PAIRS = "SELECT a.id x, a.id * b.id y FROM range(0, 100000000, 1, 2) a CROSS JOIN range(100000000) b"
pivoted = lambda one: one.sql(PAIRS).groupBy("x").pivot("y").count()
told = {}
asks = {"bob": lambda: str(pivoted(bob).schema), "alice": lambda: pivoted(alice)._explain_string()}
asks["later"] = lambda: session("bob-example").range(3).count()
def asked(name):
    told[name] = timed(asks[name])[0]
held = [threading.Thread(target=asked, args=[name], daemon=True) for name in asks]
for one in held:
    one.start()
    time.sleep(1)
for one in held:
    one.join(60)
answer = [told.get(name, "it runs on") for name in asks]
"""
)

# Clients choose the ids of their operations, or leave them out.
SAME_IDS = (
    TIMED
    + """
import threading, uuid
sessions = [session("bob-example") for _ in range(3)]
def asked(one, name, told):
    request = one.client._execute_plan_request_with_metadata()
    request.operation_id = name
    request.plan.root.sql.query = EXPLODING
    told.append(outcome(lambda: list(one.client._stub.ExecutePlan(request, metadata=one.client._builder.metadata()))))
answer = []
for name in (str(uuid.uuid4()), ""):
    told = []
    held = [threading.Thread(target=asked, args=[one, name, told]) for one in sessions]
    for one in held:
        one.start()
        time.sleep(0.5)
    for one in held:
        one.join()
    answer.append(told)
"""
)

# Elements of elements of elements: years for one row.
LOOPS = (
    TIMED
    + """
import threading
inner = "aggregate(sequence(1, 100000), 0L, (c, z) -> c + z + id)"
for level in range(2):
    inner = f"aggregate(sequence(1, 100000), 0L, (a{level}, x{level}) -> a{level} + {inner})"
first = timed(lambda: spark.sql(f"SELECT sum({inner}) FROM range(0, 4, 1, 4)").collect())
told = []
later = threading.Thread(target=lambda: told.append(session("alice-example").range(3).count()), daemon=True)
later.start()
later.join(20)
quick = ["transform(array(3, 1, 2), x -> x + id)", "array_sort(array(2, 1))", "exists(array(1), x -> x = id)"]
answer = [first, told, [list(row) for row in spark.range(2).selectExpr(*quick).collect()] if told else None]
"""
)

# Computed while a plan is optimised, and not to be stopped; after some seconds it ends by itself.
FAR = "levenshtein(repeat('a', 40000), repeat('b', 40000))"

# Who lets go of what cannot be stopped, or has it interrupted, has it still. Ids may be spelt in many ways.
QUERIES_LET_GO = (
    TIMED
    + f"""
import uuid
from pyspark.sql.connect import proto
FAR = {FAR!r}
def begun(one, spelt):
    request = one.client._execute_plan_request_with_metadata()
    request.operation_id = spelt(str(uuid.uuid4()))
    request.plan.root.sql.query = f"SELECT {{FAR}}"
    request.request_options.add().reattach_options.reattachable = True
    calls.append(one.client._stub.ExecutePlan(request, metadata=one.client._builder.metadata()))
    return request.operation_id.lower()
def let_go(one, operation):
    request = proto.ReleaseExecuteRequest(session_id=one.client._session_id, operation_id=operation)
    request.release_all.SetInParent()
    one.client._stub.ReleaseExecute(request, metadata=one.client._builder.metadata())
ends = [
    (lambda one, operation: let_go(one, operation), str.upper),
    (lambda one, operation: one.client.release_session(), str),
    (lambda one, operation: one.interruptOperation(operation), str),
]
answer, calls = [], []
for end, spelt in ends:
    later, *held = [session("bob-example") for _ in range(3)]
    assert [one.range(3).count() for one in (later, *held)] == [3, 3, 3]
    begun_as = [(begun(one, spelt), calls[-1]) for one in held]
    time.sleep(1)
    while "2 queries of yours" not in outcome(lambda: later.range(3).count()):
        # Who looks has a query, too, so that one of these may have been refused for it.
        begun_as = [
            (begun(one, spelt), calls[-1]) if call.done() else (operation, call)
            for one, (operation, call) in zip(held, begun_as)
        ]
        time.sleep(0.2)
    for one, (operation, _) in zip(held, begun_as):
        end(one, operation)
    first = outcome(lambda: later.range(3).count())
    deadline = time.monotonic() + 120
    while (last := outcome(lambda: later.range(3).count())) != "done" and time.monotonic() < deadline:
        time.sleep(0.5)
    answer.append([first, last])
for one in calls:
    one.cancel()
"""
)

# The same of a stream, whose session is given back.
STREAMS_LET_GO = f"""
import threading, time
def started(one, name, column):
    stream = one.readStream.schema(one.read.parquet("DATA").schema).parquet("DATA").selectExpr("Id", column)
    return stream.writeStream.format("memory").queryName(name).start()
first, second = session("bob-example"), session("bob-example")
query = started(first, "far", {FAR + " AS far"!r})
while not query.status["isTriggerActive"]:
    time.sleep(0.1)
time.sleep(1)
releasing = threading.Thread(target=first.client.release_session, daemon=True)
releasing.start()
time.sleep(1)
answer = [outcome(lambda: started(second, "near", "1 AS near"))]
deadline = time.monotonic() + 120
while (last := outcome(lambda: started(second, "near", "1 AS near").stop())) != "done" and time.monotonic() < deadline:
    time.sleep(0.5)
answer.append(last)
releasing.join(60)
"""

# A stream that its planner is busy with for longer than anybody waits here.
STUCK = (
    TIMED
    + """
import threading
stream = spark.readStream.schema(spark.read.parquet("DATA").schema).parquet("DATA")
stream = stream.selectExpr("Id", "levenshtein(repeat('a', 300000), repeat('b', 300000)) AS far")
stream.writeStream.format("memory").queryName("stuck").start()
time.sleep(3)
told = []
alice = session("alice-example")
held = threading.Thread(target=lambda: told.append(timed(lambda: alice.sql(EXPLODING).collect())), daemon=True)
held.start()
held.join(25)
answer = told
"""
)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    limits = {"seconds": SECONDS, "queries": 2, "streams": 1, "analyses": 2, "sessions": 16}
    programs = {"explodes": EXPLODES, "backtracks": BACKTRACKS, "at once": AT_ONCE, "streams": STREAMS}
    programs |= {"in turns": IN_TURNS, "analyses": ANALYSES, "scripts": SCRIPTS, "sessions": SESSIONS}
    programs |= {"pivots": PIVOTS}
    with running_endpoint(tmp_path_factory.mktemp("limits"), limits) as endpoint:
        return answers_to(endpoint, {name: (BOB, "", program) for name, program in programs.items()})


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Of an endpoint of their own: what keeps a core to itself would keep it from the others."""
    programs = {"same ids": SAME_IDS, "loops": LOOPS, "stuck": STUCK}
    with running_endpoint(tmp_path_factory.mktemp("held"), {"seconds": SECONDS, "queries": 2}) as endpoint:
        return answers_to(endpoint, {name: (BOB, "", program) for name, program in programs.items()})


@pytest.fixture(scope="module")
def let_go(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    programs = {"queries": QUERIES_LET_GO, "streams": STREAMS_LET_GO}
    with running_endpoint(tmp_path_factory.mktemp("let_go"), {"queries": 2, "streams": 1}) as endpoint:
        return answers_to(endpoint, {name: (BOB, "", program) for name, program in programs.items()})


def _was_stopped(found: str, seconds: float) -> None:
    assert f"the query ran for more than {SECONDS} s" in found
    assert SECONDS <= seconds < SECONDS + 30


def test_a_join_that_explodes_is_stopped_and_others_go_on(answers) -> None:
    bobs, (alices, seconds) = answer_of(answers, "explodes")
    _was_stopped(*bobs)
    assert alices == 21_300
    assert seconds < SECONDS + 30


def test_a_pattern_that_backtracks_lets_go(answers) -> None:
    for found in answer_of(answers, "backtracks"):
        _was_stopped(*found)


def test_nobody_has_more_than_a_number_of_queries_at_once(answers) -> None:
    refused, alices, later = answer_of(answers, "at once")
    assert "2 queries of yours are running" in refused[0]
    assert refused[1] < SECONDS
    assert alices[0] == "struct<id:bigint>"
    assert later[0] == 3


def test_nobody_has_more_than_a_number_of_streams_at_once(answers) -> None:
    first, second, third = answer_of(answers, "streams")
    assert (first, third) == ("started", "started")
    assert "1 streams of yours are running" in second


def test_tasks_of_users_take_turns(answers) -> None:
    assert answer_of(answers, "in turns") == ["alice", "bob"]


def test_nobody_has_more_than_a_number_of_plans_analysed_at_once(answers) -> None:
    schema, explained, alices, firsts, later = answer_of(answers, "analyses")
    for told in (schema, explained):
        assert "2 plans of yours are being analysed" in told
    assert firsts == ["done", "done"]
    assert alices == later == "struct<id:bigint>"


def test_a_query_inside_of_an_analysis_is_stopped_and_others_go_on(answers) -> None:
    """Whoever asks for the columns of such a plan, or for an explanation, has all cores work without a query."""
    *stopped, later = answer_of(answers, "pivots")
    for told in stopped:
        assert f"the query ran for more than {SECONDS} s" in told
    assert later == 3


def test_a_script_that_never_ends_does_not_begin(answers) -> None:
    """The time that a query may take is looked at by its tasks; a loop of a script may have none."""
    assert "SQL_SCRIPTING" in answer_of(answers, "scripts")[0]


def test_nobody_has_more_than_a_number_of_sessions(answers) -> None:
    """Nor does one get around it with requests that are no queries; what was let go of counts no more."""
    query, setting, alices, later = answer_of(answers, "sessions")
    for told in (query, setting):
        assert "16 sessions of yours are open" in told
    assert (alices, later) == (3, 3)


def test_queries_are_counted_whatever_clients_call_them(held) -> None:
    """One id in many sessions, or none, does not make one query of many."""
    for told in answer_of(held, "same ids"):
        assert sorted("2 queries of yours are running" in one for one in told) == [False, False, True]
        assert sum(f"the query ran for more than {SECONDS} s" in one for one in told) == 2


def test_what_cannot_be_stopped_counts_until_it_has_ended(let_go) -> None:
    """Spark forgets an execution that is released, whose session is, or that is interrupted; its thread goes on."""
    found = answer_of(let_go, "queries")
    assert len(found) == 3
    for first, last in found:
        assert "2 queries of yours are running" in first
        assert last == "done"


def test_a_stream_that_cannot_be_stopped_counts_until_it_has_ended(let_go) -> None:
    first, last = answer_of(let_go, "streams")
    assert "1 streams of yours are running" in first
    assert last == "done"


def test_a_loop_within_a_row_lets_go(held) -> None:
    stopped, later, small = answer_of(held, "loops")
    _was_stopped(*stopped)
    assert later == [3]
    assert small == [[[3, 1, 2], [1, 2], False], [[4, 2, 3], [1, 2], True]]


def test_a_stream_that_cannot_be_stopped_keeps_nobody_from_being(held) -> None:
    (alices,) = answer_of(held, "stuck")
    _was_stopped(*alices)


def test_a_session_that_is_not_used_is_closed(tmp_path) -> None:
    """Who looks after the limits uses no session by looking."""
    manager = "spark.connect.session.manager"
    config = {f"{manager}.defaultSessionTimeout": "3s", f"{manager}.maintenanceInterval": "1s"}
    with running_endpoint(tmp_path, {"sessions": 1}, config) as endpoint:
        found = answers_to(endpoint, {"left": (ALICE, "", LEFT)})
    first, told, last = answer_of(found, "left")
    assert first == 3
    assert "1 sessions of yours are open" in told
    assert last == "done"
