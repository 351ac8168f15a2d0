"""What would be delivered if everything before an epoch were forgotten: whether a lost memory can show at all.

A recovery that brings nothing back is right for a system that keeps nothing. Tests of recovery use systems in which it
would be wrong, in each of the three things that are kept: the tuples of time windows, the tuples of windows of rows,
and what punctuations said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from headgate.algebra.operators import Aggregate
from headgate.algebra.query import Query
from headgate.algebra.window import RowsWindow
from headgate.model.element import Element, Tuple
from headgate.reference.interpreter import Interpreter, in_replay_order
from headgate.testing.systems import GeneratedSystem

Placed = Sequence[tuple[str, Element]]
Deliveries = dict[tuple[str, str], Counter[str]]


def every_loss_shows(group: GeneratedSystem, epochs: int, cut: int) -> bool:
    """Whether a loss of any of the three between the first `cut` epochs and the others changes what is delivered."""
    ordered = in_replay_order(group.system, group.elements)
    begin = -(-len(ordered) // epochs) * cut
    counting = {query.id for query in group.system.queries if _counts_rows(query)}
    without_tuples = _changed_without(group, ordered, begin, lambda one: not isinstance(one, Tuple))
    without_punctuations = _changed_without(group, ordered, begin, lambda one: isinstance(one, Tuple))
    return bool(without_punctuations and without_tuples & counting and without_tuples - counting)


def _counts_rows(query: Query) -> bool:
    return any(isinstance(one, Aggregate) and isinstance(one.window, RowsWindow) for one in query.plan.walk())


def _changed_without(group: GeneratedSystem, ordered: Placed, begin: int, kept: Callable[[Element], bool]) -> set[str]:
    """The queries whose deliveries would be others if only what is `kept` of the first elements were known."""
    whole, first = _after(group, ordered, finished=True), _after(group, ordered[:begin])
    remembered = [(name, one) for name, one in ordered[:begin] if kept(one)]
    repeated = _after(group, remembered)
    again = _after(group, [*remembered, *ordered[begin:]], finished=True)
    return {key[0] for key in whole if first[key] + (again[key] - repeated[key]) != whole[key]}


def _after(group: GeneratedSystem, elements: Placed, finished: bool = False) -> Deliveries:
    reference = Interpreter(group.system)
    reference.epoch(elements)
    if finished:
        reference.finish()
    return {
        key: Counter(repr((one.time, sorted(one.row.items()))) for one in outcome.results)
        for key, outcome in reference.outcomes.items()
    }
