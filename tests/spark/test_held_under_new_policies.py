"""A tuple that is held when policies change: what was not asked of it when it arrived counts against showing it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headgate.policy.store.catalog import Catalog
from headgate.spark.api import Headgate
from headgate.spark.engine import Settings

OPEN = "GRANT READ ON STREAM Health TO ROLE Doctor; GRANT READ ON STREAM Position TO ROLE Doctor;"
JOINED = "SELECT BPressure, Pos FROM Health [RANGE 1 h], Position [RANGE 1 h] WHERE Health.Platoon = Position.Platoon"
DENY = """
version: 1
policies:
  - {id: health, subject: {role: Doctor}, object: {streams: [Health]}, allow: [read]}
  - {id: position, subject: {role: Doctor}, object: {streams: [Position]}, allow: [read]}
  - id: together
    subject: {role: Doctor}
    object: {streams: [Health, Position], attributes: [BPressure], where: "Health.SID = Position.SID"}
    deny: [read]
"""

WITHOUT_DENY = DENY[: DENY.index("  - id: together")]


def at(second: int) -> str:
    return f"2026-01-01T08:00:{second:02d}Z"


def opened(spark: SparkSession, catalog: Catalog, root: Path, one_task: int = 2_000_000) -> Headgate:
    hg = Headgate(spark, catalog, root=str(root), settings=Settings(one_task=one_task))
    hg.stream("Health", {"SID": "string", "Platoon": "int", "BPressure": "int", "ts": "timestamp"})
    hg.stream("Position", {"SID": "string", "Platoon": "int", "Pos": "int", "ts": "timestamp"})
    hg.user("ann", roles=["Doctor"])
    return hg


def health(sid: str, pressure: int, second: int) -> dict[str, object]:
    return {"SID": sid, "Platoon": 1, "BPressure": pressure, "ts": at(second)}


def position(sid: str, place: int, second: int) -> dict[str, object]:
    return {"SID": sid, "Platoon": 1, "Pos": place, "ts": at(second)}


@pytest.mark.parametrize("one_task", [2_000_000, 0])
def test_a_new_joint_deny_withholds_what_it_cannot_compare(spark: SparkSession, tmp_path: Path, one_task: int) -> None:
    with Catalog.open() as catalog, opened(spark, catalog, tmp_path / "data", one_task) as hg:
        hg.policies.apply(OPEN)
        pairs = hg.query(JOINED, user="ann")
        hg.push("Health", [health("s1", 91, 1), health("s2", 92, 2)])
        hg.drain()
        hg.policies.apply(DENY)
        hg.push("Position", [position("s1", 5, 3)])
        hg.drain()
        assert [row["BPressure"] for row in pairs.rows()] == [None, None]
        hg.push("Health", [health("s1", 93, 4), health("s2", 94, 5)])
        hg.drain()
        assert sorted(str(row["BPressure"]) for row in pairs.rows()) == ["94", "None"], "what came since is compared"


def test_a_deny_that_comes_back_withholds_what_came_without_it(spark: SparkSession, tmp_path: Path) -> None:
    """Whether the driver knows the condition from before, or from what it wrote down, it was not asked meanwhile."""
    deny = "DENY READ ON STREAM Health WHERE BPressure > 90 TO ROLE Doctor;"
    with Catalog.open() as catalog:
        with opened(spark, catalog, tmp_path / "data") as hg:
            hg.policies.apply(OPEN)
            identifier = hg.query(JOINED, user="ann").id
            hg.policies.apply(deny)
            hg.push("Health", [health("s1", 91, 1)])
            hg.drain()
            hg.policies.apply(WITHOUT_DENY)
            hg.push("Health", [health("s2", 92, 2)])
            hg.drain()
        with opened(spark, catalog, tmp_path / "data") as hg:
            hg.push("Health", [health("s3", 93, 3), health("s4", 4, 3)])
            hg.drain()
            pairs = hg.handle(identifier)
            hg.policies.apply(deny)
            hg.push("Position", [position("s1", 5, 4)])
            hg.drain()
            assert [row["BPressure"] for row in pairs.rows()] == [None] * 4, "and what is not known is not shown"
            hg.push("Health", [health("s5", 95, 5), health("s6", 6, 5)])
            hg.drain()
            assert sorted(str(row["BPressure"]) for row in pairs.rows()) == ["6", "None"]


@pytest.mark.parametrize("restarted", [False, True])
def test_what_was_paired_is_not_given_again_when_a_predicate_is_taken_out(
    spark: SparkSession, tmp_path: Path, restarted: bool
) -> None:
    """Without its equality a join is matched by something else, and would begin anew."""
    removing = WITHOUT_DENY.replace("version: 1", "version: 1\ndefaults: {on_assist_denied: remove}")
    about = "object: {streams: [Health], attributes: [Platoon]}"
    no_key = removing + f"  - {{id: key, subject: {{role: Doctor}}, {about}, deny: [assist, read]}}\n"
    with Catalog.open() as catalog:
        hg = opened(spark, catalog, tmp_path / "data")
        hg.policies.apply(removing)
        pairs = hg.query(JOINED, user="ann")
        hg.push("Health", [health("s1", 91, 1)])
        hg.push("Position", [position("s1", 5, 2)])
        hg.drain()
        assert len(pairs.rows()) == 1
        if restarted:
            hg.close()
        hg.policies.apply(no_key)
        if restarted:
            hg = opened(spark, catalog, tmp_path / "data")
            pairs = hg.handle(pairs.id)
        hg.push("Position", [{**position("s1", 6, 3), "Platoon": 2}])
        hg.drain()
        assert [row["Pos"] for row in pairs.rows()] == [6]
        hg.close()
