"""Streams for a policy file that stands alone: what the policies name, typed by what it is compared with.

An open catalog lets a lone file be checked. Its limits: a stream has the columns that some policy names, and `ts`;
every number is a double (so that nothing is called impossible that fractions make possible), a text that reads as a
timestamp stands for one, and a column of which nothing tells the type is a text. An unqualified column of a joint
view belongs to the stream that is known to have it, else to the first. A misspelt name is a name like any other: only
a real catalog finds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headgate.errors import InputError
from headgate.model.datatype import DataType
from headgate.model.expression import nodes
from headgate.model.expression.nodes import ColumnRef, Expression, walk
from headgate.model.expression.parse import parse_expression
from headgate.model.instant import parse_timestamp
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.policy.entry import PolicyEntry
from headgate.policy.model import MaskKind

_TIME = "ts"
_TEXT_FUNCTIONS = ("lower", "upper", "trim", "concat", "length", "substring")
_NUMBER_FUNCTIONS = ("abs", "floor", "ceil", "round")

Key = tuple[str, str]


def open_catalog(entries: Iterable[PolicyEntry]) -> StreamCatalog:
    """The streams and columns that these policies name."""
    learnt = _Learnt()
    # Policies on one stream first: they say whose the unqualified columns of joint views are.
    for entry in sorted(entries, key=lambda one: len(one.object.streams) + len(one.object.tables) > 1):
        learnt.add(entry)
    return learnt.catalog()


class _Learnt:
    def __init__(self) -> None:
        self._streams: dict[str, tuple[str, dict[str, str]]] = {}
        self._types: dict[Key, DataType] = {}
        self._same: dict[Key, set[Key]] = {}

    def add(self, entry: PolicyEntry) -> None:
        names = list(dict.fromkeys([*entry.object.streams, *entry.object.tables]))
        for name in names:
            self._streams.setdefault(name.lower(), (name, {}))
        for attribute in entry.object.attributes:
            if attribute != "*":
                self._attribute(attribute, names)
        scope = _LearningScope(self, names)
        for text in _texts(entry):
            try:
                expression = parse_expression(text, scope)
            except InputError:
                continue  # reading the policies for good will say what is wrong
            self._learn(expression)

    def _attribute(self, attribute: str, names: list[str]) -> None:
        stream, _, column = attribute.partition(".")
        if column and stream.lower() in (name.lower() for name in names):
            self.column(stream, column, names)
        else:
            self.column(None, attribute, names)

    def column(self, source: str | None, name: str, streams: list[str]) -> Key:
        """The column of that name, known from now on."""
        candidates = [one.lower() for one in streams if source is None or one.lower() == source.lower()]
        if not candidates:
            raise InputError(f"unknown stream `{source}`")
        having = [one for one in candidates if name.lower() in self._streams[one][1]]
        stream = (having or candidates)[0]
        self._streams[stream][1].setdefault(name.lower(), name)
        return stream, name.lower()

    def _learn(self, expression: Expression) -> None:
        if isinstance(expression, ColumnRef):
            self._is(expression, DataType.BOOLEAN)
        for node in walk(expression):
            for part, kind in _told_by(node):
                if isinstance(kind, ColumnRef):
                    self._link(part, kind)
                else:
                    self._is(part, kind)

    def _is(self, column: Expression, kind: DataType) -> None:
        if isinstance(column, ColumnRef) and kind is not DataType.NULL:
            widened = DataType.DOUBLE if kind.numeric else _AS_COLUMN.get(kind, kind)
            self._types.setdefault((column.source, column.name), widened)

    def _link(self, first: Expression, second: ColumnRef) -> None:
        if isinstance(first, ColumnRef):
            one, other = (first.source, first.name), (second.source, second.name)
            self._same.setdefault(one, set()).add(other)
            self._same.setdefault(other, set()).add(one)

    def _type(self, key: Key) -> DataType:
        """The type of a column, or of one that it is compared with, however far."""
        seen, todo = {key}, [key]
        while todo:
            one = todo.pop()
            if one in self._types:
                return self._types[one]
            fresh = sorted(self._same.get(one, set()) - seen)
            seen.update(fresh)
            todo.extend(fresh)
        return DataType.STRING

    def catalog(self) -> StreamCatalog:
        return StreamCatalog(self._schema(folded) for folded in self._streams)

    def _schema(self, folded: str) -> StreamSchema:
        name, columns = self._streams[folded]
        made = [Column(spelt, self._type((folded, column))) for column, spelt in columns.items() if column != _TIME]
        return StreamSchema(name, (Column(columns.get(_TIME, _TIME), DataType.TIMESTAMP), *made))


_AS_COLUMN = {DataType.TIME_OF_DAY: DataType.TIMESTAMP, DataType.DURATION: DataType.DOUBLE}


class _LearningScope:
    """Every name stands for a column, whose type is not known yet."""

    aggregates = False
    events = True

    def __init__(self, learnt: _Learnt, streams: list[str]) -> None:
        self._learnt = learnt
        self._streams = streams

    def special(self, source: str | None, name: str) -> Expression | None:
        return nodes.ProfileRef(name) if source is not None and source.lower() == "self" else None

    def column(self, source: str | None, name: str) -> tuple[ColumnRef, Column, str]:
        stream, column = self._learnt.column(source, name, self._streams)
        return ColumnRef(stream, column, DataType.NULL), Column(name, DataType.NULL), "UTC"


def _texts(entry: PolicyEntry) -> Iterator[str]:
    if entry.object.where is not None:
        yield entry.object.where
    if entry.mask is not None and entry.mask.lower() not in set(MaskKind) - {MaskKind.EXPRESSION}:
        yield entry.mask


def _told_by(node: Expression) -> Iterator[tuple[Expression, DataType | ColumnRef]]:
    """What a node says of the types directly below it."""
    match node:
        case nodes.Comparison(_, left, right):
            yield left, _kind(right)
            yield right, _kind(left)
        case nodes.In(operand, items):
            for item in items:
                yield operand, _kind(item)
                yield item, _kind(operand)
        case nodes.Like(operand, _):
            yield operand, DataType.STRING
        case nodes.And(operands) | nodes.Or(operands):
            yield from ((operand, DataType.BOOLEAN) for operand in operands)
        case nodes.Not(operand):
            yield operand, DataType.BOOLEAN
        case nodes.Negate(operand):
            yield operand, DataType.DOUBLE
        case nodes.Arithmetic(_, left, right):
            moment = right.type is DataType.DURATION
            yield left, DataType.TIMESTAMP if moment else DataType.DOUBLE
            yield right, DataType.DOUBLE
        case nodes.Call(function, operands):
            kind = DataType.STRING if function in _TEXT_FUNCTIONS else DataType.DOUBLE
            if function in _TEXT_FUNCTIONS or function in _NUMBER_FUNCTIONS:
                yield operands[0], kind


def _kind(node: Expression) -> DataType | ColumnRef:
    if isinstance(node, ColumnRef):
        return node
    if isinstance(node, nodes.Constant) and isinstance(node.value, str):
        try:
            parse_timestamp(node.value)
        except InputError:
            return DataType.STRING
        return DataType.TIMESTAMP
    return node.type
