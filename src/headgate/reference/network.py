"""The reference interpreter over a shared network: conditions are asked where the network decides them.

Results must be those of each query alone. Each combination takes the vertices on its block's way, whose conditions are
the canonical ones of the shared operators; one subscriber of each authorisation class is run, and the terminal switches
hand its results to the members. With `prune`, a tuple is offered only to queries that are on when it arrives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headgate.algebra.operators import Operator, Union
from headgate.algebra.query import Query
from headgate.decision.decide import Decider
from headgate.model.element import Tuple
from headgate.model.expression.evaluate import Cells, is_true
from headgate.model.expression.nodes import ColumnRef
from headgate.model.instant import Instant
from headgate.model.privilege import ASSIST
from headgate.model.schema import StreamSchema
from headgate.network.classes import AuthorisationClass, bitmap, classes_of
from headgate.network.merge import MergedNetwork, merge
from headgate.network.paths import BlockPath, Step, path_of
from headgate.network.pruning import Pruner
from headgate.reference.block import Passes, Result
from headgate.reference.coverage import Combination, Coverage
from headgate.reference.interpreter import Interpreter
from headgate.reference.run import BlockRun, Outcome
from headgate.reference.timeline import Timeline
from headgate.reference.visibility import Visibility
from headgate.scenario.system import System


class NetworkInterpreter(Interpreter):
    """Runs all queries of a system as one network, in replay."""

    def __init__(self, system: System, prune: bool = True) -> None:
        super().__init__(System(system.streams, system.users, (), system.policies))
        self.network = merge(system.queries)
        self._run = NetworkRun(self.network, system, self._timeline, prune)

    @property
    def outcomes(self) -> Mapping[tuple[str, str], Outcome]:
        return self._run.outcomes

    def _take(self, tuples: Sequence[tuple[StreamSchema, Tuple]], now: Instant) -> None:
        self._run.close_windows(now)
        self._run.take(tuples, now)

    def _close(self, until: Instant) -> None:
        self._run.close_windows(until)


class NetworkRun:
    """All queries at work."""

    def __init__(self, network: MergedNetwork, system: System, timeline: Timeline, prune: bool) -> None:
        self._timeline = timeline
        self._queries = {query.id: query for query in network.queries}
        self._pruner = Pruner(network.graph) if prune else None
        self.classes = classes_of(network.queries, system.users, Decider(system.policies, system.streams))
        self.outcomes: dict[tuple[str, str], Outcome] = {}
        self._outputs = dict(network.graph.outputs)
        self._runs: list[tuple[AuthorisationClass, BlockRun]] = []
        for one in self.classes:
            for member in one.members:
                self.outcomes[one.query, member] = Outcome(one.verdict)
            if not one.verdict.denied:
                self._runs.extend(self._started(one, network, system))

    def _started(
        self, one: AuthorisationClass, network: MergedNetwork, system: System
    ) -> list[tuple[AuthorisationClass, BlockRun]]:
        query = self._queries[one.query]
        user = system.users[one.members[0]]
        path = network.paths[one.query]
        blocks, steps = path.blocks, network.steps
        if one.verdict.blocks != query.blocks:  # predicates were removed for this class: its path is its own
            own = path_of(Query(query.id, query.by, query.subscribers, _plan(one, query), query.punctuated))
            blocks, steps = own.blocks, own.steps
        started = []
        for block_path in blocks:
            block = block_path.block
            coverage = Coverage(system.policies, user, system.streams, block.sources, block.window)
            view = Visibility(query, user, block, coverage, self._timeline)
            run = BlockRun(block, view, _passes_path(block_path, steps))
            started.append((one, run))
        return started

    def take(self, tuples: Sequence[tuple[StreamSchema, Tuple]], now: Instant) -> None:
        """The tuples of one instant, offered to the vertices that run."""
        running = self._running(now)
        shielded = [(stream, element, self._shield(stream, element)) for stream, element in tuples]
        for one, run in self._runs:
            self._count_withheld(one, run, tuples)
            # A vertex that is shut off serves only queries that are off; none of them may use what arrives now.
            if running is None or self._outputs[one.query] in running:
                # What a class may use of each input is what its bit says, so the inputs of a join are ANDed.
                mine = [(stream, element) for stream, element, bits in shielded if bits >> one.bit & 1]
                self._deliver(one, run.take(mine if self._is_on(one.query, now) else []))

    def close_windows(self, until: Instant) -> None:
        for one, run in self._runs:
            self._deliver(one, run.close_windows(until))

    def _shield(self, stream: StreamSchema, element: Tuple) -> int:
        """The bitmap of the classes that may use the tuple, now or (in a retroactive stream) perhaps later."""
        able = [
            one
            for one, run in self._runs
            if stream.retroactive
            or any(run.view.keeps_tuple({alias: element}, alias, element.time) for alias in run.aliases_of(stream))
        ]
        return bitmap(able)

    def _running(self, now: Instant) -> frozenset[str] | None:
        if self._pruner is None:
            return None
        return self._pruner.running(name for name in self._queries if self._is_on(name, now))

    def _is_on(self, name: str, now: Instant) -> bool:
        query = self._queries[name]
        if self._pruner is None or not query.punctuated:
            return True
        return bool(self._timeline.users(name, query.subscribers, now))

    def _count_withheld(
        self, one: AuthorisationClass, run: BlockRun, tuples: Sequence[tuple[StreamSchema, Tuple]]
    ) -> None:
        withheld = run.count_withheld(tuples)
        for member in one.members:
            self.outcomes[one.query, member].withheld += withheld

    def _deliver(self, one: AuthorisationClass, results: list[Result]) -> None:
        """The terminal switch: each result goes to the members who have access at its time."""
        query = self._queries[one.query]
        for result in results:
            allowed = self._timeline.users(query.id, query.subscribers, result.time)
            for member in one.members:
                if not query.punctuated or member in allowed:
                    self.outcomes[one.query, member].results.append(result)


def _plan(one: AuthorisationClass, query: Query) -> Operator:
    blocks = one.verdict.blocks
    return Union(blocks) if isinstance(query.plan, Union) else blocks[0]


def _passes_path(path: BlockPath, steps: Mapping[str, Step]) -> Passes:
    """A combination counts iff no tuple is dropped and every vertex on the way lets it pass."""
    # For each vertex, which of the block's aliases stands for each of its own names.
    way = [(steps[place.id], {name: alias for alias, name in place.names.items()}) for place in path.places]

    def passes(view: Visibility, combination: Combination, now: Instant) -> bool:
        if not view.keeps(combination, now):
            return False
        seen = view.cells(combination, ASSIST, now)
        return all(is_true(one, _renamed(seen, aliases)) for step, aliases in way for one in step.conditions)

    return passes


def _renamed(seen: Cells, aliases: Mapping[str, str]) -> Cells:
    return lambda column: seen(ColumnRef(aliases[column.source], column.name, column.type))
