"""Way in 13: a frame of a session in process is decided on whenever it runs, not only when it was first planned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from guarded import ALL, DEPARTMENTS, OWN, as_spark_finds, policy, refused, rows

from headgate.guard import Guard, gateway, session
from headgate.policy.yaml_file import parse_policies

EVERYBODY = [(one,) for one in range(1, 6)]
VISIBLE = [(1,), (2,)]


@pytest.fixture
def guard(world) -> Guard:
    return world.guard(ALL + DEPARTMENTS)


@pytest.fixture
def ann(world, guard: Guard):
    yield session("ann", guard, world.spark)
    world.spark.catalog.clearCache()


def put_in_force(guard: Guard, policies: str) -> None:
    guard.replace_policies(parse_policies(f"version: 1\npolicies:\n{policies or ' []'}", guard.catalog))


def _from_frames(ann: Any) -> Any:
    return ann.table("emp").select("id")


def _from_sql(ann: Any) -> Any:
    return ann.sql("SELECT id FROM emp")


def _joined(ann: Any) -> Any:
    """With an exchange, so that Spark plans it adaptively and keeps its stages."""
    return ann.table("emp").join(ann.table("dept").hint("merge"), ann.table("emp").dept == ann.table("dept").code)[
        ["id"]
    ]


def _grouped(ann: Any) -> Any:
    return ann.sql("SELECT id FROM emp GROUP BY id HAVING count(*) = 1")


def _kept(ann: Any) -> Any:
    return _from_frames(ann).persist()


def _viewed(ann: Any) -> Any:
    _from_frames(ann).createOrReplaceTempView("mine")
    return ann.table("mine")


MADE = [_from_frames, _from_sql, _joined, _grouped, _kept, _viewed]


def _collected(frame: Any) -> Any:
    return rows(frame)


def _as_pandas(frame: Any) -> Any:
    return sorted((one,) for one in frame.toPandas()["id"].tolist())


def _as_arrow(frame: Any) -> Any:
    return sorted((one,) for one in frame.toArrow()["id"].to_pylist())


def _one_by_one(frame: Any) -> Any:
    return sorted(map(tuple, frame.toLocalIterator()))


def _checkpointed(frame: Any) -> Any:
    """In Spark this takes rows, statistics and what is known of values from three stages of one plan."""
    return rows(frame.localCheckpoint().where("id IS NOT NULL"))


def _last(frame: Any) -> Any:
    return sorted(map(tuple, frame.tail(9)))


@pytest.mark.filterwarnings("ignore:toPandas attempted Arrow optimization")
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("run", [_collected, _as_pandas, _as_arrow, _one_by_one, _checkpointed, _last])
def test_a_frame_that_runs_again_follows_the_policies(
    guard: Guard, ann: Any, made: Callable[[Any], Any], run: Callable[[Any], Any]
) -> None:
    frame = made(ann)
    assert run(frame) == EVERYBODY
    put_in_force(guard, OWN + DEPARTMENTS)
    assert run(frame) == VISIBLE
    put_in_force(guard, "")
    with refused():
        run(frame)
    put_in_force(guard, ALL + DEPARTMENTS)
    assert run(frame) == EVERYBODY, "and what is given back is there again"


@pytest.mark.parametrize("made", MADE)
def test_a_plan_that_another_frame_was_allowed_meanwhile_is_not_the_first_one(
    guard: Guard, ann: Any, made: Callable[[Any], Any]
) -> None:
    """Both are described alike, so that the guard knows an answer; not the one that the first frame was planned by."""
    first = made(ann)
    assert rows(first) == EVERYBODY
    put_in_force(guard, OWN + DEPARTMENTS)
    assert rows(made(ann)) == VISIBLE
    assert rows(first) == VISIBLE


def test_a_frame_that_was_persisted_and_never_run_follows(guard: Guard, ann: Any) -> None:
    frame = _kept(ann)
    put_in_force(guard, OWN + DEPARTMENTS)
    assert rows(frame) == VISIBLE
    frame.unpersist()
    assert rows(frame) == VISIBLE


def test_a_plan_that_was_only_looked_at_follows(guard: Guard, ann: Any) -> None:
    frame = _from_frames(ann)
    frame._jdf.queryExecution().executedPlan()
    put_in_force(guard, OWN + DEPARTMENTS)
    assert rows(frame) == VISIBLE


def test_the_plan_that_is_shown_is_the_one_that_runs(guard: Guard, ann: Any) -> None:
    frame = _from_frames(ann)
    frame.collect()
    put_in_force(guard, OWN + DEPARTMENTS)
    execution = frame._jdf.queryExecution()
    for plan in (execution.optimizedPlan(), execution.sparkPlan(), execution.executedPlan()):
        assert "= A)" in plan.toString(), "the condition of the policy"


def _mapped(frame: Any) -> Any:
    return frame.rdd.map(lambda row: row.id)


def _shuffled(frame: Any) -> Any:
    return frame.rdd.map(lambda row: (row.id, row.id)).sortByKey(numPartitions=1).keys()


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("worked_on", [_mapped, _shuffled])
def test_rows_that_a_program_works_on_are_refused_once_policies_have_changed(
    guard: Guard, ann: Any, made: Callable[[Any], Any], worked_on: Callable[[Any], Any]
) -> None:
    """Spark runs an RDD without asking the frame that it was made of."""
    frame = made(ann)
    numbers, more = worked_on(frame), worked_on(frame)
    assert sorted(numbers.collect()) == [1, 2, 3, 4, 5]
    put_in_force(guard, OWN + DEPARTMENTS)
    with pytest.raises(Exception, match="refused by the guard: policies have changed"):
        more.collect()
    assert sorted(worked_on(made(ann)).collect()) == [1, 2]
    put_in_force(guard, ALL + DEPARTMENTS)
    assert sorted(more.collect()) == [1, 2, 3, 4, 5], "what is given back is there again"


def test_rows_that_a_program_works_on_stay_while_their_decision_does(world) -> None:
    """Spark's scheduler asks, which must not wait for somebody who is told and asks Spark in turn."""
    guard = world.guard(ALL, owners={"emp": "bea"})
    numbers = _mapped(_from_frames(session("ann", guard, world.spark)))
    put_in_force(guard, ALL + policy("more", "object: {tables: [TABLE]}, allow: [read]", role="boss"))
    told = len(guard.notifications)
    assert sorted(numbers.collect()) == [1, 2, 3, 4, 5]
    assert told == len(guard.notifications) == 1


