"""What a folder lets go of: superseded plans, old results, aged segments; and what it keeps for as long as it must."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from headgate.errors import ConflictError, GoneError
from headgate.model.duration import parse_duration
from headgate.model.instant import Instant
from headgate.policy.store.catalog import Catalog
from headgate.spark.api import Headgate
from headgate.spark.engine import Settings
from headgate.spark.handle import Row
from headgate.spark.retention import AT_ONCE, PARTS, Kept
from headgate.spark.storage import LocalStorage, numbered

COLUMNS = {"SID": "string", "Pos": "int", "ts": "timestamp"}
MINUTE = parse_duration("1 min")


class Clock:
    """An engine's clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now: Instant = 1_700_000_000_000_000

    def __call__(self) -> Instant:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    real: Callable[[Headgate], object] = Headgate.engine.fget  # type: ignore[attr-defined]

    def engine(hg: Headgate) -> object:
        found = real(hg)
        found._clock = made  # type: ignore[attr-defined]
        return found

    monkeypatch.setattr(Headgate, "engine", property(engine))
    return made


def opened(
    spark: SparkSession, root: Path, catalog: Catalog, keep: str | None = None, carried: bool = False
) -> Headgate:
    settings = Settings(carried=carried, keep_results=parse_duration(keep) if keep else None)
    hg = Headgate(spark, catalog, root=str(root), settings=settings)
    hg.stream("Position", COLUMNS, owner="ann")
    hg.user("ann")
    return hg


def flows(hg: Headgate, *seconds: int) -> None:
    rows = [
        {
            "SID": f"p{second}",
            "Pos": second,
            "ts": f"2026-01-01T{8 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z",
        }
        for second in seconds
    ]
    hg.push("Position", rows)
    hg.drain()


def shown(rows: list[Row]) -> list[object]:
    return [row["SID"] for row in rows]


def kept_epochs(root: Path) -> list[int]:
    return sorted(int(path.name.removeprefix("epoch=")) for path in (root / "data").iterdir())


# Kept by default ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("carried", [False, True])
def test_a_plan_without_results_goes_when_the_next_one_comes(
    spark: SparkSession, tmp_path: Path, carried: bool
) -> None:
    with opened(spark, tmp_path, Catalog.open(), carried=carried) as hg:
        near = hg.query("SELECT SID FROM Position WHERE Pos < 3", user="ann")
        for second in range(1, 8):
            hg.user("bob", profile={"level": second})
            flows(hg, second)
        assert shown(near.rows()) == ["p1", "p2"]
        # Two with rows, and the one in force; of epochs without rows nothing is left.
        assert len(numbered(hg.engine.storage, "plans")) == 3
        assert kept_epochs(tmp_path) == [0, 1]
        assert sorted(row["SID"] for row in near.dataframe().collect()) == ["p1", "p2"]


def test_a_driver_that_starts_again_leaves_no_plans_behind(spark: SparkSession, tmp_path: Path) -> None:
    catalog = Catalog.open()
    for second in range(5):
        with opened(spark, tmp_path, catalog) as hg:
            assert hg.engine.storage.names("plans")
            hg.engine.stop()
        with opened(spark, tmp_path, catalog) as hg:
            flows(hg, second)
            assert len(numbered(hg.engine.storage, "plans")) == 1


def test_results_are_kept_by_default(spark: SparkSession, tmp_path: Path, clock: Clock) -> None:
    catalog = Catalog.open()
    with opened(spark, tmp_path, catalog) as hg:
        all_of_it = hg.query("SELECT SID FROM Position", user="ann")
        for second in range(4):
            clock.now += 365 * 24 * 60 * MINUTE
            flows(hg, second)
        assert shown(all_of_it.rows()) == ["p0", "p1", "p2", "p3"]


# Kept for a time ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("carried", [False, True])
def test_old_results_go_with_their_plans(spark: SparkSession, tmp_path: Path, clock: Clock, carried: bool) -> None:
    with opened(spark, tmp_path, Catalog.open(), "3 min", carried) as hg:
        late = hg.query("SELECT SID FROM Position", user="ann")
        prompt = hg.handle(late.id)
        for second in range(10):
            clock.now += MINUTE
            hg.user("bob", profile={"level": second})
            flows(hg, second)
            assert shown(prompt.rows()) == [f"p{second}"]
        assert kept_epochs(tmp_path) == [6, 7, 8, 9]
        assert len(numbered(hg.engine.storage, "plans")) == 5  # theirs, and the one that was followed by them
        with pytest.raises(GoneError, match="0 to 5 are not kept"):
            late.rows()
        assert shown(late.rows()) == ["p6", "p7", "p8", "p9"]
        assert sorted(row["SID"] for row in prompt.dataframe().collect()) == ["p6", "p7", "p8", "p9"]


