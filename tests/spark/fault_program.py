"""Runs a system over what was pushed, to the end; the test kills it, and starts it again on the same folder."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from pathlib import Path
from typing import Any

from headgate.columnar.strategy import Strategy
from headgate.spark.engine import Engine, Settings
from headgate.spark.manifest import Manifest
from headgate.spark.session import start_session


def main(
    root: str,
    system_file: str,
    strategy: str,
    one_task: str,
    master: str = "local[2]",
    files: str = "1",
    moment: str = "",
    at: str = "",
) -> None:
    system = pickle.loads(Path(system_file).read_bytes())
    settings = Settings(Strategy(strategy), live=False, files_per_epoch=int(files), one_task=int(one_task))
    engine = Engine(
        start_session(master, {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}),
        root,
        system,
        settings=settings,
    )
    engine.spark.conf.set("spark.sql.files.openCostInBytes", "1g")  # no two files for one task
    if moment:
        _kill(engine, moment, int(at))
    print("started", engine.epoch, flush=True)
    engine.drain()
    engine.finish()
    print("finished", engine.epoch, flush=True)


def _kill(engine: Engine, moment: str, epoch: int) -> None:
    """Let `kill -9` come at one moment of this epoch, which a clock would hardly ever meet."""
    commit, clean = engine._manifests.commit, engine._clean

    def dies(place: str, number: int) -> None:
        if (place, number) == (moment, epoch):
            os.killpg(os.getpgrp(), signal.SIGKILL)

    def committing(manifest: Manifest) -> None:
        dies("uncommitted", manifest.epoch)
        commit(manifest)
        dies("committed", manifest.epoch)

    def cleaning(*gone: Any) -> None:
        clean(*gone)
        dies("cleaned", engine.epoch)

    engine._manifests.commit = committing
    engine._clean = cleaning


if __name__ == "__main__":
    main(*sys.argv[1:])
