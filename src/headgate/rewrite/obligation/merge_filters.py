"""Filter with filter: both must hold, said as briefly as it can be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headgate.decision.solver import Answer
from headgate.model.expression.canonical import canonical
from headgate.model.expression.nodes import Expression, columns_of
from headgate.model.expression.print import to_text
from headgate.rewrite.notice import Notice, NoticeKind
from headgate.rewrite.obligation.graph import Filter
from headgate.rewrite.reasoning import Reasoning, all_of, shown

_MOST_SIMPLIFIED = 12
"""Filters with more conditions than that are joined as they are: simplifying is for readers, and costs a question
each."""


def merge_filters(asked: Sequence[Expression], policy: Sequence[Filter], reasoning: Reasoning) -> list[Expression]:
    """The user's conditions and the policy's, without those that follow from the rest.

    What: `rainrate > 50` merged with `rainrate > 5` is `rainrate > 50`.
    Why it helps: less is computed for each tuple, and equal merged queries are seen to be equal.
    When it does not apply: where the solver does not know, or the condition alone names a column: which columns a query
    names decides which tuples of a governed stream are dropped (semantics.md, section 4).
    Why it is safe: only what is true wherever the rest is true is left out, so the same tuples pass.
    """
    kept = _distinct([*asked, *(one.condition for one in policy)])
    if len(kept) > _MOST_SIMPLIFIED:
        return kept
    for condition in list(reversed(kept)):  # the policy's own go first: the user's words are what the user knows
        rest = [one for one in kept if one is not condition]
        named = {column for one in rest for column in columns_of(one)}
        if set(columns_of(condition)) <= named and reasoning.implied(rest, condition) is Answer.YES:
            kept = rest
    return kept


def _distinct(conditions: Sequence[Expression]) -> list[Expression]:
    found: dict[Expression, Expression] = {}
    for one in conditions:
        found.setdefault(canonical(one), one)
    return list(found.values())


def filter_notices(asked: Sequence[Expression], policy: Sequence[Filter], reasoning: Reasoning) -> Iterator[Notice]:
    """EMPTY if no tuple can meet both; else PARTIAL for each filter that the user's condition does not imply."""
    if not policy:
        return
    names = tuple(dict.fromkeys(one.policy for one in policy))
    together = reasoning.possible([*asked, *(one.condition for one in policy)])
    if together.answer is Answer.NO:
        clause = to_text(all_of(one.condition for one in policy))
        yield Notice(
            NoticeKind.EMPTY, "the filter", f"EMPTY: no tuple can satisfy both the query and `{clause}`", names
        )
        return
    for one in policy:
        yield from _withheld(one, asked, reasoning)


def _withheld(one: Filter, asked: Sequence[Expression], reasoning: Reasoning) -> Iterator[Notice]:
    clause = to_text(one.condition)
    left_out = reasoning.possible(asked, [one.condition])
    if left_out.answer is Answer.YES:
        example = shown(left_out.example, [*asked, one.condition])
        text = f"PARTIAL: `{one.policy}` withholds tuples for which `{clause}` does not hold"
        yield Notice(NoticeKind.PARTIAL, "the filter", text, (one.policy,), example)
    elif left_out.answer is Answer.UNKNOWN:
        text = f"it could not be decided whether `{one.policy}` withholds tuples by `{clause}`"
        yield Notice(NoticeKind.UNDECIDED, "the filter", text, (one.policy,))
