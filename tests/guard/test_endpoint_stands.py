"""What would end the endpoint, or its shares, for everybody fails by itself, and others go on (way in 20)."""

from __future__ import annotations

from typing import Any

import pytest
from endpoints import BOB, answer_of, answers_to, running_endpoint

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


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    programs = {"overflows": OVERFLOWS.replace("CONDITIONS", repr(TRIED + OTHERS)), "used again": USED_AGAIN}
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
