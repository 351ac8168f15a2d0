"""Compiled expressions: a type, and a Python closure that yields the value for one request."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from headgate.decision.xacml.context import Context
from headgate.decision.xacml.datatypes import ValueType
from headgate.decision.xacml.functions.function import Function
from headgate.decision.xacml.outcome import EvaluationError, processing_error

Run = Callable[[Context], Any]


@dataclass(frozen=True, slots=True)
class Compiled:
    """An expression of a known type; `run` raises `EvaluationError` if it has no value."""

    type: ValueType
    run: Run


def call_strict(function: Function, runs: tuple[Run, ...]) -> Run:
    """Evaluate the arguments from left to right, then call; one, two and three arguments are unrolled for speed."""
    call, name = function.call, function.uri.rpartition(":")[2]
    if len(runs) == 1:
        (first,) = runs

        def run_one(context: Context) -> Any:
            value = first(context)
            try:
                return call(value)
            except (ValueError, ArithmeticError) as problem:
                raise processing_error(f"{name}: {problem}") from problem

        return run_one
    if len(runs) == 2:
        left, right = runs

        def run_two(context: Context) -> Any:
            values = left(context), right(context)
            try:
                return call(*values)
            except (ValueError, ArithmeticError) as problem:
                raise processing_error(f"{name}: {problem}") from problem

        return run_two

    def run_many(context: Context) -> Any:
        values = [run(context) for run in runs]
        try:
            return call(*values)
        except (ValueError, ArithmeticError) as problem:
            raise processing_error(f"{name}: {problem}") from problem

    return run_many


def any_true(attempts: Iterable[Callable[[], bool]]) -> bool:
    """True if one attempt is, even past an error; the first error if there is no True among them."""
    error: EvaluationError | None = None
    for attempt in attempts:
        try:
            if attempt():
                return True
        except EvaluationError as problem:
            error = error or problem
    if error is not None:
        raise error
    return False


def all_true(attempts: Iterable[Callable[[], bool]]) -> bool:
    """False if one attempt is, even past an error; the first error if there is no False among them."""
    error: EvaluationError | None = None
    for attempt in attempts:
        try:
            if not attempt():
                return False
        except EvaluationError as problem:
            error = error or problem
    if error is not None:
        raise error
    return True
