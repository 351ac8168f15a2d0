"""Which punctuations speak of a cell: the patterns of one log, numbered, and an index over them.

Patterns for every tuple depend on stream and attribute alone, so that the usual question needs no tuple id. Of the
others, those that list ids are found by the id, and only ranges and regular expressions are tried one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headgate.decision.timeline.interning import Interner
from headgate.model.datatype import Value
from headgate.model.pattern import EVERYTHING, Ids
from headgate.model.punctuation import Objects

Numbers = frozenset[int]
NONE: Numbers = frozenset()


@dataclass(frozen=True, slots=True)
class Matching:
    """The patterns that match one attribute of one stream."""

    common: Numbers = NONE
    """Those for every tuple."""
    particular: Numbers = NONE
    """Those that depend on the tuple's id."""


class ObjectIndex(Interner[Objects]):
    """The patterns of one log. Like every interner it only grows: patterns a version has not seen do it no harm."""

    def __init__(self, values: Iterable[Objects] = ()) -> None:
        self._by_id: dict[str | int | float, list[int]] = defaultdict(list)
        self._tried: list[int] = []
        self._known: dict[tuple[str, str], tuple[int, Matching]] = {}
        super().__init__(values)

    def number(self, value: Objects) -> int:
        before = len(self)
        number = super().number(value)
        if number == before and value.tuples != EVERYTHING:
            self._index(number, value)
        return number

    def _index(self, number: int, value: Objects) -> None:
        if isinstance(value.tuples, Ids):
            for one in dict.fromkeys(value.tuples.ids):
                self._by_id[one].append(number)
        else:
            self._tried.append(number)

    def matching(self, stream: str, attribute: str) -> Matching:
        """The patterns that match the attribute; only those that are new since the last time are looked at."""
        upto, found = self._known.get((stream, attribute), (0, Matching()))
        if upto < len(self):
            found = self._extended(found, stream, attribute, range(upto, len(self)))
            self._known[stream, attribute] = (len(self), found)
        return found

    def _extended(self, found: Matching, stream: str, attribute: str, numbers: Sequence[int]) -> Matching:
        common: list[int] = []
        particular: list[int] = []
        for number in numbers:
            value = self.values[number]
            if value.streams.matches(stream) and value.attributes.matches(attribute):
                (common if value.tuples == EVERYTHING else particular).append(number)
        if not common and not particular:
            return found
        return Matching(found.common.union(common), found.particular.union(particular))

    def own(self, matching: Matching, tid: Value) -> Numbers:
        """The patterns among the particular ones that match the tuple's id."""
        if not matching.particular or tid is None or isinstance(tid, bool):
            return NONE
        listed = (one for one in self._by_id.get(tid, ()) if self.values[one].tuples.matches(tid))
        tried = (one for one in self._tried if one in matching.particular and self.values[one].tuples.matches(tid))
        return matching.particular.intersection((*listed, *tried))
