"""Logic. `and`, `or` and `n-of` stop as soon as the result is certain, also past an error.

The standard says that `or` SHALL return True if at least one of its arguments evaluates to True: an error beside it
does not change that, and whatever the failed argument would have been, neither would its value. Without a True the
error wins.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from headgate.decision.xacml.context import Context
from headgate.decision.xacml.datatypes import BOOLEAN, INTEGER
from headgate.decision.xacml.expression import Run, all_true, any_true
from headgate.decision.xacml.functions.function import Function, function, one
from headgate.decision.xacml.identifiers import XACML_1
from headgate.decision.xacml.outcome import EvaluationError, processing_error

AND = XACML_1 + "function:and"
OR = XACML_1 + "function:or"
N_OF = XACML_1 + "function:n-of"


def at_least(needed: int, *values: bool) -> bool:
    if not 0 <= needed <= len(values):
        raise ValueError(f"{needed} of {len(values)} arguments can never be true")
    return sum(values) >= needed


def logic_functions() -> Iterator[Function]:
    """The eager forms: they give the types, and serve where a function is passed to another."""
    truth = one(BOOLEAN)
    yield Function(AND, (truth,), truth, lambda *values: all(values), repeats=True)
    yield Function(OR, (truth,), truth, lambda *values: any(values), repeats=True)
    yield Function(N_OF, (one(INTEGER), truth), truth, at_least, repeats=True, least=1)
    yield function(XACML_1 + "function:not", (BOOLEAN,), BOOLEAN, operator.not_)


def _lazy_and(runs: Sequence[Run]) -> Run:
    return lambda context: all_true(partial(run, context) for run in runs)


def _lazy_or(runs: Sequence[Run]) -> Run:
    return lambda context: any_true(partial(run, context) for run in runs)


def _lazy_n_of(runs: Sequence[Run]) -> Run:
    needed_run, candidates = runs[0], runs[1:]

    def run(context: Context) -> bool:
        needed: Any = needed_run(context)
        if not 0 <= needed <= len(candidates):
            raise processing_error(f"n-of: {needed} of {len(candidates)} arguments can never be true")
        error: EvaluationError | None = None
        true, open_ = 0, len(candidates)
        for candidate in candidates:
            if true >= needed or true + open_ < needed:
                break
            try:
                true += 1 if candidate(context) else 0
                open_ -= 1
            except EvaluationError as problem:
                error = error or problem  # it stays open: it might have been true
        if true >= needed:
            return True
        if error is not None and true + open_ >= needed:
            raise error
        return False

    return run


LAZY_FORMS: Mapping[str, Callable[[Sequence[Run]], Run]] = {AND: _lazy_and, OR: _lazy_or, N_OF: _lazy_n_of}
