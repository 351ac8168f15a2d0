"""`kill -9` of the driver at any point: the next one goes on from the last committed epoch, nothing lost or
repeated."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from spark_combined import combined

from headgate.columnar.strategy import Strategy
from headgate.model.element import element_to_json
from headgate.policy.model import Defaults
from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.spark.engine import Engine, Settings
from headgate.spark.replay import delivered
from headgate.testing.systems import GeneratedSystem, systems

PROGRAM = Path(__file__).with_name("fault_program.py")
EPOCHS = 8


def _push(group: GeneratedSystem, folder: Path, epochs: int = EPOCHS) -> None:
    """The files that the engine's push folder would have."""
    ordered = in_replay_order(group.system, group.elements)
    numbers = {name: number for number, name in enumerate(group.system.streams.names)}
    size = -(-len(ordered) // epochs)
    (folder / "push").mkdir(parents=True)
    for number, begin in enumerate(range(0, len(ordered), size)):
        lines = [
            f"{numbers[name]}\t{json.dumps(element_to_json(one, group.system.streams.stream(name)))}\n"
            for name, one in ordered[begin : begin + size]
        ]
        path = folder / "push" / f"{number:010d}.txt"
        path.write_text("".join(lines))
        os.utime(path, (1_700_000_000 + number,) * 2)


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


def _moment(chance: random.Random) -> Kill:
    """Mostly while epochs run, at some point of one; sometimes earlier, while the session starts and recovers."""
    return (
        Kill(0, chance.uniform(0.0, 8.0)) if chance.random() < 0.2 else Kill(chance.choice((1, 2, 3)), chance.random())
    )


def _survives(spark: SparkSession, folder: Path, group: GeneratedSystem, kills: int, seed: int) -> int:
    """How often it was killed: a run may come to its end before its next kill."""
    chance = random.Random(seed)
    root, system_file = folder / "root", folder / "system.pickle"
    system_file.write_bytes(pickle.dumps(group.system))
    _push(group, root)
    strategy = chance.choice(list(Strategy))
    command = [sys.executable, str(PROGRAM), str(root), str(system_file), strategy.value, "1000000"]
    killed = 0
    while killed < kills and not _run(command, root, _moment(chance)):
        killed += 1
    assert _run(command, root)
    reference = Interpreter(group.system)
    reference.epoch(in_replay_order(group.system, group.elements))
    reference.finish()
    engine = Engine(spark, str(root), group.system, settings=Settings(strategy, live=False, files_per_epoch=1))
    assert engine.finished
    rows = delivered(engine)
    for key, outcome in reference.outcomes.items():
        wanted = sorted(repr((one.time, sorted(one.row.items()))) for one in outcome.results)
        assert sorted(repr((at, sorted(row.items()))) for at, row in rows.get(key, [])) == wanted, key
        if not outcome.verdict.denied:
            assert engine.totals.withheld.get("/".join(key), 0) == outcome.withheld
    return killed


ONCE = {
    "derandomize": True,
    "deadline": None,
    "phases": [Phase.generate],
    "suppress_health_check": list(HealthCheck),
}


@st.composite
def groups(draw: st.DrawFn) -> GeneratedSystem:
    return combined([draw(systems(with_policies=True, max_queries=3)) for _ in range(6)], Defaults())


@settings(max_examples=2, **ONCE)
@given(group=groups())
def test_property_killed_drivers_lose_and_repeat_nothing(
    spark: SparkSession, tmp_path_factory, group: GeneratedSystem
) -> None:
    _survives(spark, tmp_path_factory.mktemp("fault"), group, kills=2, seed=7)


@pytest.mark.long
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
