"""The reference interpreter as an engine: each query by itself, epoch by epoch, as the caller feeds them."""

from __future__ import annotations

from headgate.algebra.query import Query
from headgate.delivery.engine import Deliver
from headgate.model.instant import Instant
from headgate.model.schema import StreamCatalog
from headgate.model.subject import User
from headgate.reference.interpreter import Epoch, Interpreter
from headgate.scenario.system import System


class ReferenceRunning:
    """One query at work.

    A query that takes the place of another begins with empty windows: a tuple that was withheld when it arrived must
    not be seen later because a policy was widened, and one that was not must not outlast its policy.
    """

    def __init__(self, engine: ReferenceEngine, query: Query, deliver: Deliver) -> None:
        self._engine = engine
        self._deliver = deliver
        self._begin(query)

    def _begin(self, query: Query) -> None:
        users = {name: User(name) for name in (query.by, *query.subscribers)}
        system = System(self._engine.streams, users, (query,), policies=None)
        self._interpreter = Interpreter(system, live=self._engine.live)
        self._query = query
        self._given = 0

    def replace(self, query: Query) -> None:
        self._begin(query)

    def stop(self) -> None:
        self._engine.forget(self)

    def epoch(self, elements: Epoch, processing_time: Instant) -> None:
        self._interpreter.epoch(elements, processing_time)
        self._hand_on()

    def finish(self) -> None:
        self._interpreter.finish()
        self._hand_on()

    def _hand_on(self) -> None:
        results = self._interpreter.outcomes[self._query.id, self._query.by].results
        new, self._given = results[self._given :], len(results)
        for result in new:
            self._deliver(result.time, result.row)


class ReferenceEngine:
    """Runs queries on the interpreter; `live` as the interpreter means it."""

    def __init__(self, streams: StreamCatalog, live: bool = False) -> None:
        self.streams = streams
        self.live = live
        self.position = 0
        self._running: list[ReferenceRunning] = []

    def start(self, query: Query, deliver: Deliver) -> ReferenceRunning:
        running = ReferenceRunning(self, query, deliver)
        self._running.append(running)
        return running

    def forget(self, running: ReferenceRunning) -> None:
        self._running = [one for one in self._running if one is not running]

    @property
    def count(self) -> int:
        """How many queries run."""
        return len(self._running)

    def epoch(self, elements: Epoch, processing_time: Instant = 0) -> None:
        """Feed an epoch to every query."""
        self.position += 1
        for running in list(self._running):
            running.epoch(elements, processing_time)

    def finish(self) -> None:
        """The inputs are at their end."""
        for running in list(self._running):
            running.finish()
