"""A column of cells: an array of values and which of them are NULL.

Whole numbers, times and days are 64-bit integers, as everywhere else; texts are codes into a dictionary of words, so
that a condition on a text is decided once per word. Columns never change; what looks like a change is a new column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.model.datatype import DataType, Value

Values = NDArray[Any]
Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]
Words = tuple[str, ...]

_KINDS = {DataType.DOUBLE: np.float64, DataType.BOOLEAN: np.bool_}


@dataclass(frozen=True, eq=False, slots=True)
class Column:
    """`valid` is None where nothing is NULL; under a NULL stands any value."""

    type: DataType
    values: Values
    valid: Mask | None = None
    words: Words = ()

    def __len__(self) -> int:
        return len(self.values)

    @property
    def present(self) -> Mask:
        """Which cells are not NULL."""
        return np.ones(len(self.values), bool) if self.valid is None else self.valid

    def take(self, rows: Rows | Mask) -> Column:
        """Some of the rows."""
        return Column(self.type, self.values[rows], None if self.valid is None else self.valid[rows], self.words)

    def where(self, mask: Mask | None) -> Column:
        """The column with NULL in all other places."""
        if mask is None:
            return self
        return Column(self.type, self.values, mask if self.valid is None else self.valid & mask, self.words)

    def cell(self, row: int) -> Value:
        """One cell as a plain value."""
        if self.valid is not None and not self.valid[row]:
            return None
        return self.words[int(self.values[row])] if self.words else self.values[row].item()

    def to_list(self) -> list[Value]:
        """All cells as plain values."""
        plain: list[Value] = self.values.tolist()
        if self.words:
            plain = [self.words[code] for code in plain]  # type: ignore[index]
        elif self.type is DataType.STRING:
            return [None] * len(plain)
        if self.valid is None:
            return plain
        return [value if there else None for value, there in zip(plain, self.valid.tolist(), strict=True)]


def column_of(values: Sequence[Value], kind: DataType) -> Column:
    """A column of plain values."""
    valid = np.fromiter((value is not None for value in values), bool, len(values))
    if kind is DataType.STRING:
        codes: dict[str, int] = {}
        found = (0 if value is None else codes.setdefault(str(value), len(codes)) for value in values)
        numbers = np.fromiter(found, np.int64, len(values))
        return Column(kind, numbers, None if valid.all() else valid, tuple(codes))
    filled: Iterable[Value] = (0 if value is None else value for value in values)
    array: Values = np.fromiter(filled, _KINDS.get(kind, np.int64), len(values))
    return Column(kind, array, None if valid.all() else valid)


def nothing(kind: DataType, count: int) -> Column:
    """A column of NULLs."""
    return Column(kind, np.zeros(count, _KINDS.get(kind, np.int64)), np.zeros(count, bool))


def constant(value: Value, kind: DataType, count: int) -> Column:
    """A column that is the same everywhere."""
    if value is None:
        return nothing(kind, count)
    if kind is DataType.STRING:
        return Column(kind, np.zeros(count, np.int64), None, (str(value),))
    return Column(kind, np.full(count, value, _KINDS.get(kind, np.int64)))


def glued(columns: Sequence[Column]) -> Column:
    """One column after the other."""
    first = columns[0]
    if len(columns) == 1:
        return first
    if first.type is DataType.STRING:
        columns = with_common_words(columns)
    valid = None if all(one.valid is None for one in columns) else np.concatenate([one.present for one in columns])
    return Column(first.type, np.concatenate([one.values for one in columns]), valid, columns[0].words)


def with_common_words(columns: Sequence[Column]) -> list[Column]:
    """Text columns over one dictionary, so that equal texts have equal codes."""
    codes: dict[str, int] = {}
    for column in columns:
        for word in column.words:
            codes.setdefault(word, len(codes))
    words = tuple(codes)
    return [_recoded(column, [codes[word] for word in column.words], words) for column in columns]


def with_ordered_words(columns: Sequence[Column]) -> list[Column]:
    """Text columns over one dictionary in order, so that codes compare as the texts do."""
    words = tuple(sorted({word for column in columns for word in column.words}))
    codes = {word: code for code, word in enumerate(words)}
    return [_recoded(column, [codes[word] for word in column.words], words) for column in columns]


def _recoded(column: Column, codes: list[int], words: Words) -> Column:
    if not column.words:  # nothing but NULLs
        return Column(column.type, np.zeros(len(column), np.int64), np.zeros(len(column), bool), words)
    return Column(column.type, np.array(codes, np.int64)[column.values.astype(np.int64)], column.valid, words)


# Arrow ----------------------------------------------------------------------------------------------------------------

ARROW_TYPES = {DataType.STRING: pa.string(), DataType.DOUBLE: pa.float64(), DataType.BOOLEAN: pa.bool_()}


def arrow_type(kind: DataType) -> pa.DataType:
    """How a column of this type is stored: times and days are whole numbers, so that no time zone can touch them."""
    return ARROW_TYPES.get(kind, pa.int64())


def to_arrow(column: Column) -> pa.Array:
    """The column as it is stored and sent.

    INVARIANT: under a NULL stands nothing. Whoever reads the bytes would otherwise find what was withheld.
    """
    hidden = None if column.valid is None else ~column.valid
    if column.type is not DataType.STRING:
        values = column.values if hidden is None else np.where(hidden, column.values.dtype.type(0), column.values)
        return pa.array(values, arrow_type(column.type), mask=hidden)
    if not column.words:
        return pa.nulls(len(column), pa.string())
    codes = pa.array(column.values, pa.int64(), mask=hidden)
    return pa.DictionaryArray.from_arrays(codes, pa.array(column.words, pa.string())).cast(pa.string())


def from_arrow(array: pa.Array | pa.ChunkedArray, kind: DataType) -> Column:
    """A stored column."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    valid = None if array.null_count == 0 else array.is_valid().to_numpy(zero_copy_only=False)
    if kind is DataType.STRING:
        coded = array.dictionary_encode() if not pa.types.is_dictionary(array.type) else array
        codes = coded.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        return Column(kind, codes, valid, _words(coded.dictionary))
    if valid is not None:
        array = array.fill_null(False if kind is DataType.BOOLEAN else 0)
    values = array.to_numpy(zero_copy_only=False)
    return Column(kind, values.astype(_KINDS.get(kind, np.int64), copy=False), valid)


def _words(dictionary: pa.Array) -> Words:
    """Texts; the bytes of those that are none become half characters, which fit no column."""
    try:
        return tuple(dictionary.to_pylist())
    except UnicodeDecodeError:
        return tuple(word.decode("utf-8", "surrogateescape") for word in dictionary.cast(pa.binary()).to_pylist())
