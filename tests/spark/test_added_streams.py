"""Streams that come later, and streams that say nothing: what one stream has forgotten is not another's loss."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headgate.spark.api import Headgate

COLUMNS = {"SID": "string", "ts": "timestamp"}


def at(second: int) -> str:
    return f"2026-01-01T08:{second // 60:02d}:{second % 60:02d}Z"


def opening(stream: str, second: int, sign: str = "+") -> dict[str, object]:
    ddp = {"stream": stream, "tuple": "*", "attributes": "*"}
    srp = {"model": "rbac", "subjects": ["D"]}
    return {"sp": {"pt": "dsp", "ddp": ddp, "srp": srp, "sign": sign, "ts": at(second), "et": "D"}}


def flows(hg: Headgate, stream: str, *elements: dict[str, object]) -> None:
    hg.push(stream, elements)
    hg.drain()


@pytest.mark.parametrize("governed", [True, False])
def test_a_stream_that_is_added_may_begin_before_what_the_others_have_forgotten(
    spark: SparkSession, tmp_path: Path, governed: bool
) -> None:
    with Headgate(spark, root=str(tmp_path)) as hg:
        hg.stream("Position", COLUMNS, owner="ann", governed=True)
        hg.user("ann", roles=["D"])
        old = hg.query("SELECT SID FROM Position", user="ann")
        for second in range(10, 14):
            flows(hg, "Position", opening("Position", second), {"SID": f"p{second}", "ts": at(second + 1)})
        hg.stream("Health", COLUMNS, owner="ann", governed=governed)
        new = hg.query("SELECT SID FROM Health", user="ann")
        tuples = [{"SID": f"h{second}", "ts": at(second)} for second in (1, 3, 5)]
        flows(hg, "Health", opening("Health", 2), opening("Health", 4, "-"), *tuples)
        assert [row["SID"] for row in old.rows()] == ["p10", "p11", "p12", "p13"]
        assert [row["SID"] for row in new.rows()] == (["h3"] if governed else ["h1", "h3", "h5"])


def test_a_silent_stream_does_not_keep_what_the_others_have_said(spark: SparkSession, tmp_path: Path) -> None:
    with Headgate(spark, root=str(tmp_path)) as hg:
        hg.stream("Position", COLUMNS, owner="ann", governed=True)
        hg.stream("Silent", COLUMNS, owner="ann", governed=True)
        hg.user("ann", roles=["D"])
        near = hg.query("SELECT SID FROM Position", user="ann")
        for epoch in range(6):
            said = [opening("Position", 10 * epoch + one, "+-"[one % 2]) for one in range(8)]
            flows(hg, "Position", *said, {"SID": f"p{epoch}", "ts": at(10 * epoch + 1)})
        assert len(hg.engine.state.timeline) <= 16
        assert [row["SID"] for row in near.rows()] == [f"p{epoch}" for epoch in range(6)]
