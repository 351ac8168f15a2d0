"""What the framework asks of an engine. The reference interpreter is one; any other that has these methods will do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from headgate.algebra.query import Query
from headgate.model.datatype import Value
from headgate.model.instant import Instant

Deliver = Callable[[Instant, Mapping[str, Value]], None]
"""Takes one result: its time and its row."""


class Running(Protocol):
    """A query that an engine runs."""

    def replace(self, query: Query) -> None:
        """From the next epoch on this query runs in its place; what it delivers goes on where it went."""

    def stop(self) -> None:
        """Nothing is delivered any more once this has returned. Stopping twice does no harm."""


class Engine(Protocol):
    """Runs continuous queries.

    A query that comes here has its authorisation inside its plan: the engine applies no policies of its own to it but
    the punctuations that its streams carry.
    """

    @property
    def position(self) -> int:
        """How far it has come: another number after every epoch, so that queries begun at one number begin alike."""

    def start(self, query: Query, deliver: Deliver) -> Running:
        """Run a query from the next epoch on."""
