"""From a target to a closure with three answers: it matches, it does not, or an error hides which.

A target that certainly does not match says so even if another part of it has an error (XACML 3.0, section 7.7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from headgate.decision.xacml.child import Matched
from headgate.decision.xacml.compile_expression import compile_designator, compile_selector, find_function
from headgate.decision.xacml.context import Context
from headgate.decision.xacml.datatypes import ANY_URI, BOOLEAN, INTEGER, STRING, DataType, ValueType
from headgate.decision.xacml.expression import Run
from headgate.decision.xacml.functions.function import Function, one
from headgate.decision.xacml.identifiers import STATUS_PROCESSING_ERROR, XACML_1
from headgate.decision.xacml.outcome import EvaluationError, Status
from headgate.decision.xacml.syntax import Designator, Match, Target
from headgate.errors import TypeMismatchError

Test = Callable[[Context], Matched]

# Equality of these is Python's equality of hashable values and cannot fail: `in` and the index may stand for it.
PLAIN_EQUALITIES: dict[str, DataType] = {
    f"{XACML_1}function:{data_type.name}-equal": data_type for data_type in (STRING, ANY_URI, INTEGER, BOOLEAN)
}


def compile_target(target: Target) -> Test:
    tests = [_some([_every([_match(match) for match in all_of]) for all_of in any_of]) for any_of in target.any_ofs]
    return _every(tests)


def _every(tests: Sequence[Test]) -> Test:
    """False if one test is, else an error if one has it, else True."""
    if not tests:
        return lambda _context: True
    if len(tests) == 1:
        return tests[0]

    def every(context: Context) -> Matched:
        answer: Matched = True
        for test in tests:
            matched = test(context)
            if matched is False:
                return False
            if matched is not True and answer is True:
                answer = matched
        return answer

    return every


def _some(tests: Sequence[Test]) -> Test:
    """True if one test is, else an error if one has it, else False."""
    if len(tests) == 1:
        return tests[0]

    def some(context: Context) -> Matched:
        answer: Matched = False
        for test in tests:
            matched = test(context)
            if matched is True:
                return True
            if matched is not False and answer is False:
                answer = matched
        return answer

    return some


def _match(match: Match) -> Test:
    function = find_function(match.function_id, match.place)
    _check_types(match, function)
    attribute = match.attribute
    find = compile_designator(attribute) if isinstance(attribute, Designator) else compile_selector(attribute)
    call, value = function.call, match.literal.value

    if match.function_id in PLAIN_EQUALITIES:
        # Every policy has one of these of its own: the two objects of a `partial` are less to walk through than the
        # four of a closure.
        return partial(_holds, find, value)

    def test(context: Context) -> Matched:
        error: Status | None = None
        try:
            candidates = find(context)
        except EvaluationError as problem:
            return problem.status
        for candidate in candidates:
            try:
                if call(value, candidate):
                    return True
            except (ValueError, ArithmeticError) as problem:
                error = error or Status(STATUS_PROCESSING_ERROR, str(problem))
        return False if error is None else error

    return test


def _holds(find: Run, value: object, context: Context) -> Matched:
    try:
        return value in find(context)
    except EvaluationError as problem:
        return problem.status


def _check_types(match: Match, function: Function) -> None:
    expected = (one(match.literal.data_type), one(match.attribute.data_type))
    takes = tuple(function.parameter(position) for position in range(2))
    if takes != expected or not function.takes(2) or function.result != ValueType(BOOLEAN):
        name = match.function_id.rpartition(":")[2]
        raise TypeMismatchError(
            f"`{name}` does not match a {expected[0]} with a {expected[1]}",
            place=match.place,
            hint="use a function of two values that yields a boolean, and the types it takes",
        )
