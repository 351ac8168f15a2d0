"""A stream whose texts tell which cell they came from, and who may use such a cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headgate.algebra.block import block_of
from headgate.algebra.query import Query
from headgate.model.datatype import DataType
from headgate.model.element import Tuple
from headgate.model.punctuation import Punctuation
from headgate.model.schema import Column, StreamSchema
from headgate.reference.coverage import Coverage
from headgate.reference.timeline import Cell, Timeline
from headgate.scenario.system import System

TEXTS = StreamSchema(
    "S",
    (
        Column("ts", DataType.TIMESTAMP),
        Column("k", DataType.INT),
        Column("x", DataType.STRING),
        Column("y", DataType.STRING),
    ),
    tid="k",
)
"""The texts are in `x` and `y`."""


def may_use(
    element: Tuple,
    column: str,
    query: Query,
    system: System,
    user: str,
    spoken: Sequence[Punctuation],
    privileges: Iterable[str],
) -> bool:
    """Section 4 for one cell of one tuple, read aloud: whether a subscriber may use it in one of these ways."""
    stream, subscriber = system.streams.stream("S"), system.users[user]
    timeline = Timeline()
    for one in spoken:
        timeline.add(stream, one)
    cell = Cell(stream, element.values[1], column, element.time)
    roles = timeline.query_roles(query.id, subscriber.roles, cell, element.time)
    if stream.governed and not roles & timeline.data_roles(cell, element.time):
        return False
    (project,) = query.blocks
    block = block_of(project)
    coverage = Coverage(system.policies, subscriber, system.streams, block.sources, block.window)
    return any(
        coverage.cover(source.alias, column, privilege, {source.alias: element}) is not None
        for source in block.sources
        for privilege in privileges
    )
