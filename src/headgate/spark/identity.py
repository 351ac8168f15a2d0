"""Whose a folder is: it belongs to one set of streams, and to one way of writing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from headgate.errors import StoreError
from headgate.model.schema import StreamCatalog
from headgate.scenario.system import System
from headgate.spark.storage import Storage

IDENTITY = "network.json"
LAYOUT = 2
"""How `data/` is written; counts up when that changes."""


def claim(storage: Storage, system: System) -> System:
    """The system with its streams in the order in which this folder has got to know them.

    To another set of streams what it holds would mean something else.
    """
    known = storage.read(IDENTITY)
    streams = {one.name: _fingerprint(one) for one in system.streams}
    if known is not None:
        identity = json.loads(known)
        if identity.get("layout") != LAYOUT:
            raise StoreError(f"`{storage.root}` was written by another version of Headgate; use another folder")
        before: dict[str, str] = identity["streams"]
        for name, fingerprint in before.items():
            if streams.get(name) != fingerprint:
                raise StoreError(
                    f"`{storage.root}` belongs to another network: its stream `{name}` "
                    + ("is not there any more" if name not in streams else "had other columns")
                    + "; use another folder, or the streams it was made with"
                )
        streams = {**before, **streams}
    storage.write(IDENTITY, json.dumps({"layout": LAYOUT, "streams": streams}).encode())
    return in_order(system, tuple(streams))


def in_order(system: System, names: Sequence[str]) -> System:
    """The same system with its streams in this order."""
    return replace(system, streams=StreamCatalog(system.streams.stream(name) for name in names))


def _fingerprint(stream: object) -> str:
    return hashlib.sha256(repr(stream).encode()).hexdigest()[:16]
