"""What the names in a policy's predicates stand for: its streams' columns, `self.x`, `env.x`, and named events."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.errors import UnknownNameError
from headgate.model.closest import closest
from headgate.model.expression.nodes import ColumnRef, EnvironmentRef, Expression, ProfileRef
from headgate.model.schema import Column, StreamSchema


class PolicyScope:
    """The scope of `where`, `mask` and `during` over these streams, or with `environment` that of `when`."""

    aggregates = False
    events = True

    def __init__(self, streams: Sequence[StreamSchema], environment: bool = False) -> None:
        self._streams = streams
        self._environment = environment

    def special(self, source: str | None, name: str) -> Expression | None:
        folded = source.lower() if source else None
        if folded == "self":
            return ProfileRef(name)
        if folded == "env" and self._environment:
            return EnvironmentRef(name)
        return None

    def column(self, source: str | None, name: str) -> tuple[ColumnRef, Column, str]:
        if self._environment:
            raise UnknownNameError(f"`{name}` cannot be used in `when`", hint="it may use `env.x` and `self.x`")
        candidates = [one for one in self._streams if source is None or one.name.lower() == source.lower()]
        if not candidates:
            raise UnknownNameError(f"unknown stream `{source}`", hint=closest(source or "", self._names()))
        having = [one for one in candidates if one.find(name)]
        if len(having) > 1:
            choices = " or ".join(f"`{one.name}.{name}`" for one in having)
            raise UnknownNameError(f"column `{name}` is ambiguous", hint=f"write {choices}")
        if not having:
            columns = [column for one in candidates for column in one.names]
            raise UnknownNameError(f"unknown column `{name}`", hint=closest(name, dict.fromkeys(columns)))
        stream = having[0]
        column = stream.column(name)
        return ColumnRef(stream.name, column.name, column.type), column, stream.timezone

    def _names(self) -> list[str]:
        return [stream.name for stream in self._streams]
