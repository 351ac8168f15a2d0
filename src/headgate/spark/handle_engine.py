"""The epoch engine as the framework of handles wants an engine: start a query, replace it, stop it.

A query that comes here has its authorisation inside its plan, so the system it runs in has no policies of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from headgate.algebra.query import Query
from headgate.model.datatype import Value
from headgate.model.instant import Instant
from headgate.model.subject import User
from headgate.spark.engine import Engine
from headgate.spark.result_log import ResultLog

Deliver = Callable[[Instant, Mapping[str, Value]], None]


class RunningQuery:
    """One query at work. One that takes the place of another begins with empty windows."""

    def __init__(self, engine: HandleEngine, query: Query, deliver: Deliver) -> None:
        self._engine = engine
        self.deliver = deliver
        self.name = engine.add(query, self)

    def replace(self, query: Query) -> None:
        self._engine.remove(self.name)
        self.name = self._engine.add(query, self)

    def stop(self) -> None:
        self._engine.remove(self.name)


class HandleEngine:
    """Runs queries on an engine whose system has no policies; rows are handed on when their epoch is committed."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._log = ResultLog(engine.storage)
        self._running: dict[str, RunningQuery] = {}
        self._count = 0
        engine.listeners.append(self._committed)

    @property
    def position(self) -> int:
        return self.engine.epoch

    def start(self, query: Query, deliver: Deliver) -> RunningQuery:
        """Run a query from the next epoch on."""
        return RunningQuery(self, query, deliver)

    def add(self, query: Query, running: RunningQuery) -> str:
        """Put a query into the network, under a name that no other ever has."""
        with self.engine.changed:
            self._count += 1
            name = f"{query.id}#{self.engine.epoch + 1}.{self._count}"
            system = self.engine.system
            users = dict(system.users)
            for user in (query.by, *query.subscribers):
                users.setdefault(user, User(user))
            self.engine.change(replace(system, users=users, queries=(*system.queries, replace(query, id=name))))
            self._running[name] = running
        return name

    def remove(self, name: str) -> None:
        """Take a query out; nothing of it is handed on any more."""
        with self.engine.changed:
            if self._running.pop(name, None) is not None:
                system = self.engine.system
                left = tuple(query for query in system.queries if query.id != name)
                self.engine.change(replace(system, queries=left))

    def _committed(self, epoch: int) -> None:
        if not self._running:
            return
        rows = sorted(self._log.rows(epoch), key=lambda one: one[2])
        for name, user, time, row in rows:
            running = self._running.get(name)
            if running is not None and user == self._owner(name):
                running.deliver(time, row)

    def _owner(self, name: str) -> str | None:
        return next((query.by for query in self.engine.planned.system.queries if query.id == name), None)
