"""Runs a system over what was pushed, to the end; the test kills it, and starts it again on the same folder."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from headgate.columnar.strategy import Strategy
from headgate.spark.engine import Engine, Settings
from headgate.spark.session import start_session


def main(root: str, system_file: str, strategy: str, one_task: str, master: str = "local[2]") -> None:
    system = pickle.loads(Path(system_file).read_bytes())
    settings = Settings(Strategy(strategy), live=False, files_per_epoch=1, one_task=int(one_task))
    engine = Engine(
        start_session(master, {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}),
        root,
        system,
        settings=settings,
    )
    print("started", engine.epoch, flush=True)
    engine.drain()
    engine.finish()
    print("finished", engine.epoch, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
