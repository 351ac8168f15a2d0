"""Take out the predicates that a subscriber may not use, where the owner asked for that instead of a refusal."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from headgate.algebra.block import Block
from headgate.algebra.uses import Use
from headgate.model.expression.nodes import Expression, columns_of
from headgate.model.expression.print import to_text
from headgate.rewrite.notice import Notice, NoticeKind


def remove_predicates(block: Block, refused: Collection[Use]) -> tuple[Block, list[Notice]]:
    """The block without the conditions that use these columns, as in GuardSpark++, and a notice for each.

    What: `WHERE a > 1 AND b > 1` becomes `WHERE a > 1` where `b` may never assist. A key that may not be used stays,
    and is NULL for every tuple.
    When it does not apply: under `on_assist_denied: refuse`, the default, where the query is refused instead.
    Why it is safe: a condition that is not asked tells nothing; what more comes out is guarded like the rest.
    """
    columns = {(use.source, use.column) for use in refused}
    removed = [one for one in block.where if _names(one, columns)]
    notices = [
        Notice(
            NoticeKind.REMOVED,
            f"the predicate `{to_text(one)}`",
            f"the predicate `{to_text(one)}` was removed: its use is not allowed",
        )
        for one in removed
    ]
    for key in block.keys:
        if _names(key, columns):
            what = f"the key `{to_text(key)}`"
            notices.append(Notice(NoticeKind.REMOVED, what, f"{what} is not allowed: it counts as NULL"))
    if not removed:
        return block, notices
    return replace(block, where=tuple(one for one in block.where if one not in removed)), notices


def _names(expression: Expression, columns: Collection[tuple[str, str]]) -> bool:
    return any((column.source, column.name) in columns for column in columns_of(expression))
