"""Rows to be judged: one tuple for each source, as they stand in the log or as they have just arrived.

Everything computed over a frame is remembered under what it was computed from, so that classes which see the same share
the work: a condition is evaluated once for all queries that have it and see its columns alike.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from headgate.columnar.column import Column, Mask, Rows, glued, nothing
from headgate.columnar.evaluate import holds
from headgate.columnar.plan import StreamPlan
from headgate.decision.timeline.tuples import Span, Tuples
from headgate.model.datatype import DataType
from headgate.model.expression.nodes import ColumnRef, Expression
from headgate.model.schema import StreamSchema

Times = NDArray[np.int64]
Words = NDArray[np.int64]
T = TypeVar("T")

WORD_BITS = 63


class Bits:
    """A bitmap for each row, as words of 63 bits."""

    __slots__ = ("_words",)

    def __init__(self, words: Words | Callable[[], Words]) -> None:
        self._words = words

    @property
    def words(self) -> Words:
        if callable(self._words):
            self._words = self._words()
        return self._words

    @staticmethod
    def of(masks: Mapping[int, Mask | None], width: int, count: int) -> Bits:
        """From a mask for each bit; None is every row, a missing one none."""
        words = np.zeros((max(1, -(-width // WORD_BITS)), count), np.int64)
        for bit, mask in masks.items():
            one = np.int64(1 << (bit % WORD_BITS))
            words[bit // WORD_BITS] |= one if mask is None else np.where(mask, one, np.int64(0))
        return Bits(words)

    def bit(self, number: int) -> Mask:
        """Which rows have the bit; those that were written before there was one have it not."""
        place = number // WORD_BITS
        if place >= len(self.words):
            return np.zeros(self.words.shape[1], bool)
        found: Mask = self.words[place] >> np.int64(number % WORD_BITS) & np.int64(1) != 0
        return found

    def any(self) -> Mask:
        return np.asarray((self.words != 0).any(axis=0))

    def take(self, rows: Rows | Mask) -> Bits:
        return Bits(lambda: self.words[:, rows])


K = TypeVar("K")


class _Taken(Mapping[K, Column]):
    """Some rows of columns. Each column is fetched when it is asked for: most combinations fail the first test."""

    def __init__(self, columns: Mapping[K, Column], rows: Rows) -> None:
        self._columns, self._rows = columns, rows
        self._found: dict[K, Column] = {}

    def __getitem__(self, key: K) -> Column:
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._columns[key].take(self._rows)
        return found

    def __iter__(self) -> Iterator[K]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


class Part:
    """The tuples of one source of a frame.

    `columns` is what is kept of them; `raw` what only judgements may look at. Fresh tuples have everything raw and no
    facts yet; those of the log have the facts they were given on arrival.
    """

    def __init__(
        self,
        plan: StreamPlan,
        times: Times,
        columns: Mapping[str, Column],
        raw: Mapping[str, Column] | None = None,
        usable: Bits | None = None,
        facts: Bits | None = None,
        known: NDArray[np.int64] | Callable[[], NDArray[np.int64]] | None = None,
        derived: Mapping[int, Column] | None = None,
        uids: NDArray[np.int64] | Callable[[], NDArray[np.int64]] | None = None,
        within: Span | None = None,
    ) -> None:
        self.plan = plan
        self.times = times
        self.columns = columns
        self.raw: Mapping[str, Column] = columns if raw is None else ChainMap(raw, columns)  # type: ignore[arg-type]
        self.usable = usable
        self._uids = np.arange(len(times)) if uids is None else uids
        self.derived = derived
        self._own_raw = raw
        self._facts = facts
        self._known = known
        self._within = within
        self._decided: dict[int, tuple[Mask, Mask | None]] = {}

    def __len__(self) -> int:
        return len(self.times)

    @property
    def stream(self) -> StreamSchema:
        return self.plan.schema

    @property
    def fresh(self) -> bool:
        """Whether the tuples have just arrived and are as they came."""
        return self._facts is None

    @property
    def uids(self) -> NDArray[np.int64]:
        """The numbers of the tuples."""
        if callable(self._uids):
            self._uids = self._uids()
        return self._uids

    @uids.setter
    def uids(self, numbers: NDArray[np.int64]) -> None:
        self._uids = numbers

    @property
    def within(self) -> Span:
        """Times that none of the tuples lies outside of; some of them take this over, and need not be looked at."""
        if self._within is None:
            self._within = Tuples(self.times).span
        return self._within

    def tuples(self) -> Tuples:
        """The tuples as a timeline looks at them."""
        if self.stream.tid is None or not self.stream.governed:
            return self.moments()
        tid = self.raw[self.stream.tid]
        plain = tid.valid is None and tid.type in (DataType.INT, DataType.BIGINT)
        return Tuples(self.times, tid.values if plain else tid.to_list(), within=self.within)

    def moments(self) -> Tuples:
        """The same without their ids."""
        return Tuples(self.times, within=self.within)

    def fact(self, number: int) -> tuple[Mask, Mask | None]:
        """Where the fact is true, and where it is not known because the tuple arrived before the policy did."""
        found = self._decided.get(number)
        if found is None:
            found = self._decided[number] = self._decide(number)
        return found

    def _decide(self, number: int) -> tuple[Mask, Mask | None]:
        if self._facts is None:
            condition = self.plan.facts[number]
            if condition is None:  # of a policy that is no more: nothing in the plan asks for it
                return np.zeros(len(self), bool), None
            return holds(condition, lambda column: self.raw[column.name], len(self)), None
        unknown = self.known() <= number
        return self._facts.bit(number), unknown if unknown.any() else None

    def fact_bits(self) -> Bits:
        """All facts of fresh tuples, as the log keeps them."""
        return Bits.of(
            {number: self.fact(number)[0] for number in range(len(self.plan.facts))}, len(self.plan.facts), len(self)
        )

    def fact_bits_kept(self) -> Bits:
        """The facts that tuples of the log carry."""
        assert self._facts is not None
        return self._facts

    def known(self) -> NDArray[np.int64]:
        """How many facts were known of each tuple of the log when it arrived."""
        assert self._known is not None
        if callable(self._known):
            self._known = self._known()
        return self._known

    def take(self, chosen: Rows | Mask) -> Part:
        """Some of the tuples."""
        rows: Rows = np.flatnonzero(chosen) if chosen.dtype == bool else np.asarray(chosen, np.int64)
        return Part(
            self.plan,
            self.times[rows],
            _Taken(self.columns, rows),
            None if self._own_raw is None else _Taken(self._own_raw, rows),
            None if self.usable is None else self.usable.take(rows),
            None if self._facts is None else self._facts.take(rows),
            None if self._known is None else lambda: self.known()[rows],
            None if self.derived is None else _Taken(self.derived, rows),
            lambda: self.uids[rows],
            self.within,
        )


def glued_parts(parts: Sequence[Part]) -> Part:
    """Tuples of the log, one after the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    assert all(one._facts is not None and one._known is not None and one.usable is not None for one in parts)
    return Part(
        first.plan,
        np.concatenate([one.times for one in parts]),
        {name: glued([one.columns[name] for one in parts]) for name in first.columns},
        {name: glued([one._own_raw[name] for one in parts]) for name in first._own_raw or ()},  # type: ignore[index]
        _glued_bits([one.usable for one in parts]),  # type: ignore[misc]
        _glued_bits([one._facts for one in parts]),  # type: ignore[misc]
        np.concatenate([one.known() for one in parts]),
        {number: glued([one.derived[number] for one in parts]) for number in first.derived or ()},  # type: ignore[index]
        np.concatenate([one.uids for one in parts]),
    )


