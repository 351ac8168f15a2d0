"""Window with window: the user's, if it is no finer than the policy's; functions that both name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headgate.algebra.block import Block, default_name
from headgate.algebra.operators import Output
from headgate.model.expression.nodes import AggregateCall, ColumnRef, walk
from headgate.model.expression.print import to_text
from headgate.rewrite.notice import Notice, NoticeKind
from headgate.rewrite.obligation.graph import EVERY_TUPLE, AuthorisedGraph, AuthorisedWindow


def merge_windows(block: Block, graph: AuthorisedGraph) -> tuple[list[Output], list[Notice]]:
    """The outputs of an aggregate that the policy's window authorises, and a notice for each that it does not.

    What: `avg(rainrate), max(windspeed) ... [ROWS 10, SLIDE 2]` under `rainrate:avg` in windows of at least 5 rows by 2
    is `avg(rainrate) ... [ROWS 10, SLIDE 2]`.
    When it does not apply: to windows of another kind, or smaller ones, in size or step: nothing can be given (EMPTY).
    Why it is safe: size and step are at least the policy's, and each attribute is aggregated by a function that the
    policy names for it.
    """
    limit = graph.window
    assert limit is not None
    assert block.window is not None
    if not limit.met_by(block.window):
        text = f"EMPTY: `{limit.policy}` authorises {limit} only, not {block.window}"
        return [], [Notice(NoticeKind.EMPTY, f"the window {block.window}", text, (limit.policy,))]
    kept: list[Output] = []
    notices: list[Notice] = []
    for output in block.outputs:
        refused = [one for one in _calls([output]) if not authorised_call(one, graph)]
        if not refused:
            kept.append(output)
        notices.extend(_left_out(output, one, limit) for one in refused)
    if not kept:
        text = f"EMPTY: `{limit.policy}` authorises none of the functions asked for"
        notices = [Notice(NoticeKind.EMPTY, "the functions", text, (limit.policy,))]
    return kept, notices


def refuse_groups(block: Block, graph: AuthorisedGraph) -> Iterator[Notice]:
    """Why an aggregate cannot be run inside the policy's window: it splits windows, or asks what it may not."""
    limit = graph.window
    assert limit is not None
    if block.keys:
        text = f"GROUP BY splits the windows that `{limit.policy}` authorises into smaller parts"
        yield Notice(NoticeKind.DENIED, "GROUP BY", text, (limit.policy,))
    for condition in block.having:
        for call in (node for node in walk(condition) if isinstance(node, AggregateCall)):
            if not authorised_call(call, graph):
                what = f"the condition `{to_text(condition)}`"
                text = f"{what} uses `{to_text(call)}`, which `{limit.policy}` does not authorise"
                yield Notice(NoticeKind.DENIED, what, text, (limit.policy,))


def windowed_outputs(block: Block, graph: AuthorisedGraph) -> tuple[list[Output], list[Notice]]:
    """For a query that aggregates nothing, the policy's own functions of the attributes it names.

    The tuples themselves are what the policy withholds, so this is PARTIAL.
    """
    limit = graph.window
    assert limit is not None
    asked = [one.expression.name for one in block.outputs if isinstance(one.expression, ColumnRef)]
    outputs = [Output(default_name(call), call) for call in graph.calls(only=asked)]
    if not outputs:
        text = f"EMPTY: `{limit.policy}` authorises windows only, and no function of the columns asked for"
        return [], [Notice(NoticeKind.EMPTY, "the columns", text, (limit.policy,))]
    text = f"PARTIAL: `{limit.policy}` authorises no single tuples, only functions over {limit}"
    return outputs, [Notice(NoticeKind.PARTIAL, "single tuples", text, (limit.policy,))]


def authorised_call(call: AggregateCall, graph: AuthorisedGraph) -> bool:
    """Whether the policy names this function for this attribute. An expression of attributes is none of them."""
    if call.argument is None:
        attribute = EVERY_TUPLE
    elif isinstance(call.argument, ColumnRef) and graph.authorises(call.argument.name):
        attribute = call.argument.name
    else:
        return False
    return graph.window is None or (attribute, call.function) in graph.window.functions


def _calls(outputs: Iterable[Output]) -> list[AggregateCall]:
    found = (node for output in outputs for node in walk(output.expression) if isinstance(node, AggregateCall))
    return list(dict.fromkeys(found))


def _left_out(output: Output, call: AggregateCall, limit: AuthorisedWindow) -> Notice:
    what = f"the column `{output.name}`"
    text = f"PARTIAL: `{limit.policy}` does not authorise `{to_text(call)}`, so {what} is left out"
    return Notice(NoticeKind.PARTIAL, what, text, (limit.policy,))
