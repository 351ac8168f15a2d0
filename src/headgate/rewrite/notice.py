"""What somebody is told about a query before it runs: what is missing, which policy and clause cause it, an example.

A notice holds everything, for administrators. What other people are told of it is the owner's choice (`disclosure` of a
policy file): the clause, the policy's name only, or nothing but that something is withheld.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from headgate.policy.model import Disclosure


class NoticeKind(StrEnum):
    """What a notice says."""

    DENIED = "denied"
    PARTIAL = "partial"
    EMPTY = "empty"
    REMOVED = "removed"
    UNDECIDED = "undecided"


_GENERAL = {
    NoticeKind.DENIED: "the query is not authorised",
    NoticeKind.PARTIAL: "a part of what is asked for can be withheld",
    NoticeKind.EMPTY: "EMPTY: nothing can come out",
    NoticeKind.REMOVED: "a part of the query was removed",
    NoticeKind.UNDECIDED: "it could not be decided whether something is withheld",
}


@dataclass(frozen=True)
class Notice:
    """One thing to know. `what` is in the words of the query, `text` says everything, the example aside."""

    kind: NoticeKind
    what: str
    text: str
    policies: tuple[str, ...] = ()
    example: str | None = None
    """A tuple that would be withheld, built from the conditions and never from data."""

    @property
    def full(self) -> str:
        return f"{self.text}; such as {self.example}" if self.example else self.text

    def told(self, disclosure: Disclosure) -> str:
        """What somebody who is not an administrator is told.

        >>> notice = Notice(NoticeKind.PARTIAL, "read of `S.x`", "`p` allows it where S.ward = 7", ("p",), "ward = 8")
        >>> [notice.told(one) for one in Disclosure][1:]
        ['read of `S.x`: not all of it is allowed (`p`)', 'a part of what is asked for can be withheld']
        """
        if disclosure is Disclosure.CLAUSE:
            return self.full
        if disclosure is Disclosure.NOTHING:
            return _GENERAL[self.kind]
        by = f" ({', '.join(f'`{one}`' for one in self.policies)})" if self.policies else ""
        return f"{self.what}: {_BRIEF[self.kind]}{by}"


_BRIEF = {
    NoticeKind.DENIED: "not allowed",
    NoticeKind.PARTIAL: "not all of it is allowed",
    NoticeKind.EMPTY: "EMPTY, nothing can come out",
    NoticeKind.REMOVED: "removed",
    NoticeKind.UNDECIDED: "could not be decided",
}


def told(notices: Iterable[Notice], disclosure: Disclosure) -> tuple[str, ...]:
    """Notices as texts, each once."""
    return tuple(dict.fromkeys(one.told(disclosure) for one in notices))
