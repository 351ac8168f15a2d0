"""Which policies are worth comparing: filed by stream, column and subject, and by the values their conditions ask for.

Without this, comparing policies in pairs would cost their number squared. With it, a policy meets only those that
speak of the same cell to a subject that can be the same user, and of these only those that do not ask for another
value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from headgate.decision.analysis.box import Name
from headgate.decision.analysis.reasoner import Known
from headgate.model.datatype import Value
from headgate.policy.model import Policy, Subject

Key = tuple[str, str]
"""The most telling part of a subject: its user, else its role, else nothing."""
Cell = tuple[str, str]

ANYONE: Key = ("anyone", "")


def key_of(subject: Subject) -> Key:
    """Where policies with this subject are filed."""
    if subject.user is not None:
        return ("user", subject.user)
    if subject.role is not None:
        return ("role", subject.role)
    return ANYONE


class _Bucket:
    """Policies of one cell and subject, by one column that their condition fixes, where it does."""

    def __init__(self) -> None:
        self.size = 0
        self._fixing: dict[Name, dict[Value, list[Policy]]] = {}
        self._others: list[Policy] = []

    def add(self, policy: Policy, known: Known) -> None:
        self.size += 1
        if known.fixed:
            name, value = next(iter(known.fixed.items()))
            self._fixing.setdefault(name, {}).setdefault(value, []).append(policy)
        else:
            self._others.append(policy)

    def meeting(self, fixed: Mapping[Name, Value]) -> Iterator[Policy]:
        """Those that can hold together with a condition that fixes these values."""
        for name, by_value in self._fixing.items():
            if name in fixed:
                yield from by_value.get(fixed[name], ())
            else:
                for policies in by_value.values():
                    yield from policies
        yield from self._others

    def implied(self, fixed: Mapping[Name, Value]) -> Iterator[Policy]:
        """Those that can follow from a box that fixes these values: none that asks for a value the box leaves open."""
        for name, by_value in self._fixing.items():
            if name in fixed:
                yield from by_value.get(fixed[name], ())
        yield from self._others


class Shelf:
    """Policies filed by cell and subject."""

    def __init__(self) -> None:
        self._buckets: dict[tuple[Cell, Key], _Bucket] = {}
        self._keys: dict[Cell, dict[Key, None]] = {}

    def add(self, policy: Policy, known: Known) -> None:
        for key in dict.fromkeys(key_of(subject) for subject in policy.subjects):
            for cell in policy.cells:
                self._buckets.setdefault((cell, key), _Bucket()).add(policy, known)
                self._keys.setdefault(cell, {})[key] = None

    def keys(self, cell: Cell) -> Iterable[Key]:
        """The subjects that policies on this cell are filed under."""
        return self._keys.get(cell, {})

    def meeting(self, cell: Cell, keys: Iterable[Key], known: Known) -> Iterator[Policy]:
        """The policies on a cell for such subjects that may hold together with the condition."""
        for key in keys:
            if bucket := self._buckets.get((cell, key)):
                yield from bucket.meeting(known.fixed)

    def implied(self, cells: Iterable[Cell], keys: Iterable[Key], known: Known) -> Iterator[Policy]:
        """The policies for such subjects that may cover all the cells wherever the condition holds."""
        wanted = list(keys)
        # A policy that covers all cells is found at each of them: look where the fewest are.
        cell = min(sorted(cells), key=lambda one: sum(self._size(one, key) for key in wanted))
        for key in wanted:
            if bucket := self._buckets.get((cell, key)):
                yield from bucket.implied(known.fixed) if known.box is not None else bucket.meeting({})

    def _size(self, cell: Cell, key: Key) -> int:
        bucket = self._buckets.get((cell, key))
        return bucket.size if bucket else 0
