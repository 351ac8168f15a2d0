"""Typed expressions: small immutable trees that know their type and refuse operands of the wrong one.

sqlglot reads the text (`parse.py`); what it hands over is turned into these nodes at once. They hash, compare and match
structurally, and the set of kinds is closed: the evaluator, the printer, the canonical form, the solver and the Spark
lowering each handle every kind, and a test asserts that they do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from headgate.errors import TypeMismatchError
from headgate.model.datatype import NUMERIC, DataType, Value
from headgate.model.expression.functions import FUNCTIONS
from headgate.model.expression.like import like_pattern
from headgate.model.expression.type_rules import arithmetic_type, common_type, require_comparable

ComparisonSign = OneOf["=", "<>", "<", "<=", ">", ">="]
EventPart = OneOf["start", "end", "target"]
ArithmeticSign = OneOf["+", "-", "*", "/", "%"]

COMPARISON_SIGNS: tuple[ComparisonSign, ...] = ("=", "<>", "<", "<=", ">", ">=")
ARITHMETIC_SIGNS: tuple[ArithmeticSign, ...] = ("+", "-", "*", "/", "%")


class Expression:
    """The root of all kinds."""

    __slots__ = ()

    if TYPE_CHECKING:  # declared for the type checker only: at run time a dataclass would take it for a default value

        @property
        def type(self) -> DataType:
            """The type of the values it gives."""

        @property
        def operands(self) -> tuple[Expression, ...]:
            """The expressions directly below this one."""


class Leaf(Expression):
    """A kind with nothing below it."""

    __slots__ = ()

    @property
    def operands(self) -> tuple[Expression, ...]:
        return ()


class Condition(Expression):
    """A kind whose values are true, false or NULL."""

    __slots__ = ()

    @property
    def type(self) -> DataType:
        return DataType.BOOLEAN


@dataclass(frozen=True, slots=True)
class Constant(Leaf):
    """A literal value."""

    value: Value
    type: DataType


@dataclass(frozen=True, slots=True)
class ColumnRef(Leaf):
    """A column of one of the query's sources, by the alias of the source."""

    source: str
    name: str
    type: DataType

    def __str__(self) -> str:
        return f"{self.source}.{self.name}" if self.source else self.name


@dataclass(frozen=True, slots=True)
class ProfileRef(Leaf):
    """`self.<attribute>` in a policy: unknown until the policy is bound to a user, so compatible with every type."""

    name: str
    type: DataType = DataType.NULL


@dataclass(frozen=True, slots=True)
class EventRef(Leaf):
    """`start(a)`, `end(a)` or `target(a)` in a policy: a constant of a named event."""

    part: EventPart
    event: str

    @property
    def type(self) -> DataType:
        return DataType.NULL if self.part == "target" else DataType.TIMESTAMP


@dataclass(frozen=True, slots=True)
class EnvironmentRef(Leaf):
    """`env.<attribute>` in the `when` of a policy: a fact of the request."""

    name: str
    type: DataType = DataType.NULL


@dataclass(frozen=True, slots=True)
class Comparison(Condition):
    """`left sign right`, NULL if either side is."""

    sign: ComparisonSign
    left: Expression
    right: Expression

    def __post_init__(self) -> None:
        require_comparable(self.left.type, self.right.type)

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class And(Condition):
    """All of two or more conditions, in SQL's three-valued logic."""

    operands: tuple[Expression, ...]

    def __post_init__(self) -> None:
        require_conditions(self.operands)


@dataclass(frozen=True, slots=True)
class Or(Condition):
    """Any of two or more conditions, in SQL's three-valued logic."""

    operands: tuple[Expression, ...]

    def __post_init__(self) -> None:
        require_conditions(self.operands)


@dataclass(frozen=True, slots=True)
class Not(Condition):
    """The negation of a condition."""

    operand: Expression

    def __post_init__(self) -> None:
        require_conditions((self.operand,))

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class IsNull(Condition):
    """Whether the operand is NULL; never NULL itself."""

    operand: Expression

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class In(Condition):
    """Whether the operand equals one of the items."""

    operand: Expression
    items: tuple[Expression, ...]

    def __post_init__(self) -> None:
        for item in self.items:
            require_comparable(self.operand.type, item.type)

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.operand, *self.items)


