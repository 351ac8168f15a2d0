"""What a function is: its identifier, the types it takes and yields, and the call itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from headgate.decision.xacml.datatypes import DataType, ValueType


@dataclass(frozen=True, slots=True)
class Function:
    """A function that evaluates all its arguments first.

    `call` gets bare values (bags are tuples) and may raise `ValueError` or `ArithmeticError`: both make the
    expression Indeterminate. With `repeats`, the last parameter may be given any number of times from `least` on.
    """

    uri: str
    parameters: tuple[ValueType, ...]
    result: ValueType
    call: Callable[..., Any]
    repeats: bool = False
    least: int = 0

    def parameter(self, position: int) -> ValueType | None:
        """The type expected at a position, or None if no argument may stand there."""
        if position < len(self.parameters):
            return self.parameters[position]
        return self.parameters[-1] if self.repeats else None

    def takes(self, count: int) -> bool:
        """Whether a call with that many arguments is complete."""
        if self.repeats:
            return count >= max(self.least, len(self.parameters) - 1)
        return count == len(self.parameters)


def one(data_type: DataType) -> ValueType:
    return ValueType(data_type)


def bag(data_type: DataType) -> ValueType:
    return ValueType(data_type, is_bag=True)


def function(uri: str, takes: Iterable[DataType], gives: DataType, call: Callable[..., Any]) -> Function:
    """A function from single values to a single value."""
    return Function(uri, tuple(one(data_type) for data_type in takes), one(gives), call)
