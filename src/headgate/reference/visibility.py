"""Section 4: which cells one subscriber of a query sees, and which tuples are dropped."""

from __future__ import annotations

from headgate.algebra.block import Block
from headgate.algebra.query import Query
from headgate.algebra.uses import uses_of
from headgate.model.datatype import Value
from headgate.model.element import null_first
from headgate.model.expression.evaluate import Cells
from headgate.model.expression.nodes import ColumnRef, columns_of
from headgate.model.instant import Instant
from headgate.model.privilege import ASSIST
from headgate.model.subject import User
from headgate.reference.coverage import Combination, Cover, Covers
from headgate.reference.timeline import Cell, Timeline


class Visibility:
    """What one subscriber sees of the combinations of one block."""

    def __init__(self, query: Query, user: User, block: Block, coverage: Covers, timeline: Timeline) -> None:
        self.coverage = coverage
        self._query = query
        self._user = user
        self._block = block
        self._timeline = timeline
        self._sources = {source.alias: source for source in block.sources}
        self._uses = {
            alias: [(use.column, use.privilege) for use in uses_of(block) if use.source == alias]
            for alias in self._sources
        }

    def raw(self, combination: Combination, alias: str, column: str) -> Value:
        return combination[alias].values[self._sources[alias].stream.position(column)]

    def raw_cells(self, combination: Combination, alias: str) -> Cells:
        """The raw cells as a policy names them, by stream: this source's own, or another source's of the block."""

        def look_up(column: ColumnRef) -> Value:
            if self._sources[alias].stream.name == column.source:
                return self.raw(combination, alias, column.name)
            other = next((one for one, src in self._sources.items() if src.stream.name == column.source), None)
            return None if other is None else self.raw(combination, other, column.name)

        return look_up

    def reaches(self, combination: Combination, alias: str, column: str, now: Instant) -> bool:
        """Conditions 1 and 2: the punctuations let the cell through, and the query was on when the tuple arrived."""
        element, stream = combination[alias], self._sources[alias].stream
        if self._query.punctuated and not self._timeline.users(self._query.id, self._query.subscribers, element.time):
            return False
        if not stream.governed:
            return True
        tid = element.values[stream.position(stream.tid)] if stream.tid else None
        cell = Cell(stream, tid, column, element.time)
        ours = self._timeline.query_roles(self._query.id, self._user.roles, cell, now)
        return bool(ours & self._timeline.data_roles(cell, now))

    def sees(self, combination: Combination, alias: str, column: str, privilege: str, now: Instant) -> Cover | None:
        """All three conditions, for one use of the cell."""
        if not self.reaches(combination, alias, column, now):
            return None
        return self.coverage.cover(alias, column, privilege, combination)

    def cells(self, combination: Combination, privilege: str, now: Instant) -> Cells:
        """The cells as an expression sees them: NULL where they are not visible for this use."""

        def look_up(column: ColumnRef) -> Value:
            if self.sees(combination, column.source, column.name, privilege, now) is None:
                return None
            return self.raw(combination, column.source, column.name)

        return look_up

    def keeps(self, combination: Combination, now: Instant) -> bool:
        """Whether no tuple of the combination is dropped."""
        return all(self.keeps_tuple(combination, alias, now) for alias in combination)

    def keeps_tuple(self, combination: Combination, alias: str, now: Instant) -> bool:
        """A tuple is dropped when no column that the query names for its stream is visible for one of its uses."""
        uses = self._uses[alias] or self._presence(alias)
        return any(self.sees(combination, alias, column, privilege, now) for column, privilege in uses)

    def _presence(self, alias: str) -> list[tuple[str, str]]:
        """The uses of a stream of which no column is named: it assists, and it is counted."""
        counted = [
            call.function for call in self._block.calls if call.argument is None or not columns_of(call.argument)
        ]
        privileges = dict.fromkeys([ASSIST, *counted])
        return [(column, privilege) for privilege in privileges for column in self._sources[alias].stream.names]

    def order(self, combination: Combination, now: Instant) -> tuple[object, ...]:
        """Where the combination stands in time and, at equal times, by id and columns as the operator sees them."""
        key: list[object] = []
        for alias, source in self._sources.items():
            stream = source.stream
            names = ([stream.tid] if stream.tid else []) + list(stream.names)
            key.extend(null_first(self._as_seen(combination, alias, name, now)) for name in names)
        return (result_time(combination), *key)

    def _as_seen(self, combination: Combination, alias: str, column: str, now: Instant) -> Value:
        uses = [privilege for name, privilege in self._uses[alias] if name == column] or [ASSIST]
        seen = any(self.sees(combination, alias, column, privilege, now) for privilege in uses)
        return self.raw(combination, alias, column) if seen else None


def result_time(combination: Combination) -> Instant:
    """The time of a combination is the latest of its tuples'."""
    return max(element.time for element in combination.values())
