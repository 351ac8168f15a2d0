"""Random shared-operator networks as in section 6.1 of the Privacy Switches paper.

The paper gives the parameters and these rules: selects come before joins, a select or project has one input, a join
has two different ones, and the total may come out slightly higher than asked for. What it leaves open is decided here.
These choices were made knowing the paper's results; none was changed after the first run:

- Each query reads at least two of the streams, as both queries of figure 1 do, and every stream is read.
- Shared operators are selects and joins ("shared SELECT", "shared JOIN"). A shared operator serves every query that
  reads its streams. The number of shared joins is drawn evenly from none to one less than the streams.
- Each query ends in a project of its own, and joins by itself what the shared part has not joined. The operators still
  left are spread over the queries, as selects on what is not joined yet, or as further projects.
- Each user is assigned an even draw from the non-empty sets of queries, and every query has a user.

A query needs its joins and its project even when few operators are left for it: that is where the total comes out
higher.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from random import Random
from typing import NamedTuple

from headgate.network.graph import Network
from headgate.network.vertex import Kind, Vertex
from headgate.simulator.parameters import Parameters


@dataclass(frozen=True, slots=True)
class Sample:
    """A random network, and the users of each of its queries."""

    network: Network
    users: dict[str, frozenset[str]]


def generate(parameters: Parameters, random: Random) -> Sample:
    """One random network; the same parameters and state of `random` give the same one."""
    reads = _draw_reads(parameters, random)
    draft = _Draft(random)
    heads = _add_shared(draft, parameters, reads)
    outputs = _add_own(draft, parameters, heads)
    network = Network.build(draft.vertices, outputs)
    return Sample(network, _draw_users(parameters, random))


class _Head(NamedTuple):
    """A result that a query has come to: what it is called, and what may still be done to it."""

    name: str
    is_stream: bool
    is_joined: bool


class _SharedJoin(NamedTuple):
    """A planned join of two symbols (streams or earlier joins) for the queries that hold both."""

    left: str
    right: str
    symbol: str
    queries: tuple[int, ...]


@dataclass(slots=True)
class _Draft:
    """The network so far."""

    random: Random
    vertices: list[Vertex] = field(default_factory=list)

    def add(self, kind: Kind, *heads: _Head) -> _Head:
        number = len(self.vertices) + 1
        inputs = tuple(head.name for head in heads if not head.is_stream)
        streams = tuple(head.name for head in heads if head.is_stream)
        self.vertices.append(Vertex(f"o{number}", kind, f"{kind} {number}", inputs, streams))
        joined = kind is Kind.JOIN or any(head.is_joined for head in heads)
        return _Head(f"o{number}", is_stream=False, is_joined=joined)


def _draw_reads(parameters: Parameters, random: Random) -> list[set[str]]:
    """The streams of each query."""
    streams = [f"s{number}" for number in range(1, parameters.streams + 1)]
    least = min(2, len(streams))
    reads = [set(random.sample(streams, random.randint(least, len(streams)))) for _ in range(parameters.queries)]
    for stream in streams:
        if not any(stream in those for those in reads):
            random.choice(reads).add(stream)
    if parameters.shared_operators and not _read_by_several(streams, reads):
        one, other = random.sample(reads, 2)
        other.add(random.choice(sorted(one)))
    return reads


def _read_by_several(symbols: Sequence[str], holders: Sequence[set[str]]) -> list[str]:
    return [symbol for symbol in symbols if sum(symbol in held for held in holders) > 1]


def _add_shared(draft: _Draft, parameters: Parameters, reads: list[set[str]]) -> list[list[_Head]]:
    """Shared selects, then shared joins; returns what each query has come to.

    The joins are planned first: which of them are possible depends on the streams alone, and every shared operator that
    is not a join is a select.
    """
    streams = sorted(set().union(*reads))
    current = {stream: _Head(stream, is_stream=True, is_joined=False) for stream in streams}
    held = [set(those) for those in reads]
    shared = _read_by_several(streams, reads)
    joins = _plan_joins(draft.random, held, min(parameters.shared_operators, parameters.streams - 1))
    for _ in range(parameters.shared_operators - len(joins)):
        stream = draft.random.choice(shared)
        current[stream] = draft.add(Kind.SELECT, current[stream])
    for join in joins:
        current[join.symbol] = draft.add(Kind.JOIN, current[join.left], current[join.right])
    return [[current[symbol] for symbol in sorted(symbols)] for symbols in held]


def _plan_joins(random: Random, held: list[set[str]], most: int) -> list[_SharedJoin]:
    """Up to `most` joins that at least two queries have in common; what each query holds is updated."""
    joins: list[_SharedJoin] = []
    for number in range(random.randint(0, most)):
        pairs = sorted({pair for symbols in held for pair in combinations(sorted(symbols), 2)})
        common = [(pair, tuple(q for q, symbols in enumerate(held) if symbols.issuperset(pair))) for pair in pairs]
        possible = [(pair, queries) for pair, queries in common if len(queries) > 1]
        if not possible:
            break
        (left, right), queries = random.choice(possible)
        join = _SharedJoin(left, right, f"join {number}", queries)
        for query in queries:
            held[query] = held[query] - {left, right} | {join.symbol}
        joins.append(join)
    return joins


def _add_own(draft: _Draft, parameters: Parameters, heads: list[list[_Head]]) -> dict[str, str]:
    """Each query's own operators: selects, joins, projects; returns the outputs."""
    random = draft.random
    projects = [1] * len(heads)
    needed = sum(len(those) - 1 for those in heads) + len(heads)
    for _ in range(parameters.operators - len(draft.vertices) - needed):
        query = random.randrange(len(heads))
        open_to_select = [place for place, head in enumerate(heads[query]) if not head.is_joined]
        if open_to_select and random.random() < 0.5:
            place = random.choice(open_to_select)
            heads[query][place] = draft.add(Kind.SELECT, heads[query][place])
        else:
            projects[query] += 1
    outputs = {}
    for query, (mine, count) in enumerate(zip(heads, projects, strict=True), start=1):
        while len(mine) > 1:
            left, right = (mine.pop(random.randrange(len(mine))) for _ in range(2))
            mine.append(draft.add(Kind.JOIN, left, right))
        for _ in range(count):
            mine[0] = draft.add(Kind.PROJECT, mine[0])
        outputs[f"q{query}"] = mine[0].name
    return outputs


def _draw_users(parameters: Parameters, random: Random) -> dict[str, frozenset[str]]:
    queries = [f"q{number}" for number in range(1, parameters.queries + 1)]
    users = [f"u{number}" for number in range(1, parameters.users + 1)]
    assigned: dict[str, set[str]] = {query: set() for query in queries}
    for user in users:
        choice = random.randrange(1, 1 << len(queries))
        for bit, query in enumerate(queries):
            if choice >> bit & 1:
                assigned[query].add(user)
    for those in assigned.values():
        if not those:
            those.add(random.choice(users))
    return {query: frozenset(those) for query, those in assigned.items()}
