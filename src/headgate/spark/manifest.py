"""The manifest of an epoch: all that has to be known to go on after it, committed in one move.

An epoch counts when its manifest is there. Whatever was written for an epoch without one is written again, under the
same names, when Spark replays it from its own checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.errors import StoreError
from headgate.spark.storage import Storage, numbered

FOLDER = "manifest"
KEPT = 20
"""Manifests kept for looking back; only the last one is needed."""

FORMAT = 1


@dataclass(frozen=True)
class Manifest:
    """The state at the end of an epoch."""

    epoch: int
    timeline: Mapping[str, Any] = field(default_factory=dict)
    progress: Mapping[str, Any] = field(default_factory=dict)
    segments: list[dict[str, Any]] = field(default_factory=list)
    counted: list[list[Any]] = field(default_factory=list)
    """For each window of rows: class, block, and how far it has come (`spark/counting.py`)."""
    classes: list[dict[str, Any]] = field(default_factory=list)
    facts: Mapping[str, list[str]] = field(default_factory=dict)
    masks: Mapping[str, list[str]] = field(default_factory=dict)
    totals: Mapping[str, Any] = field(default_factory=dict)
    results: list[str] = field(default_factory=list)
    """Where the rows of this epoch are."""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    kept: Mapping[str, Any] = field(default_factory=dict)
    """Which results are kept, and what goes with this epoch (`spark/retention.py`)."""


class Manifests:
    """The manifests of one engine."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def commit(self, manifest: Manifest) -> None:
        """Make the epoch count."""
        body = {"format": FORMAT, **manifest.__dict__}
        self._storage.write(f"{FOLDER}/{manifest.epoch:010d}.json", json.dumps(body).encode())
        self._storage.delete(f"{FOLDER}/{manifest.epoch - KEPT:010d}.json")

    def last(self) -> Manifest | None:
        """The last epoch that counts; without those that a driver which went down has not come to remove."""
        numbers = self.epochs()
        for number in numbers[:-KEPT]:
            self._storage.delete(f"{FOLDER}/{number:010d}.json")
        return self.read(numbers[-1]) if numbers else None

    def epochs(self) -> list[int]:
        """The epochs whose manifests are kept."""
        return numbered(self._storage, FOLDER)

    def read(self, epoch: int) -> Manifest:
        """The manifest of an epoch."""
        content = self._storage.read(f"{FOLDER}/{epoch:010d}.json")
        try:
            body = json.loads(content or b"")
            if body.pop("format") != FORMAT:
                raise StoreError(f"the manifest of epoch {epoch} is of another version of headgate")
            return Manifest(**body)
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"the manifest of epoch {epoch} is broken: {error}") from error
