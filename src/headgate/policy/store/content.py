"""What a catalog holds at one version: for each kind of thing, its items by id, each as one JSON text.

Texts are what is compared, hashed and stored. Python's own equality would not do: to it a profile that says `1` equals
one that says `true`, and a change from one to the other would be lost.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from headgate.errors import InputError
from headgate.policy.store.frozen import FrozenMapping


class Kind(StrEnum):
    """The kinds of things in a catalog; each has its own document in a version."""

    STREAMS = "streams"
    USERS = "users"
    ROLES = "roles"
    POLICIES = "policies"
    EVENTS = "events"
    DEFAULTS = "defaults"

    @property
    def one(self) -> str:
        """What one thing of this kind is called in a message."""
        return {"policies": "policy", "defaults": "default"}.get(self.value, self.value.removesuffix("s"))


def to_json_text(value: object) -> str:
    """The one way in which the catalog writes JSON: ASCII, no spaces, no NaN."""
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"a value cannot be stored: {error}", hint="use texts, finite numbers and booleans") from error


@dataclass(frozen=True)
class Part:
    """The items of one kind, and the hash that names their document."""

    items: Mapping[str, str]
    digest: str

    @classmethod
    def of(cls, items: Mapping[str, str]) -> Part:
        """The part of these items; their order does not count."""
        ordered = FrozenMapping(sorted(items.items()))
        return cls(ordered, digest_of(_document(ordered)))

    @classmethod
    def read(cls, document: bytes, digest: str) -> Part:
        """The part that a document says, or ValueError where it is not the document of that hash."""
        if digest_of(document) != digest:
            raise ValueError("its content does not match its hash")
        values = json.loads(document)
        return cls(FrozenMapping({name: to_json_text(value) for name, value in values.items()}), digest)

    @property
    def document(self) -> bytes:
        """The JSON object of all items, the same bytes for the same items."""
        return _document(self.items)


def digest_of(document: bytes) -> str:
    """The hash by which a document is named."""
    return hashlib.sha256(document).hexdigest()


def _document(items: Mapping[str, str]) -> bytes:
    return ("{" + ",".join(f"{to_json_text(name)}:{text}" for name, text in items.items()) + "}").encode("ascii")


@dataclass(frozen=True)
class Delta:
    """What a version changed in one kind: ids, in order."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Content:
    """All parts of one version; parts that did not change are the same objects as in the version before."""

    parts: Mapping[Kind, Part]

    @classmethod
    def empty(cls) -> Content:
        nothing = Part.of({})
        return cls(FrozenMapping(dict.fromkeys(Kind, nothing)))

    def items(self, kind: Kind) -> Mapping[str, str]:
        return self.parts[kind].items

    def with_items(self, changed: Mapping[Kind, Mapping[str, str]]) -> Content:
        """This content with the items of some kinds replaced."""
        parts = {kind: Part.of(items) for kind, items in changed.items()}
        return Content(FrozenMapping({**self.parts, **parts}))

    def since(self, before: Content) -> Mapping[Kind, Delta]:
        """What changed from an earlier content to this one; kinds without a change are left out."""
        return FrozenMapping(
            (kind, _delta(before.items(kind), self.items(kind)))
            for kind in Kind
            if self.parts[kind].digest != before.parts[kind].digest
        )


def _delta(before: Mapping[str, str], after: Mapping[str, str]) -> Delta:
    return Delta(
        added=tuple(name for name in after if name not in before),
        changed=tuple(name for name in after if name in before and before[name] != after[name]),
        removed=tuple(name for name in before if name not in after),
    )
