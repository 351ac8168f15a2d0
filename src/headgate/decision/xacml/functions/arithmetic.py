"""Arithmetic on integers and doubles, and conversion between them."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator

from headgate.decision.xacml.datatypes import DOUBLE, INTEGER
from headgate.decision.xacml.functions.function import Function, function, one
from headgate.decision.xacml.identifiers import XACML_1

# Variables let a policy square a number again and again; without a bound a small policy could fill the memory.
_LARGEST_BITS = 13_000


def integer_divide(dividend: int, divisor: int) -> int:
    """Division that rounds towards zero.

    >>> integer_divide(-7, 2)
    -3
    """
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def integer_modulo(dividend: int, divisor: int) -> int:
    """The remainder of `integer_divide`: it has the sign of the dividend.

    >>> integer_modulo(-7, 2)
    -1
    """
    return dividend - divisor * integer_divide(dividend, divisor)


def round_half_even(value: float) -> float:
    """The nearest whole number, halves to the even one, as IEEE 754 rounds.

    >>> round_half_even(2.5), round_half_even(-3.5)
    (2.0, -4.0)
    """
    return float(round(value)) if math.isfinite(value) else value


def floor(value: float) -> float:
    return float(math.floor(value)) if math.isfinite(value) else value


def _bounded(value: int) -> int:
    if value.bit_length() > _LARGEST_BITS:
        raise OverflowError("the integer is too large")
    return value


def _add_integers(*values: int) -> int:
    return _bounded(sum(values))


def _multiply_integers(*values: int) -> int:
    product = 1
    for value in values:
        product = _bounded(product * value)
    return product


def _add_doubles(*values: float) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


def arithmetic_functions() -> Iterator[Function]:
    prefix = XACML_1 + "function:"
    for data_type, add, multiply in (
        (INTEGER, _add_integers, _multiply_integers),
        (DOUBLE, _add_doubles, lambda *values: math.prod(values)),
    ):
        pair = (one(data_type), one(data_type))
        yield Function(f"{prefix}{data_type.name}-add", pair, one(data_type), add, repeats=True, least=2)
        yield Function(f"{prefix}{data_type.name}-multiply", pair, one(data_type), multiply, repeats=True, least=2)
        yield function(f"{prefix}{data_type.name}-abs", (data_type,), data_type, abs)
    yield function(prefix + "integer-subtract", (INTEGER, INTEGER), INTEGER, lambda a, b: _bounded(a - b))
    yield function(prefix + "double-subtract", (DOUBLE, DOUBLE), DOUBLE, operator.sub)
    yield function(prefix + "integer-divide", (INTEGER, INTEGER), INTEGER, integer_divide)
    yield function(prefix + "double-divide", (DOUBLE, DOUBLE), DOUBLE, operator.truediv)
    yield function(prefix + "integer-mod", (INTEGER, INTEGER), INTEGER, integer_modulo)
    yield function(prefix + "round", (DOUBLE,), DOUBLE, round_half_even)
    yield function(prefix + "floor", (DOUBLE,), DOUBLE, floor)
    yield function(prefix + "double-to-integer", (DOUBLE,), INTEGER, math.trunc)
    yield function(prefix + "integer-to-double", (INTEGER,), DOUBLE, float)
