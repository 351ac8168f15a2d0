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


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    programs = {"overflows": OVERFLOWS.replace("CONDITIONS", repr(TRIED + OTHERS))}
    with running_endpoint(tmp_path_factory.mktemp("stands"), {"queries": 2, "analyses": 2}) as endpoint:
        return answers_to(endpoint, {name: (BOB, "", program) for name, program in programs.items()})


def test_a_pattern_that_takes_the_whole_stack_fails_its_own_query_only(answers) -> None:
    """Spark ends the process of a task that took all of the stack, and with a local master that is the endpoint's."""
    told = answer_of(answers, "overflows")
    assert [count for _, count in told] == [3] * len(TRIED + OTHERS)
    for why, _ in told:
        assert "The query failed while it ran" in why
    for why, _ in told[: len(TRIED)]:
        assert "[INVALID_PARAMETER_VALUE.PATTERN]" in why
