"""Which types go together, and what comes of them."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.errors import TypeMismatchError
from headgate.model.datatype import NUMERIC, DataType


def arithmetic_type(sign: str, left: DataType, right: DataType) -> DataType:
    """The type of `left sign right`: the wider of two numbers, double for a division."""
    if left is DataType.TIMESTAMP and right is DataType.DURATION and sign in "+-":
        return DataType.TIMESTAMP
    for side in (left, right):
        if not (side.numeric or side is DataType.NULL):
            raise TypeMismatchError(f"`{sign}` does not work on {side}", hint="use numbers, or a timestamp ± `5min`")
    if sign == "/":
        return DataType.DOUBLE
    return common_type([left, right])


def common_type(types: Sequence[DataType]) -> DataType:
    """The one type that all of these fit: the widest number, or the same for all."""
    known = [kind for kind in types if kind is not DataType.NULL]
    if not known:
        return DataType.NULL
    if all(kind.numeric for kind in known):
        return max(known, key=NUMERIC.index)
    if len(set(known)) > 1:
        raise TypeMismatchError(
            f"{known[0]} and {next(kind for kind in known if kind is not known[0])} do not go together"
        )
    return known[0]


def require_comparable(left: DataType, right: DataType) -> None:
    """Two types can be compared if one type holds both."""
    try:
        common_type([left, right])
    except TypeMismatchError as error:
        raise TypeMismatchError(f"cannot compare {left} with {right}", hint="cast one of them") from error