def _glued_bits(bits: Sequence[Bits]) -> Bits:
    width = max(len(one.words) for one in bits)
    padded = [np.pad(one.words, ((0, width - len(one.words)), (0, 0))) for one in bits]
    return Bits(np.concatenate(padded, axis=1))


class Frame:
    """Combinations of one tuple for each source; `times` are those of the combinations, `now` when they are judged."""

    def __init__(self, parts: Mapping[str, Part], now: Times | None = None, windows: Times | None = None) -> None:
        self.parts = parts
        first = next(iter(parts.values()))
        self.count = len(first)
        self.times = first.times
        for part in parts.values():
            if part is not first:
                self.times = np.maximum(self.times, part.times)
        self.now = self.times if now is None else now
        self.now_is_own = now is None and len(parts) == 1
        self.windows = self.now if windows is None else windows
        """Which window a combination belongs to; those of one time window end together."""
        self._memo: dict[object, object] = {}

    def take(self, rows: Rows | Mask) -> Frame:
        """Some of the combinations."""
        return Frame(
            {alias: part.take(rows) for alias, part in self.parts.items()},
            None if self.now_is_own else self.now[rows],
            None if self.now_is_own else self.windows[rows],
        )

    @property
    def within(self) -> Span | None:
        """Times that `now` does not lie outside of, where they are known without looking."""
        if self.now is not self.times:
            return None
        spans = [part.within for part in self.parts.values()]
        return max(first for first, _ in spans), max(last for _, last in spans)

    def remember(self, key: object, make: Callable[[], T]) -> T:
        """What was computed under this key, or else is now."""
        if key not in self._memo:
            self._memo[key] = make()
        return self._memo[key]  # type: ignore[return-value]

    def both(self, left: Mask | None, right: Mask | None) -> Mask | None:
        """Both masks; equal questions get the same object, which is what makes sharing possible further on."""
        if left is None or right is None:
            return left if right is None else right
        if left is right:
            return left
        # The masks are kept with the answer, so that their identities stay theirs.
        return self.remember(("both", id(left), id(right)), lambda: (left & right, left, right))[0]

    def holds(self, condition: Expression, masks: Mapping[ColumnRef, Mask | None]) -> Mask:
        """Where a condition is true of the columns as these masks leave them."""

        def made() -> tuple[Mask, tuple[Mask | None, ...]]:
            held = holds(condition, lambda column: self.column(column).where(masks[column]), self.count)
            return held, tuple(masks.values())

        key = ("holds", condition, tuple(id(mask) for mask in masks.values()))
        return self.remember(key, made)[0]

    def column(self, column: ColumnRef) -> Column:
        return self.parts[column.source].columns[column.name]


def empty_columns(stream: StreamSchema, count: int) -> dict[str, Column]:
    """The columns of a stream, all NULL."""
    return {column.name: nothing(column.type, count) for column in stream.columns}
