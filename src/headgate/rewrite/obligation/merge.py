"""A user's query applied inside the graph that a permit's obligations authorise (semantics.md, section 7).

The order is fixed: filters, then the map, then the window. Each step can only take away, so whatever the user writes,
what comes out is a part of what the graph gives by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from headgate.algebra.block import Block, block_of
from headgate.algebra.operators import Operator, Output, Project, blocks_of
from headgate.algebra.window import Window
from headgate.errors import InputError
from headgate.model.datatype import DataType
from headgate.model.expression.nodes import AggregateCall, Comparison, Constant, Expression, walk
from headgate.model.expression.transform import conjuncts, rename_sources
from headgate.policy.model import Disclosure
from headgate.rewrite.notice import Notice, NoticeKind, told
from headgate.rewrite.obligation.graph import AuthorisedGraph, Filter
from headgate.rewrite.obligation.merge_filters import filter_notices, merge_filters
from headgate.rewrite.obligation.merge_maps import merge_maps, refuse_predicates
from headgate.rewrite.obligation.merge_windows import merge_windows, refuse_groups, windowed_outputs
from headgate.rewrite.reasoning import Reasoning


class MergeOutcome(StrEnum):
    """What comes of a merge."""

    FULL = "full"
    PARTIAL = "partial"
    """PR in the paper: something the user asked for can be withheld."""
    EMPTY = "empty"
    """NR in the paper: nothing can ever come out."""
    REFUSED = "refused"
    """The query asks for what cannot be asked inside the graph."""


@dataclass(frozen=True)
class Merged:
    """The merged query and what the user is to know of it. `plan` is None where there is nothing to run."""

    outcome: MergeOutcome
    plan: Project | None
    notices: tuple[Notice, ...] = ()

    @property
    def runs(self) -> bool:
        """Whether there is a query to register: neither refused nor empty."""
        return self.plan is not None and self.outcome in (MergeOutcome.FULL, MergeOutcome.PARTIAL)

    def warnings(self, disclosure: Disclosure = Disclosure.CLAUSE) -> tuple[str, ...]:
        """What somebody who is not an administrator is told."""
        return told(self.notices, disclosure)


def merge_obligations(graph: AuthorisedGraph, query: Operator | None = None) -> Merged:
    """Merge a user's query with an authorised graph; without a query the user gets the graph itself.

    A query that is not over this one stream is an input error: obligations speak of one stream. Everything else is a
    result, with reasons.
    """
    if query is None:
        return Merged(MergeOutcome.FULL, graph.operator())
    block = _block_over(query, graph)
    local = _renamed(graph, block)
    refused = _refused(block, local)
    if refused:
        return Merged(MergeOutcome.REFUSED, None, tuple(refused))
    reasoning = Reasoning()
    # 1. Filters: both hold. Asked first, as the paper does: the rest does not change which tuples there are.
    notices = list(filter_notices(block.where, local.filters, reasoning))
    where = tuple(merge_filters(block.where, local.filters, reasoning))
    # 2. The map: attributes that both let through, before any function sees them.
    outputs, window, found = _outputs(block, local)
    notices += found
    if not outputs:
        return Merged(MergeOutcome.EMPTY, None, tuple(notices))
    # 3. The window: already part of the outputs; the calls are those that are still asked for.
    merged = replace(
        block,
        where=where,
        window=window,
        calls=_calls(outputs, block.having),
        outputs=tuple(outputs),
    )
    # 4. The least number of tuples: last, as it counts what is behind the functions that are left.
    limited = _with_minimum(merged, local)
    if limited is not merged:
        notices.append(_too_few(local))
    merged = limited
    return Merged(_outcome(notices), merged.operator(), tuple(notices))


def _block_over(query: Operator, graph: AuthorisedGraph) -> Block:
    blocks = blocks_of(query)
    if len(blocks) > 1:
        raise InputError("a union cannot be merged with obligations", hint="send each SELECT as a request of its own")
    block = block_of(blocks[0])
    if len(block.sources) > 1 or block.sources[0].stream.name != graph.stream.name:
        raise InputError(
            f"the query is not over `{graph.stream.name}` alone", hint="the obligations of a permit speak of one stream"
        )
    return block


def _renamed(graph: AuthorisedGraph, block: Block) -> AuthorisedGraph:
    """The graph in the query's own words, under its alias for the stream, each condition by itself."""
    names = {graph.stream.name: block.sources[0].alias}
    filters = tuple(
        Filter(one.policy, rename_sources(part, names)) for one in graph.filters for part in conjuncts(one.condition)
    )
    return replace(graph, filters=filters, stream=replace(graph.stream, name=block.sources[0].alias))


def _refused(block: Block, graph: AuthorisedGraph) -> list[Notice]:
    refused = refuse_predicates((*block.where, *block.keys, *block.having), graph)
    if graph.window is not None and block.window is not None:
        refused += refuse_groups(block, graph)
    return refused


def _outputs(block: Block, graph: AuthorisedGraph) -> tuple[list[Output], Window | None, list[Notice]]:
    """The outputs that are left, over which window, and what was left out."""
    outputs, notices = merge_maps(block.outputs, graph)
    if graph.window is None or not outputs:
        return outputs, block.window, notices
    kept = replace(block, outputs=tuple(outputs))
    if block.window is None:
        window: Window = graph.window.window
        found, more = windowed_outputs(kept, graph)
    else:
        window = block.window
        found, more = merge_windows(kept, graph)
    return found, window, more if any(one.kind is NoticeKind.EMPTY for one in more) else [*notices, *more]


def _with_minimum(block: Block, graph: AuthorisedGraph) -> Block:
    """The block without rows that fewer tuples than the policy's minimum stand behind."""
    if graph.window is None or graph.minimum is None or graph.minimum < 2:
        return block
    least = Constant(graph.minimum, DataType.INT)
    counted = dict.fromkeys(AggregateCall("count", call.argument) for call in block.calls)
    having = (*block.having, *(Comparison(">=", count, least) for count in counted))
    return replace(block, having=having, calls=_calls(list(block.outputs), having))


def _too_few(graph: AuthorisedGraph) -> Notice:
    text = f"PARTIAL: `{graph.policy}` withholds windows of fewer than {graph.minimum} tuples"
    return Notice(NoticeKind.PARTIAL, "small windows", text, (graph.policy,))


def _calls(outputs: list[Output], having: tuple[Expression, ...]) -> tuple[AggregateCall, ...]:
    expressions = [*(one.expression for one in outputs), *having]
    return tuple(dict.fromkeys(node for one in expressions for node in walk(one) if isinstance(node, AggregateCall)))


def _outcome(notices: list[Notice]) -> MergeOutcome:
    if any(one.kind is NoticeKind.EMPTY for one in notices):
        return MergeOutcome.EMPTY
    return MergeOutcome.PARTIAL if notices else MergeOutcome.FULL