def test_rows_that_were_read_are_handed_over_before_the_loss_is_told(
    spark: SparkSession, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results that go while somebody reads them."""
    with opened(spark, tmp_path, Catalog.open(), "3 min") as hg:
        handle = hg.query("SELECT SID FROM Position", user="ann")
        for second in range(3):
            clock.now += MINUTE
            flows(hg, second)
        read, done = LocalStorage.read, []

        def reads(storage: LocalStorage, name: str) -> bytes | None:
            if "epoch=1/" in name and not done:
                done.append(True)
                for second in range(3, 7):
                    clock.now += MINUTE
                    flows(hg, second)
            return read(storage, name)

        monkeypatch.setattr(LocalStorage, "read", reads)
        assert shown(handle.rows()) == ["p0"]
        with pytest.raises(GoneError, match="1 to 2 are not kept"):
            handle.await_rows(1)
        assert shown(handle.await_rows(4)) == ["p3", "p4", "p5", "p6"]


def test_what_windows_hold_stays_however_old(spark: SparkSession, tmp_path: Path, clock: Clock) -> None:
    catalog = Catalog.open()
    with opened(spark, tmp_path, catalog, "1 min") as hg:
        hg.query("SELECT count(*) AS n, first(SID) AS SID FROM Position [ROWS 6]", user="ann", id="rows")
        hg.query("SELECT count(*) AS n FROM Position [RANGE 1 h]", user="ann", id="hours")
        hg.query("SELECT SID FROM Position", user="ann", id="each")
        for second in range(3):
            clock.now += 5 * MINUTE
            flows(hg, second)
    with opened(spark, tmp_path, catalog, "1 min") as hg:
        rows, hours = hg.handle("rows"), hg.handle("hours")
        found = []
        for second in range(3, 6):
            clock.now += 5 * MINUTE
            flows(hg, second)
            found += rows.rows()
            assert not hours.rows()
        assert [(row["n"], row["SID"]) for row in found] == [(6, "p0")]
        found = []
        for _ in range(3):
            clock.now += 5 * MINUTE
            flows(hg, 90 * 60 - 1)
            found += hours.rows()
        assert [row["n"] for row in found] == [6]
        held = {one.path for one in hg.engine.state.segments}
        files = {str(path.parent.relative_to(tmp_path)) for path in (tmp_path / "data").rglob("*.arrow")}
        counted = {one.path for one in hg.engine.state.counted.values()}
        last = {name for name in files if f"epoch={hg.engine.epoch}/" in name}
        assert files - last <= held | counted


@pytest.mark.parametrize("deletion", range(8))
def test_a_driver_that_is_killed_while_it_removes_goes_on(
    spark: SparkSession, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, deletion: int
) -> None:
    catalog = Catalog.open()
    with opened(spark, tmp_path, catalog, "2 min") as hg:
        hg.query("SELECT SID FROM Position", user="ann", id="each")
        hg.query("SELECT count(*) AS n FROM Position [RANGE 2 s]", user="ann", id="counts")
        for second in range(3):
            clock.now += MINUTE
            flows(hg, second)
        left, delete = [deletion], LocalStorage.delete

        def dies(storage: LocalStorage, name: str) -> None:
            if left[0] == 0:
                raise RuntimeError("killed")
            left[0] -= 1
            delete(storage, name)

        monkeypatch.setattr(LocalStorage, "delete", dies)
        clock.now += 4 * MINUTE
        hg.user("bob")
        with suppress(StreamingQueryException, RuntimeError):
            flows(hg, 3)
        monkeypatch.setattr(LocalStorage, "delete", delete)
    with opened(spark, tmp_path, catalog, "2 min") as hg:
        each, counts = hg.handle("each"), hg.handle("counts")
        for second in range(4, 6):
            flows(hg, second)
        each._next = counts._next = hg.engine.kept_from
        assert shown(each.rows())[-3:] == ["p3", "p4", "p5"]
        assert [row["n"] for row in counts.rows()][-1:] == [2]
        assert kept_epochs(tmp_path)[0] >= hg.engine.kept_from - 1  # of the one before, what windows hold
        assert numbered(hg.engine.storage, "plans")[0] >= hg.engine._kept.plan
        held = {one.path for one in hg.engine.state.segments}
        kept = {str(path.relative_to(tmp_path)) for path in (tmp_path / "data").glob("*/*/part=kept*")}
        assert kept == held


def test_ids_stay_spent_though_the_plans_that_told_of_them_go(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "0.json").write_text(json.dumps({"classes": [{"query": "old"}]}))
    catalog = Catalog.open()
    with opened(spark, tmp_path, catalog):
        (tmp_path / "plans" / "0.json").unlink()
    with opened(spark, tmp_path, catalog) as hg, pytest.raises(ConflictError, match="used before"):
        hg.query("SELECT SID FROM Position", user="ann", id="old")


# Which ones go --------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 50), min_size=1, max_size=300), st.integers(0, 400))
def test_property_what_is_young_enough_stays_and_all_else_goes(waits: list[int], keep: int) -> None:
    kept, now = Kept(), 0
    times: list[int] = []
    for epoch, wait in enumerate(waits):
        now += wait
        times.append(now)
        kept = Kept.from_json(json.loads(json.dumps(kept.after(epoch, epoch // 3, True, (), now, keep).to_json())))
        assert all(place >= kept.first for place, at in enumerate(times) if at >= now - keep)
        assert kept.first <= epoch
        assert kept.plan <= kept.first // 3
        assert kept.swept <= kept.first
        slack = keep + keep // PARTS + max(waits)
        assert all(at >= now - slack for at in times[kept.first : -1])
        assert len(kept.marks) <= PARTS * 2 + 2
        assert kept.swept - kept.since[0] <= AT_ONCE


def test_what_is_due_after_a_long_stop_goes_in_parts() -> None:
    kept = Kept()
    for epoch in range(1_000):
        kept = kept.after(epoch, epoch, True, (), epoch, 10_000)
    removed = 0
    for epoch in range(1_000, 1_020):
        kept = kept.after(epoch, epoch, True, (), epoch * 1_000, 10_000)
        assert kept.since[0] == removed
        removed = kept.swept
        assert kept.swept - kept.since[0] <= AT_ONCE >= kept.swept_plans - kept.since[1]
    assert removed == kept.first > 1_000
