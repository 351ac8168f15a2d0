"""What would end the endpoint, or its shares, for everybody fails by itself, and others go on (way in 20)."""

from __future__ import annotations

from typing import Any

import pytest
from endpoints import BOB, answer_of, answers_to, running_endpoint
from requests_by_hand import BY_HAND

TRIED = [
    "repeat('a', 200000 + id) RLIKE '^(a|b)*c'",
    "regexp_replace(repeat('a', 200000 + id), '^(a|b)*c', '') = 'a'",
]
"""Java calls itself for each repetition of a group. The guard tries these beforehand, with a matcher of its own."""

OTHERS = [
    r"repeat('\n\r\n', 200000 + id) RLIKE r'^(\R)*c'",
    "repeat('a\U0001f600', 200000 + id) RLIKE '^(.)*c'",
    "'x' RLIKE repeat('(', 100000 + id)",
]
"""With one repetition, and none."""

OVERFLOWS = """
answer = []
for condition in CONDITIONS:
    told = outcome(lambda: spark.sql(f"SELECT count(*) FROM range(1) WHERE {condition}").collect())
    answer.append([told, session("alice-example").range(3).count()])
"""

# Computed while a plan is optimised, and not to be stopped; after some seconds it ends by itself.
USED_AGAIN = """
import time, uuid
from pyspark.sql.connect import proto
stub, metadata = spark.client._stub, spark.client._builder.metadata()
def asked(name, query):
    request = spark.client._execute_plan_request_with_metadata()
    request.operation_id = name
    request.plan.root.sql.query = query
    request.request_options.add().reattach_options.reattachable = True
    return stub.ExecutePlan(request, metadata=metadata)
def named(kind, name):
    return kind(session_id=spark.client._session_id, operation_id=name)
spark.range(1).count()
FAR = "SELECT levenshtein(repeat('a', 25000), repeat('b', 25000))"
name = str(uuid.uuid4())
first = asked(name, FAR)
time.sleep(1)
release = named(proto.ReleaseExecuteRequest, name)
release.release_all.SetInParent()
stub.ReleaseExecute(release, metadata=metadata)
answer = [outcome(lambda: list(asked(name, "SELECT 1")))]
time.sleep(1)
answer.append(outcome(lambda: list(asked(name, "SELECT 1"))))
deadline = time.monotonic() + 120
while (last := outcome(lambda: list(asked(name, "SELECT 1")))) != "done" and time.monotonic() < deadline:
    time.sleep(0.5)
answer.append(last)
other = str(uuid.uuid4())
call = asked(other, FAR)
time.sleep(1)
call.cancel()
answer.append(outcome(lambda: list(asked(other, "SELECT 1"))))
reattached = stub.ReattachExecute(named(proto.ReattachExecuteRequest, other), metadata=metadata)
answer.append(outcome(lambda: list(reattached)))
first.cancel()
"""

# Python reads types as JSON, and makes an object of each of these.
TYPES = (
    BY_HAND
    + """
MANY = '{"type": "struct", "fields": [' + ", ".join(["{}"] * 1000000) + "]}"
def read(plan):
    plan.root.read.data_source.format = "parquet"
    plan.root.read.data_source.schema = MANY
def made(plan):
    plan.root.local_relation.schema = MANY
answer = [both(read), both(made)]
columns = ", ".join(f'{{"name": "c{i}", "type": "long", "nullable": true, "metadata": {{}}}}' for i in range(3000))
def wide(plan):
    plan.root.local_relation.schema = f'{{"type": "struct", "fields": [{columns}]}}'
answer.append(outcome(lambda: analysed(wide)))
"""
)

# What is refused for its type has been looked at by Python; and what is refused for the number of them, has not.
TYPES_AT_ONCE = (
    BY_HAND
    + """
import threading
LONG = '{"type": "struct", "fields": [' + ", ".join(["{}"] * 250000) + '], "class": "java.util.Timer", "type": "udt"}'
def read(plan):
    plan.root.read.data_source.format = "parquet"
    plan.root.read.data_source.schema = LONG
told = []
def ask(act):
    told.append(outcome(lambda: act(read)))
held = [threading.Thread(target=ask, args=[act]) for act in [analysed, executed] * 15]
for one in held:
    one.start()
for one in held:
    one.join()
answer = told
"""
)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    programs = {"overflows": OVERFLOWS.replace("CONDITIONS", repr(TRIED + OTHERS)), "used again": USED_AGAIN}
    programs |= {"types": TYPES, "types at once": TYPES_AT_ONCE}
    # Newer versions of Spark remember for a while which ids were there, and take none of them again.
    config = {"spark.connect.session.inactiveOperations.cacheExpiration": "1ms"}
    with running_endpoint(tmp_path_factory.mktemp("stands"), {"queries": 2, "analyses": 2}, config) as endpoint:
        return answers_to(endpoint, {name: (BOB, "", program) for name, program in programs.items()})


def test_a_pattern_that_takes_the_whole_stack_fails_its_own_query_only(answers) -> None:
    """Spark ends the process of a task that took all of the stack, and with a local master that is the endpoint's."""
    told = answer_of(answers, "overflows")
    assert [count for _, count in told] == [3] * len(TRIED + OTHERS)
    for why, _ in told:
        assert "The query failed while it ran" in why
    for why, _ in told[: len(TRIED)]:
        assert "[INVALID_PARAMETER_VALUE.PATTERN]" in why


def test_an_id_of_what_still_runs_is_not_used_again(answers) -> None:
    """Else a user had as many queries as they like, each of one id, as the one before was let go of and goes on."""
    at_once, later, ended, listed, reattached = answer_of(answers, "used again")
    for told in (at_once, later):
        assert "a query of yours with this id still runs" in told
    assert ended == "done"
    assert "OPERATION_ALREADY_EXISTS" in listed
    assert reattached == "done"


def test_a_type_that_is_very_long_is_not_looked_at(answers) -> None:
    read, made, wide = answer_of(answers, "types")
    for told in (*read, *made):
        assert "longer than 1 MB" in told
    assert wide == "done"


def test_types_are_looked_at_for_as_many_requests_as_a_user_may_have(answers) -> None:
    """Decisions for everybody wait for what Python is busy with."""
    told = answer_of(answers, "types at once")
    assert any("2 plans of yours are being analysed" in one for one in told)
    assert any("2 queries of yours are running" in one for one in told)
