"""What punctuations do to a set of roles, as bits: every role is given, taken away, or left as it was.

A set of roles is an integer, one bit for each role; minus one stands for all of them, those not heard of included. A
batch, and any run of batches, is then one pair of integers, and a fold over a million tuples' worth of punctuations
composes pairs: it need not know the roles it will be applied to (the subscriber's own, for a query).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

ALL = -1


class Effect(NamedTuple):
    """Of the roles that were there, `keep` stay; those of `give` come in any case. The two are disjoint."""

    keep: int
    give: int

    def applied_to(self, roles: int) -> int:
        return (roles & self.keep) | self.give

    def then(self, later: Effect) -> Effect:
        """This one, followed by another.

        >>> Effect(ALL, 0b01).then(Effect(~0b01, 0b10)) == Effect(~0b11, 0b10)
        True
        """
        give = (self.give & later.keep) | later.give
        return Effect(self.keep & later.keep & ~give, give)

    def taking_away(self) -> Effect:
        """The same for a held tuple, to which nothing may be given: what was, and what this would make of it.

        `roles & ((roles & keep) | give)` is `roles & (keep | give)`.
        """
        return Effect(self.keep | self.give, 0)


UNCHANGED = Effect(ALL, 0)
NOTHING = Effect(0, 0)


class Rule(StrEnum):
    """How a batch of punctuations changes what was there."""

    REPLACE = "replace"
    """A dsp: a `+` states who may, and replaces."""

    ACQUIRE = "acquire"
    """A qsp: a `+` adds."""


class Statement(NamedTuple):
    """A punctuation without its time, so that the many that say the same are kept once."""

    objects: int
    positive: bool
    immediate: bool
    subjects: int

    def writes(self, rule: Rule) -> int:
        """The roles whose presence this decides, whatever was there before: the last one to decide prevails."""
        return ALL if self.positive and rule is Rule.REPLACE else self.subjects


def effect_of(batch: Iterable[Statement], rule: Rule) -> Effect:
    """What the matching statements of one instant do together: `-` is applied after `+`."""
    gained, lost, replaces = 0, 0, False
    for statement in batch:
        if statement.positive:
            gained |= statement.subjects
            replaces = rule is Rule.REPLACE
        else:
            lost |= statement.subjects
    give = gained & ~lost
    return Effect(0 if replaces else ~(lost | give), give)
