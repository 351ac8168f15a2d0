"""The values a network is made of: vertices, and the edges between them.

A vertex is one operator of definition 1 (Privacy Switches, section 4.2). It knows what it reads; what reads it, and the
queries it serves, follow from the whole graph and are therefore kept by `Network`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from headgate.errors import InputError


class Kind(StrEnum):
    """What an operator does; decides how many inputs it takes and what it costs."""

    SELECT = "select"
    PROJECT = "project"
    JOIN = "join"
    AGGREGATE = "aggregate"
    UNION = "union"
    OUTPUT = "output"

    @property
    def takes_several(self) -> bool:
        return self in (Kind.JOIN, Kind.UNION)


@dataclass(frozen=True, slots=True)
class Vertex:
    """One operator: `inputs` are the vertices it reads, `streams` the streams it reads itself.

    An input that is read twice (a self-join) is listed twice.
    """

    id: str
    kind: Kind
    label: str = field(compare=False)
    """For people. Queries that share the vertex may have written the same work in different words."""
    inputs: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.id:
            raise InputError("a vertex has an empty id", hint="give each vertex a name of its own")
        reads = len(self.inputs) + len(self.streams)
        if self.kind.takes_several:
            if reads < 2:
                raise InputError(f"{self.kind} `{self.id}` reads {reads} input(s)", hint="it needs at least two")
        elif reads != 1:
            raise InputError(f"{self.kind} `{self.id}` reads {reads} inputs", hint="it needs exactly one")


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """Where results flow, from producer to consumer.

    `producer` is a stream if `from_stream`; `consumer` is a query (its delivery) if `to_query`. Names of streams,
    vertices and queries live apart, so a stream may be called as a vertex is.
    """

    producer: str
    consumer: str
    from_stream: bool = False
    to_query: bool = False

    def __str__(self) -> str:
        source = f"stream {self.producer}" if self.from_stream else self.producer
        return f"{source} -> {f'output of {self.consumer}' if self.to_query else self.consumer}"
