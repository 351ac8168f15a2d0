"""What rewriting asks about conditions, and in which of three ways it is answered.

YES comes with an example tuple, built from the conditions alone and confirmed by the evaluator; NO is certain;
UNKNOWN is everything else: a time-out, a function the solver was not taught, a condition nested too deeply. Callers say
"could not be decided" for it, and never grant on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headgate.decision.analysis.box import Box, Name
from headgate.decision.analysis.finding import example_text
from headgate.decision.analysis.reasoner import UNKNOWN, Reasoner, Reply
from headgate.decision.solver import Answer
from headgate.model.datatype import DataType, Value
from headgate.model.expression import nodes
from headgate.model.expression.nodes import Expression, columns_of
from headgate.model.expression.transform import conjunction, conjuncts
from headgate.model.instant import format_date, format_timestamp
from headgate.rewrite.outside import TooManyWaysError, boxes_of, outside

Example = Mapping[Name, Value]


class Reasoning:
    """Answers for one request: each question is asked once."""

    def __init__(self) -> None:
        self._reasoner = Reasoner()
        self._boxes: dict[Expression | None, list[Box] | None] = {}

    def possible(self, true: Iterable[Expression], not_true: Sequence[Expression] = ()) -> Reply:
        """Is there a tuple for which all of `true` are true and none of `not_true` is?"""
        try:
            wanted = tuple(dict.fromkeys(part for one in true for part in conjuncts(one)))
            plain = self._without_solver(conjunction(wanted), not_true)
            return plain if plain is not None else self._reasoner.ask(wanted, not_true)
        except RecursionError:
            return UNKNOWN

    def _without_solver(self, wanted: Expression | None, not_true: Sequence[Expression]) -> Reply | None:
        """The answer where the conditions are so plain that it can be found by trying; None where they are not."""
        known = self._reasoner.know(wanted)
        if any(self._reasoner.know(one).parts <= known.parts for one in not_true):
            return Reply(Answer.NO)
        inner, others = self._boxes_of(wanted), [self._boxes_of(one) for one in not_true]
        if inner is None or any(one is None for one in others):
            return None
        left_out = [box for one in others if one is not None for box in one]
        try:
            found = (outside(box, left_out) for box in inner)
            example = next((one for one in found if one is not None), None)
        except TooManyWaysError:
            return None
        return Reply(Answer.NO) if example is None else Reply(Answer.YES, example)

    def _boxes_of(self, condition: Expression | None) -> list[Box] | None:
        if condition not in self._boxes:
            self._boxes[condition] = boxes_of(condition)
        return self._boxes[condition]

    def implied(self, premises: Iterable[Expression], conclusion: Expression) -> Answer:
        """Whether the conclusion is true wherever all the premises are."""
        answer = self.possible(premises, [conclusion]).answer
        return {Answer.YES: Answer.NO, Answer.NO: Answer.YES}.get(answer, Answer.UNKNOWN)


def shown(example: Example, conditions: Iterable[Expression], qualified: bool = False) -> str:
    """An example as people read it: `rate = 60, ward = 7`."""
    types = {(one.source, one.name): one.type for condition in conditions for one in columns_of(condition)}
    named = {
        f"{source}.{name}" if qualified else name: _shown_value(value, types.get((source, name)))
        for (source, name), value in example.items()
    }
    return example_text(named)


def _shown_value(value: Value, kind: DataType | None) -> Value:
    if value is None or not isinstance(value, int):
        return value
    if kind is DataType.TIMESTAMP:
        return format_timestamp(value)
    return format_date(value) if kind is DataType.DATE else value


def all_of(conditions: Iterable[Expression]) -> Expression:
    """One condition that holds iff all of these do."""
    return conjunction(conditions) or nodes.TRUE
