"""Many queries, one graph: vertices of equal work are one, and a selection that keeps less reads one that keeps more.

The graph is a function of the set of queries, whatever the order in which they came: adding one and taking it away
again leaves what was there before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from headgate.algebra.query import Query
from headgate.errors import ConflictError, InputError, UnknownNameError
from headgate.model.closest import closest
from headgate.network.change import with_query, without_query
from headgate.network.graph import Network
from headgate.network.paths import QueryPath, Step, path_of
from headgate.network.selectivity import combined, implies_cheaply
from headgate.network.vertex import Kind, Vertex

WORTH_FEEDING = 0.9
"""A selection is fed from another only if that one is expected to keep no more than this share of the stream."""


@dataclass(frozen=True)
class MergedNetwork:
    """The shared network of a set of queries.

    `steps` has every vertex as one query would have it, `fed` the selections that read another selection instead of
    their stream. `users` counts, for each vertex, the queries that have it.
    """

    paths: Mapping[str, QueryPath]
    steps: Mapping[str, Step]
    users: Mapping[str, int]
    fed: Mapping[str, str]
    graph: Network

    @property
    def queries(self) -> tuple[Query, ...]:
        return tuple(path.query for path in self.paths.values())

    def add(self, query: Query) -> MergedNetwork:
        """The network with one more query; only its vertices, and selections that can now read them, are touched."""
        if query.id in self.paths:
            raise ConflictError(f"query `{query.id}` is already in the network")
        path = path_of(query)
        steps, users = dict(self.steps), dict(self.users)
        for id_, step in path.steps.items():
            steps[id_] = step
            users[id_] = users.get(id_, 0) + 1
        fresh = [id_ for id_ in path.steps if id_ not in self.steps]
        fed = _fed_with(fresh, steps, self.fed)
        paths = {**self.paths, query.id: path}
        if any(fed.get(id_) != self.fed.get(id_) for id_ in self.steps):  # others now read one of the new selections
            return _assembled(paths, steps, users, fed)
        own = [_rewired(steps[id_].vertex, fed) for id_ in fresh]
        return MergedNetwork(paths, steps, users, fed, with_query(self.graph, query.id, path.output, own))

    def remove(self, identifier: str) -> MergedNetwork:
        """The network without that query."""
        if identifier not in self.paths:
            raise UnknownNameError(f"no query `{identifier}` in the network", hint=closest(identifier, self.paths))
        steps, users = dict(self.steps), dict(self.users)
        gone = set()
        for id_ in self.paths[identifier].steps:
            users[id_] -= 1
            if not users[id_]:
                del steps[id_], users[id_]
                gone.add(id_)
        fed = {id_: feeder for id_, feeder in self.fed.items() if id_ not in gone and feeder not in gone}
        orphans = [id_ for id_, feeder in self.fed.items() if id_ not in gone and feeder in gone]
        for id_ in orphans:
            feeder = _feeder(id_, steps)
            if feeder is not None:
                fed[id_] = feeder
        paths = {name: path for name, path in self.paths.items() if name != identifier}
        if orphans:
            return _assembled(paths, steps, users, fed)
        return MergedNetwork(paths, steps, users, fed, without_query(self.graph, identifier))


def merge(queries: Iterable[Query]) -> MergedNetwork:
    """The shared network of these queries."""
    paths: dict[str, QueryPath] = {}
    steps: dict[str, Step] = {}
    users: dict[str, int] = {}
    for query in queries:
        if query.id in paths:
            raise InputError(f"two queries have the id `{query.id}`", hint="give each its own id")
        path = paths[query.id] = path_of(query)
        for id_, step in path.steps.items():
            steps[id_] = step
            users[id_] = users.get(id_, 0) + 1
    fed = _fed_with(list(steps), steps, {})
    return _assembled(paths, steps, users, fed)


def merge_groups(
    queries: Iterable[Query], groups: Mapping[str, str] | None = None
) -> dict[frozenset[str], MergedNetwork]:
    """One network per group of streams: those that queries connect, or those that `groups` puts together by name."""
    members: dict[frozenset[str], list[Query]] = {}
    for query in queries:
        streams = frozenset(query.streams)
        if groups is not None:
            streams = _declared_group(query, groups)
        joined = [group for group in members if group & streams]
        merged = streams.union(*joined)
        members[merged] = [one for group in joined for one in members.pop(group)] + [query]
    return {streams: merge(sorted(own, key=lambda query: query.id)) for streams, own in members.items()}


def _declared_group(query: Query, groups: Mapping[str, str]) -> frozenset[str]:
    named = {groups.get(stream, stream) for stream in query.streams}
    if len(named) > 1:
        raise InputError(
            f"query `{query.id}` reads streams of different groups: {', '.join(sorted(named))}",
            hint="put the streams into one group, or split the query",
        )
    name = named.pop()
    return frozenset(stream for stream, group in groups.items() if group == name) | frozenset(query.streams)


def _assembled(
    paths: dict[str, QueryPath], steps: dict[str, Step], users: dict[str, int], fed: dict[str, str]
) -> MergedNetwork:
    vertices = [_rewired(step.vertex, fed) for step in steps.values()]
    outputs = {name: paths[name].output for name in sorted(paths)}
    graph = Network.build(sorted(vertices, key=lambda vertex: vertex.id), outputs)
    return MergedNetwork(paths, steps, users, fed, graph)


def _rewired(vertex: Vertex, fed: Mapping[str, str]) -> Vertex:
    feeder = fed.get(vertex.id)
    return vertex if feeder is None else replace(vertex, inputs=(feeder,), streams=())


def _fed_with(fresh: list[str], steps: Mapping[str, Step], fed: Mapping[str, str]) -> dict[str, str]:
    """Who reads whom once the fresh vertices are there."""
    result = dict(fed)
    by_stream: dict[str, list[str]] = {}
    for id_, step in steps.items():
        if step.stream is not None:
            by_stream.setdefault(step.stream, []).append(id_)
    for id_ in fresh:
        stream = steps[id_].stream
        if stream is None:
            continue
        for other in by_stream[stream]:
            for narrow, wide in ((id_, other), (other, id_)):
                if _feeds(steps[wide], steps[narrow]) and _better(wide, result.get(narrow), steps):
                    result[narrow] = wide
    return result


def _feeder(id_: str, steps: Mapping[str, Step]) -> str | None:
    """The narrowest selection on the same stream that keeps all that this one keeps."""
    best: str | None = None
    for other, step in steps.items():
        if step.stream == steps[id_].stream and _feeds(step, steps[id_]) and _better(other, best, steps):
            best = other
    return best


def _feeds(wide: Step, narrow: Step) -> bool:
    """Whether the wide selection keeps all that the narrow one keeps, and is worth reading instead of the stream."""
    if wide is narrow or wide.vertex.kind is not Kind.SELECT or wide.stream is None:
        return False
    if combined(wide.conditions) > WORTH_FEEDING:
        return False
    # Strictly wider, so that no two selections can feed each other.
    return _all_implied(narrow, wide) and not _all_implied(wide, narrow)


def _all_implied(stronger: Step, weaker: Step) -> bool:
    return all(any(implies_cheaply(mine, theirs) for mine in stronger.conditions) for theirs in weaker.conditions)


def _better(candidate: str, current: str | None, steps: Mapping[str, Step]) -> bool:
    if current is None:
        return True

    def rank(id_: str) -> tuple[float, str]:
        return (combined(steps[id_].conditions), id_)

    return rank(candidate) < rank(current)
