"""Move conditions to where they can be decided first."""

from __future__ import annotations

from headgate.algebra.operators import Join, Operator, Select
from headgate.algebra.transform import with_inputs
from headgate.model.expression.nodes import Expression, columns_of
from headgate.model.expression.transform import conjunction, conjuncts


def pushdown_predicates(operator: Operator) -> Operator:
    """Select before join: a condition on one source goes below the join, one on several into the join itself.

    What: `Select(a.x > 1 AND a.k = b.k, Join(a, b))` becomes `Join(Select(a.x > 1, a), b, ON a.k = b.k)`.
    Why it helps: fewer tuples are paired, and equal selections of different queries become visible for sharing.
    When it does not apply: to HAVING, which stands on groups; to conditions without columns, which stay where they are.
    Why it is safe: a combination counts iff all its conditions are true, in whatever order they are asked; expressions
    never raise, so asking one earlier can tell nothing (semantics.md, section 5).
    """
    rebuilt = with_inputs(operator, pushdown_predicates)
    if isinstance(rebuilt, Select) and isinstance(rebuilt.input, Join):
        return _into_join(rebuilt, rebuilt.input)
    return rebuilt


def _into_join(select: Select, join: Join) -> Operator:
    here: list[Expression] = []
    across: list[Expression] = list(conjuncts(join.predicate))
    single: dict[str, list[Expression]] = {}
    for condition in conjuncts(select.predicate):
        sources = {column.source for column in columns_of(condition)}
        if len(sources) == 1:
            single.setdefault(sources.pop(), []).append(condition)
        else:
            (across if sources else here).append(condition)
    inputs = tuple(_selected(one, single.get(one.sources[0].alias, [])) for one in join.inputs)
    pushed = Join(inputs, join.ranges, conjunction(across))
    if pushed == join:
        return select
    return _selected(pushed, here)


def _selected(operator: Operator, conditions: list[Expression]) -> Operator:
    predicate = conjunction(conditions)
    return operator if predicate is None else Select(operator, predicate)
