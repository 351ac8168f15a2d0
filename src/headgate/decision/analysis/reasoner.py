"""Answers about conditions: cheap tests first, then the solver, each question once and not too many of them.

INVARIANT: YES to "can these hold together" comes with an example that the evaluator confirms. What the solver only
believes, because it met a function it was not taught, is UNKNOWN, and callers say "could not be decided".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from headgate.decision.analysis.box import Box, Name, box_of, meet, within
from headgate.decision.analysis.condition import GROUP, OPAQUE, WINDOW
from headgate.decision.analysis.guess import guess
from headgate.decision.analysis.plain_example import plain_example
from headgate.decision.solver import Answer, can_hold
from headgate.model.datatype import DataType, Value
from headgate.model.expression import nodes
from headgate.model.expression.canonical import canonical
from headgate.model.expression.evaluate import is_true
from headgate.model.expression.nodes import ColumnRef, Expression, columns_of
from headgate.model.expression.transform import conjunction, conjuncts

MAX_QUESTIONS = 4_000
"""How often the solver is asked at most; beyond that, what the cheap tests do not settle is UNKNOWN."""


@dataclass(frozen=True)
class Reply:
    """An answer and, for YES, a tuple for which it is so."""

    answer: Answer
    example: Mapping[Name, Value] = field(default_factory=dict)


_Key = tuple[frozenset[Expression], frozenset[Expression]]

NO, UNKNOWN = Reply(Answer.NO), Reply(Answer.UNKNOWN)


@dataclass(frozen=True, eq=False)
class Known:
    """A condition with what the cheap tests need; None holds always. Equal conditions are the same object."""

    expression: Expression | None

    @cached_property
    def parts(self) -> frozenset[Expression]:
        """What must hold, in canonical form."""
        return frozenset(conjuncts(canonical(self.expression))) if self.expression is not None else frozenset()

    @cached_property
    def opposites(self) -> frozenset[Expression]:
        """What must then not hold."""
        return frozenset(canonical(nodes.Not(part)) for part in self.parts)

    @cached_property
    def box(self) -> Box | None:
        return box_of(self.expression)

    @cached_property
    def fixed(self) -> Mapping[Name, Value]:
        """The columns it fixes to one value."""
        given = {name: values.fixed for name, values in (self.box or {}).items()}
        return {name: value for name, (is_fixed, value) in given.items() if is_fixed}


class Reasoner:
    """Answers questions, and remembers the answers."""

    def __init__(self, questions: int = MAX_QUESTIONS) -> None:
        self.left_out = 0
        self._questions = questions
        self._known: dict[Expression | None, Known] = {}
        self._answers: dict[_Key, Reply] = {}
        self._examples: dict[_Key, Reply] = {}

    def know(self, condition: Expression | None) -> Known:
        """The condition as the other methods take it."""
        if condition not in self._known:
            self._known[condition] = Known(condition)
        return self._known[condition]

    def together(self, first: Known, second: Known | None = None) -> Reply:
        """Is there a tuple for which both hold?"""
        second = second or self.know(None)
        if first.box is not None and second.box is not None:
            example = meet(first.box, second.box)
            return NO if example is None else Reply(Answer.YES, example)
        if first.opposites & second.parts:
            return NO
        return self.ask([one.expression for one in (first, second) if one.expression is not None])

    def covered(self, condition: Known, by: Sequence[Known]) -> Answer:
        """Does one of the others hold wherever the condition does?"""
        if any(one.parts <= condition.parts for one in by):
            return Answer.YES
        boxes = [one.box for one in by]
        if condition.box is not None:
            if meet(condition.box, {}) is None or any(box is not None and within(condition.box, box) for box in boxes):
                return Answer.YES
            if len(by) == 1 and boxes[0] is not None:
                return Answer.NO
        true = [condition.expression] if condition.expression is not None else []
        reply = self.ask(true, [one.expression for one in by if one.expression is not None], confirm=False)
        return {Answer.YES: Answer.NO, Answer.NO: Answer.YES}.get(reply.answer, Answer.UNKNOWN)

    def ask(self, true: Iterable[Expression], not_true: Iterable[Expression] = (), confirm: bool = True) -> Reply:
        """Is there a tuple for which all of `true` are true and none of `not_true` is?

        Without `confirm` the solver's word is enough for a YES, for callers that say nothing on YES.
        """
        key = (frozenset(true), frozenset(not_true))
        if key not in self._answers:
            question = _Question(*key)
            reply = question.guessed() if question.consistent else UNKNOWN
            if reply is None and self._questions <= 0:
                self.left_out += 1
                return UNKNOWN
            if reply is None:
                self._questions -= 1
                reply = question.solved()
            self._answers[key] = reply
            self._examples[key] = question.confirmed(reply)
        return (self._examples if confirm else self._answers)[key]


class _Question:
    """What is asked, and how it is answered."""

    def __init__(self, true: frozenset[Expression], not_true: frozenset[Expression]) -> None:
        self.true = [*true, *_facts(true | not_true)]
        self.not_true = list(not_true)
        columns = [column for one in (*self.true, *self.not_true) for column in columns_of(one)]
        self.types = {(one.source, one.name): one.type for one in columns}
        # In two versions of a system a column may have two types, which cannot be compared.
        self.consistent = all(self.types[one.source, one.name] is one.type for one in columns)
        self.opaque = any(source.startswith(OPAQUE) for source, _ in self.types)

    def holds(self, example: Mapping[Name, Value]) -> bool:
        """Whether it is an example, says the evaluator."""

        def cell(column: ColumnRef) -> Value:
            return example.get((column.source, column.name))

        return all(is_true(one, cell) for one in self.true) and not any(is_true(one, cell) for one in self.not_true)

    def guessed(self) -> Reply | None:
        """YES with an example, if one is found at little cost."""
        if self.opaque:
            return None
        example = guess([*self.true, *(nodes.Not(one) for one in self.not_true)])
        return Reply(Answer.YES, example) if self.holds(example) else None

    def solved(self) -> Reply:
        found = can_hold(self.true, self.not_true)
        return Reply(found.answer, found.example)

    def confirmed(self, reply: Reply) -> Reply:
        """The reply, its example made plain; a YES that the evaluator does not agree with is UNKNOWN."""
        if reply.answer is not Answer.YES:
            return reply
        if self.opaque or not self.holds(reply.example):
            return UNKNOWN
        return Reply(Answer.YES, plain_example(reply.example, self.types, self.holds))


def _facts(conditions: Iterable[Expression]) -> list[Expression]:
    """What is so of every window and group, so that examples with them make sense."""
    named = {(column.source, column.name) for one in conditions for column in columns_of(one)}
    facts: list[Expression] = []
    if any(source == WINDOW for source, _ in named):
        size, step = (nodes.ColumnRef(WINDOW, name, DataType.BIGINT) for name in ("size", "step"))
        facts += [_at_least(step, _ONE), _at_least(size, step)]
        rows = nodes.ColumnRef(WINDOW, "rows", DataType.BOOLEAN)
        facts.append(nodes.Not(nodes.IsNull(rows)))
    if any(source == GROUP for source, _ in named):
        facts.append(_at_least(nodes.ColumnRef(GROUP, "size", DataType.BIGINT), _ONE))
    return facts


_ONE = nodes.Constant(1, DataType.INT)


def _at_least(left: Expression, right: Expression) -> Expression:
    return nodes.Comparison(">=", left, right)


def joined(*conditions: Expression | None) -> Expression | None:
    """All of these; None holds always."""
    return conjunction(one for one in conditions if one is not None)
