"""Versions: who changed what, when and why, each sealed by a hash over itself and the version before it.

The seals show damage and careless edits of the stored rows. Who may write to the database can also compute seals: they
are no signature.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import time_ns

from headgate.errors import InputError
from headgate.model.instant import Instant
from headgate.policy.store.content import Content, Delta, Kind, digest_of, to_json_text
from headgate.policy.store.frozen import FrozenMapping

Clock = Callable[[], Instant]


def system_clock() -> Instant:
    """The time now."""
    return time_ns() // 1000


@dataclass(frozen=True)
class Version:
    """One version of the catalog; `summary` says what it changed, by kind, and leaves out the kinds it did not."""

    number: int
    at: Instant
    author: str
    reason: str
    summary: Mapping[Kind, Delta]
    documents: Mapping[Kind, str] = field(repr=False)
    digest: str = field(repr=False)

    @classmethod
    def sealed(
        cls, number: int, previous: str, content: Content, summary: Mapping[Kind, Delta], signed: Signature
    ) -> Version:
        """The version of that number, after the one whose digest is `previous`."""
        documents = FrozenMapping({kind: content.parts[kind].digest for kind in Kind})
        digest = seal(previous, number, signed, write_summary(summary), documents)
        return cls(number, signed.at, signed.author, signed.reason, summary, documents, digest)


@dataclass(frozen=True)
class Signature:
    """Who makes a version, why and when; nobody may change a catalog without saying so."""

    author: str
    reason: str
    at: Instant

    @classmethod
    def of(cls, author: str, reason: str, clock: Clock) -> Signature:
        for name, text in (("author", author), ("reason", reason)):
            if not text.strip():
                raise InputError(f"the {name} of the change is missing", hint="say who changes the catalog, and why")
            if not _storable(text):
                raise InputError(f"the {name} of the change is not plain text", hint="leave out NUL and surrogates")
        return cls(author, reason, clock())


def _storable(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def seal(previous: str, number: int, signed: Signature, summary: str, documents: Mapping[Kind, str]) -> str:
    """The hash that a version carries."""
    parts = [previous, number, signed.at, signed.author, signed.reason, summary, sorted(documents.items())]
    return digest_of(to_json_text(parts).encode("ascii"))


def write_summary(summary: Mapping[Kind, Delta]) -> str:
    """A summary as JSON."""
    return to_json_text(
        {
            kind.value: {"added": delta.added, "changed": delta.changed, "removed": delta.removed}
            for kind, delta in sorted(summary.items())
        }
    )


def read_summary(text: str) -> Mapping[Kind, Delta]:
    """A summary from JSON."""
    stored: dict[str, dict[str, list[str]]] = json.loads(text)
    return FrozenMapping(
        (Kind(kind), Delta(**{name: tuple(ids) for name, ids in delta.items()})) for kind, delta in stored.items()
    )