@dataclass(frozen=True, slots=True)
class Like(Condition):
    """Whether a string matches a pattern of `%` and `_`, the pattern being a constant."""

    operand: Expression
    pattern: str

    def __post_init__(self) -> None:
        if self.operand.type not in (DataType.STRING, DataType.NULL):
            raise TypeMismatchError(f"LIKE needs a string, not {self.operand.type}")
        like_pattern(self.pattern)

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class LocalTime(Expression):
    """The time of day of a timestamp on the wall clock of a zone: what `ts > 6:00am` compares."""

    operand: Expression
    zone: str

    @property
    def type(self) -> DataType:
        return DataType.TIME_OF_DAY

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class Arithmetic(Expression):
    """`left sign right` on numbers, or a timestamp plus or minus a duration; NULL where the result does not fit."""

    sign: ArithmeticSign
    left: Expression
    right: Expression

    def __post_init__(self) -> None:
        arithmetic_type(self.sign, self.left.type, self.right.type)

    @property
    def type(self) -> DataType:
        return arithmetic_type(self.sign, self.left.type, self.right.type)

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class Negate(Expression):
    """A number with its sign turned."""

    operand: Expression

    def __post_init__(self) -> None:
        if not (self.operand.type.numeric or self.operand.type is DataType.NULL):
            raise TypeMismatchError(f"`-` needs a number, not {self.operand.type}")

    @property
    def type(self) -> DataType:
        return self.operand.type

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """A scalar function of `functions.py`."""

    function: str
    operands: tuple[Expression, ...]

    def __post_init__(self) -> None:
        FUNCTIONS[self.function].result_type(tuple(operand.type for operand in self.operands))

    @property
    def type(self) -> DataType:
        return FUNCTIONS[self.function].result_type(tuple(operand.type for operand in self.operands))


@dataclass(frozen=True, slots=True)
class Cast(Expression):
    """A conversion; one that fails gives NULL."""

    operand: Expression
    type: DataType

    def __post_init__(self) -> None:
        if (self.operand.type, self.type) not in CASTS and self.operand.type not in (self.type, DataType.NULL):
            raise TypeMismatchError(f"cannot cast {self.operand.type} to {self.type}")

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.operand,)


CASTS = frozenset(
    {(a, b) for a in NUMERIC for b in NUMERIC}
    | {(DataType.STRING, number) for number in NUMERIC}
    | {(source, DataType.STRING) for source in (DataType.INT, DataType.BIGINT, DataType.BOOLEAN)}
)
"""Conversions that mean the same on every engine. (How a double prints as text is not one of them.)"""


@dataclass(frozen=True, slots=True)
class Case(Expression):
    """`CASE WHEN condition THEN result ... ELSE otherwise END`."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression

    def __post_init__(self) -> None:
        require_conditions(tuple(condition for condition, _ in self.branches))
        common_type([result.type for _, result in self.branches] + [self.otherwise.type])

    @property
    def type(self) -> DataType:
        return common_type([result.type for _, result in self.branches] + [self.otherwise.type])

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (*(part for branch in self.branches for part in branch), self.otherwise)


@dataclass(frozen=True, slots=True)
class AggregateCall(Expression):
    """An aggregate function over the tuples of a window; `argument` is None for `count(*)`."""

    function: str
    argument: Expression | None

    def __post_init__(self) -> None:
        aggregate_type(self.function, self.argument)

    @property
    def type(self) -> DataType:
        return aggregate_type(self.function, self.argument)

    @property
    def operands(self) -> tuple[Expression, ...]:
        return () if self.argument is None else (self.argument,)


AGGREGATES = ("count", "sum", "avg", "min", "max", "first", "last")


def aggregate_type(function: str, argument: Expression | None) -> DataType:
    """The type of an aggregate function's result."""
    if function == "count":
        return DataType.BIGINT
    if argument is None:
        raise TypeMismatchError(f"`{function}(*)` means nothing", hint=f"name what to take the {function} of")
    if function in ("min", "max", "first", "last"):
        return argument.type
    if argument.type not in (*NUMERIC, DataType.NULL):
        raise TypeMismatchError(f"`{function}` needs a number, not {argument.type}")
    if function == "avg" or argument.type is DataType.DOUBLE:
        return DataType.DOUBLE
    return DataType.BIGINT


def require_conditions(operands: tuple[Expression, ...]) -> None:
    """A condition is a boolean."""
    for operand in operands:
        if operand.type not in (DataType.BOOLEAN, DataType.NULL):
            raise TypeMismatchError(
                f"a value of type {operand.type} is not a condition", hint="compare it with something"
            )


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and all below it, parents first."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.operands))


def columns_of(expression: Expression) -> tuple[ColumnRef, ...]:
    """The columns an expression names, each once, in order of appearance."""
    return tuple(dict.fromkeys(node for node in walk(expression) if isinstance(node, ColumnRef)))


TRUE = Constant(True, DataType.BOOLEAN)
NULL = Constant(None, DataType.NULL)
