"""What the names in a query stand for: columns of its sources, with or without the alias before them."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.algebra.operators import Source
from headgate.errors import UnknownNameError
from headgate.model.closest import closest
from headgate.model.expression.nodes import ColumnRef, Expression
from headgate.model.schema import Column


class SourceScope:
    """The scope of a query over these sources."""

    events = False

    def __init__(self, sources: Sequence[Source], aggregates: bool = False) -> None:
        self.aggregates = aggregates
        self._sources = {source.alias.lower(): source for source in sources}
        if len(self._sources) < len(sources):
            raise UnknownNameError("two streams of the query have the same name", hint="give each its own with AS")

    def special(self, source: str | None, name: str) -> Expression | None:  # noqa: ARG002 - the protocol's signature
        return None

    def column(self, source: str | None, name: str) -> tuple[ColumnRef, Column, str]:
        found = self._source_of(source, name)
        column = found.stream.column(name)
        return ColumnRef(found.alias, column.name, column.type), column, found.stream.timezone

    def _source_of(self, source: str | None, name: str) -> Source:
        if source is not None:
            return self.source(source)
        having = [one for one in self._sources.values() if one.stream.find(name)]
        if len(having) == 1:
            return having[0]
        if having:
            choices = " or ".join(f"`{one.alias}.{name}`" for one in having)
            raise UnknownNameError(f"column `{name}` is ambiguous", hint=f"write {choices}")
        names = [column for one in self._sources.values() for column in one.stream.names]
        raise UnknownNameError(f"unknown column `{name}`", hint=closest(name, dict.fromkeys(names)))

    def source(self, name: str) -> Source:
        """The source of that alias; the stream's own name does too where only one source reads it."""
        found = self._sources.get(name.lower())
        if found is None:
            reading = [one for one in self._sources.values() if one.stream.name.lower() == name.lower()]
            if len(reading) != 1:
                hint = closest(name, [one.alias for one in self._sources.values()])
                raise UnknownNameError(f"unknown stream or alias `{name}`", hint=hint)
            found = reading[0]
        return found
