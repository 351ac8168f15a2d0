"""The scalar functions, each with its type rule and its meaning on plain values.

The list is closed: an unknown function is refused. Each means the same on every engine, which is why it is short.
None of them raises: what cannot be computed is NULL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from headgate.errors import TypeMismatchError
from headgate.model.datatype import NUMERIC, DataType, Value, in_range
from headgate.model.expression.type_rules import common_type

Types = tuple[DataType, ...]


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """A function: how many arguments, which types, what it gives.

    One that does not `handles_null` gives NULL as soon as one argument is NULL, without being called.
    """

    name: str
    arity: tuple[int, int]
    typing: Callable[[Types], DataType]
    compute: Callable[..., Value]
    handles_null: bool = False

    def result_type(self, types: Types) -> DataType:
        low, high = self.arity
        if not low <= len(types) <= high:
            wanted = str(low) if low == high else f"{low} or more" if high == MANY else f"{low} to {high}"
            raise TypeMismatchError(f"`{self.name}` takes {wanted} arguments, not {len(types)}")
        return self.typing(types)


MANY = 1_000


def _need(name: str, types: Types, *wanted: tuple[DataType, ...]) -> None:
    for position, (kind, allowed) in enumerate(zip(types, wanted, strict=False), start=1):
        if kind not in allowed and kind is not DataType.NULL:
            names = " or ".join(one.value for one in allowed)
            raise TypeMismatchError(f"argument {position} of `{name}` is {kind}, not {names}")


_TEXT = (DataType.STRING,)
_WHOLE = (DataType.INT, DataType.BIGINT)


def _signature(name: str, result: DataType, *wanted: tuple[DataType, ...]) -> Callable[[Types], DataType]:
    def check(types: Types) -> DataType:
        _need(name, types, *wanted)
        return result

    return check


def _same_number(name: str) -> Callable[[Types], DataType]:
    def check(types: Types) -> DataType:
        _need(name, types, NUMERIC, _WHOLE)
        return types[0]

    return check


def _to_whole(name: str) -> Callable[[Types], DataType]:
    def check(types: Types) -> DataType:
        _need(name, types, NUMERIC)
        return types[0] if types[0] is DataType.INT else DataType.BIGINT

    return check


def _texts(name: str) -> Callable[[Types], DataType]:
    def check(types: Types) -> DataType:
        _need(name, types, *([_TEXT] * len(types)))
        return DataType.STRING

    return check


def _first_of_common(types: Types) -> DataType:
    common_type(types)
    return types[0]


def _conditional(types: Types) -> DataType:
    _need("if", types, (DataType.BOOLEAN,))
    return common_type(types[1:])


def _abs(value: int | float) -> Value:
    return abs(value)


def _floor(value: int | float) -> Value:
    return _bounded(int(value // 1))


def _ceil(value: int | float) -> Value:
    return _bounded(int(-(-value // 1)))


def _bounded(value: int) -> int | None:
    return value if in_range(value, DataType.BIGINT) else None


def _round(value: int | float, digits: int = 0) -> Value:
    """Half away from zero, on the decimal text of the number, as Spark rounds."""
    if not -30 <= digits <= 30:
        return None
    try:
        rounded = Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    except InvalidOperation:
        return value  # more digits than the number has: nothing to round away
    return float(rounded) if isinstance(value, float) else int(rounded)


def _substring(text: str, start: int, length: int | None = None) -> Value:
    """Counted from one, from the end if negative; what lies outside the text is empty."""
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = len(text) if length is None else begin + length
    return text[max(begin, 0) : max(end, 0)]


def _coalesce(*values: Value) -> Value:
    return next((value for value in values if value is not None), None)


def _nullif(value: Value, other: Value) -> Value:
    return None if value == other and value is not None else value


def _greatest(*values: Value) -> Value:
    return max((value for value in values if value is not None), default=None)


def _least(*values: Value) -> Value:
    return min((value for value in values if value is not None), default=None)


def _if(condition: Value, then: Value, otherwise: Value) -> Value:
    return then if condition is True else otherwise


FUNCTIONS: dict[str, ScalarFunction] = {
    function.name: function
    for function in (
        ScalarFunction("abs", (1, 1), _same_number("abs"), _abs),
        ScalarFunction("floor", (1, 1), _to_whole("floor"), _floor),
        ScalarFunction("ceil", (1, 1), _to_whole("ceil"), _ceil),
        ScalarFunction("round", (1, 2), _same_number("round"), _round),
        ScalarFunction("length", (1, 1), _signature("length", DataType.INT, _TEXT), len),
        ScalarFunction("lower", (1, 1), _texts("lower"), str.lower),
        ScalarFunction("upper", (1, 1), _texts("upper"), str.upper),
        ScalarFunction("trim", (1, 1), _texts("trim"), lambda text: text.strip(" ")),
        ScalarFunction("concat", (1, MANY), _texts("concat"), lambda *texts: "".join(texts)),
        ScalarFunction(
            "substring",
            (2, 3),
            _signature("substring", DataType.STRING, _TEXT, _WHOLE, _WHOLE),
            _substring,
        ),
        ScalarFunction("coalesce", (1, MANY), common_type, _coalesce, handles_null=True),
        ScalarFunction("nullif", (2, 2), _first_of_common, _nullif, handles_null=True),
        ScalarFunction("greatest", (2, MANY), common_type, _greatest, handles_null=True),
        ScalarFunction("least", (2, MANY), common_type, _least, handles_null=True),
        ScalarFunction("if", (3, 3), _conditional, _if, handles_null=True),
    )
}
"""Every function that may be called, by its name in lower case."""
