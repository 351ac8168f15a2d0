"""One block before it runs, for one subscriber: what can never be covered, what always is, and what lies between.

A solver decides. What it cannot decide is never refused for what might be covered, and never granted for what might be
withheld; the notice says that it could not be decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from headgate.algebra.operators import Output, Source
from headgate.algebra.uses import Use, columns_outside_calls
from headgate.decision.analysis.reasoner import Reply
from headgate.decision.guard import Clause, Guard
from headgate.decision.solver import Answer
from headgate.model.expression.nodes import AggregateCall, ColumnRef, Expression, columns_of, walk
from headgate.model.expression.print import to_text
from headgate.model.privilege import ASSIST, READ
from headgate.rewrite.access import Access
from headgate.rewrite.as_seen import as_seen
from headgate.rewrite.notice import Notice, NoticeKind
from headgate.rewrite.reasoning import Example, Reasoning, all_of, shown


@dataclass(frozen=True)
class Coverage:
    """Whether a use is covered for every tuple that the query asks for; NO has a tuple for which it is not."""

    always: Answer
    example: Example | None = None


ALWAYS = Coverage(Answer.YES)


class Judge:
    """Looks at one block with the guards of one subscriber."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.block = access.block
        self.reasoning = Reasoning()
        self._never: dict[Use, bool] = {}
        self._covered: dict[Use, Coverage] = {}

    # What can never be covered ----------------------------------------------------------------------------------------

    def never(self, use: Use) -> bool:
        """Whether no tuple can ever be covered for the use."""
        if use not in self._never:
            self._never[use] = self._is_never(self.access.guard(use))
        return self._never[use]

    def _is_never(self, guard: Guard) -> bool:
        if guard.owned or guard.impossible:
            return guard.impossible
        denials = [one.condition for one in guard.denies if one.condition is not None]
        return all(self._cannot_hold(one.condition, denials) for one in guard.allows)

    def _cannot_hold(self, condition: Expression | None, denials: list[Expression]) -> bool:
        if condition is None and not denials:
            return False
        return self.reasoning.possible([] if condition is None else [condition], denials).answer is Answer.NO

    def refused_assists(self) -> list[Use]:
        """The uses in predicates and keys that can never be covered."""
        return [use for use in self.access.uses if use.privilege == ASSIST and self.never(use)]

    def why_refused(self, use: Use) -> Notice:
        """Why a use in a predicate or key is refused."""
        denials = self.access.guard(use).denies
        by = ", ".join(f"`{one.policy}`" for one in denials)
        why = f"denied by {by}" if by else "no policy allows it"
        cell = f"`{use.source}.{use.column}`"
        text = f"{cell} may not be used in a predicate or key: {why}"
        return Notice(NoticeKind.DENIED, f"{cell} in a predicate or key", text, _policies(denials))

    def denial(self) -> Notice | None:
        """Why nothing can ever come out, if that is so."""
        for source in self.block.sources:
            uses = self.access.named(source) or tuple(self.access.counted(source))
            if all(self.never(use) for use in uses):
                return self._denied(f"use of `{source.stream.name}`", uses)
        if not any(self._coverable(output) for output in self.block.outputs):
            return self._denied("output column", self.access.uses)
        return None

    def _denied(self, what: str, uses: Iterable[Use]) -> Notice:
        policies = _policies(one for use in uses for one in self.access.guard(use).denies)
        by = f": denied by {', '.join(f'`{one}`' for one in policies)}" if policies else ""
        return Notice(NoticeKind.DENIED, f"any {what}", f"no {what} is allowed{by}", policies)

    def _coverable(self, output: Output) -> bool:
        shown_ = [Use(one.source, one.name, READ) for one in columns_outside_calls(output.expression)]
        if any(self.never(use) for use in shown_):
            return False
        calls = [node for node in walk(output.expression) if isinstance(node, AggregateCall)]
        if not shown_ and not calls:
            # A constant shows that there was a tuple: that is for those who may read something of it.
            return any(
                not self.never(Use(one.alias, name, READ)) for one in self.block.sources for name in one.stream.names
            )
        return all(self._call_coverable(call) for call in calls)

    def _call_coverable(self, call: AggregateCall) -> bool:
        columns = columns_of(call.argument) if call.argument is not None else ()
        if columns:
            return not any(self.never(Use(one.source, one.name, call.function)) for one in columns)
        return any(
            not self.never(Use(source.alias, column, call.function))
            for source in self.block.sources
            for column in source.stream.names
        )

    # What is always covered -------------------------------------------------------------------------------------------

    def covered(self, use: Use) -> Coverage:
        """Whether every tuple that satisfies the query is covered for the use."""
        if use not in self._covered:
            self._covered[use] = self._coverage(self.access.guard(use))
        return self._covered[use]

    def _always(self, use: Use) -> bool:
        return self.covered(use).always is Answer.YES

    def _coverage(self, guard: Guard) -> Coverage:
        if guard.unconditional:
            return ALWAYS
        if guard.impossible:
            return Coverage(Answer.NO)
        allows = [one.condition for one in guard.allows if one.need <= 1]
        found = [self._outside(allows)] if allows else [Coverage(Answer.NO)]
        found += [self._inside(one.condition) for one in guard.denies if one.condition is not None]
        for answer in (Answer.NO, Answer.UNKNOWN):
            worst = next((one for one in found if one.always is answer), None)
            if worst is not None:
                return worst
        return ALWAYS

    def _outside(self, allows: list[Expression | None]) -> Coverage:
        """Whether the query asks for a tuple that none of the conditions covers."""
        conditions = [one for one in allows if one is not None]
        if len(conditions) < len(allows):
            return ALWAYS
        return _covers(self.reasoning.possible(self.block.where, conditions))

    def _inside(self, denied: Expression) -> Coverage:
        """Whether the query asks for a tuple that is denied."""
        return _covers(self.reasoning.possible([*self.block.where, denied]))

    def withheld(self) -> Iterator[Notice]:
        """What may be taken away, use by use."""
        for use in self.access.uses:
            if not self._always(use):
                yield self._withheld(use)
        for source in self.block.sources:
            if not self.access.named(source) and not any(map(self._always, self.access.counted(source))):
                what = f"tuples of `{source.stream.name}`"
                yield Notice(NoticeKind.PARTIAL, what, f"{what} may be withheld", self._policies_on(source))
        for call in self.block.calls:
            if not (columns_of(call.argument) if call.argument is not None else ()) and not self._always_counted(call):
                policies = tuple(dict.fromkeys(one for each in self.block.sources for one in self._policies_on(each)))
                text = f"{to_text(call)} may leave out tuples that are not covered"
                yield Notice(NoticeKind.PARTIAL, to_text(call), text, policies)

    def _always_counted(self, call: AggregateCall) -> bool:
        return any(
            self._always(Use(source.alias, column, call.function))
            for source in self.block.sources
            for column in source.stream.names
        )

    def _policies_on(self, source: Source) -> tuple[str, ...]:
        guards = [self.access.guard(use) for use in self.access.counted(source)]
        return _policies(one for guard in guards for one in (*guard.allows, *guard.denies))

    def _withheld(self, use: Use) -> Notice:
        guard = self.access.guard(use)
        what = f"{use.privilege} of `{use.source}.{use.column}`"
        policies = _policies((*guard.allows, *guard.denies))
        if self.never(use):
            by = ", ".join(f"`{one.policy}`" for one in guard.denies)
            text = f"{what} is withheld" + (f" by {by}" if by else ": no policy allows it")
            return Notice(NoticeKind.PARTIAL, what, text, _policies(guard.denies))
        parts = [_clause("allows it", one) for one in guard.allows] + [
            _clause("denies it", one) for one in guard.denies
        ]
        found = self.covered(use)
        if found.always is Answer.UNKNOWN:
            text = f"it could not be decided whether {what} is withheld: {'; '.join(parts)}"
            return Notice(NoticeKind.UNDECIDED, what, text, policies)
        example = shown(found.example, self._conditions(guard), self.block.joins) if found.example else None
        return Notice(NoticeKind.PARTIAL, what, f"{what} is withheld in part: {'; '.join(parts)}", policies, example)

    def _conditions(self, guard: Guard) -> list[Expression]:
        clauses = (*guard.allows, *guard.denies)
        return [*self.block.where, *(one.condition for one in clauses if one.condition is not None)]

    # What the condition makes of cells that are hidden ----------------------------------------------------------------

    @cached_property
    def _where_seen(self) -> tuple[Expression, ...]:
        return as_seen(self.block.where, self._assisting)

    def _assisting(self, column: ColumnRef) -> Guard:
        return self.access.guard(Use(column.source, column.name, ASSIST))

    def passes_for_hidden(self) -> Notice | None:
        """That tuples may pass the condition only because a cell of theirs is hidden, and so NULL to it."""
        if self._where_seen == self.block.where:
            return None
        found = self.reasoning.possible(self._where_seen, [all_of(self.block.where)])
        if found.answer is Answer.NO:
            return None
        text = "tuples can pass the condition because a hidden cell counts as NULL in it"
        if found.answer is Answer.UNKNOWN:
            text = f"it could not be decided whether {text}"
            return Notice(NoticeKind.UNDECIDED, "the condition", text)
        example = shown(found.example, self._where_seen, self.block.joins) if found.example else None
        return Notice(NoticeKind.PARTIAL, "the condition", text, example=example)

    def empty(self) -> Notice | None:
        """That, for some source, no tuple can satisfy the query and be covered for any use."""
        for source in self.block.sources:
            uses = self.access.named(source)
            if uses and all(self._unreachable(use) for use in uses):
                guards = [self.access.guard(use) for use in uses]
                policies = _policies(one for guard in guards for one in (*guard.allows, *guard.denies))
                allows = dict.fromkeys(_clause("allows", one) for guard in guards for one in guard.allows)
                text = f"EMPTY: no tuple can satisfy both the query and the policies: {'; '.join(allows)}"
                return Notice(NoticeKind.EMPTY, f"the query on `{source.alias}`", text, policies)
        return None

    def _unreachable(self, use: Use) -> bool:
        guard = self.access.guard(use)
        if guard.owned:
            return False
        denies = [one.condition for one in guard.denies if one.condition is not None]
        return bool(guard.allows) and all(
            self.reasoning.possible(
                [*self._where_seen, *([one.condition] if one.condition is not None else [])], denies
            ).answer
            is Answer.NO
            for one in guard.allows
        )


def _covers(reply: Reply) -> Coverage:
    """What the answer to "is there a tuple that is not covered" says about coverage."""
    opposite = {Answer.YES: Answer.NO, Answer.NO: Answer.YES, Answer.UNKNOWN: Answer.UNKNOWN}
    return Coverage(opposite[reply.answer], reply.example or None)


def _policies(clauses: Iterable[Clause]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.policy for one in clauses))


def _clause(verb: str, clause: Clause) -> str:
    where = f" where {to_text(clause.condition)}" if clause.condition is not None else ""
    group = f" in groups of at least {clause.need}" if clause.need > 1 else ""
    return f"`{clause.policy}` {verb}{where}{group}"
