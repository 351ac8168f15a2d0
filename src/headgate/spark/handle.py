"""A handle to a continuous query: what a subscriber iterates over, waits for, reads as a DataFrame, and stops."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from functools import reduce
from typing import NoReturn

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from headgate.algebra.operators import RESULT_TIME
from headgate.algebra.query import Query
from headgate.columnar.result import result_fields
from headgate.columnar.slots import slots_of
from headgate.errors import GoneError, HeadgateError
from headgate.model.datatype import DataType, Value, to_json
from headgate.model.instant import format_result_time
from headgate.rewrite.verdict import Verdict
from headgate.spark.engine import Engine
from headgate.spark.layout import spark_schema
from headgate.spark.packing import as_rows, read_packed
from headgate.spark.planning import Seat
from headgate.spark.result_log import ResultLog
from headgate.spark.types import SPARK_TYPES, struct_of

Row = dict[str, Value]


class Handle:
    """One subscriber's end of a query. Rows come in the order of epochs, each once."""

    def __init__(
        self,
        engine: Callable[[], Engine],
        settled: Callable[[], Engine],
        query: Query,
        user: str,
        verdict: Verdict,
        since: int,
        on_stop: Callable[[Handle], None],
    ) -> None:
        self.id = query.id
        self.user = user
        self.verdict = verdict
        self.query = query
        self._engine = engine
        self._settled = settled
        """The engine, once nobody is about to start, stop or replace it."""
        self._since = since
        self._next = since
        self._on_stop = on_stop
        self._closed: str | None = "denied: " + "; ".join(verdict.reasons) if verdict.denied else None

    def __repr__(self) -> str:
        state = f"closed: {self._closed}" if self._closed else "open"
        return f"<query {self.id} for {self.user}: {self.verdict.outcome.value}, {state}>"

    @property
    def closed(self) -> str | None:
        """Why no more rows will come, or None while they may."""
        return self._closed_by(self._engine())

    def _closed_by(self, engine: Engine) -> str | None:
        return self._closed or engine.stopped_queries.get(self.id)

    def rows(self) -> list[Row]:
        """The rows that have come since the last look, without waiting. If some of them are not kept any more, that is
        an error once; the next look goes on after them."""
        found: list[Row] = []
        self._read_into(found)
        return found

    def _read_into(self, found: list[Row]) -> bool:
        """Read on; False if what comes next is not kept any more, which is said when there is nothing to hand over."""
        engine = self._engine()
        log = ResultLog(engine.storage)
        until = engine.epoch
        while self._next <= until:
            own = self._kept_rows(engine, log, self._next)
            if own is None and found:
                return False
            if own is None:
                self._pass_over(engine)
            else:
                found.extend(own)
                self._next += 1
        return True

    def _kept_rows(self, engine: Engine, log: ResultLog, epoch: int) -> list[Row] | None:
        """The rows of an epoch; None if they are not kept any more.

        They may go while they are read. The engine says so before it removes the first of them, so that what was read
        before it says so is all there was.
        """
        if epoch < engine.kept_from:
            return None
        try:
            own = list(self._shown(log, epoch))
        except GoneError:
            if epoch >= engine.kept_from:
                raise
            return None
        return own if epoch >= engine.kept_from else None

    def _pass_over(self, engine: Engine) -> NoReturn:
        first, self._next = self._next, engine.kept_from
        raise GoneError(
            f"rows for `{self.user}` of query `{self.id}` were not read in time: those of epochs {first} to "
            f"{self._next - 1} are not kept any more; read more often, or keep them longer (`keep_results`)"
        )

    def _shown(self, log: ResultLog, epoch: int) -> Iterator[Row]:
        types = {field.name: field.type for field in self.query.plan.schema}
        found = [(at, row) for _, user, at, row in log.rows(epoch, self.id) if user == self.user]
        for at, row in sorted(found, key=lambda pair: pair[0]):
            yield {name: to_json(value, types[name]) for name, value in row.items()} | {
                RESULT_TIME: format_result_time(at)
            }

    def __iter__(self) -> Iterator[Row]:
        """Rows as they come, until the query or Headgate stops."""
        while True:
            yield from self.rows()
            if not self._wait(None):
                while found := self.rows():
                    yield from found
                return

    def await_rows(self, count: int, timeout: float = 60.0) -> list[Row]:
        """Wait for so many rows; fewer if the time is over or the query has stopped."""
        found: list[Row] = []
        until = time.monotonic() + timeout
        while len(found) < count:
            if not self._read_into(found):
                return found
            left = until - time.monotonic()
            if len(found) >= count or left <= 0 or not self._wait(left):
                break
        if len(found) < count:
            self._read_into(found)
        return found

    def _wait(self, timeout: float | None) -> bool:
        """Wait for the next epoch; False if none will come. An engine that takes another's place goes on for it."""
        until = math.inf if timeout is None else time.monotonic() + timeout
        engine = self._engine()
        while engine.epoch < self._next:
            engine.check()
            left = until - time.monotonic()
            if left <= 0 or engine.finished or self._closed_by(engine) is not None:
                return False
            if not engine.active:
                # Not under the engine's own lock: whoever replaces it has the lock that this asks for, and wants that.
                engine = self._settled()
                if not engine.active and engine.epoch < self._next:
                    return False
                continue
            with engine.changed:
                if engine.epoch < self._next:
                    # The engine wakes whoever waits; looking again now and then notices one that was stopped.
                    engine.changed.wait(min(left, 0.5))
        return True

    def dataframe(self) -> DataFrame:
        """Everything delivered to this subscriber so far and kept, as a DataFrame with the columns of the query."""
        engine = self._engine()
        log = ResultLog(engine.storage)
        grouped: dict[tuple[int, int, tuple[tuple[str, DataType], ...]], list[str]] = {}
        for epoch in range(max(self._since, engine.kept_from), engine.epoch + 1):
            for folder, plan in log.folders(epoch):
                if "part=result" not in engine.storage.names(folder):
                    continue
                for seat in self._seats(log, plan):
                    key = (seat.bit, seat.members.index(self.user), seat.types)
                    grouped.setdefault(key, []).append(f"{folder}/part=result")
        spark = engine.spark
        parts = [
            _own_rows(read_packed(spark, engine.storage, folders), bit, member, types)
            for (bit, member, types), folders in grouped.items()
        ]
        if not parts:
            fields = [(field.name, field.type) for field in self.query.plan.schema]
            return spark.createDataFrame([], struct_of(fields).add(RESULT_TIME, TimestampType()))
        return reduce(DataFrame.unionAll, parts)

    def _seats(self, log: ResultLog, plan: int) -> list[Seat]:
        return [one for one in log.seats(plan).values() if one.query == self.id and self.user in one.members]

    def close(self, reason: str) -> None:
        """Say that no more rows will come."""
        self._closed = self._closed or reason

    def stop(self) -> None:
        """Take the query out, from the next epoch on; also one that was refused or withdrawn."""
        self.close("stopped")
        self._on_stop(self)

    def raise_if_denied(self) -> Handle:
        """The handle itself, or an error with the reasons if the query was refused."""
        if self.verdict.denied:
            raise HeadgateError(f"query `{self.id}` is refused: " + "; ".join(self.verdict.reasons))
        return self


def _own_rows(packed: DataFrame, bit: int, member: int, types: tuple[tuple[str, DataType], ...]) -> DataFrame:
    """The rows of one member of a class, as columns of their types."""
    slots = slots_of(kind for _, kind in types)
    fields = [field for field in result_fields(slots) if field.name == "ts" or field.name in slots]

    def own(table: pa.Table) -> pa.Table:
        classes, members = table.column("class").to_numpy(), table.column("members").to_numpy()
        mine = (classes == bit) & (members >> member & 1 == 1)
        return table.select([field.name for field in fields]).filter(pa.array(mine))

    rows = as_rows(packed, own, spark_schema(fields))
    columns = [_typed(F.col(slot), kind).alias(name) for slot, (name, kind) in zip(slots, types, strict=True)]
    return rows.select(*columns, F.timestamp_micros(F.col("ts")).alias(RESULT_TIME))


def _typed(column: Column, kind: DataType) -> Column:
    if kind is DataType.TIMESTAMP:
        return F.timestamp_micros(column)
    if kind is DataType.DATE:
        return F.date_from_unix_date(column.cast("int"))
    return column.cast(SPARK_TYPES[kind])
