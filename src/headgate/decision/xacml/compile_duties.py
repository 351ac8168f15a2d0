"""From obligation and advice expressions to what goes with a decision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from headgate.decision.xacml.compile_expression import ExpressionCompiler
from headgate.decision.xacml.context import Context
from headgate.decision.xacml.datatypes import DataType
from headgate.decision.xacml.expression import Compiled
from headgate.decision.xacml.outcome import Assignment, Effect, Obligation
from headgate.decision.xacml.syntax import AssignmentExpression, Literal, ObligationExpression

Duties = tuple[tuple[Obligation, ...], tuple[Obligation, ...]]
"""Obligations and advice."""

Yield = Callable[[Context], Duties]


def compile_duties(
    expressions: Sequence[ObligationExpression], compiler: ExpressionCompiler
) -> Mapping[Effect, Yield | None]:
    """For each effect, what yields the obligations and advice that go with it; None if there are none."""
    return {
        effect: _for_effect([one for one in expressions if one.applies_to is effect], compiler) for effect in Effect
    }


def _for_effect(expressions: Sequence[ObligationExpression], compiler: ExpressionCompiler) -> Yield | None:
    if not expressions:
        return None
    written = _written_out(expressions)
    if written is not None:
        return written
    compiled = [(one, [(part, compiler.compile(part.expression)) for part in one.assignments]) for one in expressions]

    def run(context: Context) -> Duties:
        return _duties(
            (one, [found for part, value in parts for found in _assign(part, value, context)])
            for one, parts in compiled
        )

    return run


def _written_out(expressions: Sequence[ObligationExpression]) -> Yield | None:
    """Values that stand in the policy are the same for every request: such duties are made once. None for others."""
    made = []
    for one in expressions:
        literals = [(part, part.expression) for part in one.assignments if isinstance(part.expression, Literal)]
        if len(literals) < len(one.assignments):
            return None
        made.append((one, [_assignment(part, value.data_type, value.value) for part, value in literals]))
    duties = _duties(made)
    return lambda _context: duties


def _duties(parts: Iterable[tuple[ObligationExpression, Sequence[Assignment]]]) -> Duties:
    obligations: list[Obligation] = []
    advice: list[Obligation] = []
    for expression, assignments in parts:
        duty = Obligation(expression.id, expression.applies_to, tuple(assignments))
        (advice if expression.is_advice else obligations).append(duty)
    return tuple(obligations), tuple(advice)


def _assign(part: AssignmentExpression, compiled: Compiled, context: Context) -> list[Assignment]:
    """One assignment per value: a bag yields as many as it has members."""
    value = compiled.run(context)
    values = value if compiled.type.is_bag else (value,)
    context.spend(len(values))
    return [_assignment(part, compiled.type.data_type, each) for each in values]


def _assignment(part: AssignmentExpression, data_type: DataType, value: object) -> Assignment:
    return Assignment(part.attribute_id, data_type, value, part.category, part.issuer)
