"""Functions over functions: `any-of`, `all-of`, `any-of-any`, ..., `map`.

Each checks at compile time that the passed function takes the members of the bags; at run time every single call
is counted against the request's budget, because bags multiply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from headgate.decision.xacml.context import Context
from headgate.decision.xacml.datatypes import BOOLEAN, ValueType
from headgate.decision.xacml.expression import Compiled, Run, all_true, any_true
from headgate.decision.xacml.functions.function import Function, bag, one
from headgate.decision.xacml.identifiers import XACML_1, XACML_3
from headgate.decision.xacml.outcome import processing_error

Form = Callable[[Function, Sequence[Compiled]], Compiled]
Quantifier = Callable[[Iterator[Callable[[], bool]]], bool]


def _guarded(function: Function) -> Callable[..., Any]:
    call, name = function.call, function.uri.rpartition(":")[2]

    def guarded(context: Context, values: tuple[Any, ...]) -> Any:
        context.spend(1)
        try:
            return call(*values)
        except (ValueError, ArithmeticError) as problem:
            raise processing_error(f"{name}: {problem}") from problem

    return guarded


def _check(function: Function, arguments: Sequence[Compiled], result: ValueType | None) -> None:
    """The function must take one member of each argument; TypeError, for the compiler to place, if not."""
    if result is not None and function.result != result:
        raise TypeError(f"the function passed must yield {result}, not {function.result}")
    if function.result.is_bag:
        raise TypeError("the function passed must not yield a bag")
    if not function.takes(len(arguments)):
        raise TypeError(f"the function passed does not take {len(arguments)} arguments")
    for position, argument in enumerate(arguments):
        expected = function.parameter(position)
        if expected is None or expected != one(argument.type.data_type):
            raise TypeError(f"argument {position + 1} of the function passed is {expected}, not {argument.type}")


def _only_bag(arguments: Sequence[Compiled]) -> int:
    bags = [position for position, argument in enumerate(arguments) if argument.type.is_bag]
    if len(bags) != 1:
        raise TypeError(f"exactly one argument must be a bag, not {len(bags)}")
    return bags[0]


def _over_one_bag(arguments: Sequence[Compiled]) -> Callable[[Context], Iterator[tuple[Any, ...]]]:
    """For a request: the tuples of arguments, one for each member of the only bag."""
    position = _only_bag(arguments)
    runs = [argument.run for argument in arguments]

    def rows(context: Context) -> Iterator[tuple[Any, ...]]:
        values = [run(context) for run in runs]
        for member in values[position]:
            yield (*values[:position], member, *values[position + 1 :])

    return rows


def _quantified_over_one(quantifier: Quantifier) -> Form:
    def form(function: Function, arguments: Sequence[Compiled]) -> Compiled:
        _check(function, arguments, one(BOOLEAN))
        call, rows = _guarded(function), _over_one_bag(arguments)
        return Compiled(one(BOOLEAN), lambda context: quantifier(partial(call, context, row) for row in rows(context)))

    return form


def _any_of_any(function: Function, arguments: Sequence[Compiled]) -> Compiled:
    _check(function, arguments, one(BOOLEAN))
    call = _guarded(function)
    columns: list[tuple[Run, bool]] = [(argument.run, argument.type.is_bag) for argument in arguments]

    def run(context: Context) -> bool:
        values = [value(context) if is_bag else (value(context),) for value, is_bag in columns]
        return any_true(partial(call, context, row) for row in product(*values))

    return Compiled(one(BOOLEAN), run)


def _nested(outer: Quantifier, inner: Quantifier) -> Form:
    """Quantify over two bags, the first one outside."""

    def form(function: Function, arguments: Sequence[Compiled]) -> Compiled:
        _check(function, arguments, one(BOOLEAN))
        if len(arguments) != 2 or not all(argument.type.is_bag for argument in arguments):
            raise TypeError("exactly two bags are needed after the function")
        call = _guarded(function)
        first_run, second_run = arguments[0].run, arguments[1].run

        def run(context: Context) -> bool:
            first, second = first_run(context), second_run(context)

            def within(member: Any) -> bool:
                return inner(partial(call, context, (member, other)) for other in second)

            return outer(partial(within, member) for member in first)

        return Compiled(one(BOOLEAN), run)

    return form


def _map(function: Function, arguments: Sequence[Compiled]) -> Compiled:
    _check(function, arguments, None)
    call, rows = _guarded(function), _over_one_bag(arguments)
    return Compiled(bag(function.result.data_type), lambda context: tuple(call(context, row) for row in rows(context)))


HIGHER_ORDER_FORMS: Mapping[str, Form] = {
    **{
        f"{prefix}function:{name}": form
        for prefix in (XACML_1, XACML_3)
        for name, form in (
            ("any-of", _quantified_over_one(any_true)),
            ("all-of", _quantified_over_one(all_true)),
            ("any-of-any", _any_of_any),
            ("map", _map),
        )
    },
    # all-of-any: each of the first bag has a partner in the second; any-of-all: one of the first fits all of the second
    XACML_1 + "function:all-of-any": _nested(all_true, any_true),
    XACML_1 + "function:any-of-all": _nested(any_true, all_true),
    XACML_1 + "function:all-of-all": _nested(all_true, all_true),
}
