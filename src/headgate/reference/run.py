"""One query as it runs: the tuples it holds, the windows that are open, and what each subscriber got."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from headgate.algebra.block import Block, block_of
from headgate.algebra.operators import Project
from headgate.algebra.query import Query
from headgate.algebra.secure import is_secured, secured_block_of
from headgate.algebra.window import RangeWindow, RowsWindow
from headgate.model.element import Tuple
from headgate.model.expression.nodes import ColumnRef, Comparison
from headgate.model.instant import END_OF_TIME, START_OF_TIME, Instant
from headgate.model.schema import StreamSchema
from headgate.reference.block import Passes, Result, aggregated, passes_where, projected
from headgate.reference.coverage import Combination, Coverage, Covers
from headgate.reference.guarded import GuardedCoverage
from headgate.reference.timeline import Timeline
from headgate.reference.visibility import Visibility, result_time
from headgate.rewrite.verdict import Verdict, decide
from headgate.scenario.system import System


@dataclass
class Outcome:
    """What came of the query for one subscriber."""

    verdict: Verdict
    results: list[Result] = field(default_factory=list)
    withheld: int = 0


class QueryRun:
    """A query at work for all its subscribers, each with rights of their own."""

    def __init__(self, query: Query, system: System, timeline: Timeline) -> None:
        self.query = query
        self._timeline = timeline
        self.outcomes: dict[str, Outcome] = {}
        self._blocks: list[tuple[str, BlockRun]] = []
        for user in query.subscribers:
            verdict = decide(query, system.users[user], system.policies, system.streams)
            self.outcomes[user] = Outcome(verdict)
            if verdict.denied:
                continue
            for plan in verdict.blocks:
                block, coverage = _covered(plan, system, user)
                view = Visibility(query, system.users[user], block, coverage, timeline)
                self._blocks.append((user, BlockRun(block, view)))

    def take(self, tuples: Sequence[tuple[StreamSchema, Tuple]]) -> None:
        """The tuples of one instant."""
        for user, run in self._blocks:
            self.outcomes[user].withheld += run.count_withheld(tuples)
            self._deliver(user, run.take(tuples))

    def close_windows(self, until: Instant, latest: Instant = END_OF_TIME) -> None:
        """Give the results of the windows that end by then, or with the latest tuple."""
        for user, run in self._blocks:
            self._deliver(user, run.close_windows(until, latest))

    def _deliver(self, user: str, results: list[Result]) -> None:
        for result in results:
            if not self.query.punctuated or user in self._timeline.users(
                self.query.id, self.query.subscribers, result.time
            ):
                self.outcomes[user].results.append(result)


def _covered(plan: Project, system: System, user: str) -> tuple[Block, Covers]:
    """The clauses of a block, and what covers its cells: the guards in it if it was rewritten, else the policies."""
    if is_secured(plan):
        secured = secured_block_of(plan)
        return secured.block, GuardedCoverage(secured)
    block = block_of(plan)
    return block, Coverage(system.policies, system.users[user], system.streams, block.sources, block.window)


class BlockRun:
    """One block at work for one subscriber."""

    def __init__(self, block: Block, view: Visibility, passes: Passes | None = None) -> None:
        self.block = block
        self.view = view
        self._passes = passes or passes_where(block)
        self._held: dict[str, list[Tuple]] = {source.alias: [] for source in block.sources}
        self._open: dict[Instant, list[Combination]] = defaultdict(list)
        self._equalities = [
            (one.left, one.right)
            for one in block.where
            if isinstance(one, Comparison)
            and one.sign == "="
            and isinstance(one.left, ColumnRef)
            and isinstance(one.right, ColumnRef)
        ]
        self._counted: list[Combination] = []
        self._given = 0
        self._closed = START_OF_TIME

    def take(self, tuples: Sequence[tuple[StreamSchema, Tuple]]) -> list[Result]:
        """The results that the tuples of one instant complete."""
        new = {
            source.alias: [element for stream, element in tuples if stream.name == source.stream.name]
            for source in self.block.sources
        }
        combinations = list(self._combinations(new))
        for alias, elements in new.items():
            for element in elements:
                insort(self._held[alias], element, key=lambda one: one.time)
        if self.block.window is None:
            return [
                projected(self.block, self.view, one, result_time(one))
                for one in combinations
                if self._passes(self.view, one, result_time(one))
            ]
        if isinstance(self.block.window, RowsWindow):
            return self._count_rows(combinations, self.block.window)
        for one in combinations:
            for end in self.block.window.ends_of(result_time(one)):
                # What comes into a window that has given its result, because its streams were idle, is too late for it.
                if end > self._closed:
                    self._open[end].append(one)
        return []

    def close_windows(self, until: Instant, latest: Instant = END_OF_TIME) -> list[Result]:
        """The results of the time windows that end by then, or with the latest tuple."""
        if not isinstance(self.block.window, RangeWindow):
            return []
        if latest != END_OF_TIME:
            until = min(until, self.block.window.last_end(latest))
        self._closed = max(self._closed, until)
        ended = sorted(end for end in self._open if end <= until)
        return [
            result
            for end in ended
            for result in aggregated(self.block, self.view, self._passes, self._open.pop(end), end)
        ]

    def aliases_of(self, stream: StreamSchema) -> list[str]:
        """The aliases under which the block reads a stream."""
        return [source.alias for source in self.block.sources if source.stream.name == stream.name]

    def count_withheld(self, tuples: Sequence[tuple[StreamSchema, Tuple]]) -> int:
        """How many of the tuples are kept from the subscriber on arrival, whatever they may be joined with."""
        return sum(
            not self.view.keeps_tuple({source.alias: element}, source.alias, element.time)
            for source in self.block.sources
            for stream, element in tuples
            if stream.name == source.stream.name
        )

    def _combinations(self, new: dict[str, list[Tuple]]) -> Iterator[Combination]:
        """Every combination with at least one new tuple, the others held, that is close enough in time: each once."""
        if not self.block.joins:
            alias = self.block.sources[0].alias
            yield from ({alias: element} for element in new[alias])
            return
        ranges = {source.alias: size for source, size in zip(self.block.sources, self.block.ranges, strict=True)}
        arrived = [element.time for elements in new.values() for element in elements]
        if not arrived:
            return
        choices = {}
        for alias, size in ranges.items():
            held = self._held[alias]
            # `now` is at least the time of the new tuple, so nothing older than that less the range can be paired.
            recent = held[bisect_left(held, min(arrived) - size, key=lambda one: one.time) :]
            choices[alias] = [(element, False) for element in recent] + [(element, True) for element in new[alias]]
        for combination in self._paired(list(choices.items()), {}, any_new=False):
            now = result_time(combination)
            if all(now - combination[alias].time <= size for alias, size in ranges.items()):
                yield combination

    def _paired(
        self, choices: list[tuple[str, list[tuple[Tuple, bool]]]], chosen: dict[str, Tuple], any_new: bool
    ) -> Iterator[Combination]:
        """All ways to choose one tuple for each source, at least one of them new.

        A choice that contradicts an equality of WHERE is not followed: a cell that is hidden is NULL and equals
        nothing, so what is unequal as it is can only be NULL or unequal as it is seen.
        """
        if not choices:
            if any_new:
                yield dict(chosen)
            return
        (alias, elements), rest = choices[0], choices[1:]
        for element, is_new in elements:
            extended = {**chosen, alias: element}
            if all(self._may_equal(one, alias, extended) for one in self._equalities):
                yield from self._paired(rest, extended, any_new or is_new)

    def _may_equal(self, equality: tuple[ColumnRef, ColumnRef], alias: str, chosen: dict[str, Tuple]) -> bool:
        left, right = equality
        if alias not in (left.source, right.source) or left.source not in chosen or right.source not in chosen:
            return True
        return self.view.raw(chosen, left.source, left.name) == self.view.raw(chosen, right.source, right.name)

    def _count_rows(self, combinations: list[Combination], window: RowsWindow) -> list[Result]:
        """Count the tuples that pass WHERE as judged at their own time; every full window gives its results."""
        passing = [one for one in combinations if self._passes(self.view, one, result_time(one))]
        self._counted.extend(sorted(passing, key=lambda one: self.view.order(one, result_time(one))))
        results: list[Result] = []
        while len(self._counted) >= self._given * window.slide + window.size:
            begin = self._given * window.slide
            members = self._counted[begin : begin + window.size]
            results.extend(aggregated(self.block, self.view, self._passes, members, result_time(members[-1])))
            self._given += 1
        return results
