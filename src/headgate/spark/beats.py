"""Epochs without elements: what is due while nothing comes.

A window gives its result in the epoch after the one that brought its watermark to its end, and what an idle stream held
back is given out once it counts as idle. Where elements keep coming there is always a next epoch. Where they stop, an
empty file among what programs push makes Spark begin one more.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

QUIET = 0.25
"""Seconds between two looks; something must be due at both, so that there is no empty epoch while elements flow."""


class Beats:
    """Looks now and then whether an epoch without elements would give something out, and begins it."""

    def __init__(self, due: Callable[[], int | None], begin: Callable[[], None]) -> None:
        self._due = due
        self._begin = begin
        self._stopped = Event()
        Thread(target=self._run, name="headgate-beats", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()

    def _run(self) -> None:
        seen: int | None = None
        followed: int | None = None
        while not self._stopped.wait(QUIET):
            try:
                epoch = self._due()
                # One file is enough, however long Spark takes to come to it.
                if epoch is not None and epoch == seen != followed:
                    self._begin()
                    followed = epoch
            except Exception:
                return  # Spark is gone, or the disk is full: whoever waits for an epoch is told by the engine
            seen = epoch
