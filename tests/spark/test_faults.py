"""`kill -9` of the driver at any point: the next one goes on from the last committed epoch, nothing lost or
repeated."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest
from forgetting import every_loss_shows
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from pushed import push
from pyspark.sql import SparkSession
from spark_combined import combined

from headgate.columnar.strategy import Strategy
from headgate.policy.model import Defaults
from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.spark.engine import Engine, Settings
from headgate.spark.replay import delivered
from headgate.testing.systems import GeneratedSystem, systems

PROGRAM = Path(__file__).with_name("fault_program.py")
EPOCHS = 8
TELLING = EPOCHS // 2
"""The number of epochs after which every system here would deliver something else if anything were lost."""


@dataclass(frozen=True)
class Kill:
    """So many seconds after the driver was started, or after it had committed so many more epochs."""

    epochs: int
    seconds: float


def _run(command: list[str], root: Path, kill: Kill | None = None) -> bool:
    """Whether the program came to its end; else it was killed, with its JVM."""
    target = _committed(root) + kill.epochs if kill is not None else 0
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **piped, start_new_session=True) as one:
        if kill is not None:
            while kill.epochs and _committed(root) < target and one.poll() is None:
                time.sleep(0.005)
            deadline = time.monotonic() + kill.seconds
            while time.monotonic() < deadline and one.poll() is None:
                time.sleep(0.005)
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGKILL)
                one.communicate()
                return False
        out, err = one.communicate(timeout=300)
        assert one.returncode == 0, err[-3000:]
        return "finished" in out


def _committed(root: Path) -> int:
    """The last epoch that counts."""
    return max((int(one.stem) for one in (root / "manifest").glob("[0-9]*.json")), default=-1)


def _moments(chance: random.Random) -> Iterator[Kill]:
    """The first where a loss would show; then some while the session starts and recovers, most while epochs run."""
    yield Kill(TELLING, chance.uniform(0.0, 0.3))
    while True:
        yield Kill(0, chance.uniform(0.0, 8.0)) if chance.random() < 0.3 else Kill(1, chance.uniform(0.0, 0.6))


class _Case:
    """A folder with all that a driver needs, which is started and killed until it has worked through it."""

    def __init__(self, folder: Path, group: GeneratedSystem, strategy: Strategy) -> None:
        self.root, self.group, self.strategy = folder / "root", group, strategy
        system_file = folder / "system.pickle"
        system_file.write_bytes(pickle.dumps(group.system))
        push(group, self.root, EPOCHS)
        self._command = [sys.executable, str(PROGRAM), str(self.root), str(system_file), strategy.value, "1000000"]

    def run(self, kill: Kill | None = None) -> bool:
        return _run(self._command, self.root, kill)

    def dies(self, moment: str, epoch: int) -> None:
        """The driver ends itself with `kill -9` at a moment of an epoch."""
        command = [*self._command, "local[2]", "1", moment, str(epoch)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=300, start_new_session=True)
        assert ended.returncode == -signal.SIGKILL, ended.stderr[-3000:]

    def check(self, spark: SparkSession) -> None:
        """What was delivered and withheld is what the reference says."""
        system, settings = self.group.system, Settings(self.strategy, live=False, files_per_epoch=1)
        reference = Interpreter(system)
        reference.epoch(in_replay_order(system, self.group.elements))
        reference.finish()
        engine = Engine(spark, str(self.root), system, settings=settings)
        assert engine.finished
        rows = delivered(engine)
        for key, outcome in reference.outcomes.items():
            wanted = sorted(repr((one.time, sorted(one.row.items()))) for one in outcome.results)
            assert sorted(repr((at, sorted(row.items()))) for at, row in rows.get(key, [])) == wanted, key
            if not outcome.verdict.denied:
                assert engine.totals.withheld.get("/".join(key), 0) == outcome.withheld


def _survives(spark: SparkSession, folder: Path, group: GeneratedSystem, kills: int, seed: int) -> int:
    """How often it was killed: a run may come to its end before its next kill."""
    chance = random.Random(seed)
    case = _Case(folder, group, chance.choice(list(Strategy)))
    killed = 0
    for moment in islice(_moments(chance), kills):
        if case.run(moment):
            break
        killed += 1
    assert case.run()
    case.check(spark)
    return killed


ONCE = {
    "derandomize": True,
    "deadline": None,
    "phases": [Phase.generate],
    "suppress_health_check": list(HealthCheck),
}


LONG_EXAMPLES = "ignore:Generating overly large repr"
"""Else this is all that a failing test says."""


@st.composite
def groups(draw: st.DrawFn) -> GeneratedSystem:
    group = combined([draw(systems(with_policies=True, max_queries=3)) for _ in range(8)], Defaults())
    assume(every_loss_shows(group, EPOCHS, TELLING))
    return group


@pytest.mark.filterwarnings(LONG_EXAMPLES)
@settings(max_examples=2, **ONCE)
@given(group=groups())
def test_property_killed_drivers_lose_and_repeat_nothing(
    spark: SparkSession, tmp_path_factory, group: GeneratedSystem
) -> None:
    _survives(spark, tmp_path_factory.mktemp("fault"), group, kills=2, seed=7)


@pytest.mark.filterwarnings(LONG_EXAMPLES)
@settings(max_examples=1, **ONCE)
@given(group=groups())
def test_property_killed_around_a_commit(spark: SparkSession, tmp_path_factory, group: GeneratedSystem) -> None:
    """An epoch that was not committed is run again, one that was is not, though Spark has not heard of it."""
    case = _Case(tmp_path_factory.mktemp("commit"), group, Strategy.SWITCHES)
    case.dies("uncommitted", TELLING)
    case.dies("committed", TELLING)
    case.dies("cleaned", TELLING + 1)
    assert case.run()
    case.check(spark)


@pytest.mark.long
@pytest.mark.filterwarnings(LONG_EXAMPLES)
def test_property_thirty_kills(spark: SparkSession, tmp_path_factory) -> None:
    kills = 0

    @settings(max_examples=60, **ONCE)
    @given(group=groups(), seed=st.integers(0, 1_000))
    def survive(group: GeneratedSystem, seed: int) -> None:
        nonlocal kills
        if kills < 30:
            kills += _survives(spark, tmp_path_factory.mktemp("fault"), group, min(5, 30 - kills), seed)

    survive()
    assert kills == 30
