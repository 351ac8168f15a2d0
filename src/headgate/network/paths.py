"""One query taken apart into the operators it would have in a network, each with a name that equal work shares.

A block becomes, from the streams upwards: a selection for each source that has conditions of its own, binary joins in
an order that depends on the query alone, the aggregate, HAVING, and the projection. The name of each is the canonical
hash of all the work up to it, so that merging queries is nothing but putting vertices of the same name together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from headgate.algebra.block import Block, block_of
from headgate.algebra.canonical import canonical_naming, canonical_text
from headgate.algebra.explain import label
from headgate.algebra.operators import Aggregate, Join, Operator, Project, Select, Source, Union
from headgate.algebra.query import Query
from headgate.model.expression.canonical import canonical
from headgate.model.expression.nodes import Expression, columns_of
from headgate.model.expression.print import to_text
from headgate.model.expression.transform import conjunction, conjuncts, rename_sources
from headgate.network.vertex import Kind, Vertex


@dataclass(frozen=True)
class Step:
    """A vertex and what it does: the conditions it decides, over the aliases of its canonical form."""

    vertex: Vertex
    conditions: tuple[Expression, ...] = ()
    stream: str | None = None
    """For a selection on a stream: which one."""


@dataclass(frozen=True)
class Place:
    """A step as one block passes through it: `names` gives each of the block's aliases its name in the step."""

    id: str
    names: Mapping[str, str]


@dataclass(frozen=True)
class BlockPath:
    """The steps that decide whether a combination of one block counts, and the vertex that gives its rows."""

    block: Block
    places: tuple[Place, ...]
    output: str


@dataclass(frozen=True)
class QueryPath:
    """All vertices of a query, each once, and the paths of its blocks."""

    query: Query
    steps: Mapping[str, Step]
    blocks: tuple[BlockPath, ...]
    output: str


def path_of(query: Query) -> QueryPath:
    """Take a query apart."""
    steps: dict[str, Step] = {}
    blocks = tuple(_Builder(block_of(block), steps).build() for block in query.blocks)
    output = blocks[0].output
    if isinstance(query.plan, Union):
        output = _add(steps, Kind.UNION, canonical_text(query.plan), "Union", [block.output for block in blocks])
    return QueryPath(query, steps, blocks, output)


def _add(
    steps: dict[str, Step],
    kind: Kind,
    text: str,
    shown: str,
    inputs: list[str],
    streams: tuple[str, ...] = (),
    conditions: tuple[Expression, ...] = (),
) -> str:
    digest = hashlib.blake2b(f"{kind}:{text}".encode(), digest_size=8).hexdigest()
    id_ = f"{kind}-{digest}"
    stream = streams[0] if kind is Kind.SELECT and streams else None
    steps.setdefault(id_, Step(Vertex(id_, kind, shown, tuple(inputs), streams), conditions, stream))
    return id_


class _Builder:
    """Builds the path of one block into `steps`."""

    def __init__(self, block: Block, steps: dict[str, Step]) -> None:
        self.block = block
        self.steps = steps
        self.places: list[Place] = []

    def build(self) -> BlockPath:
        single, across = self._split()
        regions = {source.alias: self._source(source, single.get(source.alias, [])) for source in self.block.sources}
        region, below = self._joined(regions, across)
        if self.block.window is not None:
            aggregate = Aggregate(region, self.block.window, self.block.keys, self.block.calls)
            below = self._over(Kind.AGGREGATE, aggregate, below)
            region = aggregate
            having = conjunction(self.block.having)
            if having is not None:
                region = Select(aggregate, having)
                below = self._over(Kind.SELECT, region, below)
        project = Project(region, self.block.outputs)
        below = self._over(Kind.PROJECT, project, below)
        return BlockPath(self.block, tuple(self.places), below[0])

    def _split(self) -> tuple[dict[str, list[Expression]], list[Expression]]:
        """Conditions on one source, which go before the join, and those on several or none."""
        single: dict[str, list[Expression]] = {}
        across: list[Expression] = []
        for condition in self.block.where:
            sources = {column.source for column in columns_of(condition)}
            if len(sources) == 1 or not self.block.joins:
                alias = next(iter(sources), self.block.sources[0].alias)
                single.setdefault(alias, []).append(condition)
            else:
                across.append(condition)
        return single, across

    def _source(self, source: Source, conditions: list[Expression]) -> tuple[Operator, tuple[str, bool]]:
        predicate = conjunction(conditions)
        if predicate is None:
            return source, (source.stream.name, True)
        select = Select(source, predicate)
        text, names = canonical_naming(select)
        own = conjuncts(canonical(rename_sources(predicate, names)))
        shown = f"Select {to_text(predicate, qualified=False)}"
        id_ = _add(self.steps, Kind.SELECT, text, shown, [], (source.stream.name,), own)
        self.places.append(Place(id_, names))
        return select, (id_, False)

    def _joined(
        self, regions: dict[str, tuple[Operator, tuple[str, bool]]], across: list[Expression]
    ) -> tuple[Operator, tuple[str, bool]]:
        order = self._join_order(regions, across)
        region, below = regions[order[0]]
        ranges = {
            source.alias: size for source, size in zip(self.block.sources, self.block.ranges or (0,), strict=False)
        }
        waiting = list(across)
        for count in range(2, len(order) + 1):
            joined = order[:count]
            decided = [one for one in waiting if {column.source for column in columns_of(one)} <= set(joined)]
            waiting = [one for one in waiting if one not in decided]
            earlier = conjuncts(region.predicate) if isinstance(region, Join) else ()
            right, right_below = regions[joined[-1]]
            inputs = (*(region.inputs if isinstance(region, Join) else (region,)), right)
            region = Join(inputs, tuple(ranges[alias] for alias in joined), conjunction([*earlier, *decided]))
            below = self._join_step(region, decided, below, right_below)
        return region, below

    def _join_step(
        self, join: Join, decided: list[Expression], left: tuple[str, bool], right: tuple[str, bool]
    ) -> tuple[str, bool]:
        text, names = canonical_naming(join)
        own = tuple(canonical(rename_sources(one, names)) for one in decided)
        on = " AND ".join(to_text(one) for one in decided)
        sides = (left, right)
        id_ = _add(
            self.steps,
            Kind.JOIN,
            text,
            f"Join {' and '.join(source.stream.name for source in join.sources)}" + (f" ON {on}" if on else ""),
            [name for name, is_stream in sides if not is_stream],
            tuple(name for name, is_stream in sides if is_stream),
            own,
        )
        if own:
            self.places.append(Place(id_, names))
        return id_, False

    def _join_order(self, regions: dict[str, tuple[Operator, tuple[str, bool]]], across: list[Expression]) -> list[str]:
        """By the names of streams and selections; a source that a condition connects comes before the others."""
        left = sorted(regions, key=lambda alias: (canonical_text(regions[alias][0]), alias))
        order = [left.pop(0)]
        while left:
            connected = [alias for alias in left if any({alias} < _sources(one) <= {alias, *order} for one in across)]
            chosen = (connected or left)[0]
            left.remove(chosen)
            order.append(chosen)
        return order

    def _over(self, kind: Kind, operator: Operator, below: tuple[str, bool]) -> tuple[str, bool]:
        name, is_stream = below
        inputs, streams = ([], (name,)) if is_stream else ([name], ())
        id_ = _add(self.steps, kind, canonical_text(operator), label(operator), inputs, streams)
        return id_, False


def _sources(condition: Expression) -> set[str]:
    return {column.source for column in columns_of(condition)}