def test_a_decision_point_that_is_down_lets_no_program_work_on_rows(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Way in 8."""
    numbers = _mapped(_from_frames(ann))

    def fail(*_: object) -> str:
        raise RuntimeError("down")

    monkeypatch.setattr(gateway.POINT, "recall", fail)
    with pytest.raises(Exception, match="refused by the guard: policies have changed"):
        numbers.collect()


def test_a_function_is_not_called_with_rows_that_were_allowed_before(guard: Guard, ann: Any) -> None:
    frame = _from_frames(ann)
    called = ann.sparkContext.accumulator(0)
    frame.foreach(lambda _: called.add(1))
    assert called.value == 5
    put_in_force(guard, OWN + DEPARTMENTS)
    with pytest.raises(Exception, match="refused by the guard: policies have changed"):
        frame.foreach(lambda _: called.add(1))
    assert called.value == 5
    _from_frames(ann).foreach(lambda _: called.add(1))
    assert called.value == 7


def test_a_plan_that_is_looked_at_is_asked_about_once(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning goes in steps, of which each asks for those before it."""
    asked: list[str] = []
    recall = gateway.POINT.recall

    def counted(guard: str, digest: str, runs: bool) -> str:
        asked.append(digest)
        return recall(guard, digest, runs)

    monkeypatch.setattr(gateway.POINT, "recall", counted)
    frame = _joined(ann)
    for times in (1, 2):
        frame._jdf.queryExecution().executedPlan()
        assert len(asked) == times
    frame.collect()
    assert len(asked) == 3


def test_a_frame_that_was_refused_runs_once_it_may(world, guard: Guard) -> None:
    put_in_force(guard, DEPARTMENTS)
    frame = _from_frames(session("ann", guard, world.spark))
    with refused():
        frame.collect()
    put_in_force(guard, OWN)
    assert rows(frame) == VISIBLE


def test_a_guard_that_is_gone_takes_its_frames_along(world) -> None:
    """Way in 8."""
    own = world.guard(ALL)
    frame = _from_frames(session("ann", own, world.spark))
    assert rows(frame) == EVERYBODY
    frame.sparkSession._headgate_guard = None
    del own
    with refused("is gone"):
        frame.collect()


def test_a_decision_point_that_is_down_lets_no_frame_run_again(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Way in 8."""
    frame = _from_frames(ann)
    assert rows(frame) == EVERYBODY

    def fail(*_: object) -> str:
        raise RuntimeError("down")

    monkeypatch.setattr(gateway.POINT, "recall", fail)
    with refused("the decision point cannot be reached"):
        frame.collect()


def test_owners_are_told_each_time(world) -> None:
    guard = world.guard(ALL, owners={"emp": "bea"})
    frame = _from_frames(session("ann", guard, world.spark))
    for times in (1, 2, 3):
        frame.collect()
        frame._jdf.queryExecution().executedPlan()
        assert len(guard.notifications) == times, "and not of plans that are looked at"


def test_a_frame_is_planned_once_while_its_decision_stands(guard: Guard, ann: Any) -> None:
    identity = ann.sparkContext._jvm.java.lang.System.identityHashCode
    frame = _from_frames(ann)
    plans = []
    for policies in (ALL, OWN):
        put_in_force(guard, policies)
        for _ in range(2):
            frame.collect()
            plans.append(identity(frame._jdf.queryExecution().executedPlan()))
    first, again, second, once_more = plans
    assert (first, second) == (again, once_more)
    assert first != second


# Sessions that Spark finds for a program: frames of their SQL are Spark's own, and do not follow.


LONE = {
    "plain": lambda frame: frame,
    "kept": lambda frame: frame.persist(),
    "limited": lambda frame: frame.sparkSession.sql("SELECT id FROM emp LIMIT 9"),
    "ordered": lambda frame: frame.sparkSession.sql("SELECT id FROM emp ORDER BY id LIMIT 9"),
    "grouped": lambda frame: frame.sparkSession.sql("SELECT id FROM emp GROUP BY id"),
}


@pytest.mark.filterwarnings("ignore:toPandas attempted Arrow optimization")
@pytest.mark.parametrize("form", LONE)
@pytest.mark.parametrize("run", [_collected, _as_pandas, _as_arrow, _one_by_one, _last])
def test_a_frame_that_does_not_follow_is_refused_once_policies_have_changed(
    guard: Guard, ann: Any, form: str, run: Callable[[Any], Any]
) -> None:
    frame = LONE[form](as_spark_finds(ann).sql("SELECT id FROM emp"))
    assert run(frame) == EVERYBODY
    assert run(frame) == EVERYBODY
    put_in_force(guard, OWN + DEPARTMENTS)
    with pytest.raises(Exception, match="refused by the guard: policies have changed"):
        run(frame)
    assert rows(frame.select("id")) == VISIBLE, "what is made of it follows"
    assert rows(as_spark_finds(ann).sql("SELECT id FROM emp")) == VISIBLE


def test_rows_of_a_frame_that_does_not_follow_are_refused_too(guard: Guard, ann: Any) -> None:
    numbers = _mapped(as_spark_finds(ann).sql("SELECT id FROM emp"))
    assert sorted(numbers.collect()) == [1, 2, 3, 4, 5]
    put_in_force(guard, OWN + DEPARTMENTS)
    with pytest.raises(Exception, match="refused by the guard: policies have changed"):
        numbers.map(lambda one: one + 0).collect()


def test_commands_of_a_session_that_spark_finds_run_as_ever(ann: Any) -> None:
    found = as_spark_finds(ann)
    found.sql("CREATE OR REPLACE TEMPORARY VIEW few AS SELECT id FROM emp WHERE id < 3")
    assert rows(found.sql("SELECT * FROM few")) == VISIBLE
    assert "few" in [row[1] for row in rows(found.sql("SHOW TABLES"))]
