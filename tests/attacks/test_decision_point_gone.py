"""Way in 8: a decision point that is down, or answers no more, for plans it knows and for new ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from endpoints import BOB, answer_of, answers_to, running_endpoint
from guarded import USERS, drained, policy, rows

from headgate.guard import Guard, Settings, Source, gateway, session, table_schema
from headgate.model.schema import StreamCatalog
from headgate.policy.yaml_file import parse_policies
from headgate.spark.callback import callback_client

# It goes down: nothing listens any more where Spark calls it.

GOES_DOWN = """
by_path = spark.read.parquet("DATA")
by_path.createOrReplaceTempView("patients")
known, new = spark.table("patients").select("Id"), spark.table("patients").selectExpr("Id + 1")
asked = lambda *frames: [outcome(frame.collect) for frame in frames]
answer = asked(known, by_path)
change(None)
answer += asked(known, new, by_path)
"""


def test_a_decision_point_that_is_down_is_a_refusal(tmp_path) -> None:
    with running_endpoint(tmp_path) as endpoint:
        answers = answers_to(endpoint, {"down": (BOB, "", GOES_DOWN)})
    first, second, *afterwards = answer_of(answers, "down")
    assert (first, second) == ("done", "done")
    assert len(afterwards) == 3
    for one in afterwards:
        assert "refused by the guard: the decision point cannot be reached" in one


# It hangs: whom it tells of a use does not answer. Batches of a stream are not decided on by the program's own thread.


@pytest.fixture
def soon(world) -> Iterator[None]:
    """A decision has to come within three seconds."""
    hook, client = gateway.attach(world.spark), callback_client(world.spark)
    hook.register(gateway.POINT, client, 3)
    yield
    hook.register(gateway.POINT, client, 60)


@pytest.mark.usefixtures("soon")
def test_a_decision_point_that_answers_no_more_is_a_refusal(world, tmp_path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.txt").write_text("Fund\nAssociation\n")
    lines = world.spark.createDataFrame([("a",)], "value string").schema
    catalog = StreamCatalog([table_schema("words", lines, owner="bea")])
    some = policy("some", "object: {tables: [words], where: value <> 'Fund'}, allow: [read]")
    answers = threading.Event()
    guard = Guard(
        catalog,
        parse_policies(f"version: 1\npolicies:\n{some}", catalog),
        USERS,
        Settings({"words": Source(path=str(tmp_path / "in"))}),
        tell=lambda _: answers.wait(),
    )
    ann = session("ann", guard, world.spark)

    def started(name: str, column: str) -> Any:
        stream = ann.readStream.text(str(tmp_path / "in")).selectExpr(f"{column} AS word")
        return stream.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()

    answers.set()
    drained(started("asked_before", "value"))
    answers.clear()
    for name, column in (("known", "value"), ("new", "upper(value)")):
        query = started(f"{name}_and_waiting", column)
        with pytest.raises(Exception, match=r"refused by the guard: .* cannot be reached \(TimeoutException\)"):
            query.awaitTermination(60)
    answers.set()
    # What was answered too late is nobody's answer.
    for name, column, word in (("one", "value", "Association"), ("other", "upper(value)", "ASSOCIATION")):
        drained(started(f"{name}_later", column))
        assert rows(ann.table(f"{name}_later")) == [(word,)]
