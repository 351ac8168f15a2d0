"""Map with map: what is shown is what both let through.

The paper prints a union here, which would hand out attributes that the policy withholds; it is an intersection
(semantics.md, section 7).
"""

from __future__ import annotations

from collections.abc import Iterable

from headgate.algebra.operators import Output
from headgate.model.expression.nodes import Expression, columns_of
from headgate.model.expression.print import to_text
from headgate.rewrite.notice import Notice, NoticeKind
from headgate.rewrite.obligation.graph import AuthorisedGraph


def merge_maps(outputs: Iterable[Output], graph: AuthorisedGraph) -> tuple[list[Output], list[Notice]]:
    """The outputs made of authorised attributes only, and a notice for each that is not.

    What: `SELECT rainrate, humidity` under a map of `rainrate` is `SELECT rainrate`.
    Why it is safe: an output that names any attribute outside the map is left out as a whole, whatever it computes.
    """
    kept: list[Output] = []
    notices: list[Notice] = []
    for output in outputs:
        outside = withheld_attributes(output.expression, graph)
        if not outside:
            kept.append(output)
            continue
        names = ", ".join(f"`{name}`" for name in outside)
        text = f"PARTIAL: `{graph.policy}` does not authorise {names}, so the column `{output.name}` is left out"
        notices.append(Notice(NoticeKind.PARTIAL, f"the column `{output.name}`", text, (graph.policy,)))
    if not kept:
        text = f"EMPTY: `{graph.policy}` authorises none of the columns asked for"
        notices = [Notice(NoticeKind.EMPTY, "the columns", text, (graph.policy,))]
    return kept, notices


def refuse_predicates(conditions: Iterable[Expression], graph: AuthorisedGraph) -> list[Notice]:
    """Why a condition cannot be asked inside the graph: it uses an attribute that the map withholds.

    Leaving such a condition out would give more than was asked for, and asking it would tell about hidden values.
    """
    notices = []
    for condition in conditions:
        for name in withheld_attributes(condition, graph):
            what = f"the condition `{to_text(condition)}`"
            text = f"{what} uses `{name}`, which `{graph.policy}` does not authorise"
            notices.append(Notice(NoticeKind.DENIED, what, text, (graph.policy,)))
    return notices


def withheld_attributes(expression: Expression, graph: AuthorisedGraph) -> list[str]:
    """The attributes of an expression that the map does not let through."""
    return list(dict.fromkeys(one.name for one in columns_of(expression) if not graph.authorises(one.name)))
