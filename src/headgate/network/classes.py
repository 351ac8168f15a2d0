"""Authorisation classes: the subscribers of a query who have equal rights are served as one.

A class is a bit. A tuple carries the bitmap of the classes that may use it; joins AND the bitmaps of their inputs, and
aggregates group by them, so that even they are shared between queries with different rights. Bitmaps are Python
integers, so there is no limit of 64; where a column has to hold them they become words of 63 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from headgate.algebra.block import block_of
from headgate.algebra.query import Query
from headgate.algebra.uses import uses_of
from headgate.decision.decide import Decider, Request
from headgate.model.subject import User
from headgate.rewrite.verdict import Verdict, decide_with

WORD_BITS = 63
"""Bits of one word: a signed 64-bit column holds them without touching the sign."""


@dataclass(frozen=True)
class AuthorisationClass:
    """Subscribers of one query with equal rights, and the verdict they share."""

    bit: int
    query: str
    members: tuple[str, ...]
    verdict: Verdict


def classes_of(queries: Iterable[Query], users: Mapping[str, User], decider: Decider) -> tuple[AuthorisationClass, ...]:
    """The classes of all queries, numbered in order."""
    found: list[AuthorisationClass] = []
    for query in queries:
        grouped: dict[object, list[str]] = {}
        for name in query.subscribers:
            grouped.setdefault(_rights(query, users[name], decider), []).append(name)
        for members in grouped.values():
            verdict = decide_with(decider, query, users[members[0]])
            found.append(AuthorisationClass(len(found), query.id, tuple(members), verdict))
    return tuple(found)


def _rights(query: Query, user: User, decider: Decider) -> object:
    """Everything a subscriber's rights on the query depend on, as one comparable value."""
    governed = any(source.stream.governed for source in query.plan.sources)
    return (user.roles if governed else None, tuple(_guards(query, user, decider)))


def _guards(query: Query, user: User, decider: Decider) -> Iterator[object]:
    if decider.policies is None:
        return
    for plan in query.blocks:
        block = block_of(plan)
        sources = {source.alias: source.stream.name for source in block.sources}
        window = block.window.extents if block.window else None
        for source in block.sources:
            # Masks and the presence of a stream may depend on any of its columns, so all are asked for.
            named = {(use.column, use.privilege) for use in uses_of(block) if use.source == source.alias}
            everything = {(column, privilege) for column in source.stream.names for privilege in ("read", "assist")}
            counted = {(column, call.function) for column in source.stream.names for call in block.calls}
            uses = tuple(sorted(named | everything | counted))
            decision = decider.decide(Request(user, source.alias, uses, sources, window))
            yield tuple(decision.guards.items()), tuple(decision.masks.items())


def bitmap(classes: Iterable[AuthorisationClass]) -> int:
    """The bitmap of these classes."""
    bits = 0
    for one in classes:
        bits |= 1 << one.bit
    return bits


def members_of(bits: int, classes: Sequence[AuthorisationClass]) -> tuple[AuthorisationClass, ...]:
    """The classes of a bitmap."""
    return tuple(one for one in classes if bits >> one.bit & 1)


def to_words(bits: int, count: int) -> list[int]:
    """A bitmap of so many classes as words that a 64-bit column can hold.

    >>> to_words(1 << 63 | 1, 64)
    [1, 1]
    """
    mask = (1 << WORD_BITS) - 1
    return [bits >> shift & mask for shift in range(0, max(count, 1), WORD_BITS)]


def from_words(words: Sequence[int]) -> int:
    """The bitmap that these words hold.

    >>> from_words([1, 1]) == 1 << 63 | 1
    True
    """
    bits = 0
    for position, word in enumerate(words):
        bits |= word << (position * WORD_BITS)
    return bits
